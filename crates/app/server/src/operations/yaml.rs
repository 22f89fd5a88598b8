//! The configuration as YAML.

use crate::settings::{
    ObjectiveSettings, Scope, ServeSettings, SettingError, TokenSettings, TraceSourceSettings,
};
use laggard_settings::{SettingValue, Settings};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::fmt::Write;
use std::path::PathBuf;

/// The settings that are no single values: lists of tokens, of objectives, and of trace sources.
const TOKENS: &str = "tokens";
const OBJECTIVES: &str = "objectives";
const TRACE_SOURCES: &str = "trace_sources";

/// Settings from the text of a file. An empty file changes nothing.
pub(super) fn read(text: &str) -> Result<ServeSettings, SettingError> {
    let only_comments = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    if only_comments {
        return Ok(ServeSettings::default());
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let message = error.without_snippet().to_string();
        let line = error
            .location()
            .map(|location| format!("line {}, column {}: ", location.line(), location.column()));
        SettingError::new(format_args!("{}{message}", line.unwrap_or_default()))
    })
}

impl<'de> Deserialize<'de> for ServeSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ServeSettings, D::Error> {
        let mut settings = ServeSettings::default();
        deserializer.deserialize_map(TableReader { settings: &mut settings, path: "" })?;
        Ok(settings)
    }
}

/// Reads the table at a path: the whole configuration, or one of its sections.
struct TableReader<'a> {
    settings: &'a mut ServeSettings,
    path: &'a str,
}

impl<'de> Visitor<'de> for TableReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings with their values")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let key = if self.path.is_empty() { name } else { format!("{}.{name}", self.path) };
            match key.as_str() {
                TOKENS => self.settings.tokens = map.next_value()?,
                OBJECTIVES => self.settings.objectives = map.next_value()?,
                TRACE_SOURCES => self.settings.trace_sources = map.next_value()?,
                _ => map.next_value_seed(KeyReader { settings: self.settings, key: &key })?,
            }
        }
        Ok(())
    }
}

/// Reads what is at a key: a value, a list, or a section.
struct KeyReader<'a> {
    settings: &'a mut ServeSettings,
    key: &'a str,
}

impl<'de> DeserializeSeed<'de> for KeyReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let KeyReader { settings, key } = self;
        let (mut is_section, mut is_list) = (false, false);
        settings.visit(&mut |row, value| {
            is_section |= row.name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
            is_list |= row.name == key && value.entries().is_some();
        });
        if is_section {
            return deserializer.deserialize_map(TableReader { settings, path: key });
        }
        let text = if is_list {
            Option::<Vec<String>>::deserialize(deserializer)?.map(|list| list.text())
        } else {
            Option::<String>::deserialize(deserializer)?
        };
        let result = match text {
            Some(text) => settings.set(key, &text),
            None => settings.clear(key),
        };
        result.map_err(de::Error::custom)
    }
}

impl ServeSettings {
    /// The whole configuration as YAML. Read back, it gives the same settings, but for what is hidden: user names
    /// and passwords in URLs.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        let mut section = "";
        self.visit(&mut |row, value| {
            let (path, name) = row.name.split_once('.').unwrap_or(("", row.name));
            if path != section {
                section = path;
                write_line(&mut out, format_args!("{section}:"));
            }
            let indent = if path.is_empty() { "" } else { "  " };
            let text = value.entries().map_or_else(|| scalar(&hide(value.text())), list);
            write_line(&mut out, format_args!("{indent}{name}: {text}"));
        });
        write_tokens(&mut out, &self.tokens);
        write_objectives(&mut out, &self.objectives);
        write_trace_sources(&mut out, &self.trace_sources);
        out
    }
}

fn write_line(out: &mut String, line: fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("writing into a String cannot fail");
}

