//! Reads an A2S datagram in hexadecimal, once into a record and once field by field. Nothing is sent.
//!
//! ```sh
//! cargo run --example decode_hex               # the answer below
//! cargo run --example decode_hex -- HEX
//! ```

use std::env;
use std::error::Error;
use std::io::{self, Write};

use fragscan::output::printable;
use fragscan::protocol::{self, Ask, Dissection};
use fragscan::record::{Query, QueryStatus, ServerRecord};

/// An answer to an info query. The name contains an escape sequence for terminals.
const ANSWER: &str = "
    ff ff ff ff 49 11
    53 75 72 66 20 1b 5b 33 31 6d 46 72 65 65 00
    73 75 72 66 5f 73 6b 69 00
    63 73 74 72 69 6b 65 00
    43 6f 75 6e 74 65 72 2d 53 74 72 69 6b 65 00
    f0 00 0c 18 02 64 6c 00 01
    31 2e 30 2e 30 2e 33 34 00";

fn main() -> Result<(), Box<dyn Error>> {
    let datagram = bytes_of(&env::args().nth(1).unwrap_or_else(|| ANSWER.into()))?;
    let a2s = protocol::by_name("a2s").expect("it is in the registry");
    let mut out = io::stdout().lock();

    // Answers come in any number, since a server may be asked for info, players and rules.
    let mut record = ServerRecord::new();
    a2s.decode(&[&datagram], &Ask::offline(), &mut record);
    if record.query(Query::Info) == QueryStatus::Ok {
        // A `Text` contains no control characters: Unicode's pictures replace them, and `original` has the bytes.
        // `printable` replaces whatever else may mislead a reader, such as direction marks.
        writeln!(out, "name     {}", printable(record.name.as_str().unwrap_or_default()))?;
        writeln!(out, "map      {}", printable(record.map.as_str().unwrap_or_default()))?;
        let [players, slots] = [record.players, record.max_players].map(Option::unwrap_or_default);
        writeln!(out, "players  {players}/{slots}")?;
        writeln!(out, "flags    {}", record.flags)?;
    } else {
        writeln!(out, "this is no answer to an info query")?;
    }

    // What could be read is there even if an error follows it.
    let mut dissection = Dissection::default();
    let result = a2s.dissect(&datagram, &[], &mut dissection);
    writeln!(out, "\n{}", dissection.title)?;
    for field in &dissection.fields {
        writeln!(out, "{:>6}  {:<12}  {:<12}  {}", field.at, field.name, field.kind, printable(&field.value))?;
    }
    if let Err(error) = result {
        writeln!(out, "{error}")?;
    }
    Ok(())
}

fn bytes_of(hex: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| match pair {
        [high, low] => Some((high.to_digit(16)? << 4 | low.to_digit(16)?) as u8),
        _ => None,
    };
    let bytes = digits.chunks(2).map(byte).collect::<Option<_>>();
    bytes.ok_or_else(|| "this is not hexadecimal: write two digits for each byte".into())
}
