//! A point's attributes, and names made of them.

use crate::attributes_json::AttributeSink;
use std::borrow::Cow;

/// Attributes in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Attributes<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Attributes<'a> {
    pub(crate) fn add(&mut self, name: Cow<'a, str>, value: Cow<'a, str>) {
        self.pairs.push((name, value));
    }

    /// Names and values.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Value of the first of these attributes that is there and not empty; else empty. Names are compared
    /// with `_` as `.`, because Prometheus allows no dots.
    pub(crate) fn first(&self, names: &[impl AsRef<str>]) -> &str {
        let value =
            |name: &str| self.pairs.iter().find(|(own, value)| is_same(own, name) && !value.is_empty());
        names.iter().find_map(|name| value(name.as_ref())).map_or("", |(_, value)| value)
    }
}

impl<'a> AttributeSink<'a> for Attributes<'a> {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.add(Cow::Owned(name.to_owned()), value);
    }
}

fn is_same(one: &str, two: &str) -> bool {
    let dotted = |byte: u8| if byte == b'_' { b'.' } else { byte };
    one.len() == two.len() && one.bytes().zip(two.bytes()).all(|(one, two)| dotted(one) == dotted(two))
}

/// Defines which attributes form a name: parts joined by a space, each the first of some alternatives.
///
/// ```text
/// http.request.method|http.method+http.route
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NameSpec {
    parts: Vec<Vec<String>>,
}

impl NameSpec {
    pub(crate) fn parse(text: &str) -> NameSpec {
        let alternatives =
            |part: &str| part.split('|').map(str::to_owned).filter(|name| !name.is_empty()).collect();
        let parts: Vec<Vec<String>> = text.split('+').map(alternatives).collect();
        NameSpec { parts: parts.into_iter().filter(|part| !part.is_empty()).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The name; empty when none of the attributes is there.
    pub(crate) fn name(&self, attributes: &Attributes<'_>) -> String {
        let mut name = String::new();
        for part in &self.parts {
            let value = attributes.first(part);
            if !name.is_empty() && !value.is_empty() {
                name.push(' ');
            }
            name.push_str(value);
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_from_the_first_alternatives() {
        let mut attributes = Attributes::default();
        for (name, value) in [("http.method", "GET"), ("http_route", "/cart"), ("http.request.method", "")] {
            attributes.add(name.into(), value.into());
        }
        let name = |spec: &str| NameSpec::parse(spec).name(&attributes);
        assert_eq!(name("http.request.method|http.method+http.route"), "GET /cart");
        assert_eq!(name("http.route"), "/cart");
        assert_eq!(name("none+http.route"), "/cart");
        assert_eq!(name(""), "");
        assert!(NameSpec::parse("+|").is_empty());
    }
}
