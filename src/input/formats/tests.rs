//! What of lists of every make is asked, through the same code as in a scan, and what hostile lists do: nothing.

use std::fmt::Write as _;
use std::io::BufReader;
use std::net::SocketAddr;
use std::task::Poll;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::config::{InputOptions, Limits, Spoken};
use crate::games;
use crate::input::Input;
use crate::output::Format;
use crate::output::table::Look;
use crate::protocol;
use crate::record::{COLUMNS, Column, Selection, ServerRecord, Status};
use crate::target::Order;

/// What of a file is asked, in its order, and why lines are not.
fn read_file(bytes: &[u8], options: InputOptions) -> (Vec<String>, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("list");
    std::fs::write(&path, bytes).unwrap();
    // Where nothing is named, there is one target to keep the account.
    let targets = vec!["127.9.9.9:9".to_owned()];
    let options = InputOptions { files: vec![path.clone()], targets, order: Order::Input, ..options };
    let mut input = Input::read(options, &Limits::default(), Vec::new()).unwrap();
    let place = format!("{}:", path.display());
    let said = |line: &String| line.strip_prefix(&place).map(|rest| rest.trim_start().to_owned());
    let complaints: Vec<_> = input.files.complaints.iter().chain(&input.files.remarks).filter_map(said).collect();
    // They are not looked up here.
    let names = std::mem::take(&mut input.names);
    let names = names.iter().map(|named| format!("{}:{}", named.name, named.mention.ports));
    let mut asked: Vec<_> = names.collect();
    let mut opened = input.open(None, 1, None, |_| ()).unwrap();
    while let Poll::Ready(Some(target)) = opened.source.poll_target() {
        let plan = &opened.plans[usize::from(target.plan)];
        let name = plan.legs[0].protocol.spec().name;
        let scheme = match plan.legs.len() {
            1 if name == "a2s" => String::new(),
            1 => format!("{name}://"),
            legs => format!("{legs} legs of {name}://"),
        };
        asked.push(format!("{scheme}{}", target.address));
    }
    asked.retain(|target| target != "127.9.9.9:9" && !target.ends_with("//127.9.9.9:9"));
    (asked, complaints)
}

fn asked(text: &str) -> Vec<String> {
    let (asked, complaints) = read_file(text.as_bytes(), InputOptions::default());
    assert!(complaints.is_empty(), "{text:?}: {complaints:?}");
    asked
}

fn of_game(key: &str) -> InputOptions {
    InputOptions { spoken: Spoken::Games(vec![games::by_key(key).unwrap()]), ..InputOptions::default() }
}

