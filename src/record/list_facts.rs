//! What a list says about a server that it names: pairs of a name and a value, which go to NDJSON as `list_NAME`.

use std::sync::Arc;

/// What a list said about one server, in the order in which it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFacts(pub Box<[(&'static str, ListFact)]>);

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListFact {
    /// A text as the list has it; it may hold anything.
    Text(Arc<str>),
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
}
