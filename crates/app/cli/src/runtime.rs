//! The input, and facts about it, shared by commands.

use crate::exit::CommandError;
use laggard_formats::{MisnamedFormat, Outcome, Source, expand};
use laggard_report::{InputFacts, NamedCount};
use std::io::{IsTerminal, stdin};
use std::path::PathBuf;

/// The inputs behind paths: standard input without any, or for `-`.
///
/// # Errors
/// What [`expand`] says; and when standard input is a terminal and was not named: nobody types traces.
pub(crate) fn input_sources(paths: &[PathBuf]) -> Result<Vec<Source>, CommandError> {
    sources_beside(paths, stdin().is_terminal())
}

fn sources_beside(paths: &[PathBuf], stdin_is_terminal: bool) -> Result<Vec<Source>, CommandError> {
    if paths.is_empty() && stdin_is_terminal {
        return Err(CommandError::usage(
            "no input is named: name files, folders, or patterns, or send something to standard input; `laggard demo` shows an example",
        ));
    }
    expand(paths).map_err(CommandError::unreadable)
}

/// The input files, as reports list them.
pub(crate) fn facts(outcome: &Outcome) -> InputFacts {
    let formats = outcome.formats.iter();
    InputFacts {
        files: outcome.documents(),
        bytes: outcome.bytes,
        spilled_bytes: 0,
        formats: formats.map(|(&name, &count)| NamedCount { name: name.to_owned(), count }).collect(),
        events: Vec::new(),
    }
}

/// Cautions about inputs: those in a folder that no format recognized, and those that look like another format than the user named.
pub(crate) fn input_cautions(outcome: &Outcome) -> Vec<String> {
    let skipped = outcome.skipped.first().map(|first| match outcome.skipped_count {
        1 => format!("1 file was skipped, {}: {}", first.name, first.reason),
        count => format!("{count} files were skipped, for example {}: {}", first.name, first.reason),
    });
    let misnamed = outcome.misnamed.as_ref().map(|MisnamedFormat { name, read_as, looks_like }| {
        format!("{name} looks like {looks_like}, and was read as {read_as}; leave out --format to read it as what it is")
    });
    skipped.into_iter().chain(misnamed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_read_only_if_it_is_named() {
        assert!(sources_beside(&[], true).is_err());
        assert_eq!(sources_beside(&[], false).unwrap(), [Source::Stdin]);
        assert_eq!(sources_beside(&[PathBuf::from("-")], true).unwrap(), [Source::Stdin]);
    }
}