/// A list, and what of it is asked.
const RIGHT: &[(&str, &str)] = &[
    ("IP,Port #\n8.8.8.8,27960", "8.8.8.8:27960"),
    ("IP,Ports\n8.8.8.8,27960", "8.8.8.8:27960"),
    ("{\"target\":\"8.8.8.8\",\"port\":27960}", "8.8.8.8:27960"),
    ("ip,port,target\n,27960,8.8.8.8", "8.8.8.8:27960"),
    ("<servers><server address=\"8.8.8.8\" port=\"27960\"/></servers>", "8.8.8.8:27960"),
    ("ip,port,hostname\n8.8.8.8,27960,Surf:24", "8.8.8.8:27960"),
    ("{\"ip\":\"8.8.8.8\",\"hostname\":\"Surf:24\",\"port\":27960}", "8.8.8.8:27960"),
    ("{\"ip\":\"8.8.8.8\",\"port\":27960,\"data\":{\"hostname\":\"MyServer\",\"map\":\"x\"}}", "8.8.8.8:27960"),
    ("{\"servers\":[\"8.8.8.8:27960\"],\"ip\":\"8.8.4.4\",\"port\":1}", "8.8.8.8:27960 8.8.4.4:1"),
    ("connect 8.8.8.8:27960; password 12", "8.8.8.8:27960"),
    // What is typed.
    ("8.8.8.8:27960", "8.8.8.8:27960"),
    ("8.8.8.8:27960,28000-28001 # two servers", "8.8.8.8:27960 8.8.8.8:28000 8.8.8.8:28001"),
    ("8.8.8.8:1 8.8.4.4\t9.9.9.9:3", "8.8.8.8:1 8.8.4.4:27015 9.9.9.9:3"),
    ("8.8.8.8:1, 8.8.4.4:2, 9.9.9.9:3", "8.8.8.8:1 8.8.4.4:2 9.9.9.9:3"),
    ("8.8.8.8:1,2, 8.8.4.4:3", "8.8.8.8:1 8.8.8.8:2 8.8.4.4:3"),
    ("8.8.8.8;8.8.4.4:2", "8.8.8.8:27015 8.8.4.4:2"),
    ("QUAKE3://8.8.8.8\nSource://8.8.8.8:1", "quake3://8.8.8.8:27960 8.8.8.8:1"),
    ("DayZ://8.8.8.8:2402\n7d2d://8.8.8.8:26900", "4 legs of a2s://8.8.8.8:2402 4 legs of a2s://8.8.8.8:26900"),
    ("dayz://8.8.8.8", "8.8.8.8:27016"),
    ("steam://connect/8.8.8.8:27960/secret", "8.8.8.8:27960"),
    ("Steam://Connect/[2001:4860::1]:27960", "[2001:4860::1]:27960"),
    ("connect 8.8.8.8:27960; password \"a, b\"\n+connect 8.8.8.8:27961", "8.8.8.8:27960 8.8.8.8:27961"),
    ("8.8.8.8:27960 [cloudflare]", "8.8.8.8:27960"),
    // Without a header.
    ("8.8.8.8,27960", "8.8.8.8:27960"),
    ("8.8.8.8,27960,\"A name, with a comma\",12/32", "8.8.8.8:27960"),
    ("\"8.8.8.8\",\"27960\"", "8.8.8.8:27960"),
    ("8.8.8.8\t27960\n8.8.4.4\t", "8.8.8.8:27960 8.8.4.4:27015"),
    ("8.8.8.8;27960", "8.8.8.8:27960"),
    ("8.8.8.8 27960", "8.8.8.8:27960"),
    ("8.8.8.8 , 27960 \r\n 8.8.4.4 , 1", "8.8.8.8:27960 8.8.4.4:1"),
    ("8.8.8.8,\n8.8.4.4,,name", "8.8.8.8:27015 8.8.4.4:27015"),
    ("2001:4860::1,27960\n[2001:4860::2],27961", "[2001:4860::1]:27960 [2001:4860::2]:27961"),
    ("::ffff:8.8.8.8,27960", "8.8.8.8:27960"),
    ("8.8.8.0/31,27960", "8.8.8.0:27960 8.8.8.1:27960"),
    ("play.example.net,27960\nplay.example.net 27961", "play.example.net:27960 play.example.net:27961"),
    // Under a header.
    ("ip,port\n8.8.8.8,27960", "8.8.8.8:27960"),
    ("\u{FEFF}IP,Port\r\n8.8.8.8,27960\r\n", "8.8.8.8:27960"),
    ("name,PORT,map,Address\n\"a, b\",27960,x,8.8.8.8", "8.8.8.8:27960"),
    (" ip , port \n 8.8.8.8 , 27960 ", "8.8.8.8:27960"),
    ("\"ip\",\"port\"\n\"8.8.8.8\",\"27960\"", "8.8.8.8:27960"),
    ("ip,port\n8.8.8.8,\n8.8.4.4,1", "8.8.8.8:27015 8.8.4.4:1"),
    ("ip\tport\n8.8.8.8\t27960\n8.8.4.4\t", "8.8.8.8:27960 8.8.4.4:27015"),
    ("sep=;\naddress;query_port\n8.8.8.8;27960", "8.8.8.8:27960"),
    ("ip|port\n8.8.8.8|27960", "8.8.8.8:27960"),
    ("IP        PORT\n8.8.8.8   27960", "8.8.8.8:27960"),
    ("ip,port\n8.8.8.8,27960.0", "8.8.8.8:27960"),
    ("ip,port\n8.8.8.8,\"27960,27962\"", "8.8.8.8:27960 8.8.8.8:27962"),
    ("ip,port\n2001:4860::1,27960\n[2001:4860::2],27961", "[2001:4860::1]:27960 [2001:4860::2]:27961"),
    ("address,port\n8.8.8.8:27960,27960\n[2001:4860::1]:27960,27960", "8.8.8.8:27960 [2001:4860::1]:27960"),
    ("address,port\n8.8.8.8,27960", "8.8.8.8:27960"),
    ("address\n8.8.8.8:27960", "8.8.8.8:27960"),
    ("host,ip,port,protocol\nexample.net,8.8.8.8,27960,udp", "8.8.8.8:27960"),
    ("Query IP,Query Port,Port\n8.8.8.8,27960,5", "8.8.8.8:27960"),
    ("ip,port,queryPort\n8.8.8.8,5,27960", "8.8.8.8:27960"),
    ("connect,queryPort\n8.8.8.8:5,27960", "8.8.8.8:27960"),
    ("ip,connect\n8.8.8.8,8.8.8.8:27960", "8.8.8.8:27960"),
    ("addr,gameport\n8.8.8.8:27960,5", "8.8.8.8:27960"),
    ("ip,port,game\n8.8.8.8,27960,quake3\n8.8.4.4,2402,dayz", "quake3://8.8.8.8:27960 4 legs of a2s://8.8.4.4:2402"),
    ("ip,query_port,game,owner\n8.8.8.8,27960,xonotic,x", "quake3://8.8.8.8:27960"),
    ("ip,gameport,game,owner\n8.8.8.8,2402,DayZ,x", "4 legs of a2s://8.8.8.8:2402"),
    ("ip,port,protocol\n8.8.8.8,5,Quake3\n8.8.8.8,6,\n8.8.8.8,7,source", "quake3://8.8.8.8:5 8.8.8.8:6 8.8.8.8:7"),
    ("address,protocol\nhl1://8.8.8.8:5,quake3", "hl1://8.8.8.8:5"),
    ("ip,port,spectator_port\n8.8.8.8,,5", "8.8.8.8:27015"),
    ("name,ip,port\n\"two\nlines\",8.8.8.8,27960\nb,8.8.4.4,1", "8.8.8.8:27960 8.8.4.4:1"),
    ("name,ip,port\n#1,8.8.8.8,27960\n# comment\n# a, \"quote\nb,8.8.4.4,1", "8.8.8.8:27960 8.8.4.4:1"),
    (
        "ip,port\n8.8.8.8,1\nip,port\n8.8.8.8,2\nport,ip\n3,8.8.8.8\nname,address\nx,8.8.8.8:4",
        "8.8.8.8:1 8.8.8.8:2 8.8.8.8:3 8.8.8.8:4",
    ),
    // zmap
    ("saddr\n8.8.8.8", "8.8.8.8:27015"),
    ("saddr,sport\n8.8.8.8,27960", "8.8.8.8:27960"),
    ("saddr,dport,sport,success,repeat,icmp_responder\n8.8.8.8,37620,27960,1,0,", "8.8.8.8:27960"),
    ("saddr,dport\n8.8.8.8,37620", "8.8.8.8:27015"),
    ("{ \"saddr\": \"8.8.8.8\", \"sport\": 27960, \"dport\": 32974, \"success\": 1 }", "8.8.8.8:27960"),
    // masscan
    (
        "#masscan\nopen udp 27960 8.8.8.8 1700000000\nopen udp 5 2001:4860::1 1\nbanner udp 5 8.8.4.4 1 x y\n# end",
        "8.8.8.8:27960 [2001:4860::1]:5",
    ),
    (
        "# Masscan 1.3.2 scan initiated Tue Dec  1 00:02:50 2026\n\
         Timestamp: 1796083370\tHost: 8.8.8.8 ()\tPorts: 27960/open/udp//unknown//\n# Masscan done",
        "8.8.8.8:27960",
    ),
    (
        "[\n{   \"ip\": \"8.8.8.8\",   \"timestamp\": \"1\", \"ports\": [ {\"port\": 27960, \"proto\": \"udp\", \
         \"status\": \"open\", \"reason\": \"none\", \"ttl\": 0} , {\"port\": 5, \"proto\": \"udp\"}] }\n,\n\
         {   \"ip\": \"8.8.4.4\", \"ports\": [ {\"port\": 1, \"proto\": \"udp\"} ] },\n{finished: 1}\n]\n",
        "8.8.8.8:27960 8.8.8.8:5 8.8.4.4:1",
    ),
    ("{ip: \"8.8.8.8\", ports: [ {port: 27960, proto: \"udp\"} ] },", "8.8.8.8:27960"),
    (
        "{\"ip\":\"8.8.8.8\",\"timestamp\":\"1\",\"port\":27960,\"proto\":\"udp\",\"rec_type\":\"status\",\
         \"data\":{\"status\":\"open\",\"reason\":\"none\",\"ttl\":0}}\n\
         {\"ip\":\"8.8.8.8\",\"port\":27960,\"proto\":\"udp\",\"rec_type\":\"banner\",\"data\":{}}",
        "8.8.8.8:27960",
    ),
    (
        "<?xml version=\"1.0\"?>\n<!-- masscan v1.0 scan -->\n<nmaprun scanner=\"masscan\">\n\
         <host endtime=\"1\"><address addr=\"8.8.8.8\" addrtype=\"ipv4\"/><ports><port protocol=\"udp\" \
         portid=\"27960\"><state state=\"open\" reason=\"none\" reason_ttl=\"0\"/></port></ports></host>\n\
         <runstats><finished/></runstats></nmaprun>",
        "8.8.8.8:27960",
    ),
    // nmap
    (
        "Host: 8.8.8.8 ()\tStatus: Up\nHost: 8.8.8.8 (a.example)\tPorts: 27960/open/udp//unknown//Foo #1, bar, 9/x/, \
         27961/open|filtered/udp//x///\tIgnored State: closed (9)",
        "8.8.8.8:27960 8.8.8.8:27961",
    ),
    (
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE nmaprun>\n<nmaprun>\n<hosthint><address addr=\"9.9.9.9\" \
         addrtype=\"ipv4\"/></hosthint>\n<host><status state=\"up\"/><address addr=\"2E:7E:C2:1C:5C:FA\" \
         addrtype=\"mac\"/>\n<address addr=\"2001:4860::1\" addrtype=\"ipv6\"/>\n<ports><extraports state=\"closed\" \
         count=\"1\"/><port protocol=\"udp\" portid=\"27960\"><state state=\"open|filtered\"/><service name='x'/></port>\n\
         <port protocol=\"udp\" portid=\"5\"><state state=\"open\"/></port></ports></host>\n</nmaprun>",
        "[2001:4860::1]:27960 [2001:4860::1]:5",
    ),
    // naabu, Shodan, Censys
    ("{\"host\":\"a.example\",\"ip\":\"8.8.8.8\",\"timestamp\":\"x\",\"port\":27960,\"tls\":false}", "8.8.8.8:27960"),
    (
        "{\"ip\":134744072,\"ip_str\":\"8.8.8.8\",\"port\":27960,\"transport\":\"udp\",\"hostnames\":[\"a\"],\"data\":\"{\"}",
        "8.8.8.8:27960",
    ),
    ("{\"ip\":\"8.8.8.8\",\"services\":[{\"port\":27960,\"transport_protocol\":\"UDP\"}]}", "8.8.8.8:27960"),
    ("{\"ip\":\"8.8.8.8\",\"ports\":[27960,\"5/udp\"]}", "8.8.8.8:27960 8.8.8.8:5"),
    // qstat, GameDig, Steam, and others
    (
        "[\n\t{\n\t\t\"protocol\": \"q3s\",\n\t\t\"address\": \"8.8.8.8:27960\",\n\t\t\"address\": 8.8.8.8:27960,\n\t\t\
         \"status\": \"online\"\n\t\t\"hostname\": \"8.8.8.8:27960\",\n\t\t\"rules\": {\n\t\t\t\"ip\": \"x\"\n\t\t},\n\t\t\
         \"players\": [\n\t\t\t{\n\t\t\t\t\"name\": \"}]\\\"\"\n\t\t\t}\n\t\t]\n\t},\n\t{\n\t\t\"protocol\": \"a2s\",\n\t\t\
         \"address\": \"8.8.4.4:1\",\n\t\t\"status\": \"offline\",\n\t\t\"hostname\": \"8.8.4.4:1\"\n\t}\n]",
        "quake3://8.8.8.8:27960 8.8.4.4:1",
    ),
    (
        "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<qstat>\n<server type=\"A2S\" address=\"8.8.8.8:27960\" \
         status=\"UP\"><name>Z</name></server></qstat>",
        "8.8.8.8:27960",
    ),
    (
        "{\"name\":\"x\",\"raw\":{\"port\":5,\"players\":[{}]},\"players\":[{\"name\":\"x\",\"raw\":{}}],\"bots\":[],\
         \"queryPort\":27960,\"connect\":\"8.8.8.8:5\",\"ping\":0}",
        "8.8.8.8:27960",
    ),
    (
        "[{\"queryPort\":27960,\n  \"connect\":\"8.8.8.8:5\"},{\"queryPort\":1,\"connect\":\"8.8.8.8:1\"}]",
        "8.8.8.8:27960 8.8.8.8:1",
    ),
    (
        "{\"response\":{\"servers\":[{\"addr\":\"8.8.8.8:27960\",\"gameport\":5,\"steamid\":\"1\",\"name\":\"\\u005a\"},\
         {\"addr\":\"8.8.4.4:1\",\"gameport\":1}]}}",
        "8.8.8.8:27960 8.8.4.4:1",
    ),
    (
        "{\"response\":{\"success\":true,\"servers\":[{\"addr\":\"8.8.8.8:27960\",\"gmsindex\":-1,\"lan\":false}]}}",
        "8.8.8.8:27960",
    ),
    (
        "{\"data\":[{\"attributes\":{\"ip\":\"8.8.8.8\",\"port\":5,\"portQuery\":27960,\"details\":{\"map\":\"x\"}}}]}",
        "8.8.8.8:27960",
    ),
    ("[\"8.8.8.8:27960\", \"8.8.8.8:5\"]", "8.8.8.8:27960 8.8.8.8:5"),
    ("[2001:4860::1]:27960\n[2001:4860::2]:5", "[2001:4860::1]:27960 [2001:4860::2]:5"),
    // ours
    ("{\"address\":\"[2001:4860::1]:5\",\"protocol\":\"quake3\",\"name\":null}", "quake3://[2001:4860::1]:5"),
    ("{\"ip\":\"8.8.8.8\",\"port\":27960}", "8.8.8.8:27960"),
    (
        "{\"ip\":\"8.8.8.8\",\"port\":\"27960\"}\n\n# comment\n{\"ip\":\"8.8.8.8\",\"port\":null}",
        "8.8.8.8:27960 8.8.8.8:27015",
    ),
    ("address,port,protocol,target,status\n,,minecraft,play.example.net:5,unresolved", "play.example.net:5"),
    (
        "{\"address\":null,\"protocol\":\"a2s\",\"target\":\"quake3://a.example\",\"status\":\"unresolved\"}",
        "a.example:27960",
    ),
    ("ip,port,game\n8.8.8.8,27960,Sandbox\n8.8.8.8,5,DayZ", "8.8.8.8:27960 8.8.8.8:5"),
    ("address,game,rtt_ms\n8.8.8.8:27960,dayz,1.000", "8.8.8.8:27960"),
    ("address,game_port\n8.8.8.8:27960,5", "8.8.8.8:27960"),
];

