//! Facts about the input, shared by commands.

use laggard_formats::Outcome;
use laggard_report::{InputFacts, NamedCount};

/// The input files, as reports list them.
pub(crate) fn facts(outcome: &Outcome) -> InputFacts {
    let formats = outcome.formats.iter();
    InputFacts {
        files: outcome.documents(),
        bytes: outcome.bytes,
        formats: formats.map(|(&name, &count)| NamedCount { name: name.to_owned(), count }).collect(),
        events: Vec::new(),
    }
}

/// A caution about files in a folder that no format recognized, if there are any.
pub(crate) fn skipped(outcome: &Outcome) -> Option<String> {
    let first = outcome.skipped.first()?;
    Some(format!(
        "{} files were skipped, for example {}: {}",
        outcome.skipped_count, first.name, first.reason
    ))
}