fn write_tokens(out: &mut String, tokens: &[TokenSettings]) {
    if tokens.is_empty() {
        return write_line(out, format_args!("{TOKENS}: []"));
    }
    write_line(out, format_args!("{TOKENS}:"));
    for token in tokens {
        write_line(out, format_args!("  - name: {}", scalar(&token.name)));
        write_line(out, format_args!("    file: {}", scalar(&token.file.to_string_lossy())));
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
        write_line(out, format_args!("    scopes: [{}]", scopes.join(", ")));
        write_line(out, format_args!("    tenants: {}", list(&token.tenants)));
    }
}

fn write_objectives(out: &mut String, objectives: &[ObjectiveSettings]) {
    if objectives.is_empty() {
        return write_line(out, format_args!("{OBJECTIVES}: []"));
    }
    write_line(out, format_args!("{OBJECTIVES}:"));
    for objective in objectives {
        write_line(out, format_args!("  - name: {}", scalar(&objective.name)));
        write_line(out, format_args!("    service: {}", scalar(&objective.service)));
        if let Some(operation) = &objective.operation {
            write_line(out, format_args!("    operation: {}", scalar(operation)));
        }
        if let Some(limit) = objective.limit {
            write_line(out, format_args!("    limit: {limit}"));
        }
        write_line(out, format_args!("    without_error: {}", objective.without_error));
        write_line(out, format_args!("    target: {}", objective.target));
        write_line(out, format_args!("    days: {}", objective.days));
        write_line(out, format_args!("    tenants: {}", list(&objective.tenants)));
    }
}

fn write_trace_sources(out: &mut String, sources: &[TraceSourceSettings]) {
    if sources.is_empty() {
        return write_line(out, format_args!("{TRACE_SOURCES}: []"));
    }
    write_line(out, format_args!("{TRACE_SOURCES}:"));
    for source in sources {
        write_line(out, format_args!("  - name: {}", scalar(&source.name)));
        write_line(out, format_args!("    kind: {}", scalar(&source.kind)));
        write_line(out, format_args!("    url: {}", scalar(&hide(source.url.clone()))));
        let file = |file: &Option<PathBuf>| file.as_ref().map(|file| file.to_string_lossy().into_owned());
        for (name, value) in [
            ("service", source.service.clone()),
            ("table", source.table.clone()),
            ("source_tenant", source.source_tenant.clone()),
            ("token_file", file(&source.token_file)),
            ("basic_file", file(&source.basic_file)),
            ("ca_file", file(&source.ca_file)),
            ("tenant", source.tenant.clone()),
        ] {
            if let Some(value) = value {
                write_line(out, format_args!("    {name}: {}", scalar(&value)));
            }
        }
        write_line(out, format_args!("    every: {}", source.every));
        write_line(out, format_args!("    delay: {}", source.delay));
        write_line(out, format_args!("    traces: {}", source.traces));
    }
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
        }
    }
}

fn list(entries: &[String]) -> String {
    let entries: Vec<String> = entries.iter().map(|entry| scalar(entry)).collect();
    format!("[{}]", entries.join(", "))
}

/// A text in quotes unless YAML reads it as itself: JSON's strings are YAML's, too.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./:".contains(&byte))
        && !text.ends_with(':')
        && !text.eq_ignore_ascii_case("null");
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// Hides user and password in front of a URL's host.
fn hide(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(user_end) => format!("{scheme}://<hidden>{}", &rest[user_end..]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_hidden() {
        assert_eq!(
            hide("https://user:secret@host:4318/v1/traces".to_owned()),
            "https://<hidden>@host:4318/v1/traces"
        );
        assert_eq!(hide("http://host/a@b".to_owned()), "http://host/a@b");
        assert_eq!(hide("30s".to_owned()), "30s");
    }

    #[test]
    fn strings_are_quoted_where_yaml_requires_it() {
        for plain in ["127.0.0.1:4316", "laggard-data", "/etc/a.crt", "off", "https://host:1/a"] {
            assert_eq!(scalar(plain), plain);
        }
        for text in ["null", "[::1]:1", "a: b", "a:", "", "info,x=debug", "~"] {
            assert_eq!(scalar(text), format!("{text:?}"));
        }
    }
}