#[test]
fn whatever_names_a_port_is_asked_there() {
    for (list, expected) in RIGHT {
        let expected: Vec<_> =
            expected.replace(" legs of ", "~").split(' ').map(|t| t.replace('~', " legs of ")).collect();
        let mut found = asked(list);
        let mut wanted = expected.clone();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{list:?}");
        // Ends of lines and the encoding change nothing.
        let (windows, _) = read_file(list.replace('\n', "\r\n").as_bytes(), InputOptions::default());
        assert_eq!(windows.len(), wanted.len(), "{list:?} with CRLF");
        let wide: Vec<u8> = ["\u{FEFF}", list.trim_start_matches('\u{FEFF}')]
            .concat()
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(read_file(&wide, InputOptions::default()).0.len(), wanted.len(), "{list:?} as UTF-16");
    }
}

/// A list of which nothing is asked, and a part of what is said about it.
const REFUSED: &[(&str, &str)] = &[
    ("ip,port\n8.8.8.8,x", "2: \"x\" is not a port"),
    ("ip,port\n8.8.8.8,0", "2: port 0 cannot be asked"),
    ("ip,port\n8.8.8.8,70000", "2: port 70000 is not in 1 to 65535"),
    ("ip,port\n8.8.8.8,-1", "2: "),
    ("ip,port\n8.8.8.8,n/a", "2: "),
    ("ip,port\n8.8.8.8", "2: the header has 2 columns, and this row 1 cell"),
    ("ip,port\n8.8.8.8,1,2", "2: the header has 2 columns, and this row 3 cells"),
    ("ip,port\n,27960", "2: this row has no address: recognized columns are"),
    (
        "ip,server_port\n8.8.8.8,27960",
        "2: this row names a port in a column that says nothing here: recognized columns are",
    ),
    ("address,port\n8.8.8.8:5,6", "2: this row names two ports, 5 and 6"),
    ("ip,gameport\n8.8.8.8,27960", "2: this row names a port for players only: say with --game"),
    ("ip,port,protocol\n8.8.8.8,5,quake9", "2: \"quake9\" is neither a protocol (a2s, quake3,"),
    ("ip,port,game,owner\n8.8.8.8,5,dayzz,x", "did you mean dayz"),
    ("server,port\nx,27960", "1: none of these columns has addresses (server, port): recognized columns are"),
    ("status,name,port\nok,x,27960", "1: none of these columns has addresses (status, name, port)"),
    ("name\nexample.com", "1: none of these columns has addresses (name)"),
    ("ip,port\n\"8.8.8.8,27960\n8.8.4.4,1", "2: a quote is never closed"),
    (
        "8.8.8.8,x",
        "1: this line is neither a target nor HOST,PORT, and there is no header above it: recognized columns are",
    ),
    ("8.8.8.8:5,My server", "1: this line is neither"),
    ("8.8.8.8:5;6", "1: this line is neither"),
    ("8.8.8.8 5 6", "1: this line is neither"),
    ("My server,8.8.8.8:5", "1: this line is neither"),
    ("one two", "1: none of these columns has addresses (one, two)"),
    // Whatever this says of a server, it is not said to be a port.
    ("server,players\n8.8.8.8,12", "1: none of these columns has addresses (server, players)"),
    ("server players\n8.8.8.8 12", "1: none of these columns has addresses (server, players)"),
    ("Server;Map;Slots\n8.8.8.8;de_dust2;12", "1: none of these columns has addresses (Server, Map, Slots)"),
    ("two words.example", "1: this line is neither"),
    // What stands behind an empty cell may be the port.
    ("8.8.4.4\t\t27017\tOther", "1: this line is neither"),
    ("8.8.8.8,,27016", "1: this line is neither"),
    ("MyServer,,8.8.8.8:27016", "1: this line is neither"),
    ("MyServer,12,8.8.8.8:27015", "1: this line is neither"),
    ("\"address\"\t\t\"8.8.8.8:27015\"", "1: this line is neither"),
    ("8.8.8.8:27015 ping:23 players:12", "1: this line is neither"),
    ("8.8.8.8:27016 de_dust2.bsp", "1: this line is neither"),
    ("8.8.8.8,\"27,016\"", "1: this line is neither"),
    ("connect 8.8.8.8 27016", "1: this line is neither"),
    ("+connect 8.8.8.8 +port 27016", "1: this line is neither"),
    ("IP Address,Port Number\n8.8.8.8,27016", "2: this row names a port in a column"),
    ("IP,Port (UDP)\n8.8.8.8,27016", "2: this row names a port in a column"),
    ("ip,Query Port 1\n8.8.8.8,27016", "2: this row names a port in a column"),
    ("ip,port,port\n8.8.8.8,27015,27016", "2: this row names two ports, 27015 and 27016"),
    ("{\"ip\":\"8.8.8.8\",\"port\":27015,\"sport\":27016}", "1: this row names two ports, 27015 and 27016"),
    ("{\"ip\":\"8.8.8.8\",\"port\":27016,\"ports\":[27017]}", "1: this row names the port 27016, and a list of others"),
    ("{\"ip\":\"8.8.8.8\",\"port_number\":27016}", "1: this row names a port in a column"),
    ("{\"ip\":\"8.8.8.8\",\"open_ports\":[27016]}", "1: this row names a port in a column"),
    ("{\"ip\":\"8.8.8.8\",\"query_port\":{\"udp\":27016}}", "1: this row names a port in a column"),
    ("[[\"8.8.8.8\",27016],[\"8.8.4.4\",27017]]", "1: \"8.8.4.4\" is no target of a list: write HOST:PORT as one text"),
    ("[\"8.8.4.6\",27019]", "1: \"8.8.4.6\" is no target of a list"),
    ("8.8.8.8,0", "1: port 0 cannot be asked"),
    ("8.8.8.8,70000", "1: port 70000 is not"),
    ("steam://connect/", "1: the host is missing"),
    ("{\"ip\":\"8.8.8.8\",\"port\":\"x\"}", "1: \"x\" is not a port"),
    ("{\"ip\":\"8.8.8.8\",\"port\":true}", "1: \"true\" is not a port"),
    ("{\"ip\":\"8.8.8.8\",\"port\":[{}]}", "1: an entry of this list of ports has no port"),
    ("{\"ip\":\"8.8.8.8\",\"server_port\":5}", "1: this row names a port in a column"),
    ("{\"name\":\"x\",\"port\":5}", "1: this row has no address: recognized columns are"),
    ("{\"error\":\"Failed all 2 attempts\"}", "1: this row has no address"),
    ("{\"ip\":\"8.8.8.8\",\"port\":5", "1: the list ends within an object"),
    ("{\"ip\":\"8.8.8.8", "1: the list ends within a text"),
    ("[", "1: the list ends before its array does"),
    ("{\"ip\":\"8.8.8.8\\ud800\",\"port\":5}", "1: \"8.8.8.8\\ud800\" is no JSON"),
    ("open udp 27960", "1: expected a line as masscan -oL writes it"),
    ("Host: 8.8.8.8 ()\tPorts: 70000/open/udp//x///", "1: port 70000 is not"),
    (
        "<nmaprun><host><address addr=\"8.8.8.8\" addrtype=\"ipv4\"/><ports><port protocol=\"udp\" portid=\"x\">\
      <state state=\"open\"/></port></ports></host></nmaprun>",
        "1: \"x\" is not a port",
    ),
    (
        "<nmaprun><host><ports><port protocol=\"udp\" portid=\"5\"><state state=\"open\"/></port></ports></host></nmaprun>",
        "1: this row has no address",
    ),
    ("<nmaprun>\n<host>\n", "3: the XML ends within an element"),
    ("<nmaprun>\n<a></b>", "2: this is not XML"),
    ("8.8.8.8\u{0}", "1: "),
    ("8.8.8.8:5\u{0},6", "1: "),
];

