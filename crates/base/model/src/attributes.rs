//! The attributes of a request: a set of values, stored as one text, which is interned like a name.
//!
//! ```text
//! key US service US value RS key US service US value RS …      sorted, distinct
//! ```

use crate::Tid;
use std::borrow::Cow;

/// One attribute that a request or a service on its way has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Attribute<'a> {
    /// Short name: `version`, `tenant`.
    pub key: &'a str,
    /// The service it describes; empty for an attribute of the request itself.
    pub service: &'a str,
    /// Value, never empty.
    pub value: &'a str,
}

/// Attributes of one span, as texts of [`AttributeText`]; both may be empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpanAttributes<'a> {
    /// Of the resource or process: equal for many spans in a row.
    pub resource: &'a str,
    /// Of the span itself.
    pub span: &'a str,
    /// The thread it ran on, by the kernel's number, as far as the sender knows it (`thread.id`).
    pub thread: Option<Tid>,
}

/// Separates the parts of an attribute.
const PART: char = '\u{1f}';

/// Ends an attribute.
const END: char = '\u{1e}';

// Limit: bytes of an attribute's value, and of its key | cut
/// Maximum length of a key or a value in bytes; longer ones are truncated.
const PART_BYTES_MAX: usize = 128;

/// A set of attributes as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AttributeText(String);

impl AttributeText {
    /// Adds an attribute unless it is in the set; one without a value is ignored.
    pub fn add(&mut self, attribute: Attribute<'_>) {
        let (key, value) = (cleaned(attribute.key), cleaned(attribute.value));
        let service = cleaned(attribute.service);
        let added = Attribute { key: &key, service: &service, value: &value };
        if value.is_empty() || attributes_in(&self.0).any(|known| known == added) {
            return;
        }
        let is_last = attributes_in(&self.0).last().is_none_or(|last| last < added);
        if is_last {
            write(&mut self.0, added);
            return;
        }
        let mut text = String::with_capacity(self.0.len() + value.len());
        let mut pending = Some(added);
        for known in attributes_in(&self.0) {
            if let Some(added) = pending.take_if(|added| *added < known) {
                write(&mut text, added);
            }
            write(&mut text, known);
        }
        self.0 = text;
    }

    /// The union of two sets, both texts of this type.
    pub fn union(first: &str, second: &str) -> AttributeText {
        let mut all: Vec<Attribute<'_>> = attributes_in(first).chain(attributes_in(second)).collect();
        all.sort_unstable();
        all.dedup();
        let mut text = String::with_capacity(first.len() + second.len());
        all.into_iter().for_each(|attribute| write(&mut text, attribute));
        AttributeText(text)
    }

    /// The text: empty for no attributes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Removes all attributes.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// The attributes in a text of [`AttributeText`]; parts of other texts are skipped.
pub fn attributes_in(text: &str) -> impl Iterator<Item = Attribute<'_>> {
    text.split_terminator(END).filter_map(|attribute| {
        let (key, rest) = attribute.split_once(PART)?;
        let (service, value) = rest.split_once(PART)?;
        Some(Attribute { key, service, value })
    })
}

fn write(text: &mut String, attribute: Attribute<'_>) {
    text.push_str(attribute.key);
    text.push(PART);
    text.push_str(attribute.service);
    text.push(PART);
    text.push_str(attribute.value);
    text.push(END);
}

/// Without separators, cut between characters.
fn cleaned(part: &str) -> Cow<'_, str> {
    let part = part.trim();
    let mut end = part.len().min(PART_BYTES_MAX);
    while !part.is_char_boundary(end) {
        end -= 1;
    }
    let part = &part[..end];
    match part.contains([PART, END]) {
        true => Cow::Owned(part.replace([PART, END], " ")),
        false => Cow::Borrowed(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(values: &[(&str, &str, &str)]) -> AttributeText {
        let mut text = AttributeText::default();
        for &(key, service, value) in values {
            text.add(Attribute { key, service, value });
        }
        text
    }

    #[test]
    fn a_set_does_not_depend_on_the_order_of_its_attributes() {
        let values = [("tenant", "", "acme"), ("version", "cart", "1"), ("version", "pay", "2")];
        let mut reversed = values;
        reversed.reverse();
        assert_eq!(text(&values), text(&reversed));
        assert_eq!(text(&values), text(&[values[1], values[0], values[2], values[1]]));
        assert_eq!(
            AttributeText::union(text(&values[..2]).as_str(), text(&values[1..]).as_str()),
            text(&values)
        );
        let text = text(&values);
        let second = attributes_in(text.as_str()).nth(1);
        assert_eq!(second, Some(Attribute { key: "version", service: "cart", value: "1" }));
    }

    #[test]
    fn hostile_values_cannot_add_attributes() {
        let set = text(&[("tenant", "", "a\u{1e}version\u{1f}pay\u{1f}9"), ("zone", "", " ")]);
        let values: Vec<&str> = attributes_in(set.as_str()).map(|attribute| attribute.value).collect();
        assert_eq!(values, ["a version pay 9"]);
        let long = "é".repeat(1000);
        let set = text(&[("tenant", "", &long)]);
        assert_eq!(attributes_in(set.as_str()).next().unwrap().value.len(), PART_BYTES_MAX);
        assert_eq!(attributes_in("foreign text").count(), 0);
    }
}
