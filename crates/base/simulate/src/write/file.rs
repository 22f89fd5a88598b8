//! A file that may be compressed.

use crate::{Compression, Error};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes are passed to the compressor or the operating system in chunks of about this size.
const PIECE: usize = 256 * 1024;
/// The fastest levels: these files are made to be read once or twice.
const GZIP_LEVEL: u32 = 1;
const ZSTD_LEVEL: i32 = 1;

/// A file being written.
pub(crate) struct TraceFile {
    path: PathBuf,
    encoder: Encoder,
    /// Bytes not passed on yet.
    pub(crate) buffer: Vec<u8>,
    bytes: u64,
}

enum Encoder {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl TraceFile {
    /// Creates `folder/name`, with the compression's ending.
    pub(crate) fn create(folder: &Path, name: &str, compression: Compression) -> Result<TraceFile, Error> {
        let path = folder.join(format!("{name}{}", compression.ending()));
        let encoder = File::create(&path).and_then(|file| Encoder::new(file, compression));
        let encoder = encoder.map_err(Error::with_path(&path))?;
        Ok(TraceFile { path, encoder, buffer: Vec::new(), bytes: 0 })
    }

    /// Hands the buffer on when it is large.
    pub(crate) fn pass_on(&mut self) -> Result<(), Error> {
        if self.buffer.len() < PIECE { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.encoder.write(&self.buffer).map_err(Error::with_path(&self.path))?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the rest; gives the number of bytes before compression.
    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        self.flush()?;
        self.encoder.finish().map_err(Error::with_path(&self.path))?;
        Ok(self.bytes)
    }
}

impl Encoder {
    fn new(file: File, compression: Compression) -> io::Result<Encoder> {
        Ok(match compression {
            Compression::Plain => Encoder::Plain(file),
            Compression::Gzip => {
                Encoder::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::new(GZIP_LEVEL)))
            }
            Compression::Zstd => Encoder::Zstd(zstd::Encoder::new(file, ZSTD_LEVEL)?),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Plain(file) => file.write_all(bytes),
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
            Encoder::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Encoder::Plain(_) => Ok(()),
            Encoder::Gzip(encoder) => encoder.finish().map(drop),
            Encoder::Zstd(encoder) => encoder.finish().map(drop),
        }
    }
}