#[test]
fn what_is_not_understood_is_refused_with_what_would_be() {
    for (list, reason) in REFUSED {
        let (asked, complaints) = read_file(list.as_bytes(), InputOptions::default());
        assert!(asked.is_empty(), "{list:?}: {asked:?}");
        assert!(complaints.iter().any(|said| said.contains(reason)), "{list:?}: {complaints:?}");
    }
}

/// A list with ports that are closed, and the like.
const PASSED_OVER: &[(&str, &str)] = &[
    ("open tcp 5 8.8.8.8 1\nopen udp 6 8.8.8.8 1", "8.8.8.8:6"),
    ("Host: 8.8.8.8 ()\tPorts: 5/closed/udp//x///, 6/open/udp//x///", "8.8.8.8:6"),
    ("Host: 8.8.8.8 ()\tPorts: 5/open/tcp//x///, 6/open/udp//x///", "8.8.8.8:6"),
    ("saddr,sport,success\n8.8.8.8,5,0\n8.8.8.8,6,1", "8.8.8.8:6"),
    ("saddr,sport,repeat\n8.8.8.8,5,1\n8.8.8.8,6,0", "8.8.8.8:6"),
    ("saddr,sport,icmp_responder\n8.8.8.8,,8.8.8.8\n8.8.8.8,6,", "8.8.8.8:6"),
    (
        "{\"ip\":\"8.8.8.8\",\"port\":5,\"protocol\":\"tcp\"}\n{\"ip\":\"8.8.8.8\",\"port\":6,\"protocol\":\"udp\"}",
        "8.8.8.8:6",
    ),
    ("{\"ip\":\"8.8.8.8\",\"ports\":[{\"port\":5,\"proto\":\"tcp\"},{\"port\":6,\"proto\":\"udp\"}]}", "8.8.8.8:6"),
    (
        "{\"ip\":\"8.8.8.8\",\"ports\":[{\"port\":5,\"status\":\"closed\"},{\"port\":6,\"status\":\"open\"}]}",
        "8.8.8.8:6",
    ),
    (
        "<x><host><address addr=\"8.8.8.8\" addrtype=\"ipv4\"/><port protocol=\"udp\" portid=\"5\"><state \
         state=\"closed\"/></port><port protocol=\"udp\" portid=\"6\"/></host></x>",
        "8.8.8.8:6",
    ),
];

