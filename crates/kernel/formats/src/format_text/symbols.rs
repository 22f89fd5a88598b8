//! Names of the kernel's functions by address.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Bytes of a copy of `/proc/kallsyms` that are read; a kernel with all modules has some ten million.
const FILE_BYTES_MAX: u64 = 1 << 26;

/// Lines of `/proc/kallsyms` as a trace has them: `ffffffff813b8a30 t sched_cfs_period_timer`.
///
/// They are searched once for each function that is asked for, which are few of some hundred thousand; of call stacks, in order of
/// their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    text: Vec<u8>,
    /// Functions by address: where the line of each begins.
    functions: OnceLock<Vec<(u64, usize)>>,
}

impl Symbols {
    pub(crate) fn from_lines(text: &[u8]) -> Symbols {
        Symbols { text: text.to_vec(), functions: OnceLock::new() }
    }

    /// From the first of these files that can be read; none without any.
    pub(crate) fn from_files(mut files: impl Iterator<Item = PathBuf>) -> Symbols {
        let read = |path: PathBuf| {
            let mut text = Vec::new();
            File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
            Some(Symbols::from_lines(&text))
        };
        files.find_map(read).unwrap_or_default()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The function that begins at an address.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        if address == 0 {
            return None;
        }
        let start = format!("{address:016x} ");
        let line = self.text.split(|&byte| byte == b'\n').find(|line| line.starts_with(start.as_bytes()))?;
        name_in(line)
    }

    /// The function that an address is in, or the address as text: the last one that begins before it.
    pub(super) fn containing(&self, address: u64) -> String {
        let functions = self.functions.get_or_init(|| functions(&self.text));
        let begun = functions.partition_point(|&(begin, _)| begin <= address);
        let line_start = begun.checked_sub(1).map(|last| functions[last].1);
        let line = line_start.and_then(|start| self.text[start..].split(|&byte| byte == b'\n').next());
        // A blank would be the end of the name.
        line.and_then(name_in).map_or_else(|| format!("{address:#x}"), str::to_owned)
    }
}

fn name_in(line: &[u8]) -> Option<&str> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words.nth(2).map(|name| name.trim_end_matches('\0'))
}

/// Functions by address; of several at one address the first. Data is left out.
fn functions(text: &[u8]) -> Vec<(u64, usize)> {
    let mut functions = Vec::new();
    let mut position = 0;
    for line in text.split(|&byte| byte == b'\n') {
        let words = std::str::from_utf8(line.get(..18).unwrap_or_default())
            .ok()
            .and_then(|head| head.split_once(' '));
        if let Some((address, kind)) = words
            && let Ok(address) = u64::from_str_radix(address, 16)
            && matches!(kind, "t" | "T" | "w" | "W")
        {
            functions.push((address, position));
        }
        position += line.len() + 1;
    }
    functions.sort();
    functions.dedup_by_key(|(address, _)| *address);
    functions
}

#[cfg(test)]
mod tests {
    use super::Symbols;

    #[test]
    fn functions_are_named_by_their_first_address() {
        let symbols = Symbols::from_lines(b"ffffffff813b8970 t slack\nffffffff813b8a30 T period [mod]\n");
        assert_eq!(symbols.name(0xffff_ffff_813b_8a30), Some("period"));
        assert_eq!(symbols.name(0xffff_ffff_813b_8a31), None);
        assert_eq!(Symbols::from_lines(b"0000000000000000 t hidden\n").name(0), None);
        assert_eq!(Symbols::from_lines(b"ffffffff813b8970\n\xff").name(0xffff_ffff_813b_8970), None);
    }

    #[test]
    fn functions_contain_the_addresses_up_to_the_next() {
        let symbols = Symbols::from_lines(
            b"ffffffff81000100 T later\nffffffff81000000 t first\nffffffff81000000 t alias\n\xff\nffffffff81000080 D data\n",
        );
        let name = |address: u64| symbols.containing(0xffff_ffff_8100_0000 + address);
        assert_eq!((name(0), name(0xff), name(0x100)), ("first".into(), "first".into(), "later".into()));
        assert_eq!(Symbols::default().containing(0x10), "0x10");
    }
}
