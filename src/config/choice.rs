//! Converts the words of options to the types of the rest of the program.

use crate::cli::choice;
use crate::cli::protocol::Protocols;
use crate::farm::{FarmSettings, Speaks};
use crate::net::options::IoPath;
use crate::output::{Format, Leftover, ReaderFormat};
use crate::protocol::Style;
use crate::record::{Query, QuerySet};
use crate::target::Order;

/// The queries that the words of `--queries` name together.
pub(super) fn queries(words: &[choice::Query]) -> QuerySet {
    words.iter().fold(QuerySet::NONE, |set, word| set.union(QuerySet::from(*word)))
}

impl From<choice::Query> for QuerySet {
    fn from(word: choice::Query) -> Self {
        match word {
            choice::Query::Info => Self::of(Query::Info),
            choice::Query::Players => Self::of(Query::Players),
            choice::Query::Rules => Self::of(Query::Rules),
            choice::Query::Ping => Self::of(Query::Ping),
            choice::Query::All => Self::ALL,
        }
    }
}

impl From<choice::Order> for Order {
    fn from(word: choice::Order) -> Self {
        match word {
            choice::Order::Shuffled => Self::Shuffled,
            choice::Order::Input => Self::Input,
        }
    }
}

impl From<choice::Io> for IoPath {
    fn from(word: choice::Io) -> Self {
        match word {
            choice::Io::Auto | choice::Io::Mmsg => Self::Mmsg,
            choice::Io::Portable => Self::Portable,
        }
    }
}

impl From<choice::IfPartial> for Leftover {
    fn from(word: choice::IfPartial) -> Self {
        match word {
            choice::IfPartial::Refuse => Self::Refuse,
            choice::IfPartial::Discard => Self::Discard,
        }
    }
}

impl From<choice::RowFormat> for Format {
    fn from(word: choice::RowFormat) -> Self {
        match word {
            choice::RowFormat::Table => Self::Table,
            choice::RowFormat::Csv => Self::Csv,
            choice::RowFormat::Ndjson => Self::Ndjson,
        }
    }
}

impl From<choice::Reader> for ReaderFormat {
    fn from(word: choice::Reader) -> Self {
        match word {
            choice::Reader::DuckDb => Self::DuckDb,
            choice::Reader::Pandas => Self::Pandas,
            choice::Reader::Frictionless => Self::Frictionless,
        }
    }
}

impl From<choice::Mix> for FarmSettings {
    fn from(word: choice::Mix) -> Self {
        match word {
            choice::Mix::Sound => Self::default(),
            choice::Mix::Full => Self::of_every_kind(),
        }
    }
}

impl From<Protocols> for Speaks {
    fn from(word: Protocols) -> Self {
        match word {
            Protocols::Any => Self::Any,
            Protocols::One => Self::OneEach,
            Protocols::Only(protocol) => Self::Only(protocol),
        }
    }
}

impl From<choice::MasterStyle> for Style {
    fn from(word: choice::MasterStyle) -> Self {
        match word {
            choice::MasterStyle::Paged => Self::Paged,
            choice::MasterStyle::AtOnce => Self::AtOnce,
            choice::MasterStyle::Loop => Self::Loop,
        }
    }
}
