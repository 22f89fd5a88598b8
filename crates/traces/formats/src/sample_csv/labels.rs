//! Titles of columns as Grafana and Prometheus write series: `node_load1{instance="app-1:9100", job="node"}`.

/// A title with labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LabeledTitle<'a> {
    /// The text before the labels; may be empty.
    pub(super) name: &'a str,
    labels: Vec<(&'a str, String)>,
}

/// Reads `NAME{LABEL="VALUE", …}`, with or without quotes around values; `None` if it is none.
pub(super) fn parse_labels(title: &str) -> Option<LabeledTitle<'_>> {
    let (name, rest) = title.trim().split_once('{')?;
    let mut rest = rest.strip_suffix('}')?.trim();
    let mut labels = Vec::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                after.split_once(',').map_or((after.to_owned(), ""), |(value, next)| (value.to_owned(), next))
            }
        };
        labels.push((label.trim(), value.trim().to_owned()));
        rest = next.trim_start().trim_start_matches(',').trim_start();
    }
    (!labels.is_empty()).then_some(LabeledTitle { name: name.trim(), labels })
}

/// The text up to the closing quote, without its escapes, and the rest behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[position + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

impl LabeledTitle<'_> {
    /// The value of the first label whose name is wanted; empty without one.
    pub(super) fn first(&self, is_wanted: impl Fn(&str) -> bool) -> &str {
        self.labels.iter().find(|(label, _)| is_wanted(label)).map_or("", |(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_titles_are_split_into_labels() {
        let value = |title: &LabeledTitle<'_>, name| title.first(|label| label == name).to_owned();
        let title = parse_labels(r#"node_load1{instance="app-1:9100", job="node"}"#).unwrap();
        assert_eq!(
            (title.name, &*value(&title, "instance"), &*value(&title, "route")),
            ("node_load1", "app-1:9100", "")
        );
        let title = parse_labels(r#"{route="/a, \"b\"", method="GET"}"#).unwrap();
        assert_eq!((title.name, &*value(&title, "route")), ("", r#"/a, "b""#));
        assert_eq!(value(&parse_labels("{instance=app-1}").unwrap(), "instance"), "app-1");
        for text in ["", "app-1", "{}", "a}", "{instance=\"a}", "{instance}", "x{a=\"b\"} 1"] {
            assert_eq!(parse_labels(text), None, "{text}");
        }
    }
}
