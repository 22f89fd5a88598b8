//! Replaces ids in names, which make one operation look like thousands.
//!
//! A name is split at `/` and at spaces. A segment after a `/` is a path segment. In it
//! * everything from a `?` on is removed,
//! * digits and punctuation alone, with two digits or more in a row (`4711`, `2024-01-05`), become `{id}`.
//!
//! In any segment `{id}` replaces UUIDs and those runs of letters and digits that are
//! * four digits or more and nothing else,
//! * hexadecimal digits, with a letter and a digit among them, 8 or more (16 or more outside paths),
//! * 20 characters or more with three digits or more.

const PLACEHOLDER: &str = "{id}";

/// Writes `name` with its ids replaced to `out`.
pub(crate) fn replace_ids(name: &str, out: &mut String) {
    let mut rest = name;
    let mut in_path = false;
    loop {
        let end = rest.find(['/', ' ']).unwrap_or(rest.len());
        replace_in_segment(&rest[..end], in_path, out);
        // A query string ends at a space only.
        let query = in_path && rest[..end].contains('?');
        let skip = if query { rest.find(' ').unwrap_or(rest.len()) } else { end };
        let Some(separator) = rest[skip..].chars().next() else {
            return;
        };
        out.push(separator);
        in_path = separator == '/';
        rest = &rest[skip + 1..];
    }
}

fn replace_in_segment(segment: &str, in_path: bool, out: &mut String) {
    let segment = match segment.split_once('?') {
        Some((path, _)) if in_path => path,
        _ => segment,
    };
    let has_number = segment.as_bytes().windows(2).any(|pair| pair.iter().all(u8::is_ascii_digit));
    let is_plain = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_punctuation();
    if in_path && has_number && segment.bytes().all(is_plain) {
        out.push_str(PLACEHOLDER);
        return;
    }
    let mut rest = segment;
    while !rest.is_empty() {
        let is_part = |c: char| c.is_ascii_alphanumeric();
        let id_length = match rest.get(..36) {
            Some(uuid) if is_uuid(uuid.as_bytes()) => 36,
            _ => 0,
        };
        let run = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if id_length > 0 {
            out.push_str(PLACEHOLDER);
            rest = &rest[id_length..];
        } else if run > 0 {
            out.push_str(if is_id(&rest.as_bytes()[..run], in_path) { PLACEHOLDER } else { &rest[..run] });
            rest = &rest[run..];
        } else {
            let other = rest.find(is_part).unwrap_or(rest.len());
            out.push_str(&rest[..other]);
            rest = &rest[other..];
        }
    }
}

fn is_uuid(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

fn is_id(run: &[u8], in_path: bool) -> bool {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == run.len() {
        return digits >= 4;
    }
    let hex_length_min = if in_path { 8 } else { 16 };
    let is_hex = digits > 0 && run.iter().all(u8::is_ascii_hexdigit);
    (is_hex && run.len() >= hex_length_min) || (run.len() >= 20 && digits >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let mut out = String::new();
        replace_ids(name, &mut out);
        assert_eq!(out, expected);
        let mut again = String::new();
        replace_ids(&out, &mut again);
        assert_eq!(again, out, "a template is not changed");
    }

    #[test]
    fn ids_in_paths_are_replaced() {
        check("GET /api/v1/banners/10000001502", "GET /api/v1/banners/{id}");
        check("/users/42/orders/2024-01-05/", "/users/{id}/orders/{id}/");
        check("/cart/0087f677-c0a2-cf3f-80a5-51987167911b/items", "/cart/{id}/items");
        check("GET /session/8f1c69aa?user=7&next=/home HTTP", "GET /session/{id} HTTP");
        check("/orders/order-4711", "/orders/order-{id}");
        check("/f/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/f/{id}");
    }

    #[test]
    fn names_without_ids_stay() {
        for name in [
            "",
            "GET",
            "oteldemo.CartService/GetCart",
            "/geo.Geo/Nearby",
            "GET /api/v2/users/{id}",
            "query11-operation",
            "HTTP/1.1 fetch",
            "convert ISO8601",
            "/facade/decade",
            "Step 12",
            "größe 7",
        ] {
            check(name, name);
        }
    }

    #[test]
    fn ids_outside_paths_must_be_longer() {
        check("process order 4711", "process order {id}");
        check("lock 12", "lock 12");
        check("job 8f1c69aa", "job 8f1c69aa");
        check("job 1e223ff1f80f1c69", "job {id}");
        check("é0087f677-c0a2-cf3f-80a5-51987167911bé", "é{id}é");
    }
}
