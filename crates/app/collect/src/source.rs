//! Which files are collected, and what they are called here.

use crate::CollectError;
use crate::failure::printable;
use std::net::IpAddr;

/// A file of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// What it is called here: letters, digits, `.`, `_`, `-`. Formats without hosts take it for one.
    pub name: String,
    /// Where it is, `http://` or `https://`.
    pub url: String,
    /// How its name ends, without a dot in front: `log`, `csv.gz`.
    pub ending: String,
}

/// Longest name.
const NAME_BYTES_MAX: usize = 128;

/// Endings that tell what a file holds.
const ENDINGS: &[&str] =
    &["log", "csv", "tsv", "txt", "calls", "json", "jsonl", "ndjson", "pb", "gz", "zst", "tar", "tgz"];

/// Reads `URL` or `NAME=URL`. Without a name it is the address's host; of an IP address with `-` between its numbers.
///
/// # Errors
/// [`CollectError::Settings`] when it is no HTTP address, holds a user, or the name cannot be one of a file.
pub fn parse_source(text: &str) -> Result<Source, CollectError> {
    let wrong = |reason: &str| CollectError::Settings(format!("{}: {reason}", printable(text)));
    let text = text.trim();
    let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', ':', '?']));
    let (name, url) = match named {
        Some((name, url)) => (Some(name.trim()), url.trim()),
        None => (None, text),
    };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let rest = rest.ok_or_else(|| wrong("write an address like http://web-03/calls.log, or NAME=ADDRESS"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        // Not quoted: it may hold a password.
        let advice = "an address holds a user; put a token into a file for --host-token-file";
        return Err(CollectError::Settings(advice.to_owned()));
    }
    if authority.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#') {
        return Err(wrong("write an address like http://web-03/calls.log"));
    }
    let name = name.map_or_else(|| host_name(authority), str::to_owned);
    if !is_name(&name) {
        return Err(wrong("a name has letters, digits, dots, - and _, at most 128, and no dot in front"));
    }
    let path = rest[authority.len()..].split('?').next().unwrap_or_default();
    Ok(Source { name, url: url.to_owned(), ending: ending(path) })
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.starts_with('.') && name.bytes().all(allowed)
}

/// The host without its port. Numbers of an IP address would be taken for those of rotated files.
fn host_name(authority: &str) -> String {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    match host.parse::<IpAddr>() {
        Ok(_) => format!("ip-{}", host.replace(['.', ':'], "-")),
        Err(_) => host.to_owned(),
    }
}

/// The endings of a path that are known, `log` if there is none.
fn ending(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let parts: Vec<&str> = file.split('.').skip(1).collect();
    let known = parts.iter().rev().take_while(|part| ENDINGS.contains(part)).count();
    match known {
        0 => "log".to_owned(),
        known => parts[parts.len() - known..].join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, String) {
        let source = parse_source(text).unwrap();
        (source.name, source.ending)
    }

    #[test]
    fn names_are_given_or_the_hosts() {
        let pair = |name: &str, ending: &str| (name.to_owned(), ending.to_owned());
        assert_eq!(read("http://web-03:8080/logs/calls.log"), pair("web-03", "log"));
        assert_eq!(read("cart-1=https://h/x.csv.gz?a=b"), pair("cart-1", "csv.gz"));
        assert_eq!(read("http://10.0.0.7/calls"), pair("ip-10-0-0-7", "log"));
        assert_eq!(read("http://[::1]:80/v1.2/app.1.jsonl"), pair("ip---1", "jsonl"));
        assert_eq!(read("http://h/log?file=a=b"), pair("h", "log"));
        assert_eq!(read("http://h/calls.v2"), pair("h", "log"));
    }

    #[test]
    fn odd_addresses_and_names_are_refused() {
        for text in
            ["web-03", "ftp://h/x", "http://", "http:///x", "http://h/a b", "../x=http://h/", "=http://h/"]
        {
            assert!(parse_source(text).is_err(), "{text}");
        }
        let refused = parse_source("http://me:secret@h/x").unwrap_err().to_string();
        assert!(refused.contains("--host-token-file") && !refused.contains("secret"), "{refused}");
    }
}
