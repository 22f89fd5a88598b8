//! Names of the kernel's functions by address.

/// Lines of `/proc/kallsyms` as a trace has them: `ffffffff813b8a30 t sched_cfs_period_timer`.
///
/// They are searched once for each function that is asked for, which are few of some hundred thousand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Symbols {
    text: Vec<u8>,
}

impl Symbols {
    pub(crate) fn from_lines(text: &[u8]) -> Symbols {
        Symbols { text: text.to_vec() }
    }

    /// The function that begins at an address.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        if address == 0 {
            return None;
        }
        let start = format!("{address:016x} ");
        let line = self.text.split(|&byte| byte == b'\n').find(|line| line.starts_with(start.as_bytes()))?;
        let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        words.nth(2).map(|name| name.trim_end_matches('\0'))
    }
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
}
