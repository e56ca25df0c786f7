//! Where records go: the trait for what takes them, and the usual sink, which writes them to a destination in some
//! format.

use std::io::ErrorKind;

use super::{Destination, OutputError, RowFormat};
use crate::record::ServerRecord;

/// Takes the records of a run, on the writer's thread.
pub trait Sink: Send {
    /// Takes a record. After a failure it is given no more, and the run ends.
    fn record(&mut self, record: &ServerRecord) -> Result<(), OutputError>;

    /// Writes what waits; called about once a second, and after the last record.
    fn flush(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    /// Records that have reached their destination.
    fn written(&self) -> u64;

    /// True if nobody wants further records: then the run ends, unless another sink does.
    fn is_closed(&self) -> bool {
        false
    }

    /// Completes what was written; called once, if the run reaches its end.
    fn commit(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    /// Removes everything, because no target was asked.
    fn discard(&mut self) {}

    /// Where the records are, for the metadata.
    fn destination(&self) -> Option<&Destination> {
        None
    }
}

/// A sink that is borrowed, so that the caller can look at it after the run.
impl<S: Sink + ?Sized> Sink for &mut S {
    fn record(&mut self, record: &ServerRecord) -> Result<(), OutputError> {
        (**self).record(record)
    }

    fn flush(&mut self) -> Result<(), OutputError> {
        (**self).flush()
    }

    fn written(&self) -> u64 {
        (**self).written()
    }

    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }

    fn commit(&mut self) -> Result<(), OutputError> {
        (**self).commit()
    }

    fn discard(&mut self) {
        (**self).discard();
    }

    fn destination(&self) -> Option<&Destination> {
        (**self).destination()
    }
}

/// Writes records to a destination.
pub struct FileSink {
    format: Box<dyn RowFormat>,
    destination: Destination,
    buffer: Vec<u8>,
    /// For each buffered row, the length of the buffer up to its end.
    waiting: Vec<usize>,
    written: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Whoever read it has closed it: a pipe to a program that has seen enough.
    Closed,
    Failed,
}

impl FileSink {
    /// Rows in `format` to `destination`.
    #[must_use]
    pub fn new(format: Box<dyn RowFormat>, destination: Destination) -> Self {
        Self { format, destination, buffer: Vec::new(), waiting: Vec::new(), written: 0, state: State::Open }
    }
}

impl Sink for FileSink {
    /// Writes once enough bytes wait. After a failure it takes no more.
    fn record(&mut self, record: &ServerRecord) -> Result<(), OutputError> {
        if self.state != State::Open {
            return Ok(());
        }
        self.format.row(record);
        self.waiting.push(self.format.len());
        if self.format.len() >= ENOUGH { self.flush() } else { Ok(()) }
    }

    /// A reader that has closed its end is no error.
    fn flush(&mut self) -> Result<(), OutputError> {
        if self.state != State::Open || self.format.is_empty() {
            return Ok(());
        }
        self.format.take(&mut self.buffer);
        let before = self.destination.written();
        let result = self.destination.write(&self.buffer);
        let taken = (self.destination.written() - before) as usize;
        self.written += self.waiting.partition_point(|end| *end <= taken) as u64;
        self.waiting.clear();
        if let Err(error) = result {
            let closed = error.source.kind() == ErrorKind::BrokenPipe;
            self.state = if closed { State::Closed } else { State::Failed };
            return if closed { Ok(()) } else { Err(error) };
        }
        Ok(())
    }

    fn written(&self) -> u64 {
        self.written
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Gives a complete file its name.
    fn commit(&mut self) -> Result<(), OutputError> {
        self.format.finish();
        self.flush()?;
        self.destination.commit()
    }

    fn discard(&mut self) {
        self.destination.discard();
    }

    fn destination(&self) -> Option<&Destination> {
        Some(&self.destination)
    }
}

/// Bytes that are worth a write.
const ENOUGH: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A format that has a beginning and an end, and no lines.
    #[derive(Default)]
    struct Array {
        bytes: Vec<u8>,
        rows: usize,
    }

    impl RowFormat for Array {
        fn row(&mut self, record: &ServerRecord) {
            self.bytes.push(if self.rows == 0 { b'[' } else { b',' });
            self.bytes.extend_from_slice(record.address.port().to_string().as_bytes());
            self.rows += 1;
        }

        fn finish(&mut self) {
            self.bytes.extend_from_slice(if self.rows == 0 { b"[]" } else { b"]" });
        }

        fn len(&self) -> usize {
            self.bytes.len()
        }

        fn take(&mut self, buffer: &mut Vec<u8>) {
            buffer.clear();
            std::mem::swap(buffer, &mut self.bytes);
        }
    }

    #[test]
    fn a_format_may_end_in_something_that_is_no_row_and_need_not_be_lines() {
        for (ports, flushes, expected) in [(&[][..], false, "[]"), (&[1], false, "[1]"), (&[1, 2, 3], true, "[1,2,3]")]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("ports");
            let mut sink = FileSink::new(Box::<Array>::default(), Destination::file(&path).unwrap());
            let mut record = ServerRecord::new();
            for port in ports {
                record.address.set_port(*port);
                sink.record(&record).unwrap();
                if flushes {
                    sink.flush().unwrap();
                }
            }
            sink.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
            assert_eq!(sink.written(), ports.len() as u64);
        }
    }
}
