//! Settings as a file would have them, secrets hidden.

use super::fields::fields;
use crate::settings::{Scope, ServeSettings, TokenSettings};
use std::fmt::Write;

impl ServeSettings {
    /// The whole configuration as YAML. Read back, it gives the same settings, but for what is hidden: user names
    /// and passwords in addresses.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        let mut section = "";
        for field in fields() {
            let (of, name) = field.key.split_once('.').unwrap_or(("", field.key));
            if of != section {
                section = of;
                write_line(&mut out, format_args!("{section}:"));
            }
            let indent = if of.is_empty() { "" } else { "  " };
            write_line(&mut out, format_args!("{indent}{name}: {}", hide((field.show)(self))));
            // Lists of a section stand behind its last value.
            if field.key == "alerts.lead" {
                write_line(
                    &mut out,
                    format_args!("  exec_arguments: [{}]", list(&self.alerts.exec_arguments)),
                );
                write_line(
                    &mut out,
                    format_args!("  service_labels: [{}]", list(&self.alerts.service_labels)),
                );
            }
        }
        write_names(&mut out, &self.names);
        write_tokens(&mut out, &self.tokens);
        out
    }
}

fn write_line(out: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("writing into a String cannot fail");
}

fn write_names(out: &mut String, names: &[String]) {
    write_line(out, format_args!("names: [{}]", list(names)));
}

fn write_tokens(out: &mut String, tokens: &[TokenSettings]) {
    if tokens.is_empty() {
        return write_line(out, format_args!("tokens: []"));
    }
    write_line(out, format_args!("tokens:"));
    for token in tokens {
        write_line(out, format_args!("  - name: {}", quoted(&token.name)));
        write_line(out, format_args!("    file: {}", quoted(&token.file.to_string_lossy())));
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
        write_line(out, format_args!("    scopes: [{}]", scopes.join(", ")));
        write_line(out, format_args!("    tenants: [{}]", list(&token.tenants)));
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

fn list(texts: &[String]) -> String {
    texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")
}

/// Text that YAML cannot take for something else: JSON's strings are YAML's, too.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Addresses may have a user and a password in front of the host.
fn hide(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://<hidden>{}", &rest[at..]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_are_hidden() {
        assert_eq!(
            hide("\"https://user:secret@host:4318/v1/traces\"".to_owned()),
            "\"https://<hidden>@host:4318/v1/traces\""
        );
        assert_eq!(hide("\"http://host/a@b\"".to_owned()), "\"http://host/a@b\"");
        assert_eq!(hide("30s".to_owned()), "30s");
    }
}
