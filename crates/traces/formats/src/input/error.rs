//! Errors of inputs, with sentences that suggest what to try.

use super::SkippedInput;
use crate::FORMATS;
use crate::format::FormatError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An input that cannot be read at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InputError {
    /// A path that matches no file.
    NotFound {
        /// The path as specified.
        path: PathBuf,
        /// Why, as a clause.
        reason: String,
    },
    /// The operating system could not open or read it.
    Unreadable {
        /// The input.
        name: String,
        /// The system's words.
        reason: String,
    },
    /// No format starts like this.
    Unrecognized {
        /// The input.
        name: String,
        /// What its first bytes look like, as a clause.
        looks_like: String,
    },
    /// The format is clear, but its reader cannot go on.
    Format {
        /// The input.
        name: String,
        /// The reader's words.
        error: FormatError,
    },
    /// Of several inputs, none could be read.
    NothingRead {
        /// Some of them with the reasons.
        skipped: Vec<SkippedInput>,
        /// How many there are.
        count: u64,
    },
}

impl InputError {
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> InputError {
        match error.kind() {
            io::ErrorKind::NotFound => {
                InputError::NotFound { path: path.to_owned(), reason: "there is no such file".to_owned() }
            }
            _ => InputError::Unreadable { name: path.display().to_string(), reason: error.to_string() },
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputError::NotFound { path, reason } => {
                write!(f, "Cannot read {}: {reason}. Check the path; quote patterns.", path.display())
            }
            InputError::Unreadable { name, reason } => {
                write!(f, "Cannot read {name}: {reason}. Check that it is a file you may read.")
            }
            InputError::Unrecognized { name, looks_like } => {
                write!(f, "Cannot recognize the format of {name}: {looks_like}. ")?;
                write_formats(f)
            }
            InputError::Format { name, error } => write!(f, "Cannot read {name}: {error}"),
            InputError::NothingRead { skipped, count } => write_skipped(f, skipped, *count),
        }
    }
}

impl std::error::Error for InputError {}

fn write_formats(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "The formats are:")?;
    for (index, format) in FORMATS.iter().enumerate() {
        write!(f, "{} {} ({})", if index == 0 { "" } else { ";" }, format.name, format.title)?;
    }
    write!(f, ". Name one with --format if it is one of them; map the columns of other tables with --column.")
}

fn write_skipped(f: &mut fmt::Formatter<'_>, skipped: &[SkippedInput], count: u64) -> fmt::Result {
    const SHOWN: usize = 3;
    write!(f, "None of {count} files could be read as traces.")?;
    for input in skipped.iter().take(SHOWN) {
        write!(f, " {}: {}.", input.name, input.reason.trim_end_matches('.'))?;
    }
    write!(f, " ")?;
    write_formats(f)
}
