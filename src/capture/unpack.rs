//! What is packed in a file: gzip and Zstandard, known by their first bytes.
//!
//! A small file can unpack to petabytes, so there is a limit, and reaching it is an error.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// What is in `input`, unpacked if it is packed, and the first bytes of that (which are still to be read).
pub(super) fn unpacked<'a>(input: impl Read + 'a) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'a>)> {
    limited(input, MOST_UNPACKED)
}

fn limited<'a>(input: impl Read + 'a, limit: u64) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'a>)> {
    let (head, input) = peeked(input)?;
    let unpacked: Box<dyn Read + 'a> = if head.starts_with(b"\x1F\x8B") {
        Box::new(MultiGzDecoder::new(input))
    } else if head.starts_with(b"\x28\xB5\x2F\xFD") {
        Box::new(zstd::Decoder::with_buffer(input)?)
    } else {
        return Ok((head, Box::new(input)));
    };
    let (head, input) = peeked(Limited { unpacked, left: limit })?;
    Ok((head, Box::new(input)))
}

/// The first bytes of `input`, and all of it.
fn peeked(mut input: impl Read) -> io::Result<(Vec<u8>, impl BufRead)> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut head)?;
    Ok((head.clone(), BufReader::with_capacity(BUFFER, Cursor::new(head).chain(input))))
}

/// A reader that refuses to give more than so many bytes.
struct Limited<R> {
    unpacked: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.unpacked.read(buffer)?;
        let left = self.left.checked_sub(size as u64);
        self.left = left.ok_or_else(|| io::Error::other("it unpacks to more than 4 GiB: unpack it to a file first"))?;
        Ok(size)
    }
}

/// Enough for every magic word and to tell text from binary.
const HEAD: u64 = 64;
const BUFFER: usize = 64 << 10;
const MOST_UNPACKED: u64 = 4 << 30;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn packed_and_plain_inputs_give_the_same_bytes() {
        let plain: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&plain).unwrap();
        let gzip = packer.finish().unwrap();
        let zstandard = zstd::encode_all(&plain[..], 1).unwrap();
        for packed in [&plain, &gzip, &zstandard] {
            let (head, mut input) = unpacked(&packed[..]).unwrap();
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes).unwrap();
            assert!(bytes == plain && head == plain[..64]);
        }
    }

    #[test]
    fn a_file_that_unpacks_to_too_much_is_refused() {
        let packed = zstd::encode_all(&[0; 1000][..], 1).unwrap();
        for (limit, fits) in [(1000, true), (999, false)] {
            let read =
                limited(&packed[..], limit).and_then(|(_, input)| io::copy(&mut input.take(5000), &mut io::sink()));
            assert_eq!(read.is_ok(), fits);
        }
    }
}
