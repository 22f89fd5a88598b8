//! Shortens texts and data to a size, and counts what that leaves out.

use laggard_parallel::check_canceled;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;

/// Data that fit a size.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bounded {
    pub(crate) value: Value,
    /// By path.
    pub(crate) left_out: Vec<LeftOut>,
}

/// Values that a list, an object, or a text lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LeftOut {
    /// Names with dots between, `*` for any index of a list.
    pub(crate) path: String,
    /// Values, or characters of texts.
    pub(crate) count: u64,
}

/// How many values the lists of a member retain, one step after the other.
const STEPS: [usize; 12] = [usize::MAX, 300, 100, 50, 30, 20, 10, 5, 3, 2, 1, 0];

/// Characters that every text retains.
const TEXT_CHARS_MAX: usize = 2_000;

/// … once nothing else helps.
const SHORT_TEXT_CHARS_MAX: usize = 200;

/// Bytes of the list of what is left out.
const LEFT_OUT_BYTES_MAX: usize = 4 << 10;

/// Bytes of an entry of that list beside its path.
const LEFT_OUT_ROW_BYTES: usize = 40;

/// Shortens the members of an object, the largest first, until all fit; names of members remain as long as anything does.
pub(crate) fn bounded(value: Value, bytes_max: usize) -> Bounded {
    let members = match value {
        Value::Object(members) => members,
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    let room = bytes_max.saturating_sub(LEFT_OUT_BYTES_MAX);
    let mut parts: Vec<Part> = members.into_iter().map(|(name, value)| Part::new(name, value)).collect();
    while parts.iter().map(|part| part.bytes).sum::<usize>() > room {
        let largest = parts.iter_mut().filter(|part| part.can_shrink()).max_by_key(|part| part.bytes);
        let Some(part) = largest else { break };
        part.shrink();
    }
    // Names alone can be too many.
    let mut left_out = LossCounter::default();
    let mut bytes = 0;
    let mut value = Map::new();
    for part in parts {
        bytes += part.bytes;
        if bytes > room {
            left_out.add("*", 1);
            continue;
        }
        part.losses.paths.iter().for_each(|(path, count)| left_out.add(path, *count));
        value.insert(part.name, part.value);
    }
    Bounded { value: Value::Object(value), left_out: left_out.rows() }
}

/// A member of the object that is shortened.
struct Part {
    name: String,
    original: Value,
    value: Value,
    step: usize,
    bytes: usize,
    losses: LossCounter,
}

impl Part {
    fn new(name: String, original: Value) -> Part {
        let mut part =
            Part { name, original, value: Value::Null, step: 0, bytes: 0, losses: LossCounter::default() };
        part.apply();
        part
    }

    /// The last step shortens texts, too.
    fn can_shrink(&self) -> bool {
        self.step < STEPS.len() && self.bytes > 64
    }

    fn shrink(&mut self) {
        self.step += 1;
        self.apply();
    }

    fn apply(&mut self) {
        // A report can have millions of values.
        check_canceled();
        let (values_max, chars_max) = match STEPS.get(self.step) {
            Some(&values) => (values, TEXT_CHARS_MAX),
            None => (0, SHORT_TEXT_CHARS_MAX),
        };
        self.losses = LossCounter::default();
        let mut shortening = Shortening { values_max, chars_max, losses: &mut self.losses };
        self.value = shortening.shorten(&self.original, &self.name);
        self.bytes = self.name.len() + 4 + json_bytes(&self.value);
    }
}

/// Bytes of the JSON text.
fn json_bytes(value: &Value) -> usize {
    struct Counter(usize);

    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).expect("counting bytes cannot fail");
    counter.0
}

struct Shortening<'a> {
    values_max: usize,
    chars_max: usize,
    losses: &'a mut LossCounter,
}

/// An object with more members than this is a list by name: its members are no fields.
const FIELDS_MAX: usize = 64;

impl Shortening<'_> {
    fn shorten(&mut self, value: &Value, path: &str) -> Value {
        match value {
            Value::Array(items) => {
                self.losses.add(path, items.len().saturating_sub(self.values_max) as u64);
                let inner = format!("{path}.*");
                let retained = items.iter().take(self.values_max);
                Value::Array(retained.map(|item| self.shorten(item, &inner)).collect())
            }
            Value::Object(members) => {
                let members_max = self.values_max.max(FIELDS_MAX);
                self.losses.add(path, members.len().saturating_sub(members_max) as u64);
                let is_list = members.len() > FIELDS_MAX;
                let retained = members.iter().take(members_max);
                let shorter = retained.map(|(name, value)| {
                    let inner = format!("{path}.{}", if is_list { "*" } else { name });
                    (name.clone(), self.shorten(value, &inner))
                });
                Value::Object(shorter.collect())
            }
            Value::String(text) => match text.char_indices().nth(self.chars_max) {
                None => value.clone(),
                Some((end, _)) => {
                    self.losses.add(path, text[end..].chars().count() as u64);
                    Value::String(format!("{}…", &text[..end]))
                }
            },
            other => other.clone(),
        }
    }
}

