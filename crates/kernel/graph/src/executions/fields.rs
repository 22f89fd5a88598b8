//! Parses the fields of other events, which are stored as one text.

/// The value of a field in `name=value name=value …`. A value extends to the next word with a `=`, so it may contain
/// spaces.
pub(crate) fn field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while from < fields.len() {
        let rest = &fields[from..];
        let start = from + (rest.len() - rest.trim_start().len());
        let end = next_field(fields, start);
        let (field_name, value) = fields[start..end].split_once('=')?;
        if field_name == name {
            return Some(value.trim_end());
        }
        from = end;
    }
    None
}

/// The value of a field as a number, in decimal or, after `0x`, in hexadecimal digits.
pub(crate) fn number(fields: &str, name: &str) -> Option<u64> {
    let text = field(fields, name)?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Position of the next field after `start`: the next word that contains a `=`.
fn next_field(fields: &str, start: usize) -> usize {
    let mut word_start = start;
    let mut first = true;
    for word in fields[start..].split_inclusive(' ') {
        if !first && word.contains('=') {
            return word_start;
        }
        first = false;
        word_start += word.len();
    }
    fields.len()
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn values_may_contain_blanks() {
        let fields = "pid=812 comm=G1 Main Marker prio=120";
        assert_eq!(field(fields, "pid"), Some("812"));
        assert_eq!(field(fields, "comm"), Some("G1 Main Marker"));
        assert_eq!(field(fields, "prio"), Some("120"));
        assert_eq!(field(fields, "cpu"), None);
    }

    #[test]
    fn texts_without_fields_have_none() {
        for fields in ["", "   ", "no fields here", "a", "=", "é=1"] {
            assert_eq!(field(fields, "pid"), None, "{fields:?}");
        }
        assert_eq!(field("  é=1  a=2", "a"), Some("2"));
    }
}
