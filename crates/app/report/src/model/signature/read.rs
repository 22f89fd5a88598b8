//! Reads the file of a signature, of this version or an earlier one.

use super::{SIGNATURE_SCHEMA_VERSION, Signature};
use crate::names::label;
use serde::Deserialize;
use std::fmt;

/// Why a file is no signature that can be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignatureReadError {
    /// It is no JSON, or lacks what every report has; what the parser says.
    NotASignature(String),
    /// It is another report of Laggard.
    OtherReport(String),
    /// Its schema is newer than this version.
    Newer {
        /// The file's schema version.
        schema_version: u32,
        /// The version that wrote it, if it says so.
        laggard_version: String,
    },
}

impl fmt::Display for SignatureReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignatureReadError::NotASignature(reason) => {
                write!(f, "it is no signature ({reason}); `laggard signature FILE… -o NAME.json` writes one")
            }
            SignatureReadError::OtherReport(name) => write!(
                f,
                "it is the report {}, not a signature; `laggard signature FILE… -o NAME.json` writes one",
                label(name, 40)
            ),
            SignatureReadError::Newer { schema_version, laggard_version } => write!(
                f,
                "its schema version is {schema_version}, written by Laggard {}; this version reads up to \
                 {SIGNATURE_SCHEMA_VERSION}. Update Laggard, or write the signature again with this version",
                if laggard_version.is_empty() { "?".to_owned() } else { label(laggard_version, 40) }
            ),
        }
    }
}

impl std::error::Error for SignatureReadError {}

/// The fields that tell a signature from other files, read first.
#[derive(Deserialize)]
struct Head {
    schema_version: u32,
    report: String,
    #[serde(default)]
    laggard_version: String,
}

/// Reads a signature. Unknown fields are ignored and absent ones empty, so that files of other versions within
/// the schema are read.
///
/// # Errors
/// Text that is no signature, and one of a newer schema.
pub fn read_signature(text: &str) -> Result<Signature, SignatureReadError> {
    let text = text.trim_start_matches('\u{feff}');
    let not_one = |error: serde_json::Error| SignatureReadError::NotASignature(error.to_string());
    let head: Head = serde_json::from_str(text).map_err(not_one)?;
    if head.report != "signature" {
        return Err(SignatureReadError::OtherReport(head.report));
    }
    if head.schema_version > SIGNATURE_SCHEMA_VERSION {
        let Head { schema_version, laggard_version, .. } = head;
        return Err(SignatureReadError::Newer { schema_version, laggard_version });
    }
    serde_json::from_str(text).map_err(not_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_ignored_and_missing_ones_are_empty() {
        let text = r#"{"schema_version":1,"report":"signature","moon":{"phase":[1]},"verdict":"splendid",
            "servers":[{"server":"a","transactions":[{"transaction":"Home","service_time_s":0.5,"color":"red"}]}]}"#;
        let signature = read_signature(text).unwrap();
        let transaction = &signature.servers[0].transactions[0];
        assert_eq!((transaction.service_time_s, transaction.standard_error_s), (Some(0.5), None));
        assert_eq!(signature.laggard_version, "");
    }

    #[test]
    fn unreadable_signatures_have_a_reason() {
        let error = |text: &str| read_signature(text).unwrap_err().to_string();
        for text in ["", "[]", "{}", "hello", r#"{"schema_version":"1","report":"signature"}"#] {
            assert!(error(text).contains("no signature"), "{text}: {}", error(text));
        }
        assert!(error(r#"{"schema_version":1,"report":"changes"}"#).contains("report changes"));
        let newer =
            error(r#"{"schema_version":9,"report":"signature","laggard_version":"7.0","servers":"?"}"#);
        assert!(
            newer.contains("version is 9") && newer.contains("7.0") && newer.contains("Update"),
            "{newer}"
        );
    }
}