/// Counts of what is left out, by path.
#[derive(Default)]
struct LossCounter {
    paths: BTreeMap<String, u64>,
}

impl LossCounter {
    fn add(&mut self, path: &str, count: u64) {
        if count > 0 {
            *self.paths.entry(path.to_owned()).or_default() += count;
        }
    }

    /// The rows, those with most losses first; those beyond the limit are one row.
    fn rows(self) -> Vec<LeftOut> {
        let rows = self.paths.into_iter().map(|(path, count)| LeftOut { path, count });
        let mut rows: Vec<LeftOut> = rows.collect();
        rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.path.cmp(&b.path)));
        let mut bytes = 2 * LEFT_OUT_ROW_BYTES;
        let fits = |row: &LeftOut| {
            bytes += 2 * row.path.len() + LEFT_OUT_ROW_BYTES;
            bytes <= LEFT_OUT_BYTES_MAX
        };
        let fitting = rows.iter().map(fits).take_while(|fits| *fits).count();
        let others: u64 = rows.drain(fitting..).map(|row| row.count).sum();
        if others > 0 {
            rows.push(LeftOut { path: "…".to_owned(), count: others });
        }
        rows
    }
}

/// Shortens a text at the end of a line, and states how many lines are left out.
pub(crate) fn bounded_text(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let room = bytes_max.saturating_sub(64);
    // `str::floor_char_boundary` is newer than our oldest Rust.
    let room = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    let end = text[..room].rfind('\n').unwrap_or(room);
    let (retained, rest) = (&text[..end], &text[end..]);
    let lines = rest.trim_start_matches('\n').lines().count();
    format!("{retained}\n… {lines} more lines were left out ({} bytes)", rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_largest_member_is_shortened_first() {
        let value = json!({
            "suspects": [{"rank": 1}, {"rank": 2}],
            "heat_map": {"rows": vec![vec![0.25; 100]; 300]}
        });
        let Bounded { value, left_out } = bounded(value, 12 << 10);
        assert!(value.to_string().len() <= 8 << 10);
        assert_eq!(value["suspects"], json!([{"rank": 1}, {"rank": 2}]), "small members are whole");
        let rows = value["heat_map"]["rows"].as_array().unwrap();
        assert!(!rows.is_empty() && rows.len() < 300);
        let cells = rows[0].as_array().unwrap().len();
        let expected = [
            ("heat_map.rows.*", (rows.len() * (100 - cells)) as u64),
            ("heat_map.rows", 300 - rows.len() as u64),
        ];
        let mut expected = expected.map(|(path, count)| LeftOut { path: path.to_owned(), count });
        expected.sort_by_key(|row| std::cmp::Reverse(row.count));
        assert_eq!(left_out, expected);
    }

    #[test]
    fn any_value_fits() {
        let deep = (0..100).fold(json!("x".repeat(50_000)), |inner, _| json!([inner]));
        let names: Map<String, Value> = (0..20_000).map(|n| (format!("name {n}"), json!(n))).collect();
        let texts: Vec<String> = vec!["é".repeat(10_000); 1_000];
        let many_texts: Map<String, Value> =
            (0..60).map(|n| (n.to_string(), json!("é".repeat(9_000)))).collect();
        for value in [deep, json!(names), json!({"a": names}), json!(texts), json!({"a": {"b": many_texts}})]
        {
            let before = value.to_string().len();
            let Bounded { value, left_out } = bounded(value, 16 << 10);
            let rows: usize = left_out.iter().map(|row| row.path.len() + LEFT_OUT_ROW_BYTES).sum();
            assert!(value.to_string().len() + rows <= 16 << 10, "{before}");
            assert!(!left_out.is_empty(), "{before}");
        }
    }

    #[test]
    fn what_fits_is_unchanged() {
        let value = json!({"a": [1, {"b": null}], "c": "text", "d": {}});
        assert_eq!(bounded(value.clone(), 16 << 10), Bounded { value, left_out: Vec::new() });
    }

    #[test]
    fn texts_end_with_a_whole_line() {
        let text = "0123456789\n".repeat(50);
        let short = bounded_text(&text, 200);
        assert!(short.len() <= 200, "{short}");
        let lines = short.lines().filter(|line| *line == "0123456789").count();
        assert!(short.ends_with(&format!(
            "… {} more lines were left out ({} bytes)",
            50 - lines,
            550 - 11 * lines + 1
        )));
        assert_eq!(bounded_text("ab", 2), "ab");
        assert!(bounded_text(&"é".repeat(1_000), 201).len() <= 201);
    }
}
