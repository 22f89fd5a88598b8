//! Files to collect, with their local names.

use crate::CollectError;
use crate::error::printable;
use std::net::IpAddr;

/// A file of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Local name: letters, digits, `.`, `_`, `-`. It is the host in formats that have none.
    pub name: String,
    /// `http://` or `https://`.
    pub url: String,
    /// Extension without the first dot: `log`, `csv.gz`.
    pub ending: String,
}

/// Longest name.
const NAME_BYTES_MAX: usize = 128;

/// FilePosition extensions.
const ENDINGS: &[&str] =
    &["log", "csv", "tsv", "txt", "calls", "json", "jsonl", "ndjson", "pb", "gz", "zst", "tar", "tgz"];

/// Reads `URL` or `NAME=URL`. The default name is the host of the URL; an IP address has `-` between its numbers.
///
/// # Errors
/// [`CollectError::Settings`] when it is not an HTTP URL, has a user, or the name is not a valid file name.
pub fn parse_source(text: &str) -> Result<Source, CollectError> {
    let wrong = |reason: &str| CollectError::Settings(format!("{}: {reason}", printable(text)));
    let text = text.trim();
    let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', ':', '?']));
    let (name, url) = match named {
        Some((name, url)) => (Some(name.trim()), url.trim()),
        None => (None, text),
    };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let rest = rest.ok_or_else(|| wrong("not a URL; write http://web-03/calls.log or NAME=URL"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        // Not quoted: it may hold a password.
        let advice = "a URL has a user; put a token into a file for --host-token-file";
        return Err(CollectError::Settings(advice.to_owned()));
    }
    if authority.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#') {
        return Err(wrong("not a URL like http://web-03/calls.log"));
    }
    let name = name.map_or_else(|| host_name(authority), str::to_owned);
    if !is_name(&name) {
        return Err(wrong(
            "a name has 1 to 128 letters, digits, dots, - and _, and does not begin with a dot",
        ));
    }
    let path = rest[authority.len()..].split('?').next().unwrap_or_default();
    Ok(Source { name, url: url.to_owned(), ending: ending(path) })
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.starts_with('.') && name.bytes().all(allowed)
}

/// The host without its port. The numbers of an IP address could be mistaken for those of rotated files.
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

/// The known extensions of a path, `log` if there is none.
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
    fn the_default_name_is_the_host() {
        let pair = |name: &str, ending: &str| (name.to_owned(), ending.to_owned());
        assert_eq!(read("http://web-03:8080/logs/calls.log"), pair("web-03", "log"));
        assert_eq!(read("cart-1=https://h/x.csv.gz?a=b"), pair("cart-1", "csv.gz"));
        assert_eq!(read("http://10.0.0.7/calls"), pair("ip-10-0-0-7", "log"));
        assert_eq!(read("http://[::1]:80/v1.2/app.1.jsonl"), pair("ip---1", "jsonl"));
        assert_eq!(read("http://h/log?file=a=b"), pair("h", "log"));
        assert_eq!(read("http://h/calls.v2"), pair("h", "log"));
    }

    #[test]
    fn invalid_urls_and_names_are_rejected() {
        for text in
            ["web-03", "ftp://h/x", "http://", "http:///x", "http://h/a b", "../x=http://h/", "=http://h/"]
        {
            assert!(parse_source(text).is_err(), "{text}");
        }
        let error = parse_source("http://me:secret@h/x").unwrap_err().to_string();
        assert!(error.contains("--host-token-file") && !error.contains("secret"), "{error}");
    }
}
