//! Ports that follow from a target's own: many games answer queries elsewhere than they let players in.

use std::str::FromStr;

/// How to come from the port that a target names to one that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortRule {
    /// The target's own port.
    Own,
    /// The target's own port if it is one of `first` to `last`, else none.
    Within {
        /// The lowest port.
        first: u16,
        /// The highest port.
        last: u16,
    },
    /// The same port for every target.
    Fixed(u16),
    /// So many ports further up, or down.
    Offset(i32),
    /// `first` for the port `base`, and one further up for each `every` ports above it; none for ports below `base`.
    Steps {
        /// The port that belongs to `base`.
        first: u16,
        /// The lowest port for which there is one.
        base: u16,
        /// How far apart two servers' own ports are; not 0.
        every: u16,
    },
}

impl PortRule {
    /// The port for a target that names `own`; `None` if it is not in 1 to 65535.
    #[must_use]
    pub fn apply(self, own: u16) -> Option<u16> {
        let port = match self {
            Self::Own => i64::from(own),
            Self::Within { first, last } => (first..=last).contains(&own).then(|| i64::from(own))?,
            Self::Fixed(port) => i64::from(port),
            Self::Offset(offset) => i64::from(own) + i64::from(offset),
            Self::Steps { first, base, every } => {
                let above = own.checked_sub(base)?;
                i64::from(first) + i64::from(above.checked_div(every)?)
            }
        };
        u16::try_from(port).ok().filter(|port| *port != 0)
    }
}

/// Reads `+1`, `-1`, or `27016+(port-2302)/100`.
impl FromStr for PortRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("{text:?} is no rule for ports: write +1, -1 or 27016+(port-2302)/100");
        if text.starts_with(['+', '-']) {
            return text.parse().map(Self::Offset).map_err(|_| unknown());
        }
        let steps = || {
            let (first, rest) = text.split_once("+(port-")?;
            let (base, every) = rest.split_once(")/")?;
            let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
            Some(Self::Steps { first: number(first)?, base: number(base)?, every: number(every)? })
        };
        steps().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(rule: &str, own: u16) -> Option<u16> {
        rule.parse::<PortRule>().unwrap().apply(own)
    }

    #[test]
    fn ports_follow_from_the_targets_own() {
        assert_eq!(PortRule::Own.apply(2302), Some(2302));
        let within = PortRule::Within { first: 27_960, last: 27_969 };
        assert_eq!(
            [27_959, 27_960, 27_969, 27_970].map(|own| within.apply(own)),
            [None, Some(27_960), Some(27_969), None]
        );
        assert_eq!(PortRule::Fixed(17_777).apply(2001), Some(17_777));
        assert_eq!(apply("+1", 2302), Some(2303));
        assert_eq!(apply("+123", 23_073), Some(23_196));
        assert_eq!(apply("-1", 4255), Some(4254));
        assert_eq!(apply("+0", 26_900), Some(26_900));
    }

    #[test]
    fn steps_go_up_by_one_for_each_whole_distance() {
        // 2302 and its neighbours belong to the first server, 2402 to the second, 3302 to the eleventh.
        let cases = [(2302, 27_016), (2303, 27_016), (2401, 27_016), (2402, 27_017), (2502, 27_018), (3302, 27_026)];
        for (own, port) in cases {
            assert_eq!(apply("27016+(port-2302)/100", own), Some(port), "{own}");
        }
        assert_eq!(apply("27016+(port-2302)/100", 2301), None, "it is below the first");
        assert_eq!(apply("65000+(port-1)/1", 536), Some(65_535));
        assert_eq!(apply("65000+(port-1)/1", 537), None, "it would be 65536");
    }

    #[test]
    fn what_is_no_port_is_not_asked() {
        // 57557 + 51800 = 109357
        assert_eq!(apply("+51800", 57_557), None);
        assert_eq!(apply("+51800", 13_735), Some(65_535));
        assert_eq!(apply("+51800", 13_736), None);
        assert_eq!(apply("-1277", 1278), Some(1));
        assert_eq!(apply("-1277", 1277), None, "port 0");
        assert_eq!(apply("-1277", 1), None);
        assert_eq!(PortRule::Fixed(0).apply(5), None);
        assert_eq!(PortRule::Offset(i32::MAX).apply(65_535), None);
        assert_eq!(PortRule::Offset(i32::MIN).apply(1), None);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["", "1", "+", "-", "+x", "+99999999999", "fixed", "27016+(port-2302)/0", "0+(port-1)/1", "(port)"]
        {
            assert!(text.parse::<PortRule>().is_err(), "{text}");
        }
    }
}
