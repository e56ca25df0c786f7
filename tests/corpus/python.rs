//! What Python prints of its values, as JSON: objects with named fields as objects, and dicts as lists of pairs, whose
//! order they keep.

use serde_json::{Map, Value};

/// The value that `text` is.
pub(crate) fn parse(text: &str) -> Value {
    let mut rest = text;
    let value = take_value(&mut rest);
    assert!(rest.trim().is_empty(), "{rest} is left over of {text}");
    value
}

fn take_value(rest: &mut &str) -> Value {
    *rest = rest.trim_start();
    if let Some(quote) = rest.chars().next().filter(|c| "'\"".contains(*c)) {
        return take_string(rest, quote).into();
    }
    if take(rest, "[") {
        let mut items = Vec::new();
        while !take(rest, "]") {
            items.push(take_value(rest));
            take(rest, ",");
        }
        return items.into();
    }
    if take(rest, "{") {
        let mut pairs = Vec::new();
        while !take(rest, "}") {
            let key = take_value(rest);
            assert!(take(rest, ":"), "no value at {rest}");
            pairs.push(Value::from(vec![key, take_value(rest)]));
            take(rest, ",");
        }
        return pairs.into();
    }
    let word = take_word(rest);
    if !take(rest, "(") {
        return match word {
            "None" => Value::Null,
            "True" => true.into(),
            "False" => false.into(),
            number => serde_json::from_str(number).unwrap_or_else(|error| panic!("{number}: {error}")),
        };
    }
    let mut fields = Map::new();
    while !take(rest, ")") {
        let name = take_word(rest).to_owned();
        assert!(take(rest, "="), "no value at {rest}");
        fields.insert(name, take_value(rest));
        take(rest, ",");
    }
    fields.into()
}

fn take(rest: &mut &str, token: &str) -> bool {
    let found = rest.trim_start().strip_prefix(token);
    *rest = found.unwrap_or(rest);
    found.is_some()
}

fn take_word<'a>(rest: &mut &'a str) -> &'a str {
    let text = rest.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && !"_.-+".contains(c)).unwrap_or(text.len());
    assert!(end > 0, "nobody knows what {text} is");
    *rest = &text[end..];
    &text[..end]
}

fn take_string(rest: &mut &str, quote: char) -> String {
    let mut text = String::new();
    let mut chars = rest[1..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, c)) if "\\'\"".contains(c) => text.push(c),
                other => panic!("nobody knows the escape {other:?}"),
            },
            c if c == quote => {
                *rest = &rest[1 + at + 1..];
                return text;
            }
            c => text.push(c),
        }
    }
    panic!("{rest} has no end");
}

#[test]
fn what_python_prints_is_read() {
    let printed = r#"[P(a=-1, b='it\'s', c="d'e"), {'k, 1': 2.5, 'l': None}, [], True]"#;
    let pairs = serde_json::json!([["k, 1", 2.5], ["l", null]]);
    assert_eq!(parse(printed), serde_json::json!([{"a": -1, "b": "it's", "c": "d'e"}, pairs, [], true]));
}
