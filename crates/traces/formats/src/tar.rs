//! Tar archives as a stream of members: ustar, with long names in GNU and pax format.
//!
//! Our own because members are only read in order and memory must stay bounded regardless of what the archive
//! claims: names over [`NAME_BYTES_MAX`] are cut, and nothing else is buffered.

use crate::decompress::fill;
use std::io::{self, Read};

const BLOCK: usize = 512;

/// Bytes of an extended header that are searched for a name.
const NAME_BYTES_MAX: u64 = 16 << 10;

/// One regular file of an archive.
#[derive(Debug)]
pub(crate) struct ArchiveMember {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// False for a sparse file and for a part of one that began in another volume: their bytes are not the
    /// file's.
    pub(crate) complete: bool,
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
pub(crate) struct ArchiveMembers<R> {
    reader: R,
    /// Bytes of the current member, and its padding, that were not read yet.
    unread: u64,
    padding: u64,
}

impl<R: Read> ArchiveMembers<R> {
    pub(crate) fn new(reader: R) -> ArchiveMembers<R> {
        ArchiveMembers { reader, unread: 0, padding: 0 }
    }

    /// The next file; links, folders and devices are passed over.
    ///
    /// # Errors
    /// Those of the stream, and a block that is no header.
    pub(crate) fn next(&mut self) -> io::Result<Option<ArchiveMember>> {
        let mut long_name = None;
        loop {
            self.skip_rest()?;
            let Some(block) = self.read_block()? else { return Ok(None) };
            let size = number(&block[124..136]).ok_or_else(damaged)?;
            (self.unread, self.padding) = (size, padding_of(size));
            match block[156] {
                b'L' => long_name = Some(text(self.read_extension(size)?.as_slice())),
                b'x' => long_name = pax_path(&self.read_extension(size)?).or(long_name),
                kind @ (b'0' | 0 | b'7' | b'S' | b'M') => {
                    let name = long_name.unwrap_or_else(|| short_name(&block));
                    return Ok(Some(ArchiveMember { name, size, complete: !matches!(kind, b'S' | b'M') }));
                }
                _ => {}
            }
        }
    }

    /// The current member's bytes.
    pub(crate) fn content(&mut self) -> MemberContent<'_, R> {
        MemberContent { members: self }
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
pub(crate) struct MemberContent<'a, R> {
    members: &'a mut ArchiveMembers<R>,
}

impl<R: Read> Read for MemberContent<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = usize::try_from(self.members.unread).unwrap_or(usize::MAX).min(buffer.len());
        if length == 0 {
            return Ok(0);
        }
        let read = self.members.reader.read(&mut buffer[..length])?;
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
    if let [first @ 0x80..=0xFF, rest @ ..] = field {
        let value = u64::from(first & 0x7F);
        return rest
            .iter()
            .try_fold(value, |value, &byte| value.checked_mul(256)?.checked_add(u64::from(byte)));
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
        let position = line.iter().position(|&byte| byte == b' ')?;
        line[position + 1..].strip_prefix(b"path=")
    });
    paths.next().map(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::SeededRng;

    fn header(name: &str, kind: u8, size: &[u8]) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..124 + size.len()].copy_from_slice(size);
        block[156] = kind;
        block[257..263].copy_from_slice(b"ustar\0");
        seal(&mut block);
        block
    }

    fn seal(block: &mut [u8]) {
        block[148..156].fill(b' ');
        let sum: u32 = block[..BLOCK].iter().map(|&byte| u32::from(byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }

    fn names(bytes: &[u8]) -> (Vec<String>, io::Result<()>) {
        let mut members = ArchiveMembers::new(bytes);
        let mut names = Vec::new();
        loop {
            match members.next() {
                Ok(Some(member)) => names.push(member.name),
                Ok(None) => return (names, Ok(())),
                Err(error) => return (names, Err(error)),
            }
        }
    }

    #[test]
    fn sparse_members_are_recognized() {
        let archive = [header("a", b'S', b"0"), header("b", b'0', b"0")].concat();
        let mut members = ArchiveMembers::new(&archive[..]);
        let first = members.next().unwrap().unwrap();
        assert_eq!((first.name.as_str(), first.complete), ("a", false));
        assert!(members.next().unwrap().unwrap().complete);
    }

    #[test]
    fn sizes_are_octal_or_binary() {
        assert_eq!(number(b"00000001750\0"), Some(1_000));
        assert_eq!(number(b"      1750 \0"), Some(1_000));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\0\x03\xE8"), Some(1_000));
        assert_eq!(number(b"\xFF\0\0\0\0\0\0\0\0\0\x03\xE8"), None);
        assert_eq!(number(b"0000000175x\0"), None);
    }

    #[test]
    fn archives_end_with_or_without_zero_blocks() {
        let member = header("a", b'0', b"0");
        assert!(is_tar(&member));
        assert_eq!(names(&member).0, ["a"]);
        let (found, end) = names(&[&member[..], &[0; 2 * BLOCK], b"rubbish"].concat());
        assert!(found == ["a"] && end.is_ok());
        assert!(names(&member[..100]).1.is_err());
        assert!(names(&header("a", b'0', b"7")).1.is_err(), "the content is missing");
    }

    /// A name is read up to a limit; the rest is skipped.
    #[test]
    fn huge_claimed_name_lengths_use_little_memory() {
        let length = 3 * NAME_BYTES_MAX as usize;
        let long = header("././@LongLink", b'L', format!("{length:o}").as_bytes());
        let text = vec![b'n'; length.next_multiple_of(BLOCK)];
        let (found, end) = names(&[&long[..], &text, &header("a", b'0', b"0")].concat());
        assert!(end.is_ok());
        assert_eq!(found[0].len() as u64, NAME_BYTES_MAX);
    }

    #[test]
    fn damaged_archives_end_with_or_without_an_error() {
        let mut random = SeededRng::new(5);
        for _ in 0..20_000 {
            let mut bytes =
                [header("a", b"0Lxg5S"[random.below(6)], b"10"), [7; BLOCK], header("b", b'0', b"0")]
                    .concat();
            for _ in 0..random.below(4) {
                let position = random.below(bytes.len());
                bytes[position] = random.word() as u8;
            }
            if random.below(2) == 0 {
                seal(&mut bytes);
            }
            bytes.truncate(random.below(bytes.len() + 1));
            assert!(names(&bytes).0.len() <= 3);
        }
    }
}
