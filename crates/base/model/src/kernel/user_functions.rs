//! Names of the functions of programs in recorded call stacks, which a recorder looked up while the programs were there.

use std::collections::BTreeMap;

/// The first line of the text.
const TITLE: &str = "functions of programs in call stacks, version 1";

/// Functions of programs by process and address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserFunctions {
    by_process: BTreeMap<u32, Vec<UserFunction>>,
}

/// A function in the memory of one process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct UserFunction {
    begin: u64,
    /// The address behind its last byte.
    end: u64,
    name: String,
}

impl UserFunctions {
    /// Adds a function of a process, from an address to before another. A name has no blanks: `libc.so.6:read`.
    pub fn add(&mut self, process: u32, addresses: std::ops::Range<u64>, name: &str) {
        let function = UserFunction { begin: addresses.start, end: addresses.end, name: name.to_owned() };
        let functions = self.by_process.entry(process).or_default();
        // Later ones are of a program that took the place of an earlier one.
        let position = functions.partition_point(|known| known.begin <= function.begin);
        match position.checked_sub(1).filter(|&last| functions[last].begin == function.begin) {
            Some(same) => functions[same] = function,
            None => functions.insert(position, function),
        }
    }

    /// The function of a process that an address is in.
    pub fn name(&self, process: u32, address: u64) -> Option<&str> {
        let functions = self.by_process.get(&process)?;
        let begun = functions.partition_point(|function| function.begin <= address);
        let function = &functions[begun.checked_sub(1)?];
        (address < function.end).then_some(&*function.name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_process.is_empty()
    }

    /// The text that trace files hold: a line for each process, and below it one for each function.
    pub fn to_text(&self) -> String {
        let mut text = format!("{TITLE}\n");
        for (process, functions) in &self.by_process {
            text.push_str(&format!("process {process}\n"));
            for function in functions {
                let name = function.name.replace(char::is_whitespace, "?");
                text.push_str(&format!("{:x} {:x} {name}\n", function.begin, function.end));
            }
        }
        text
    }

    /// Reads what [`UserFunctions::to_text`] wrote; `None` for any other text. Lines that make no sense are left out.
    pub fn from_text(text: &str) -> Option<UserFunctions> {
        let mut functions = UserFunctions::default();
        let mut process = None;
        for line in text.strip_prefix(TITLE)?.lines() {
            if let Some(number) = line.strip_prefix("process ") {
                process = number.parse().ok();
                continue;
            }
            let mut words = line.split(' ');
            let mut address = || u64::from_str_radix(words.next()?, 16).ok();
            let (begin, end) = (address(), address());
            if let (Some(process), Some(begin), Some(end), Some(name)) = (process, begin, end, words.next()) {
                functions.add(process, begin..end, name);
            }
        }
        Some(functions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_process_and_survive_writing() {
        let mut functions = UserFunctions::default();
        functions.add(7, 0x2000..0x2010, "shop:later");
        functions.add(7, 0x1000..0x1080, "shop:before");
        functions.add(7, 0x1000..0x1040, "shop:handle");
        functions.add(9, 0x1000..0x1040, "libc.so.6:read");
        let read = UserFunctions::from_text(&functions.to_text()).unwrap();
        assert_eq!(read, functions);
        for (process, address, name) in [
            (7, 0xfff, None),
            (7, 0x1000, Some("shop:handle")),
            (7, 0x103f, Some("shop:handle")),
            (7, 0x1040, None),
            (7, 0x2001, Some("shop:later")),
            (9, 0x1001, Some("libc.so.6:read")),
            (8, 0x1000, None),
        ] {
            assert_eq!(read.name(process, address), name, "{process} {address:#x}");
        }
        assert!(UserFunctions::default().is_empty() && !read.is_empty());
    }

    #[test]
    fn other_text_is_none_and_damaged_lines_are_skipped() {
        assert_eq!(UserFunctions::from_text("CPU: 0\n"), None);
        let text = format!("{TITLE}\n1 2 orphan\nprocess 3\n1 2\nx 2 f\n10 20 f\nprocess x\n10 20 g");
        let read = UserFunctions::from_text(&text).unwrap();
        assert_eq!((read.name(3, 0x10), read.by_process.len()), (Some("f"), 1));
    }
}
