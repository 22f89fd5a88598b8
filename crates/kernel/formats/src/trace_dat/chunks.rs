//! Compressed blocks.

use std::io::Read;

/// A block has at most this many bytes when unpacked: trace-cmd's chunks have ten pages.
pub(super) const CHUNK_BYTES_MAX: usize = 8 << 20;

/// Compression of a file's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compression {
    /// Nothing is compressed.
    None,
    /// Zstandard frames.
    Zstd,
    /// Zlib streams.
    Zlib,
}

impl Compression {
    /// By the name in the file's head; `None` for one not read.
    pub(super) fn named(name: &[u8]) -> Option<Compression> {
        match name {
            b"none" | b"" => Some(Compression::None),
            b"zstd" => Some(Compression::Zstd),
            b"zlib" => Some(Compression::Zlib),
            _ => None,
        }
    }

    /// Replaces `into` by the unpacked block, of `plain_bytes` bytes. `None` when it is damaged or larger than that.
    pub(super) fn unpack(self, packed: &[u8], plain_bytes: usize, into: &mut Vec<u8>) -> Option<()> {
        into.clear();
        // One byte more than announced, to notice what is larger.
        let limit = plain_bytes as u64 + 1;
        match self {
            Compression::None => return None,
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(packed).ok()?;
                decoder.take(limit).read_to_end(into).ok()?;
            }
            Compression::Zlib => {
                flate2::read::ZlibDecoder::new(packed).take(limit).read_to_end(into).ok()?;
            }
        }
        (into.len() == plain_bytes).then_some(())
    }
}
