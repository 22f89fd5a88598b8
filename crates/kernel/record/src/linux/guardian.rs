//! A second process that undoes what was changed when the first dies without doing so, even by SIGKILL.
//!
//! It reads the undo list from its standard input, a line before each change. When that ends without the word `done`,
//! the recorder is gone.

use super::tracefs::Tracefs;
use super::undo::UndoAction;
use crate::error::RecordError;
use crate::settings::GuardianProgram;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

const DONE: &str = "done";

/// The recorder's end.
pub(super) struct Guardian {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts it, in a separate process group, so that it does not get the terminal's signals.
    pub(super) fn start(program: &GuardianProgram) -> Result<Guardian, RecordError> {
        let mut process = Command::new(&program.program)
            .args(&program.arguments)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| RecordError::Command { program: program.program.clone(), source })?;
        let pipe = process.stdin.take();
        Ok(Guardian { process, pipe })
    }

    pub(super) fn notify(&mut self, line: &str) -> io::Result<()> {
        match &mut self.pipe {
            Some(pipe) => writeln!(pipe, "{line}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Everything is undone: the guardian may exit.
    pub(super) fn dismiss(&mut self) {
        if self.notify(DONE).is_ok() {
            self.pipe = None;
            // It only has to exit; a failure to wait for it does not matter.
            let _ = self.process.wait();
        }
    }
}

/// The guardian itself: call it in a process of its own, started by [`GuardianProgram`]. Returns when it is dismissed
/// or has undone everything.
pub fn guard() {
    let mut actions = Vec::new();
    for line in io::stdin().lock().lines() {
        match line {
            Ok(line) if line == DONE => return,
            Ok(line) => actions.extend(UndoAction::from_line(&line)),
            Err(_) => break,
        }
    }
    let Ok(tracefs) = Tracefs::open() else { return };
    for action in actions.iter().rev() {
        // No receiver is left.
        let _ = action.apply(&tracefs);
    }
}
