//! Decompression with a cap, and with room for what comes out.

use super::gate::Room;
use super::refusal::{Cause, Refusal};
use std::io::{self, Read};

/// How a message is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Encoding {
    #[default]
    Identity,
    Gzip,
    /// HTTP's `deflate`, which is zlib.
    Deflate,
    Zstd,
    /// Snappy's block format, which Prometheus sends.
    Snappy,
}

/// A zstd frame may ask for a window of 2 to this power: 32 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// Memory for what comes out is taken in steps that double, from this one on.
const FIRST_STEP_BYTES: usize = 64 << 10;

impl Encoding {
    /// The encoding of this name in a header.
    pub(super) fn named(name: &str) -> Result<Encoding, Refusal> {
        let name = name.trim();
        [
            ("", Encoding::Identity),
            ("identity", Encoding::Identity),
            ("gzip", Encoding::Gzip),
            ("deflate", Encoding::Deflate),
            ("zstd", Encoding::Zstd),
            ("snappy", Encoding::Snappy),
        ]
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, encoding)| encoding)
        .ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Refusal::lasting(
                Cause::Encoding,
                format!("the encoding {shown:?} is not known; send gzip or zstd"),
            )
        })
    }
}

/// Unpacks a message; what comes out has at most `bytes_max` bytes, which are within `room`.
pub(super) fn unpack(
    encoding: Encoding,
    packed: &[u8],
    bytes_max: usize,
    room: &mut Room,
) -> Result<Vec<u8>, Refusal> {
    let mut out = Output { bytes: Vec::new(), packed_bytes: packed.len(), bytes_max, room };
    match encoding {
        Encoding::Identity => out.take(packed)?,
        Encoding::Gzip => out.take(flate2::read::MultiGzDecoder::new(packed))?,
        Encoding::Deflate => out.take(flate2::read::ZlibDecoder::new(packed))?,
        Encoding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(|e| damaged(&e))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(|e| damaged(&e))?;
            out.take(decoder)?;
        }
        Encoding::Snappy => out.take_snappy(packed)?,
    }
    Ok(out.bytes)
}

struct Output<'r> {
    bytes: Vec<u8>,
    packed_bytes: usize,
    bytes_max: usize,
    room: &'r mut Room,
}

impl Output<'_> {
    fn take(&mut self, mut source: impl Read) -> Result<(), Refusal> {
        let mut filled = 0;
        loop {
            if filled == self.bytes.len() {
                // One byte more than is taken tells a message that is too large from one that just fits.
                let next = (2 * filled).max(FIRST_STEP_BYTES).min(self.bytes_max + 1);
                if filled == next {
                    return Err(self.too_large());
                }
                self.reserve(next)?;
                self.bytes.resize(next, 0);
            }
            match source.read(&mut self.bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(damaged(&error)),
            }
        }
        if filled > self.bytes_max {
            return Err(self.too_large());
        }
        self.bytes.truncate(filled);
        Ok(())
    }

    /// Snappy's blocks tell their length first.
    fn take_snappy(&mut self, packed: &[u8]) -> Result<(), Refusal> {
        let length = snap::raw::decompress_len(packed).map_err(|e| damaged(&io::Error::other(e)))?;
        if length > self.bytes_max {
            return Err(self.too_large());
        }
        self.reserve(length)?;
        self.bytes.resize(length, 0);
        let written = snap::raw::Decoder::new().decompress(packed, &mut self.bytes);
        let written = written.map_err(|e| damaged(&io::Error::other(e)))?;
        self.bytes.truncate(written);
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.room.try_grow_to(self.packed_bytes + bytes)
    }

    #[cold]
    fn too_large(&self) -> Refusal {
        Refusal::lasting(
            Cause::TooLarge,
            format!("the message unpacks to more than {} bytes; send smaller batches", self.bytes_max),
        )
    }
}

#[cold]
fn damaged(error: &io::Error) -> Refusal {
    Refusal::lasting(Cause::Malformed, format!("the message cannot be unpacked: {error}"))
}
