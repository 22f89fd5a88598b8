//! How a run ends: exit status and message.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Exit statuses; `docs/manual/diagnose.md` lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Status {
    /// The command succeeded.
    Done = 0,
    /// Suspects were found and `--exit-code` is set.
    Suspects = 1,
    /// Invalid usage.
    Usage = 2,
    /// An input cannot be read, or the output cannot be written.
    Unreadable = 3,
    /// Too little data for an answer.
    TooLittle = 4,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// Exit status of a verdict.
pub(crate) struct Verdicts {
    /// Verdicts, as in the JSON, for which `--exit-code` exits with 1.
    pub(crate) alarming: &'static [&'static str],
    /// Those for which it exits with 4: the data do not tell.
    pub(crate) unsure: &'static [&'static str],
    /// Whether `--exit-code` is set.
    pub(crate) exit_code: bool,
}

impl Verdicts {
    /// Of a command without `--exit-code`.
    pub(crate) const NONE: Verdicts = Verdicts { alarming: &[], unsure: &[], exit_code: false };

    pub(crate) fn status(&self, verdict: &str) -> Status {
        match verdict {
            "insufficient-data" => Status::TooLittle,
            verdict if self.exit_code && self.unsure.contains(&verdict) => Status::TooLittle,
            verdict if self.exit_code && self.alarming.contains(&verdict) => Status::Suspects,
            _ => Status::Done,
        }
    }
}

/// Why a run could not be completed, in a sentence.
#[derive(Debug)]
pub(crate) struct CommandError {
    status: Status,
    message: String,
}

impl CommandError {
    pub(crate) fn usage(message: impl Display) -> CommandError {
        CommandError { status: Status::Usage, message: message.to_string() }
    }

    pub(crate) fn unreadable(message: impl Display) -> CommandError {
        CommandError { status: Status::Unreadable, message: message.to_string() }
    }

    pub(crate) fn too_little(message: impl Display) -> CommandError {
        CommandError { status: Status::TooLittle, message: message.to_string() }
    }

    /// The reason in a sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints it to standard error, ignoring errors of writing.
    pub(crate) fn print(&self) -> Status {
        let _ = writeln!(io::stderr(), "laggard: {}", self.message);
        self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_data_do_not_tell_is_no_success_of_a_gate() {
        let gate = |exit_code| Verdicts { alarming: &["slower"], unsure: &["not-explained"], exit_code };
        let statuses = |exit_code| {
            ["steady", "slower", "not-explained", "insufficient-data"]
                .map(|verdict| gate(exit_code).status(verdict))
        };
        assert_eq!(statuses(true), [Status::Done, Status::Suspects, Status::TooLittle, Status::TooLittle]);
        assert_eq!(statuses(false), [Status::Done, Status::Done, Status::Done, Status::TooLittle]);
    }
}
