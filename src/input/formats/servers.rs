//! Which words may be servers, where others may be titles, maps or anything.

use crate::target::{Hosts, TargetSpec};

/// Whether a word among others is a target: a word without a dot and a colon may be anything, and so may a name without a
/// dot before a colon.
pub(super) fn is_target(text: &str) -> bool {
    TargetSpec::parse_exclusion(text).is_ok_and(|spec| match spec.hosts {
        Hosts::Name(name) => name.contains('.') && !name.contains('_'),
        _ => true,
    })
}

/// Whether this is the name of a host.
pub(super) fn is_name(text: &str) -> bool {
    TargetSpec::parse_exclusion(text).is_ok_and(|spec| matches!(spec.hosts, Hosts::Name(_)))
}

/// Whether this is an address with a port.
pub(super) fn is_server(text: &str) -> bool {
    TargetSpec::parse_exclusion(text).is_ok_and(|spec| spec.ports.is_some() && !matches!(spec.hosts, Hosts::Name(_)))
}
