//! Forms of marker texts with places for a name and a key.

use std::fmt;

/// A text with places: `{name}` and `{key}` stand for one or more characters each and are kept, `*` for any run.
/// Each place takes as little as it can before the fixed text behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    written: Box<str>,
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Fixed(String),
    Name,
    Key,
    Anything,
}

/// What stood in the places of a [`Template`]; empty for places it does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Places<'a> {
    pub(crate) name: &'a str,
    pub(crate) key: &'a str,
}

impl Template {
    /// Reads a template; the reason if it has a place of another name or two places side by side.
    pub(crate) fn parse(written: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = written;
        while let Some(first) = rest.chars().next() {
            let (part, length) = match first {
                '*' => (Part::Anything, 1),
                '{' => place(rest)?,
                _ => {
                    let length = rest.find(['*', '{']).unwrap_or(rest.len());
                    (Part::Fixed(rest[..length].to_owned()), length)
                }
            };
            let side_by_side =
                |last: &Part| !matches!(last, Part::Fixed(_)) && !matches!(part, Part::Fixed(_));
            if parts.last().is_some_and(side_by_side) {
                return Err(format!("`{written}` has two places with nothing between them"));
            }
            parts.push(part);
            rest = &rest[length..];
        }
        if parts.is_empty() {
            return Err("an empty form matches nothing".to_owned());
        }
        Ok(Template { written: written.into(), parts })
    }

    /// Whether it has a place for a name.
    pub(crate) fn has_name(&self) -> bool {
        self.parts.contains(&Part::Name)
    }

    /// Whether it has a place for a key.
    pub(crate) fn has_key(&self) -> bool {
        self.parts.contains(&Part::Key)
    }

    /// What stands in the places, if all of `text` is of this form.
    pub(crate) fn matches<'a>(&self, text: &'a str) -> Option<Places<'a>> {
        let mut places = Places::default();
        let mut rest = text;
        for (index, part) in self.parts.iter().enumerate() {
            let fixed_behind = match self.parts.get(index + 1) {
                Some(Part::Fixed(fixed)) => Some((fixed.as_str(), index + 2 == self.parts.len())),
                _ => None,
            };
            let taken = match part {
                Part::Fixed(fixed) => {
                    rest = rest.strip_prefix(fixed.as_str())?;
                    continue;
                }
                _ => match fixed_behind {
                    None => rest.len(),
                    Some((fixed, true)) => rest.len() - rest.strip_suffix(fixed).map(|_| fixed.len())?,
                    Some((fixed, false)) => rest.find(fixed)?,
                },
            };
            let (found, behind) = rest.split_at(taken);
            rest = behind;
            match part {
                Part::Name if !found.is_empty() => places.name = found,
                Part::Key if !found.is_empty() => places.key = found,
                Part::Anything => {}
                _ => return None,
            }
        }
        rest.is_empty().then_some(places)
    }
}

fn place(rest: &str) -> Result<(Part, usize), String> {
    if rest.starts_with("{name}") {
        return Ok((Part::Name, "{name}".len()));
    }
    if rest.starts_with("{key}") {
        return Ok((Part::Key, "{key}".len()));
    }
    Err(format!("`{rest}`: places are {{name}}, {{key}} and *"))
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::{Places, Template};

    #[test]
    fn places_take_what_stands_between_fixed_texts() {
        let template = Template::parse("request {key} of {name} started*").unwrap();
        let places = template.matches("request 17 of checkout started at 3");
        assert_eq!(places, Some(Places { name: "checkout", key: "17" }));
        assert_eq!(template.matches("request  of checkout started"), None, "a key has a character at least");
        assert_eq!(template.matches("request 17 of checkout"), None);
    }

    #[test]
    fn a_fixed_end_is_the_last_one() {
        let template = Template::parse("{name} done").unwrap();
        let places = template.matches("not done done");
        assert_eq!(places, Some(Places { name: "not done", key: "" }));
    }

    #[test]
    fn wrong_forms_say_what_is_right() {
        assert!(Template::parse("{id} begins").unwrap_err().contains("{key}"));
        assert!(Template::parse("{name}{key}").unwrap_err().contains("between"));
        assert!(Template::parse("").is_err());
    }
}
