//! Questions over TCP, whose answers do not fit into a datagram: one for each stream (RFC 1035, section 4.2.2).

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::Type;

use crate::dns::Connect;
use crate::net::options::Local;
use crate::net::socket;

/// The streams that are open, by the resolver's number.
#[derive(Default)]
pub(super) struct Streams(HashMap<u64, Stream>);

struct Stream {
    socket: TcpStream,
    /// The question with its length before it, and how much of it was written.
    question: Vec<u8>,
    written: usize,
    /// What came so far, with its length before it.
    reply: Vec<u8>,
}

impl Streams {
    /// Connects to a server, to ask what `connect` says.
    pub(super) fn open(&mut self, local: &Local, registry: &Registry, connect: Connect) -> io::Result<()> {
        let Connect { stream: number, to, message } = connect;
        let length = u16::try_from(message.len()).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        let mut socket = TcpStream::from_std(socket::connect(local, to, Type::STREAM)?.into());
        // Its own token would tell no more: all streams are looked at.
        registry.register(&mut socket, Token(TOKEN), Interest::READABLE | Interest::WRITABLE)?;
        let question = [&length.to_be_bytes()[..], &message].concat();
        self.0.insert(number, Stream { socket, question, written: 0, reply: Vec::new() });
        Ok(())
    }

    /// Writes and reads as far as it is possible, and tells of each stream that has ended, with the reply if it is whole.
    pub(super) fn advance(&mut self, mut ended: impl FnMut(u64, Option<&[u8]>)) {
        self.0.retain(|number, stream| match stream.advance() {
            Ok(None) => true,
            Ok(Some(reply)) => {
                ended(*number, Some(reply));
                false
            }
            Err(_) => {
                ended(*number, None);
                false
            }
        });
    }

    /// Closes the streams that are not `wanted`.
    pub(super) fn retain(&mut self, wanted: impl Fn(u64) -> bool) {
        self.0.retain(|number, _| wanted(*number));
    }
}

impl Stream {
    /// The reply, once it is whole.
    fn advance(&mut self) -> io::Result<Option<&[u8]>> {
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        // Bounded by the length of the question.
        while self.written < self.question.len() {
            match self.socket.write(&self.question[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(size) => self.written += size,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        let mut buffer = [0; 4096];
        // Bounded by the length that the reply has, which is less than 64 KiB.
        while self.missing() > 0 {
            let most = self.missing().min(buffer.len());
            match self.socket.read(&mut buffer[..most]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(size) => self.reply.extend_from_slice(&buffer[..size]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(self.reply.get(LENGTH..))
    }

    /// Bytes of the reply, or of its length, that have not come.
    fn missing(&self) -> usize {
        match self.reply.first_chunk() {
            Some(length) => LENGTH + usize::from(u16::from_be_bytes(*length)) - self.reply.len(),
            None => LENGTH - self.reply.len(),
        }
    }
}

const LENGTH: usize = 2;
const TOKEN: usize = usize::MAX >> 1;
