//! How a run ends: exit status and message.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Exit statuses; `docs/manual/diagnose.md` lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Status {
    /// It ran.
    Done = 0,
    /// Suspects were found and `--exit-code` was given.
    Suspects = 1,
    /// The command line asks for something impossible.
    Usage = 2,
    /// An input cannot be read, or the output cannot be written.
    Unreadable = 3,
    /// There is too little data to say.
    TooLittle = 4,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// A run that could not be completed, in a sentence.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Display) -> Failure {
        Failure { status: Status::Usage, message: message.to_string() }
    }

    pub(crate) fn unreadable(message: impl Display) -> Failure {
        Failure { status: Status::Unreadable, message: message.to_string() }
    }

    pub(crate) fn too_little(message: impl Display) -> Failure {
        Failure { status: Status::TooLittle, message: message.to_string() }
    }

    /// Says it on standard error. That nobody may be listening there changes nothing about the status.
    pub(crate) fn tell(&self) -> Status {
        let _ = writeln!(io::stderr(), "laggard: {}", self.message);
        self.status
    }
}
