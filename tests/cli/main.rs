//! The program as it is used: arguments and files in; rows, messages and exit codes out.
//!
//! Every test starts the built program on loopback addresses, in a folder of its own. No verdict depends on how fast the
//! machine is: where something has to happen first, a test waits for a sign of it, and only a hang runs into a limit.

mod adapt;
mod auto;
mod bench;
mod decode;
mod doctor;
mod exit_codes;
mod farm;
mod front_door;
mod games;
mod host_names;
mod input;
mod lists;
mod names;
mod order;
mod output;
mod steam_api;
mod stopping;
mod support;
