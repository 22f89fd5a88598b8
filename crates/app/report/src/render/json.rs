//! JSON output: the report itself, indented.

use crate::names;
use std::fmt::Write as _;
use std::io;

/// Writes data as indented JSON with a trailing newline: the same data gives the same bytes.
///
/// Numbers that are not finite become `null`. Characters that a terminal would obey instead of showing (C1 controls,
/// direction marks) are written as `\u` escapes.
///
/// # Errors
/// Those of `out`.
pub fn write<T: serde::Serialize>(data: &T, out: &mut dyn io::Write) -> io::Result<()> {
    write_text(&serde_json::to_string_pretty(data)?, out)
}

/// The same without white space between tokens.
pub(super) fn write_compact<T: serde::Serialize>(data: &T, out: &mut dyn io::Write) -> io::Result<()> {
    write_text(&serde_json::to_string(data)?, out)
}

fn write_text(json: &str, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(escape_acting(json).as_bytes())?;
    out.write_all(b"\n")
}

/// Outside strings JSON holds ASCII only, and inside them line feeds are escaped already: whatever acting
/// character is left, the line feeds of the indentation aside, stands in a string.
fn escape_acting(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    let is_special = |byte: u8| !(b' '..=b'~').contains(&byte);
    while let Some((plain, special)) =
        rest.bytes().position(is_special).and_then(|position| rest.split_at_checked(position))
    {
        text.push_str(plain);
        let mut characters = special.chars();
        if let Some(c) = characters.next() {
            push_escaped(&mut text, c);
        }
        rest = characters.as_str();
    }
    text.push_str(rest);
    text
}

fn push_escaped(text: &mut String, c: char) {
    if c == '\n' || !names::acts(c) {
        text.push(c);
        return;
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        write!(text, "\\u{unit:04x}").expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_read_back() {
        let name = "a\u{1b}\u{9b}2J\u{202e}\u{e0001}\nb";
        let escaped = escape_acting(&serde_json::to_string_pretty(&[name]).unwrap());
        assert_eq!(escaped, "[\n  \"a\\u001b\\u009b2J\\u202e\\udb40\\udc01\\nb\"\n]");
        assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).unwrap(), [name]);
    }
}
