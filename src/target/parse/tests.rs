//! Every syntax, every message, and random text.

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> TargetSpec<'_> {
    TargetSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The hosts and ports of a text in the form in which they are displayed.
fn shown(text: &str) -> String {
    let spec = parsed(text);
    let Hosts::Range(range) = spec.hosts else { panic!("{text}: {:?}", spec.hosts) };
    format!("{range} {}", spec.ports.map_or_else(|| "-".to_owned(), |ports| ports.to_string()))
}

fn refusal(text: &str) -> String {
    TargetSpec::parse(text).expect_err("a mistake").to_string()
}

#[test]
fn addresses_may_have_ports() {
    assert_eq!(shown("192.0.2.7"), "192.0.2.7 -");
    assert_eq!(shown("192.0.2.7:27015"), "192.0.2.7 27015");
    assert_eq!(shown("192.0.2.7:28000,27015-27030"), "192.0.2.7 27015-27030,28000");
    assert_eq!(shown("2001:db8::1"), "2001:db8::1 -");
    assert_eq!(shown("[2001:db8::1]"), "2001:db8::1 -");
    assert_eq!(shown("[2001:db8::1]:27015"), "2001:db8::1 27015");
}

#[test]
fn a_link_local_address_has_a_zone() {
    let ip = "fe80::1".parse().unwrap();
    for (text, zone, ports) in [
        ("fe80::1%eth0", "eth0", None),
        ("[fe80::1%eth0]", "eth0", None),
        ("[fe80::1%3]:27015", "3", Some(Ports::one(27_015))),
        ("a2s://[fe80::1%br-lan.7]:1-2", "br-lan.7", Some(Ports::from_ranges([(1, 2)]))),
    ] {
        let spec = parsed(text);
        assert_eq!((spec.hosts, spec.ports), (Hosts::Zoned { ip, zone }, ports), "{text}");
    }
    for bad in
        ["2001:db8::1%eth0", "fe80::1%", "fe80::/64%eth0", "fe80::1%eth0-fe80::2%eth0", "[fe80::1%eth0", "x:y:z%e"]
    {
        assert!(
            refusal(bad).contains("% is allowed only between a link-local IPv6 address and its interface"),
            "{bad}: {}",
            refusal(bad)
        );
    }
}

#[test]
fn mapped_addresses_are_ipv4_addresses() {
    assert_eq!(shown("::ffff:1.2.3.4"), "1.2.3.4 -");
    assert_eq!(shown("[::ffff:1.2.3.4]:27015"), "1.2.3.4 27015");
    assert_eq!(shown("[::ffff:1.2.3.0]/120"), "1.2.3.0-1.2.3.255 -");
    assert_eq!(shown("::ffff:1.2.3.4-::ffff:1.2.3.5"), "1.2.3.4-1.2.3.5 -");
}

#[test]
fn ranges_have_a_full_address_at_each_end() {
    assert_eq!(shown("10.0.0.1-10.0.0.9"), "10.0.0.1-10.0.0.9 -");
    assert_eq!(shown("10.0.0.1-10.0.0.9:27015"), "10.0.0.1-10.0.0.9 27015");
    assert_eq!(shown("10.0.0.1-10.0.0.1"), "10.0.0.1 -");
    for text in ["[2001:db8::1]-[2001:db8::9]", "[2001:db8::1-2001:db8::9]", "2001:db8::1-2001:db8::9"] {
        assert_eq!(shown(text), "[2001:db8::1]-[2001:db8::9] -");
    }
    assert_eq!(shown("[2001:db8::1]-[2001:db8::9]:1-2"), "[2001:db8::1]-[2001:db8::9] 1-2");
    assert_eq!(shown("[::]-[::ff:ffff]"), "[::]-[::ff:ffff] -");
}

#[test]
fn a_block_is_the_one_that_contains_the_address() {
    assert_eq!(shown("10.0.0.0/24:27015-27030,28000"), "10.0.0.0-10.0.0.255 27015-27030,28000");
    assert_eq!(shown("10.0.0.77/24"), "10.0.0.0-10.0.0.255 -");
    assert_eq!(shown("0.0.0.0/0"), "0.0.0.0-255.255.255.255 -");
    assert_eq!(shown("10.0.0.1/32"), "10.0.0.1 -");
    for text in ["[2001:db8::7]/120", "[2001:db8::7/120]", "2001:db8::7/120"] {
        assert_eq!(shown(text), "[2001:db8::]-[2001:db8::ff] -");
    }
    assert_eq!(shown("[2001:db8::]/104:27015"), "[2001:db8::]-[2001:db8::ff:ffff] 27015");
}

