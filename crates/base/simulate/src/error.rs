//! The error of the generators.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why an incident cannot be generated.
#[derive(Debug)]
pub enum Error {
    /// A setting is outside its range.
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The rejected value.
        value: String,
        /// The allowed range, in words.
        allowed: &'static str,
    },
    /// The folder for the traces holds something already; old and new traces would mix.
    NotEmpty(PathBuf),
    /// The operating system refused.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
}

impl Error {
    /// Adds the path to an I/O error.
    pub(crate) fn with_path(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_owned(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Setting { name, value, allowed } => {
                write!(f, "{name} is {value}; allowed is {allowed}")
            }
            Error::NotEmpty(path) => write!(
                f,
                "{} is not empty, and traces of two runs would mix; empty it or choose another folder",
                path.display()
            ),
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