#[test]
fn closed_ports_and_those_of_tcp_are_passed_over_and_said_to_be() {
    for (list, expected) in PASSED_OVER {
        let (asked, complaints) = read_file(list.as_bytes(), InputOptions::default());
        assert_eq!(asked, [*expected], "{list:?}");
        assert!(complaints.iter().any(|said| said.starts_with("1 record was skipped")), "{list:?}: {complaints:?}");
    }
}

#[test]
fn with_a_game_the_port_for_players_leads_to_the_one_for_queries() {
    for (list, expected) in [
        ("8.8.8.8:2402", "4 legs of a2s://8.8.8.8:2402"),
        ("ip,gameport\n8.8.8.8,2402", "4 legs of a2s://8.8.8.8:2402"),
        ("ip,port\n8.8.8.8,2402", "4 legs of a2s://8.8.8.8:2402"),
        ("ip,port,gameport\n8.8.8.8,2402,2402", "4 legs of a2s://8.8.8.8:2402"),
        ("ip,port,gameport\n8.8.8.8,27017,2402", "8.8.8.8:27017"),
        ("{\"addr\":\"8.8.8.8:27017\",\"gameport\":2402}", "8.8.8.8:27017"),
        ("ip,query_port\n8.8.8.8,27017", "8.8.8.8:27017"),
        ("address,protocol\n8.8.8.8:27017,a2s", "8.8.8.8:27017"),
        ("rust://8.8.8.8:28015", "4 legs of a2s://8.8.8.8:28015"),
        // Steam names the port for queries, also where players use the same one.
        ("{\"addr\":\"8.8.8.8:27015\",\"gameport\":27015}", "8.8.8.8:27015"),
        // Who did not answer at any port is looked for once more, from the port that was named.
        ("address,protocol,target,status\n8.8.8.8:27016,a2s,8.8.8.8:2402,timeout", "4 legs of a2s://8.8.8.8:2402"),
        ("ip,port,protocol,target,status\n8.8.8.8,27016,a2s,8.8.8.0/24:2402,refused", "4 legs of a2s://8.8.8.8:2402"),
        ("address,protocol,target,status\n8.8.8.8:27016,a2s,8.8.8.0/24,timeout", "8.8.8.8:27016"),
        ("address,protocol,target,status\n8.8.8.8:27017,a2s,8.8.8.8:2402,ok", "8.8.8.8:27017"),
        ("address,protocol,target,status\n8.8.8.8:27016,a2s,8.8.8.8:2402-2403,timeout", "8.8.8.8:27016"),
        ("address,protocol,target,status\n8.8.8.8:27960,quake3,x:2402,timeout", "quake3://8.8.8.8:27960"),
    ] {
        let (asked, complaints) = read_file(list.as_bytes(), of_game("dayz"));
        assert_eq!((asked, complaints.len()), (vec![expected.to_owned()], 0), "{list:?}");
    }
}

