//! The command line as clap sees it: text to [`Args`]. What the text means is decided in [`config`](crate::config).
#![allow(
    rustdoc::broken_intra_doc_links,
    clippy::doc_markdown,
    clippy::large_enum_variant,
    clippy::struct_excessive_bools,
    reason = "the comments are help texts, where brackets mean that a part is optional; arguments are parsed once, \
              and flags are booleans"
)]

use clap::{Args as ClapArgs, Parser, Subcommand};

mod bench;
pub(crate) mod choice;
mod decode;
mod doctor;
mod farm;
mod list;
mod names;
pub(crate) mod protocol;
mod query;
mod scan;

use choice::{Reader, RowFormat};

pub(crate) use bench::BenchArgs;
pub(crate) use decode::DecodeArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use farm::FarmArgs;
pub(crate) use list::{ListArgs, SendingArgs, SteamArgs};
pub(crate) use names::NameArgs;
pub(crate) use query::QueryArgs;
pub(crate) use scan::ScanArgs;

/// Everything that can be typed.
#[derive(Debug, Parser)]
#[command(name = "fragscan", version, about, max_term_width = 100)]
#[command(
    long_about = "fragscan asks game servers what they are, many thousands at a time, and writes down what they \
    say: one row a server, and an account of every target and every datagram."
)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask many servers and write one row for each
    Scan(ScanArgs),
    /// Print the servers of lists without asking them
    List(ListArgs),
    /// Ask one server, or a few, and print everything they say
    Query(QueryArgs),
    /// Read recorded datagrams, and say what they mean or what a scan would have written
    Decode(DecodeArgs),
    /// Ask the same servers over and over, and measure rates, losses and round-trip times
    Bench(BenchArgs),
    /// Run simulated servers, on loopback or for listed clients on an interface, until Ctrl-C
    Farm(FarmArgs),
    /// Find what would make this machine lose datagrams, and print the commands that fix it
    Doctor(DoctorArgs),
    /// Print the columns of the output: name, type, unit, meaning
    Fields(FieldsArgs),
    /// Print the games that --game knows: key, protocol, ports, app id, name
    Games(GamesArgs),
    /// Print the protocols: name, default port, what they are
    Protocols,
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Print the man page
    Man,
}

/// `fragscan fields`.
#[derive(Debug, ClapArgs)]
pub(crate) struct FieldsArgs {
    /// Print what another program needs to read the output with the right types, instead of the columns
    #[arg(short, long, value_name = "FORMAT", value_enum, ignore_case = true)]
    pub format: Option<Reader>,
}

/// `fragscan games`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit code 1 if there is none.")]
pub(crate) struct GamesArgs {
    /// Print only games that have WORD in their key or name, or as their app id
    #[arg(value_name = "WORD")]
    pub word: Option<String>,

    /// Format of the list; a table leaves out the folders and the rules for ports [default: a table on a terminal, else
    /// CSV]
    #[arg(short, long, value_name = "FORMAT", value_enum, ignore_case = true)]
    pub format: Option<RowFormat>,
}

/// `fragscan completions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

const EXAMPLES: &str = "\
Examples:
  fragscan scan farm:10000 -o servers.csv           ten thousand simulated servers on this machine
  fragscan scan -i servers.txt -o servers.csv       every address in a file
  fragscan query 192.0.2.10:27015                   one server, everything it says
  fragscan scan --from valve-master://HOST:27010    every server that a list server names
  fragscan doctor --rate 50k                        find what would make this machine lose datagrams
  fragscan bench farm:5000 --rate 20000             answers per second, and round-trip times
  fragscan query --game dayz 192.0.2.10:2302        one server, by its game port
  fragscan fields                                   what the columns mean

@FILE is replaced by the arguments in FILE, one per line.

Exit codes:
  0  done
  1  any other failure; with query: a server did not answer
  2  wrong usage, or nothing to ask
  3  stopped early; with --strict: a list is incomplete
  4  output could not be written
  5  a condition of `bench --fail-if` holds
  6  an earlier run has left FILE.partial, see `scan --if-partial`
  9  no name server answered; fragscan gave up the remaining names";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Options that take one of a fixed set of words, in any command.
    const CLOSED: [&str; 11] = [
        "color",
        "family",
        "format",
        "io",
        "master",
        "master-style",
        "mix",
        "order",
        "protocol",
        "protocols",
        "queries",
    ];

    /// Each option of each command, with the names of its possible values.
    fn options() -> Vec<(String, clap::Arg, Vec<String>)> {
        let mut options = Vec::new();
        for command in Args::command().get_subcommands() {
            for option in command.get_opts() {
                let name = format!("{} --{}", command.get_name(), option.get_long().unwrap_or_default());
                let values = option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
                options.push((name, option.clone(), values));
            }
        }
        options
    }

    #[test]
    fn the_declarations_are_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn clap_knows_the_words_of_every_closed_choice_and_reads_them_in_any_case() {
        let options = options();
        for closed in CLOSED {
            let named = |(_, option, _): &&(String, clap::Arg, Vec<String>)| option.get_long() == Some(closed);
            assert!(options.iter().any(|option| named(&option)), "no command has --{closed}");
            for (name, option, values) in options.iter().filter(named) {
                assert!(values.len() > 1, "{name}: {values:?}");
                assert!(option.is_ignore_case_set(), "{name}");
            }
        }
    }

    #[test]
    fn help_texts_leave_the_words_to_clap() {
        for (name, option, values) in options() {
            let help = option.get_help().unwrap_or_default().to_string();
            let words = || help.split(|c: char| !c.is_alphanumeric() && c != '-');
            let repeated: Vec<_> = values.iter().filter(|value| words().any(|word| word == *value)).collect();
            assert!(repeated.len() < 2, "{name} is printed with {repeated:?} twice: {help}");
        }
    }

    #[test]
    fn words_have_their_aliases_and_may_be_several() {
        let words = "fragscan scan x --order INPUT -f JSONL --queries Info,ping --queries RULES --protocol Q3";
        let Command::Scan(args) = Args::try_parse_from(words.split(' ')).unwrap().command else { panic!("not scan") };
        assert_eq!((args.order, args.format), (choice::Order::Input, Some(choice::RowFormat::Ndjson)));
        assert_eq!(args.queries, [choice::Query::Info, choice::Query::Ping, choice::Query::Rules]);
        let quake3 = crate::protocol::by_name("quake3").unwrap();
        assert_eq!(args.protocol, Some(protocol::Protocol::Named(quake3)));
        let Command::Query(args) = Args::try_parse_from(["fragscan", "query", "x"]).unwrap().command else {
            panic!("not query")
        };
        assert_eq!(args.queries, [choice::Query::Info, choice::Query::Players, choice::Query::Rules], "by default");
        for (words, format) in [("query x -f ndjson", "Json"), ("decode x -f json", "Ndjson")] {
            let words = ["fragscan"].into_iter().chain(words.split(' '));
            let args = format!("{:?}", Args::try_parse_from(words).unwrap());
            assert!(args.contains(&format!("format: {format}")), "{args}");
        }
    }
}
