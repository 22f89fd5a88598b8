//! Tar archives as a stream of members: ustar, with long names in GNU's and pax's form.
//!
//! Our own because members are only ever read in order and memory must stay bounded whatever the archive
//! claims: names over [`NAME_BYTES_MAX`] are cut, and nothing else is ever held.

use crate::decompress::fill;
use std::io::{self, Read};

const BLOCK: usize = 512;

/// Bytes of an extended header that are looked at for a name.
const NAME_BYTES_MAX: u64 = 16 << 10;

/// One regular file of an archive.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) size: u64,
}

/// Whether a stream starts like a tar archive: a block whose checksum is right.
pub(crate) fn is_tar(first: &[u8]) -> bool {
    first
        .get(..BLOCK)
        .is_some_and(|block| block[0] != 0 && &block[257..262] == b"ustar" && checksum_is_right(block))
}

/// The number of first bytes that [`is_tar`] needs.
pub(crate) const PEEK: usize = BLOCK;

/// Walks over an archive.
pub(crate) struct Members<R> {
    reader: R,
    /// Bytes of the current member, and its padding, that were not read yet.
    unread: u64,
    padding: u64,
}

impl<R: Read> Members<R> {
    pub(crate) fn new(reader: R) -> Members<R> {
        Members { reader, unread: 0, padding: 0 }
    }

    /// The next regular file; everything else is passed over.
    ///
    /// # Errors
    /// Those of the stream, and a block that is no header.
    pub(crate) fn next(&mut self) -> io::Result<Option<Member>> {
        let mut long_name = None;
        loop {
            self.skip_rest()?;
            let Some(block) = self.read_block()? else { return Ok(None) };
            let size = number(&block[124..136]).ok_or_else(damaged)?;
            (self.unread, self.padding) = (size, padding_of(size));
            match block[156] {
                b'L' => long_name = Some(text(self.read_extension(size)?.as_slice())),
                b'x' => long_name = pax_path(&self.read_extension(size)?).or(long_name),
                b'0' | 0 | b'7' => {
                    let name = long_name.unwrap_or_else(|| short_name(&block));
                    return Ok(Some(Member { name, size }));
                }
                _ => {}
            }
        }
    }

    /// The current member's bytes.
    pub(crate) fn content(&mut self) -> Content<'_, R> {
        Content { members: self }
    }

    fn read_block(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        fill(&mut self.reader, &mut block, &mut filled)?;
        if filled == 0 || block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        if filled < BLOCK || !checksum_is_right(&block) {
            return Err(damaged());
        }
        Ok(Some(block))
    }

    fn read_extension(&mut self, size: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(size.min(NAME_BYTES_MAX)).read_to_end(&mut bytes)?;
        self.unread = size - read as u64;
        Ok(bytes)
    }

    fn skip_rest(&mut self) -> io::Result<()> {
        let rest = self.unread.saturating_add(self.padding);
        let skipped = io::copy(&mut self.reader.by_ref().take(rest), &mut io::sink())?;
        (self.unread, self.padding) = (0, 0);
        if skipped < rest { Err(damaged()) } else { Ok(()) }
    }
}

/// The bytes of one member.
pub(crate) struct Content<'a, R> {
    members: &'a mut Members<R>,
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.members.unread).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.members.reader.read(&mut buffer[..wanted])?;
        self.members.unread -= read as u64;
        if read == 0 { Err(damaged()) } else { Ok(read) }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the tar archive is damaged or cut off")
}

fn padding_of(size: u64) -> u64 {
    (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64
}

/// Octal digits, or GNU's big-endian binary when the first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        let is_small = high[0] == 0x80 && high[1..].iter().all(|&byte| byte == 0);
        return is_small.then(|| low.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)));
    }
    let digits = field.split(|&byte| byte == 0).next().unwrap_or_default().trim_ascii();
    digits.iter().try_fold(0_u64, |value, &byte| {
        matches!(byte, b'0'..=b'7').then(|| value << 3 | u64::from(byte - b'0'))
    })
}

/// The checksum counts its own field as spaces.
fn checksum_is_right(block: &[u8]) -> bool {
    let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
    let own: u64 = block[148..156].iter().map(|&byte| u64::from(byte)).sum();
    number(&block[148..156]) == Some(sum - own + 8 * u64::from(b' '))
}

fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

fn short_name(block: &[u8]) -> String {
    let (name, prefix) = (text(&block[..100]), text(&block[345..500]));
    let is_posix = &block[257..263] == b"ustar\0";
    if prefix.is_empty() || !is_posix { name } else { format!("{prefix}/{name}") }
}

/// The `path` record of a pax header: lines of `LENGTH path=NAME`.
fn pax_path(bytes: &[u8]) -> Option<String> {
    let lines = bytes.split(|&byte| byte == b'\n');
    let mut paths = lines.filter_map(|line| {
        let at = line.iter().position(|&byte| byte == b' ')?;
        line[at + 1..].strip_prefix(b"path=")
    });
    paths.next().map(text)
}
