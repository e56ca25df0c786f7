//! Texts from servers: their bytes in a description, and how NDJSON shows them.

use serde_json::{Map, Value};

/// Writes the text `original` under `key`, and its bytes after it if they are not what is shown; says which flags that
/// gives.
pub(crate) fn put(object: &mut Map<String, Value>, key: &str, original: &[u8]) -> Vec<&'static str> {
    let lossy = String::from_utf8_lossy(original);
    let shown: String = lossy.chars().map(picture).collect();
    let differs = shown.as_bytes() != original;
    object.insert(format!("{key}_hex"), if differs { hex(original).into() } else { Value::Null });
    let flags = [(shown != lossy, "control_chars"), (lossy.as_bytes() != original, "utf8_lossy")];
    object.insert(key.to_owned(), shown.into());
    flags.into_iter().filter_map(|(is, flag)| is.then_some(flag)).collect()
}

/// The bytes of the text that stands under `key`.
pub(crate) fn original(object: &Value, key: &str) -> Vec<u8> {
    let shown = || object[key].as_str().unwrap_or_else(|| panic!("no {key} in {object}")).as_bytes().to_vec();
    object[format!("{key}_hex")].as_str().map_or_else(shown, bytes)
}

/// The bytes of a text of a description, which is written as `{"hex": …}` if it is not clean.
pub(crate) fn described(value: &Value) -> Vec<u8> {
    match (value.as_str(), value["hex"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (_, Some(hex)) => bytes(hex),
        _ => panic!("not a text: {value}"),
    }
}

/// The bytes that `hex` stands for.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_else(|| panic!("not hex: {hex}")) as u8;
    let pairs = hex.trim().as_bytes().chunks(2);
    pairs
        .map(|pair| if let [high, low] = *pair { digit(high) << 4 | digit(low) } else { panic!("odd: {hex}") })
        .collect()
}

/// The hex of `bytes`, in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    digits.map(|digit| char::from_digit(digit.into(), 16).expect("four bits are a digit")).collect()
}

/// A control character of ASCII as its picture, any other and whatever ends a line as U+FFFD, the rest as itself.
fn picture(c: char) -> char {
    match c {
        '\0'..='\x1F' => char::from_u32(0x2400 + u32::from(c)).expect("there is a picture for each"),
        '\x7F' => '\u{2421}',
        '\u{80}'..='\u{9F}' | '\u{2028}' | '\u{2029}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}
