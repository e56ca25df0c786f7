//! Names to addresses, without sockets and without a clock: a stub resolver that looks up many names at a time.
//!
//! ```text
//! names ──► Resolver::look_up        poll_answer ──► addresses, or why there are none
//!                  │                      ▲
//!                course: SRV, search domains, A, AAAA, aliases      (what to ask about one name)
//!                  │                      │
//! poll_transmit ◄─ resolver ───────── handle_datagram, handle_stream
//!                  │ 256 in flight, retries, backoff, random ids
//!                health: which servers answer
//! ```
//!
//! `net::resolver` has the sockets. Messages are read and written by the crate `domain`.

mod answer;
mod config;
mod course;
mod health;
mod hosts;
mod lookup;
mod message;
mod resolver;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use self::answer::Family;
pub(crate) use self::answer::{Answer, Wanted};
pub(crate) use self::config::Config;
pub(crate) use self::hosts::Hosts;
pub(crate) use self::lookup::{Answered, Connect, Way};
pub(crate) use self::resolver::{Resolver, SOURCE_PORTS};
