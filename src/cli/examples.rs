//! What stands below the help texts: examples, exit codes and notes.

pub(super) const EXAMPLES: &str = "\
Examples:
  fragscan scan farm:10000 -o servers.csv           ten thousand simulated servers on this machine
  fragscan scan -i servers.txt -o servers.csv       every address in a file
  fragscan query 192.0.2.10:27015                   one server, everything it says
  fragscan scan --from valve-master://HOST:27010    every server that a list server names
  fragscan doctor --rate 50k                        what of this machine would lose datagrams
  fragscan bench farm:5000 --rate 20000             how many answers a second, and how fast
  fragscan query --game dayz 192.0.2.10:2302        one by the port for players
  fragscan fields                                   what the columns mean

Exit codes: 0 done, 2 usage, 3 stopped early, or with --strict an incomplete list, 4 output
could not be written, 5 a condition of
`bench --fail-if` holds, 1 anything else";

pub(super) const LIST_EXAMPLES: &str = "\
Examples:
  fragscan list valve-master://master.example.com:27010?filter=/gamedir/valve
  fragscan list 'quake3-master://master.example.com?protocol=71&game=Quake3Arena' -o list.csv
  fragscan scan --from valve-master://master.example.com:27010 -o servers.csv      lists them and asks them

Regions: all, us-east, us-west, south-america, europe, asia, australia, middle-east, africa.
A server that two lists name is printed once. Addresses that nobody can ask, and private ones, are left out.
Exit code 3 with --strict if a list was not had as a whole.";

pub(super) const BENCH_EXAMPLES: &str = "\
Examples:
  fragscan bench farm:5000 --rate 20000             simulated servers on this machine
  fragscan bench 192.168.1.20 --ramp 100-2000x10    a server of yours, at ten rates
  fragscan bench 192.168.1.20 --find-max --format json
  fragscan bench 192.168.1.20 --fail-if 'p99>50ms,loss>0.1%'

Times are measured to the first datagram of an answer, from the actual send and from the planned one: the time at which an
even pace would have sent, with queries that never left counted in.";

pub(super) const FARM_EXAMPLES: &str = "\
Examples:
  fragscan farm --servers 1000 --mix full --loss 5% simulated servers on loopback
  fragscan farm --bind 192.168.1.5 --servers 100 --clients 192.168.1.0/24
      a hundred on ports 27015-27114, for the other end of a benchmark:
      fragscan bench 192.168.1.5:27015-27114 --rate 20000

What would be larger than its request leaves, where clients are strangers, only to those who have sent back a challenge.";

pub(super) const DECODE_EXAMPLES: &str = "\
Examples:
  fragscan scan -i servers.txt --raw crawl.pcapng -o servers.csv
  fragscan decode crawl.pcapng --format ndjson       the same rows once more, by this version of the parsers
  echo 'ffffffff 44 01 00 4d6500 05000000 00007041' | fragscan decode -     every field, with its place

Exit code 2 if a file cannot be read, with line and column for hex.";

pub(super) const SCAN_EXAMPLES: &str = "\
Examples:
  fragscan scan farm:10000 -o servers.csv           ten thousand simulated servers on this machine
  fragscan scan 192.0.2.10 192.0.2.20:27016         two servers, rows to standard output
  fragscan scan 198.51.100.0/24 -p 27015-27020 -o lan.csv -o lan.ndjson
  fragscan scan -i servers.txt --rate 500 --exclude-file optout.txt -o servers.csv

A row is written for every target that was asked, whether or not it answered; see `fragscan fields`.";