#[test]
fn a_protocol_stands_in_front() {
    let spec = parsed("a2s://192.0.2.7:27015");
    assert_eq!((spec.scheme, spec.ports), (Some("a2s"), Some(Ports::one(27_015))));
    assert_eq!(parsed("quake3://play.example.com").hosts, Hosts::Name("play.example.com"));
    assert_eq!(parsed("a2s://[2001:db8::1]:1").scheme, Some("a2s"));
    assert_eq!(parsed("a2s://farm:3").hosts, Hosts::Farm { servers: 3, parameters: "" });
}

#[test]
fn names_are_checked_for_their_form() {
    let longest = "x".repeat(63);
    for name in
        ["localhost", "play.example.com", "example.com.", "my-server.example", "_a2s._udp.example", "1-2.example"]
    {
        assert_eq!(parsed(name).hosts, Hosts::Name(name));
    }
    assert_eq!(parsed(&longest).hosts, Hosts::Name(&longest));
    assert_eq!(parsed("10.0.0.1-dynamic.example.com").hosts, Hosts::Name("10.0.0.1-dynamic.example.com"));
    assert_eq!(parsed("play.example.com:25565").ports, Some(Ports::one(25_565)));
    assert_eq!(parsed("farm").hosts, Hosts::Name("farm"));
}

#[test]
fn a_farm_has_servers_and_parameters() {
    assert_eq!(parsed("farm:500").hosts, Hosts::Farm { servers: 500, parameters: "" });
    assert_eq!(parsed("farm:1?").hosts, Hosts::Farm { servers: 1, parameters: "" });
    assert_eq!(
        parsed("farm:16777213?loss=5&seed=1&name=").hosts,
        Hosts::Farm { servers: 16_777_213, parameters: "loss=5&seed=1&name=" }
    );
}

#[test]
fn exclusions_may_be_larger_than_targets() {
    for text in ["2001:db8::/32", "::/0", "2001:db8::-2001:dbf::"] {
        assert!(TargetSpec::parse_exclusion(text).is_ok());
        assert!(TargetSpec::parse(text).is_err());
    }
}

#[test]
fn mistakes_in_addresses_are_answered_with_what_to_write() {
    for (text, message) in [
        ("", "the host is missing: write HOST or HOST:PORT"),
        (":27015", "the host is missing: write HOST or HOST:PORT"),
        ("a2s://", "the host is missing: write HOST or HOST:PORT"),
        ("300.1.1.1", "\"300.1.1.1\" is not an IPv4 address: each part is 0 to 255"),
        ("1.2.3", "\"1.2.3\" is not an IPv4 address: write four numbers from 0 to 255 with dots between them"),
        ("1.2.3.4.5", "\"1.2.3.4.5\" is not an IPv4 address: write four numbers from 0 to 255 with dots between them"),
        ("12345", "\"12345\" is not an IPv4 address: write four numbers from 0 to 255 with dots between them"),
        (
            "0x7f000001",
            "\"0x7f000001\" is not an IPv4 address: write four numbers from 0 to 255 with dots between them",
        ),
        (
            "010.0.0.1",
            "\"010.0.0.1\" is not an IPv4 address: \
             leading zeros are read as octal by some and as decimal by others, leave them out",
        ),
        ("10.0.0.1-20", "\"20\" is not an IPv4 address: write four numbers from 0 to 255 with dots between them"),
        ("1:2:3", "\"1:2:3\" is not an IPv6 address: write it as in 2001:db8::1, and in brackets before a port"),
        (
            "[10.0.0.1]",
            "\"10.0.0.1\" is not an IPv6 address: write it as in 2001:db8::1, and in brackets before a port",
        ),
        ("[::1", "\"[::1\" is not an IPv6 address in brackets: write it as in [2001:db8::1]:27015"),
        ("[::1]27015", "\"[::1]27015\" is not an IPv6 address in brackets: write it as in [2001:db8::1]:27015"),
    ] {
        assert_eq!(refusal(text), message, "{text}");
    }
}

