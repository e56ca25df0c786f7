//! The options whose words come from the registry of protocols: every protocol in it is offered.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::protocol::{AnyProtocol, by_name, of_lists, of_servers};

/// `--protocol`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Protocol {
    /// Whichever protocol the server answers.
    Auto,
    /// This protocol, which may be that of list servers.
    Named(AnyProtocol),
}

/// Parses `--protocol` for commands that ask servers and may try several protocols.
pub(super) fn to_ask() -> impl TypedValueParser<Value = Protocol> {
    words([auto()].into_iter().chain(of_servers().map(named)), of_lists().map(named))
}

/// Parses `--protocol` for commands that ask servers in one protocol.
pub(super) fn to_measure() -> impl TypedValueParser<Value = Protocol> {
    words(of_servers().map(named), [auto()].into_iter().chain(of_lists().map(named)))
}

/// Parses `--protocol` for commands that read what servers and list servers sent.
pub(super) fn to_decode() -> impl TypedValueParser<Value = Protocol> {
    words(of_servers().chain(of_lists()).map(named), [])
}

/// Offers the `shown` words, and also accepts the `hidden` ones: [`config`](crate::config) explains what to type
/// instead.
fn words(
    shown: impl IntoIterator<Item = PossibleValue>,
    hidden: impl IntoIterator<Item = PossibleValue>,
) -> impl TypedValueParser<Value = Protocol> {
    let hidden = hidden.into_iter().map(|word| word.hide(true));
    PossibleValuesParser::new(shown.into_iter().chain(hidden))
        .map(|word| by_name(&word.to_ascii_lowercase()).map_or(Protocol::Auto, Protocol::Named))
}

/// `--protocols` of `fragscan farm`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Protocols {
    /// Whichever protocol a request is in.
    Any,
    /// One protocol per server.
    One,
    /// This protocol, for all servers.
    Only(AnyProtocol),
}

impl ValueEnum for Protocols {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Protocols>> = LazyLock::new(|| {
            [Protocols::Any, Protocols::One].into_iter().chain(of_servers().map(Protocols::Only)).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Any => PossibleValue::new("any").help("Each server answers in whichever protocol it is asked"),
            Self::One => PossibleValue::new("one").help("Each server speaks one protocol"),
            Self::Only(protocol) => named(*protocol),
        })
    }
}

/// A word of `--master` of `fragscan farm`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Master {
    /// List servers of this protocol.
    Only(AnyProtocol),
    /// List servers of every kind.
    All,
}

impl ValueEnum for Master {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Master>> =
            LazyLock::new(|| of_lists().map(Master::Only).chain([Master::All]).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Only(list) => {
                let spec = list.spec();
                PossibleValue::new(spec.name.trim_end_matches("-master")).help(spec.summary)
            }
            Self::All => PossibleValue::new("all").help("All of these"),
        })
    }
}

fn auto() -> PossibleValue {
    PossibleValue::new("auto").help("Try all protocols in turn until the server answers one")
}

fn named(protocol: AnyProtocol) -> PossibleValue {
    let spec = protocol.spec();
    PossibleValue::new(spec.name).aliases(spec.aliases.iter().copied()).help(spec.summary)
}
