//! The fields of an event in text: `name=value` with values that may hold blanks.

/// The text behind the last `name=`, up to the end of the line: a thread's name comes before the fields it might
/// imitate.
fn after_field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let mut to = fields.len();
    while let Some(position) = fields[..to].rfind(name) {
        let starts = position == 0 || matches!(fields.as_bytes()[position - 1], b' ' | b',' | b'(');
        if let (true, Some(value)) = (starts, fields[position + name.len()..].strip_prefix('=')) {
            return Some(value);
        }
        to = position;
    }
    None
}

/// The value of a field, up to the next blank.
pub(super) fn word<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let value = after_field(fields, name)?;
    let end = value.find([' ', ',', ')']).unwrap_or(value.len());
    Some(&value[..end])
}

/// A field as a number, decimal or hexadecimal.
pub(super) fn number(fields: &str, name: &str) -> Option<u64> {
    integer(word(fields, name)?)
}

/// A number, decimal or with `0x`; a negative one wraps.
pub(super) fn integer(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
}

/// The value of a text field that ends where the field `next` begins, or at the end.
pub(super) fn text<'a>(fields: &'a str, name: &str, next: &str) -> Option<&'a str> {
    let value = after_field(fields, name)?;
    let end = value.rfind(&format!(" {next}=")).unwrap_or(value.len());
    Some(&value[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_the_next_field_begins() {
        let fields = "comm=a pid=b pid=12 prio=120";
        assert_eq!(text(fields, "comm", "pid"), Some("a pid=b"));
        assert_eq!(number(fields, "pid"), Some(12));
        assert_eq!(word("prev_pid=5 pid=7,", "pid"), Some("7"));
        assert_eq!(number("skbaddr=0xffff888627c1c6f8 len=1", "skbaddr"), Some(0xffff_8886_27c1_c6f8));
        assert_eq!(number("ret=-11", "ret"), Some((-11_i64).cast_unsigned()));
        assert_eq!(number("ret=", "ret"), None);
        assert_eq!(word("", "x"), None);
    }
}