#[test]
fn mistakes_in_blocks_and_ranges_are_answered_with_what_to_write() {
    for (text, message) in [
        ("10.0.0.0/33", "the prefix length \"33\" of 10.0.0.0 is not in 0 to 32"),
        ("10.0.0.0/+8", "the prefix length \"+8\" of 10.0.0.0 is not in 0 to 32"),
        ("10.0.0.0/255.0.0.0", "the prefix length \"255.0.0.0\" of 10.0.0.0 is not in 0 to 32"),
        ("[2001:db8::]/129", "the prefix length \"129\" of 2001:db8:: is not in 0 to 128"),
        (
            "example.com/24",
            "\"example.com\" is not an IPv4 address: write four numbers from 0 to 255 with dots between them",
        ),
        (
            "[2001:db8::]/64",
            "the IPv6 block 2001:db8::/64 has 2^64 addresses, at most 2^24 are taken: use /104 or longer",
        ),
        ("[::]-[::100:0]", "the IPv6 range [::]-[::100:0] has 16777217 addresses, at most 2^24 are taken"),
        ("10.0.0.9-10.0.0.1", "the range 10.0.0.9-10.0.0.1 runs backwards: write 10.0.0.1-10.0.0.9"),
        ("[::1]-[::ffff:10.0.0.1]", "the range ::1-10.0.0.1 mixes IPv4 and IPv6: write two addresses of one family"),
    ] {
        assert_eq!(refusal(text), message, "{text}");
    }
}

#[test]
fn mistakes_in_words_and_ports_are_answered_with_what_to_write() {
    let long_label = format!("{}.example", "x".repeat(64));
    let long_name = vec!["x".repeat(63); 4].join(".");
    for (text, message) in [
        ("two words", "\"two words\" is not a host name: a name is made of letters, digits, hyphens and dots"),
        ("-a.example", "\"-a.example\" is not a host name: no part begins or ends with a hyphen"),
        ("__.example", "\"__.example\" is not a host name: each part has a letter or a digit"),
        ("a..example", "\"a..example\" is not a host name: between two dots there are 1 to 63 characters"),
        ("spiel.münchen", "\"spiel.münchen\" is not a host name: write an international name in its ASCII form, xn--…"),
        ("\u{1b}[2J", "\"\\u{1b}[2J\" is not a host name: a name is made of letters, digits, hyphens and dots"),
        ("-x://h", "\"-x\" is neither a protocol nor a game: write letters, digits and hyphens before ://"),
        ("192.0.2.7:", "the port is missing behind \"192.0.2.7:\": write HOST:PORT, or HOST alone"),
        ("192.0.2.7:0", "port 0 cannot be asked: ports are 1 to 65535"),
        ("192.0.2.7:70000", "port 70000 is not in 1 to 65535"),
        ("[::1]:1-70000", "port 70000 is not in 1 to 65535"),
        ("192.0.2.7:27016-27015", "the port range 27016-27015 runs backwards: write 27015-27016"),
        ("farm:0", "a farm of \"0\" servers cannot be started: write farm:N with N from 1 on"),
        ("farm:", "a farm of \"\" servers cannot be started: write farm:N with N from 1 on"),
        ("farm:5?loss", "the farm parameter \"loss\" is not key=value: write them as in farm:500?loss=5%&seed=1"),
        ("farm:5?a=1&", "the farm parameter \"\" is not key=value: write them as in farm:500?loss=5%&seed=1"),
    ] {
        assert_eq!(refusal(text), message, "{text}");
    }
    assert!(refusal(&long_label).ends_with("between two dots there are 1 to 63 characters"));
    assert!(refusal(&long_name).ends_with("a name has at most 253 characters"));
    assert!(refusal(&"?".repeat(60_000)).len() < 200, "a message quotes only the beginning");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}", noise in "[0-9a-fx.:/\\[\\]\\-,?=&é_]{0,40}") {
        for text in [&text, &noise, &format!("farm:{noise}"), &format!("[{noise}]:{text}"), &format!("a://{noise}")] {
            if let Err(error) = TargetSpec::parse(text) {
                prop_assert!(!error.to_string().is_empty());
            }
            let _ = TargetSpec::parse_exclusion(text);
        }
    }

    #[test]
    fn what_is_displayed_is_read_back(first: u128, more in 0_u128..1 << 24, port in 1_u16..) {
        let last = first.saturating_add(more);
        let (first, last) = (IpAddr::from(first.to_be_bytes()), IpAddr::from(last.to_be_bytes()));
        if let Some(range) = IpRange::new(first, last) {
            let shown = range.to_string();
            prop_assert_eq!(parsed(&shown).hosts, Hosts::Range(range));
            let bracketed = format!("[{first}]-[{last}]:{port}");
            prop_assert_eq!(parsed(&bracketed).ports, Some(Ports::one(port)));
        }
    }
}
