//! Names as players really give them: whatever the bytes, a row is one line and the bytes are not lost.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;

use crate::support::{Folder, Object};

/// A name as a server sends it, as it is shown, and its bytes in hex if that is not the same.
///
/// There is none with NUL: on the wire it ends the name.
const NAMES: &[(&[u8], &str, Option<&str>)] = &[
    (b"plain", "plain", None),
    (b"a, b; c", "a, b; c", None),
    (b"24/7 \"PRO\" 'x' \\n", "24/7 \"PRO\" 'x' \\n", None),
    (b"\"", "\"", None),
    (b" spaces ", " spaces ", None),
    (b"", "", None),
    (b"=1+1", "=1+1", None),
    ("\u{6771}\u{4EAC} \u{2620} D\u{E9}votion".as_bytes(), "\u{6771}\u{4EAC} \u{2620} D\u{E9}votion", None),
    ("next\u{2028}line\u{85}".as_bytes(), "next\u{FFFD}line\u{FFFD}", Some("6e657874e280a86c696e65c285")),
    (b"two\r\nlines", "two\u{240D}\u{240A}lines", Some("74776f0d0a6c696e6573")),
    (b"\n", "\u{240A}", Some("0a")),
    (b"\x01\x1B[31mred\x7F", "\u{2401}\u{241B}[31mred\u{2421}", Some("011b5b33316d7265647f")),
    (b"\xFF", "\u{FFFD}", Some("ff")),
    (b"Caf\xE9, \"\xFF\"\n", "Caf\u{FFFD}, \"\u{FFFD}\"\u{240A}", Some("436166e92c2022ff220a")),
];

#[test]
fn every_name_is_one_line_and_comes_back() {
    let folder = Folder::new();
    let servers: Vec<_> = NAMES.iter().map(|(name, ..)| serve(name).expect("loopback has free ports")).collect();
    let mut arguments = vec!["scan", "-o", "servers.csv", "-o", "servers.ndjson", "--order", "input", "--window", "1"];
    arguments.extend(servers.iter().map(String::as_str));
    folder.run_well(&arguments);

    let csv = folder.read("servers.csv");
    let lines = csv.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, NAMES.len() + 1, "one physical line a row, and the header");
    assert!(!csv.contains(&b'\r'));
    let table = folder.table("servers.csv");
    let objects = Object::read_lines(&folder.read("servers.ndjson"));
    assert_eq!(objects.len(), NAMES.len());
    assert_eq!(table.column("address"), servers);
    assert!(table.column("status").iter().all(|status| *status == "ok"));

    let (names, flags) = (table.column("name"), table.column("flags"));
    for (i, ((sent, shown, hex), object)) in NAMES.iter().zip(&objects).enumerate() {
        assert_eq!(names[i], *shown, "CSV");
        assert_eq!(object.value("name"), *shown, "NDJSON");
        let key = object.0.iter().find(|(key, _)| key == "name_hex");
        assert_eq!(key.and_then(|(_, bytes)| bytes.as_str()), *hex, "{shown:?}");
        let flagged = |flag| flags[i].split(' ').any(|word| word == flag);
        let text = String::from_utf8_lossy(sent);
        let controls = text.contains(|c: char| c.is_control() || c == '\u{2028}');
        assert_eq!(flagged("control_chars"), controls, "{shown:?}: {}", flags[i]);
        assert_eq!(flagged("utf8_lossy"), std::str::from_utf8(sent).is_err(), "{shown:?}: {}", flags[i]);
    }
}

/// Starts a server of this name on loopback, which answers as long as the test runs, and says where it is.
fn serve(name: &'static [u8]) -> io::Result<String> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = socket.local_addr()?.to_string();
    thread::spawn(move || {
        let mut request = [0; 64];
        while let Ok((size, client)) = socket.recv_from(&mut request) {
            if request.starts_with(REQUEST) && size == REQUEST.len() {
                // A reply that is lost is asked for again.
                let _ = socket.send_to(&reply(name), client);
            }
        }
    });
    Ok(address)
}

fn reply(name: &[u8]) -> Vec<u8> {
    [
        b"\xFF\xFF\xFF\xFFI\x11",
        name,
        b"\0de_dust2\0cstrike\0Counter-Strike\0",
        &10_u16.to_le_bytes(), // application id
        &[3, 32, 1],           // players, slots, bots
        b"dl\0\x01",           // dedicated, Linux, no password, VAC
        b"1.1.2.7\0",
    ]
    .concat()
}

const REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