#[test]
fn one_broken_record_spoils_no_other() {
    for (list, expected, bad) in [
        ("{\"ip\":\"8.8.8.8\",\"port\":1}\n{\"ip\":\"8.8.8.8\",\"po\n{\"ip\":\"8.8.8.8\",\"port\":3}\n", 2, "2: "),
        ("{\"ip\":\"8.8.8.8\",\"port\":1}\n{\"ip\":\"8.8.8.8\",\n{\"ip\":\"8.8.8.8\",\"port\":3}\n", 2, "2: "),
        ("{\"ip\":\"8.8.8.8\",\"port\":1}\n{\"ip\":\"8.8.8.8\"\n{\"ip\":\"8.8.8.8\",\"port\":3}\n", 2, "2: "),
        ("{\"ip\":\"8.8.8.8\",\"port\":1}\nnonsense\n{\"ip\":\"8.8.8.8\",\"port\":3}\n", 2, "2: this is no JSON"),
        ("{\"ip\":\"8.8.8.8\",\"port\":1}\n{\"ip\":}\n{\"ip\":\"8.8.8.8\",\"port\":3}\n", 2, "2: a value is missing"),
        ("{\"ip\":\"8.8.8.8\",\"port\":1}\n{\"ip\" 5}\n{\"ip\":\"8.8.8.8\",\"port\":3}\n", 2, "2: a colon is missing"),
        (
            "[\n{\n\"ip\":\"8.8.8.8\",\n:\n\"port\":1\n},\n{\n\"ip\":\"8.8.8.8\",\n\"port\":3\n}\n]",
            1,
            "2: a key is missing",
        ),
        ("ip,port\n8.8.8.8,1\n8.8.8.8,1,\n8.8.8.8,3", 2, "3: the header has"),
        ("8.8.8.8,1\nx y\n8.8.8.8,3", 2, "2: "),
    ] {
        let (asked, complaints) = read_file(list.as_bytes(), InputOptions::default());
        assert_eq!((asked.len(), complaints.len()), (expected, 1), "{list:?}: {asked:?} {complaints:?}");
        assert!(complaints[0].starts_with(bad), "{list:?}: {complaints:?}");
    }
    // Bytes that are not text count only where they matter.
    let (asked, complaints) =
        read_file(b"ip,port,name\n8.8.8.8,1,Z\xFCrich\n8.8.8.\xFF,2,x\n", InputOptions::default());
    assert_eq!(asked, ["8.8.8.8:1"]);
    assert_eq!(complaints, ["3: what the column ip says is not UTF-8 text"]);
    let (asked, complaints) = read_file(b"8.8.8.8:1\n8.8.8.8:\xFF\n", InputOptions::default());
    assert_eq!(
        (asked, complaints),
        (vec!["8.8.8.8:1".into()], vec!["2: the line is not UTF-8 text from byte 9 on".into()])
    );
}

/// Whether `list` leaves `port` of 8.8.8.8 out, of ports 1 to 3, and another address.
fn left(list: &str, options: InputOptions) -> Result<Vec<String>, String> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("list");
    std::fs::write(&path, list).unwrap();
    let targets = vec!["8.8.8.8:1-3".into(), "9.9.9.9:2".into()];
    let options = InputOptions { exclude_files: vec![path], targets, order: Order::Input, ..options };
    let input = Input::read(options, &Limits::default(), Vec::new()).map_err(|error| error.to_string())?;
    let mut opened = input.open(None, 1, None, |_| ()).unwrap();
    let mut left = Vec::new();
    while let Poll::Ready(Some(target)) = opened.source.poll_target() {
        left.push(target.address.to_string());
    }
    Ok(left)
}

#[test]
fn an_exclusion_that_names_a_port_excludes_that_port_only() {
    for list in [
        "8.8.8.8:2",
        "8.8.8.8,2",
        "8.8.8.8\t2",
        "ip,port\n8.8.8.8,2",
        "saddr;sport;success;repeat\n8.8.8.8;2;0;1",
        "address,status\n8.8.8.8:2,timeout",
        "{\"ip\":\"8.8.8.8\",\"port\":2,\"protocol\":\"tcp\"}",
        "{\"ip\":\"8.8.8.8\",\"ports\":[{\"port\":2,\"status\":\"closed\"}]}",
        "open tcp 2 8.8.8.8 1",
        "Host: 8.8.8.8 ()\tPorts: 2/closed/tcp//x///",
        "ip,port,protocol\n8.8.8.8,2,nonsense",
        "<x><host><address addr=\"8.8.8.8\" addrtype=\"ipv4\"/><port protocol=\"tcp\" portid=\"2\"/></host></x>",
        "quake3://8.8.8.8:2",
        "connect 8.8.8.8:2",
    ] {
        let left = left(list, InputOptions::default()).unwrap();
        assert_eq!(left, ["8.8.8.8:1", "8.8.8.8:3", "9.9.9.9:2"], "{list:?}");
    }
    for (list, options) in [
        ("8.8.8.8", InputOptions::default()),
        ("ip,port\n8.8.8.8,", InputOptions::default()),
        ("8.8.8.8, 8.8.4.4", InputOptions::default()),
        ("dayz://8.8.8.8:2", InputOptions::default()),
        ("ip,gameport\n8.8.8.8,2", InputOptions::default()),
        ("ip,port,game,owner\n8.8.8.8,2,dayz,x", InputOptions::default()),
        ("8.8.8.8:2", of_game("dayz")),
    ] {
        assert_eq!(left(list, options).unwrap(), ["9.9.9.9:2"], "{list:?}");
    }
    for (list, reason) in [
        ("ip,server_port\n8.8.8.8,2", ":2: this row names a port in a column"),
        ("port\n2", ":1: none of these columns has addresses"),
        ("{\"ip\":\"8.8.8.8\",\"port\":2", ":1: the list ends within an object"),
        ("example.com", ":1: \"example.com\" is a name"),
        ("8.8.8.8,2,\n8.8.8.8 x", ":2: this line is neither"),
    ] {
        let refusal = left(list, InputOptions::default()).expect_err(list);
        assert!(refusal.contains(reason), "{list:?}: {refusal}");
    }
}

