//! Traces compressed as a whole with gzip or zstd: unpacked into a temporary file, which readers then read by position.

use crate::error::KernelTraceError;
use crate::trace::{EventBatch, EventStream, StreamState};
use laggard_model::{Loss, Losses};
use laggard_parallel::check_canceled;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempPath;

// Limit: bytes of an unpacked kernel trace | rejected
/// A trace is unpacked up to this many bytes.
const UNPACKED_BYTES_MAX: u64 = 64 << 30;

/// Windows of zstd up to 128 MiB are accepted, as `zstd` itself does unasked.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// How a whole file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compressor {
    /// gzip, also several members in a row.
    Gzip,
    /// Zstandard, also several frames in a row.
    Zstd,
}

impl Compressor {
    /// By the first bytes of a file.
    pub(crate) fn recognize(head: &[u8]) -> Option<Compressor> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Compressor::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compressor::Zstd),
            _ => None,
        }
    }

    /// The path without the extension of the compression.
    pub(crate) fn inner_path(self, path: &Path) -> PathBuf {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match (self, ending) {
            (Compressor::Gzip, Some("gz")) | (Compressor::Zstd, Some("zst" | "zstd")) => {
                path.with_extension("")
            }
            _ => path.to_owned(),
        }
    }

    /// Unpacks a file. Damage ends it early and is a loss.
    ///
    /// # Errors
    /// When the file cannot be read, the temporary one not written, or nothing sane comes out.
    pub(crate) fn unpack(self, path: &Path) -> Result<Unpacked, KernelTraceError> {
        let io_error = |source| KernelTraceError::Io { path: path.to_owned(), source };
        let packed = BufReader::with_capacity(256 << 10, File::open(path).map_err(io_error)?);
        let mut plain: Box<dyn Read> = match self {
            Compressor::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Compressor::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(io_error)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(io_error)?;
                Box::new(decoder)
            }
        };
        let mut file = tempfile::Builder::new().prefix("laggard-trace-").tempfile().map_err(io_error)?;
        let copied = copy(&mut plain, file.as_file_mut(), UNPACKED_BYTES_MAX).map_err(io_error)?;
        let mut losses = Losses::none();
        match copied {
            CopyResult::Whole => {}
            CopyResult::Lost(loss) => losses.add(loss, || path.display().to_string()),
            CopyResult::TooLarge => {
                return Err(KernelTraceError::Unsupported {
                    path: path.to_owned(),
                    reason: format!("unpacks to more than {} GiB", UNPACKED_BYTES_MAX >> 30),
                });
            }
        }
        Ok(Unpacked { file: Arc::new(file.into_temp_path()), losses })
    }
}

/// A trace in a temporary file.
pub(crate) struct Unpacked {
    /// Removed with the last clone.
    file: Arc<TempPath>,
    /// Losses of unpacking.
    pub(crate) losses: Losses,
}

impl Unpacked {
    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// A stream that holds the temporary file until it is dropped.
    pub(crate) fn keep(&self, stream: Box<dyn EventStream>) -> Box<dyn EventStream> {
        Box::new(UnpackedStream { stream, _file: Arc::clone(&self.file) })
    }
}

struct UnpackedStream {
    /// Before the file: it is closed before the file is removed.
    stream: Box<dyn EventStream>,
    _file: Arc<TempPath>,
}

impl EventStream for UnpackedStream {
    fn read(&mut self, batch: &mut EventBatch) -> StreamState {
        self.stream.read(batch)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CopyResult {
    Whole,
    Lost(Loss),
    TooLarge,
}

/// Copies up to a limit. An error of the reader is damage of its input, one of the writer is an error.
fn copy(from: &mut dyn Read, to: &mut File, limit: u64) -> io::Result<CopyResult> {
    let mut buffer = vec![0; 256 << 10];
    let mut copied = 0;
    loop {
        check_canceled();
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(CopyResult::Whole),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(CopyResult::Lost(Loss::TruncatedInput));
            }
            Err(_) => return Ok(CopyResult::Lost(Loss::CorruptCompression)),
        };
        copied += count as u64;
        if copied > limit {
            return Ok(CopyResult::TooLarge);
        }
        to.write_all(&buffer[..count])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(packed: &[u8]) -> (Vec<u8>, Losses) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(packed).unwrap();
        let unpacked = Compressor::recognize(packed).unwrap().unpack(file.path()).unwrap();
        let bytes = std::fs::read(unpacked.path()).unwrap();
        (bytes, unpacked.losses)
    }

    #[test]
    fn both_compressions_and_multiple_frames_are_decompressed() {
        let mut packed = gzipped(b"one ");
        packed.extend(gzipped(b"two"));
        assert_eq!(unpacked(&packed), (b"one two".to_vec(), Losses::none()));
        let mut packed = zstd::encode_all(&b"one "[..], 1).unwrap();
        packed.extend(zstd::encode_all(&b"two"[..], 1).unwrap());
        assert_eq!(unpacked(&packed), (b"one two".to_vec(), Losses::none()));
    }

    #[test]
    fn a_truncated_or_damaged_file_yields_its_beginning() {
        let text: Vec<u8> =
            (0..200_000_u32).flat_map(|number| number.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        for packed in [gzipped(&text), zstd::encode_all(text.as_slice(), 1).unwrap()] {
            let (text_before, losses) = unpacked(&packed[..packed.len() / 2]);
            assert!(!text_before.is_empty() && text.starts_with(&text_before));
            assert_eq!(losses.count(Loss::TruncatedInput), 1);
        }
        let mut damaged = gzipped(&text);
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xff);
        let (text_before, losses) = unpacked(&damaged);
        assert!(text_before.len() < text.len() + 300_000);
        assert!(!losses.is_empty());
    }

    #[test]
    fn too_large_files_are_rejected() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(copy(&mut io::repeat(0), &mut file, 1 << 20).unwrap(), CopyResult::TooLarge);
    }

    #[test]
    fn the_temporary_file_exists_as_long_as_its_streams() {
        struct Nothing;
        impl EventStream for Nothing {
            fn read(&mut self, _: &mut EventBatch) -> StreamState {
                StreamState::Ended
            }
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&gzipped(b"x")).unwrap();
        let unpacked = Compressor::Gzip.unpack(file.path()).unwrap();
        let path = unpacked.path().to_owned();
        let stream = unpacked.keep(Box::new(Nothing));
        drop(unpacked);
        assert!(path.exists());
        drop(stream);
        assert!(!path.exists());
    }

    #[test]
    fn the_file_ending_of_the_compression_is_removed() {
        let inner = |wrapping: Compressor, path: &str| wrapping.inner_path(Path::new(path));
        assert_eq!(inner(Compressor::Zstd, "a/trace.dat.zst"), Path::new("a/trace.dat"));
        assert_eq!(inner(Compressor::Gzip, "report.txt.gz"), Path::new("report.txt"));
        assert_eq!(inner(Compressor::Gzip, "trace.dat"), Path::new("trace.dat"));
    }
}
