//! Real bytes: replies that real servers sent, read from files, played back over sockets, and compared with what other
//! decoders say about them.
//!
//! The replies are not part of the repository, because they carry other people's names and addresses. The environment
//! variable `FRAGSCAN_CORPUS` names a folder that has them:
//!
//! ```text
//! fixtures/NAME.hex          one datagram a line
//! fixtures/NAME.json         what they say, as read by another decoder
//! captures/NAME-QUERY.hex    "> request" and "< reply" lines
//! captures/peers/NAME.txt    what other clients printed about these replies
//! ```
//!
//! Without the variable the tests say that they are skipped, and pass. With it, whatever is missing is a failure. What
//! a row should hold is read from these files too: from the descriptions, from what the clients printed, or from the
//! bytes, by means that are not the program's.

mod captures;
mod cases;
mod decode;
mod descriptions;
mod dissection;
mod expected;
mod facts;
mod fields;
mod files;
mod games;
mod masters;
mod messages;
mod minecraft;
mod peers;
mod program;
mod python;
mod quake;
mod replay;
mod scan;
mod servers;
mod special;
mod text;
