//! Compressed streams, detected by their first bytes regardless of the file name.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes read from a file at once.
const READ_BUFFER: usize = 256 << 10;

// Limit: base-2 logarithm of the window of a zstd frame | rejected
/// Largest window of a zstd frame, as a power of two: 128 MiB, the limit of zstd's own tool. It bounds the
/// memory a hostile file can ask for.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// How a stream is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    Plain,
    /// One or more gzip members.
    Gzip,
    /// One or more zstd frames, skippable ones included.
    Zstd,
}

impl Compression {
    /// Detects the compression by the first bytes.
    pub(crate) fn detect(first: &[u8]) -> Compression {
        match first {
            [0x1F, 0x8B, ..] => Compression::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Compression::Zstd,
            [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Compression::Zstd,
            _ => Compression::Plain,
        }
    }

    /// Its name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Compression::Plain => "uncompressed",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

/// A decompressed stream.
pub(crate) struct Decompressed<'a> {
    pub(crate) compression: Compression,
    pub(crate) reader: Box<dyn Read + 'a>,
}

/// Decompresses a stream.
///
/// # Errors
/// The decoder cannot be set up.
pub(crate) fn decompress<'a>(raw: impl Read + 'a) -> io::Result<Decompressed<'a>> {
    let raw = Peeked::new(raw, 4);
    let compression = Compression::detect(raw.first());
    let raw = BufReader::with_capacity(READ_BUFFER, raw);
    let reader: Box<dyn Read + 'a> = match compression {
        Compression::Plain => Box::new(raw),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
        Compression::Zstd => Box::new(zstd_decoder(raw)?),
    };
    Ok(Decompressed { compression, reader })
}

fn zstd_decoder<'a>(raw: impl BufRead + 'a) -> io::Result<impl Read + 'a> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
}

/// A stream of which the first bytes are known already. An error met while looking at them comes back
/// when they have been read.
pub(crate) struct Peeked<R> {
    first: Vec<u8>,
    delivered: usize,
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> Peeked<R> {
    /// Reads the first `length` bytes, or fewer when the stream is shorter.
    pub(crate) fn new(mut rest: R, length: usize) -> Peeked<R> {
        let mut first = vec![0; length];
        let mut filled = 0;
        let error = fill(&mut rest, &mut first, &mut filled).err();
        first.truncate(filled);
        Peeked { first, delivered: 0, error, rest }
    }

    /// The first bytes.
    pub(crate) fn first(&self) -> &[u8] {
        &self.first
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut undelivered = &self.first[self.delivered..];
        if !undelivered.is_empty() {
            let read = undelivered.read(buffer)?;
            self.delivered += read;
            return Ok(read);
        }
        self.error.take().map_or_else(|| self.rest.read(buffer), Err)
    }
}

/// Fills a buffer up to the end of the stream.
///
/// # Errors
/// The stream's; `filled` is then the number of bytes before it.
pub(crate) fn fill(reader: &mut dyn Read, buffer: &mut [u8], filled: &mut usize) -> io::Result<()> {
    while *filled < buffer.len() {
        match reader.read(&mut buffer[*filled..]) {
            Ok(0) => return Ok(()),
            Ok(read) => *filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