#[test]
fn what_looks_for_a_port_looks_at_no_excluded_one() {
    let refusal = |target: &str, exclude: &str| {
        let targets = vec![target.to_owned(), "9.9.9.9".into()];
        let options = InputOptions { targets, exclude: vec![exclude.into()], ..InputOptions::default() };
        Input::read(options, &Limits::default(), Vec::new()).err().map(|error| error.to_string())
    };
    for target in ["dayz://8.8.8.8:2302", "dayz://8.8.8.0/24:2302", "auto://8.8.8.8", "dayz://example.com:5"] {
        let said = refusal(target, "8.8.8.8:27016").expect(target);
        assert!(said.contains("some ports of this host are excluded"), "{said}");
        assert_eq!(refusal(target, "8.8.8.8"), None, "{target}");
    }
    for target in ["dayz://8.8.8.9:2302", "a2s://8.8.8.8:2302", "auto://8.8.8.8:2302", "dayz://8.8.8.8"] {
        assert_eq!(refusal(target, "8.8.8.8:27016"), None, "{target}");
    }
}

/// Records of servers that were asked, in any selection of columns.
fn records() -> Vec<ServerRecord> {
    let row = |address: &str, protocol: &'static str, name: &str| {
        let mut record = ServerRecord::new();
        record.address = address.parse::<SocketAddr>().unwrap();
        record.protocol = protocol;
        record.status = Status::Timeout;
        record.name.set(name.as_bytes());
        record.game.set(name.as_bytes());
        record.map.set(b"8.8.4.4:1");
        record.keywords.set(b"port,ip");
        record.game_port = Some(4);
        record.spectator_port = Some(5);
        record.source = Some("8.8.4.4".into());
        record
    };
    vec![
        row("8.8.8.8:1", "a2s", "Zürich, \"24/7\"; #1"),
        row("[2001:4860::1]:2", "quake3", "two\r\nlines"),
        row("8.8.8.8:3", "minecraft", "# {\"ip\":\"9.9.9.9\"}"),
        row("8.8.8.8:4", "", "Sandbox"),
    ]
}

/// The same as they are written.
fn written(format: Format, columns: Vec<&'static Column>) -> Vec<u8> {
    let selection = Selection { columns, lists: Vec::new(), always: false };
    let mut rows = format.writer(Some(&selection), Look { width: 80, colour: false });
    let mut bytes = Vec::new();
    for record in records() {
        rows.row(&record);
    }
    rows.take(&mut bytes);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn rows_of_ours_with_any_columns_are_read_back(
        columns in proptest::sample::subsequence((0..COLUMNS.len()).collect::<Vec<_>>(), 0..COLUMNS.len()).prop_shuffle(),
        whole: bool,
    ) {
        let mut columns: Vec<_> = columns.into_iter().map(|place| &COLUMNS[place]).collect();
        let has = |columns: &[&Column], name: &str| columns.iter().any(|column| column.name == name);
        for name in if whole { &["address"][..] } else { &["ip", "port"] } {
            if !has(&columns, name) {
                columns.insert(columns.len() / 2, crate::record::column(name).unwrap());
            }
        }
        let expected: Vec<_> = records().iter().map(|record| {
            let named = has(&columns, "protocol") && !["", "a2s"].contains(&record.protocol);
            let scheme = if named { format!("{}://", record.protocol) } else { String::new() };
            format!("{scheme}{}", record.address)
        }).collect();
        let names: Vec<_> = columns.iter().map(|column| column.name).collect();
        for format in [Format::Csv, Format::Ndjson] {
            let bytes = written(format, columns.clone());
            let (mut asked, complaints) = read_file(&bytes, InputOptions::default());
            let mut expected = expected.clone();
            asked.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(&asked, &expected, "{:?}", names);
            prop_assert!(complaints.is_empty(), "{:?}: {:?}", names, complaints);
        }
    }

    #[test]
    fn rows_of_ours_without_an_address_are_refused(
        columns in proptest::sample::subsequence((0..COLUMNS.len()).collect::<Vec<_>>(), 1..8),
    ) {
        let columns: Vec<_> = columns.into_iter().map(|place| &COLUMNS[place]).collect();
        let columns: Vec<_> = columns.into_iter().filter(|column| !["address", "ip"].contains(&column.name)).collect();
        prop_assume!(!columns.is_empty());
        let names: Vec<_> = columns.iter().map(|column| column.name).collect();
        for format in [Format::Csv, Format::Ndjson] {
            let bytes = written(format, columns.clone());
            let (asked, complaints) = read_file(&bytes, InputOptions::default());
            prop_assert!(asked.is_empty(), "{:?}: {:?}", names, asked);
            prop_assert!(complaints[0].contains("recognized columns are"), "{:?}: {:?}", names, complaints);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), start in 0..STARTS.len(), cut in 0..400_usize) {
        let mut list = STARTS[start].as_bytes().to_vec();
        list.extend(&bytes);
        for (list, _) in RIGHT.iter().skip(bytes.len() % RIGHT.len()).take(3) {
            let list = list.as_bytes();
            let cut = cut.min(list.len());
            read_all(&[&list[..cut], &bytes[..bytes.len().min(5)], &list[cut..]].concat());
        }
        read_all(&list);
    }
}

/// Beginnings that lead to every form.
const STARTS: [&str; 8] =
    ["", "ip,port\n", "ip\tport\n", "{\"ip\":", "[{\"ports\":[", "<nmaprun><host>", "\u{FEFF}", "Host: "];

/// Reads a list whole and through buffers that end everywhere, which makes no difference.
fn read_all(bytes: &[u8]) -> Vec<(u64, String)> {
    let condition = Filter::default();
    let context = Context { purpose: Purpose::Ask, exact_word: None, condition: &condition };
    let read_with = |size| {
        let mut said = Vec::new();
        let mut bytes = BufReader::with_capacity(size, bytes);
        read(&mut bytes, &context, &mut |line, entry| {
            said.push((line, format!("{entry:?}")));
            Ok(())
        })
        .expect("memory can be read");
        said
    };
    let whole = read_with(1 << 16);
    for size in [1, 3, 7] {
        assert_eq!(read_with(size), whole, "with buffers of {size}: {:?}", String::from_utf8_lossy(bytes));
    }
    whole
}

/// A stream of `start`, then `repeated` over and over, for `size` bytes; it keeps nothing.
struct Endless {
    start: &'static [u8],
    repeated: &'static [u8],
    left: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let part = if self.start.is_empty() { self.repeated } else { self.start };
        let size = part.len().min(buffer.len()).min(self.left);
        buffer[..size].copy_from_slice(&part[..size]);
        if self.start.is_empty() {
            let mut size = size;
            while size + part.len() <= buffer.len().min(self.left) {
                buffer[size..size + part.len()].copy_from_slice(part);
                size += part.len();
            }
            self.left -= size;
            return Ok(size);
        }
        self.start = &self.start[size..];
        Ok(size)
    }
}

