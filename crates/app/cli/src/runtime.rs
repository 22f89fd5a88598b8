//! Facts about the input, shared by commands.

use laggard_formats::{MisnamedFormat, Outcome};
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

/// Cautions about inputs: those in a folder that no format recognized, and those that look like another format than the user named.
pub(crate) fn input_cautions(outcome: &Outcome) -> Vec<String> {
    let skipped = outcome.skipped.first().map(|first| {
        format!("{} files were skipped, for example {}: {}", outcome.skipped_count, first.name, first.reason)
    });
    let misnamed = outcome.misnamed.as_ref().map(|MisnamedFormat { name, read_as, looks_like }| {
        format!("{name} looks like {looks_like}, and was read as {read_as}; leave out --format to read it as what it is")
    });
    skipped.into_iter().chain(misnamed).collect()
}
