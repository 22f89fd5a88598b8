//! Templates of marker texts, with placeholders for a name and a key.

use std::fmt;

/// A text with placeholders: `{name}` and `{key}` capture one or more characters each, `*` matches any text.
/// Placeholders match lazily: as little as possible before the next fixed text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    written: Box<str>,
    parts: Vec<TemplatePart>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum TemplatePart {
    Fixed(String),
    Name,
    Key,
    Anything,
}

/// The captured name and key; empty for placeholders that the [`Template`] does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TemplateMatch<'a> {
    pub(crate) name: &'a str,
    pub(crate) key: &'a str,
}

impl Template {
    /// Parses a template.
    pub(crate) fn parse(written: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = written;
        while let Some(first) = rest.chars().next() {
            let (part, length) = match first {
                '*' => (TemplatePart::Anything, 1),
                '{' => parse_placeholder(rest)?,
                _ => {
                    let length = rest.find(['*', '{']).unwrap_or(rest.len());
                    (TemplatePart::Fixed(rest[..length].to_owned()), length)
                }
            };
            let side_by_side = |last: &TemplatePart| {
                !matches!(last, TemplatePart::Fixed(_)) && !matches!(part, TemplatePart::Fixed(_))
            };
            if parts.last().is_some_and(side_by_side) {
                return Err(format!("`{written}` has two placeholders with no text between them"));
            }
            parts.push(part);
            rest = &rest[length..];
        }
        if parts.is_empty() {
            return Err("an empty template matches nothing".to_owned());
        }
        Ok(Template { written: written.into(), parts })
    }

    /// Whether it contains `{name}`.
    pub(crate) fn has_name(&self) -> bool {
        self.parts.contains(&TemplatePart::Name)
    }

    /// Whether it contains `{key}`.
    pub(crate) fn has_key(&self) -> bool {
        self.parts.contains(&TemplatePart::Key)
    }

    /// The captured values, if the whole `text` matches.
    pub(crate) fn matches<'a>(&self, text: &'a str) -> Option<TemplateMatch<'a>> {
        let mut captured = TemplateMatch::default();
        let mut rest = text;
        for (index, part) in self.parts.iter().enumerate() {
            let fixed_behind = match self.parts.get(index + 1) {
                Some(TemplatePart::Fixed(fixed)) => Some((fixed.as_str(), index + 2 == self.parts.len())),
                _ => None,
            };
            let length = match part {
                TemplatePart::Fixed(fixed) => {
                    rest = rest.strip_prefix(fixed.as_str())?;
                    continue;
                }
                _ => match fixed_behind {
                    None => rest.len(),
                    Some((fixed, true)) => rest.len() - rest.strip_suffix(fixed).map(|_| fixed.len())?,
                    Some((fixed, false)) => rest.find(fixed)?,
                },
            };
            let (capture, behind) = rest.split_at(length);
            rest = behind;
            match part {
                TemplatePart::Name if !capture.is_empty() => captured.name = capture,
                TemplatePart::Key if !capture.is_empty() => captured.key = capture,
                TemplatePart::Anything => {}
                _ => return None,
            }
        }
        rest.is_empty().then_some(captured)
    }
}

fn parse_placeholder(rest: &str) -> Result<(TemplatePart, usize), String> {
    if rest.starts_with("{name}") {
        return Ok((TemplatePart::Name, "{name}".len()));
    }
    if rest.starts_with("{key}") {
        return Ok((TemplatePart::Key, "{key}".len()));
    }
    Err(format!("`{rest}`: valid placeholders are {{name}}, {{key}}, and *"))
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::{Template, TemplateMatch};

    #[test]
    fn placeholders_capture_text_between_fixed_texts() {
        let template = Template::parse("request {key} of {name} started*").unwrap();
        let captured = template.matches("request 17 of checkout started at 3");
        assert_eq!(captured, Some(TemplateMatch { name: "checkout", key: "17" }));
        assert_eq!(template.matches("request  of checkout started"), None, "a key has a character at least");
        assert_eq!(template.matches("request 17 of checkout"), None);
    }

    #[test]
    fn a_fixed_end_is_the_last_one() {
        let template = Template::parse("{name} done").unwrap();
        let captured = template.matches("not done done");
        assert_eq!(captured, Some(TemplateMatch { name: "not done", key: "" }));
    }

    #[test]
    fn invalid_templates_are_rejected_with_a_hint() {
        assert!(Template::parse("{id} begins").unwrap_err().contains("{key}"));
        assert!(Template::parse("{name}{key}").unwrap_err().contains("between"));
        assert!(Template::parse("").is_err());
    }
}