#[test]
fn lists_without_an_end_take_no_more_memory_than_a_record() {
    const SIZE: usize = 9 << 20;
    for (start, repeated) in [
        (&b""[..], &b"x"[..]),
        (b"ip,port\n", b"8"),
        (b"ip,port\n\"", b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"),
        (b"ip,port\n", b"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"),
        (b"{\"ip\":\"", b"8"),
        (b"{\"ip\":", b"["),
        (b"{\"x\":", b"{\"x\":"),
        (b"[", b"["),
        (b"{\"servers\":[", b"{\"servers\":["),
        (b"{", b"\"ip\":\"\","),
        (b"{\"ip\":\"8.8.8.8\",\"ports\":[", b"1,"),
        (b"{\"ip\":\"8.8.8.8\",\"ports\":[", b"{\"port\":1},"),
        (b"{\"response\":{\"servers\":[", b"{\"x\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"},"),
        (b"<a>", b"x"),
        (b"<a ", b"x"),
        (b"<a>", b"<a>"),
        (b"<!DOCTYPE x [", b"<!ENTITY a \"&a;&a;\">"),
        (b"<!--", b"-"),
        (b"<a>", b"&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;"),
        (b"", b"\0"),
        (b"", b"                                                          \n"),
        (b"[", b" "),
        (b"#", b"#"),
        (b"\xFF\xFE", b"\0\xD8"),
    ] {
        let condition = Filter::default();
        let context = Context { purpose: Purpose::Ask, exact_word: None, condition: &condition };
        let mut bytes = BufReader::new(Endless { start, repeated, left: SIZE });
        let mut said = 0_usize;
        let name = || format!("{:?} {:?}", String::from_utf8_lossy(start), String::from_utf8_lossy(repeated));
        let allocated = allocation_counter::measure(|| {
            read(&mut bytes, &context, &mut |_, entry| {
                said += 1;
                assert!(entry.is_err(), "{}: {entry:?}", name());
                Ok(())
            })
            .unwrap();
        });
        assert!(said > 0 || repeated.ends_with(b" \n") || start == b"#" || repeated == b" ", "{}", name());
        assert!(allocated.bytes_max < MOST_BYTES, "{} takes {} bytes", name(), allocated.bytes_max);
    }
}

/// What the longest record may take, with what is made of it.
const MOST_BYTES: u64 = 4 << 20;

#[test]
fn a_document_may_be_longer_than_any_line() {
    let mut list = String::from("{\"response\":{\"servers\":[");
    for n in 0..40_000 {
        let _ = write!(
            list,
            "{}{{\"addr\":\"8.8.{}.{}:27015\",\"name\":\"a server of a long list\"}}",
            ["", ","][usize::from(n > 0)],
            n / 256,
            n % 256
        );
    }
    list.push_str("]}}");
    assert!(list.len() > 2 * crate::input::lines::MOST_LINE_BYTES);
    let targets = read_all(list.as_bytes());
    assert_eq!((targets.len(), &*targets[39_999].1), (40_000, "Ok(Target(\"8.8.156.63:27015\"))"));
}

#[test]
fn a_record_is_known_before_the_next_one_comes() {
    /// Gives a record, and would fail if it were asked for more before that was taken.
    struct Halting(Vec<&'static [u8]>);
    impl Read for Halting {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.pop().map_or_else(|| Err(io::Error::other("asked too early")), |mut part| part.read(buffer))
        }
    }
    for first in [
        &b"8.8.8.8:1\n"[..],
        b"{\"ip\":\"8.8.8.8\",\"port\":1}",
        b"[{\"ip\":\"8.8.8.8\",\"port\":1}",
        b"ip,port\n8.8.8.8,1\n",
    ] {
        let condition = Filter::default();
        let context = Context { purpose: Purpose::Ask, exact_word: None, condition: &condition };
        let mut said = Vec::new();
        let stopped = read(&mut BufReader::new(Halting(vec![first])), &context, &mut |_, entry| {
            said.push(format!("{entry:?}"));
            Ok(())
        });
        assert!(matches!(stopped, Err(Stop::Reader(_))));
        assert_eq!(said, ["Ok(Target(\"8.8.8.8:1\"))"], "{:?}", String::from_utf8_lossy(first));
    }
}

#[test]
fn conditions_hold_for_rows_of_every_form() {
    let options = || {
        let mut condition = Filter::default();
        condition.add("status=timeout,players<13,name~\"x\"").unwrap();
        InputOptions { condition, ..InputOptions::default() }
    };
    for list in [
        "address,players,name,status\n8.8.8.8:1,12,\"a \"\"x\"\"\",timeout\n8.8.8.8:2,13,\"\"\"x\"\"\",timeout\n",
        "{\"address\":\"8.8.8.8:1\",\"players\":12,\"name\":\"a \\\"x\\\"\",\"status\":\"timeout\"}\n\
         {\"address\":\"8.8.8.8:2\",\"players\":12,\"name\":null,\"status\":\"timeout\"}\n",
    ] {
        assert_eq!(read_file(list.as_bytes(), options()), (vec!["8.8.8.8:1".to_owned()], Vec::new()), "{list}");
    }
    // What has no columns is no row of an earlier output, and whoever names the wrong file must not ask all of it.
    for list in ["8.8.8.8:1", "open udp 1 8.8.8.8 1700000000", "Host: 8.8.8.8 ()\tPorts: 1/open/udp//x///"] {
        assert_eq!(read_file(list.as_bytes(), options()), (Vec::new(), Vec::new()), "{list}");
    }
    let xml = "<nmaprun><host><address addr=\"8.8.8.8\"/><ports><port protocol=\"udp\" portid=\"1\"/></ports></host></nmaprun>";
    assert_eq!(read_file(xml.as_bytes(), options()), (Vec::new(), Vec::new()));
}

#[test]
fn protocols_and_games_are_all_known_by_their_words() {
    for protocol in protocol::of_servers() {
        let name = protocol.spec().name;
        let found = asked(&format!("ip,port,protocol\n8.8.8.8,5,{}", name.to_uppercase()));
        assert_eq!(found, [if name == "a2s" { "8.8.8.8:5".into() } else { format!("{name}://8.8.8.8:5") }]);
    }
    for game in games::all() {
        assert_eq!(asked(&format!("ip,port,game,owner\n8.8.8.8,5,{},x", game.key)).len(), 1, "{}", game.key);
        assert_eq!(asked(&format!("{}://8.8.8.8:5", game.key)).len(), 1, "{}", game.key);
    }
}
