//! Decompression, limited in bytes and by the memory permit.

use super::error::{ErrorKind, ReceiveError};
use super::in_flight::MemoryPermit;
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

/// Largest window of a zstd frame, as a power of 2: 32 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// The output buffer doubles from this size on.
const FIRST_STEP_BYTES: usize = 64 << 10;

impl Encoding {
    /// The encoding of this name in a header.
    pub(super) fn named(name: &str) -> Result<Encoding, ReceiveError> {
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
            ReceiveError::permanent(
                ErrorKind::Encoding,
                format!("unknown encoding {shown:?}; send gzip or zstd"),
            )
        })
    }
}

/// Decompresses a message to at most `bytes_max` bytes, for which `permit` grows.
pub(super) fn decompress(
    encoding: Encoding,
    compressed: &[u8],
    bytes_max: usize,
    permit: &mut MemoryPermit,
) -> Result<Vec<u8>, ReceiveError> {
    let mut out = Output { bytes: Vec::new(), compressed_bytes: compressed.len(), bytes_max, permit };
    match encoding {
        Encoding::Identity => out.fill(compressed)?,
        Encoding::Gzip => out.fill(flate2::read::MultiGzDecoder::new(compressed))?,
        Encoding::Deflate => out.fill(flate2::read::ZlibDecoder::new(compressed))?,
        Encoding::Zstd => {
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(compressed).map_err(|e| damaged(&e))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(|e| damaged(&e))?;
            out.fill(decoder)?;
        }
        Encoding::Snappy => out.fill_snappy(compressed)?,
    }
    Ok(out.bytes)
}

struct Output<'r> {
    bytes: Vec<u8>,
    compressed_bytes: usize,
    bytes_max: usize,
    permit: &'r mut MemoryPermit,
}

impl Output<'_> {
    fn fill(&mut self, mut source: impl Read) -> Result<(), ReceiveError> {
        loop {
            let filled = self.bytes.len();
            // One byte more than the limit distinguishes a message that is too large from one that just fits.
            let next = (2 * filled).max(FIRST_STEP_BYTES).min(self.bytes_max + 1);
            if filled == next {
                return Err(self.too_large());
            }
            // Both exist while what is there is copied.
            self.reserve(filled + next)?;
            self.bytes.reserve_exact(next - filled);
            self.permit.shrink_to(self.compressed_bytes + next);
            let room = next - filled;
            let read = source.by_ref().take(room as u64).read_to_end(&mut self.bytes);
            if read.map_err(|error| damaged(&error))? < room {
                return Ok(());
            }
        }
    }

    /// Snappy's blocks begin with their length.
    fn fill_snappy(&mut self, compressed: &[u8]) -> Result<(), ReceiveError> {
        let length = snap::raw::decompress_len(compressed).map_err(|e| damaged(&io::Error::other(e)))?;
        if length > self.bytes_max {
            return Err(self.too_large());
        }
        self.reserve(length)?;
        self.bytes = vec![0; length];
        let written = snap::raw::Decoder::new().decompress(compressed, &mut self.bytes);
        let written = written.map_err(|e| damaged(&io::Error::other(e)))?;
        self.bytes.truncate(written);
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), ReceiveError> {
        self.permit.try_grow_to(self.compressed_bytes + bytes)
    }

    #[cold]
    fn too_large(&self) -> ReceiveError {
        ReceiveError::permanent(
            ErrorKind::TooLarge,
            format!("the message decompresses to more than {} bytes; send smaller batches", self.bytes_max),
        )
    }
}

#[cold]
fn damaged(error: &io::Error) -> ReceiveError {
    ReceiveError::permanent(ErrorKind::Malformed, format!("the message cannot be decompressed: {error}"))
}
