//! The changes made to tracing, and how they are undone: by the recorder, or by the guardian if the recorder dies.

use super::guardian::Guardian;
use super::tracefs::{self, COPY_MARKERS, Tracefs};
use crate::error::RecordError;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// One thing to undo. Doing it twice does no harm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum UndoAction {
    /// Unmount tracefs from its public mount point.
    Unmount(PathBuf),
    /// Remove a trace buffer.
    RemoveInstance(String),
    /// Write a value to a file of tracefs.
    Write { file: String, value: String },
    /// Append a value to a file of tracefs.
    Append { file: String, value: String },
    /// Remove the output file if nothing was written to it.
    RemoveEmptyFile(PathBuf),
}

impl UndoAction {
    /// As a line for the guardian.
    pub(super) fn to_line(&self) -> String {
        match self {
            UndoAction::Unmount(mount_point) => format!("unmount\t{}", mount_point.display()),
            UndoAction::RemoveInstance(name) => format!("remove\t{name}"),
            UndoAction::Write { file, value } => format!("write\t{file}\t{value}"),
            UndoAction::Append { file, value } => format!("append\t{file}\t{value}"),
            UndoAction::RemoveEmptyFile(path) => format!("remove-empty\t{}", path.display()),
        }
    }

    /// From a line; `None` when it is none.
    pub(super) fn from_line(line: &str) -> Option<UndoAction> {
        let mut parts = line.splitn(3, '\t');
        let (word, first) = (parts.next()?, parts.next()?.to_owned());
        let second = parts.next().map(str::to_owned);
        Some(match (word, second) {
            ("unmount", None) => UndoAction::Unmount(first.into()),
            ("remove", None) => UndoAction::RemoveInstance(first),
            ("remove-empty", None) => UndoAction::RemoveEmptyFile(first.into()),
            ("write", Some(value)) => UndoAction::Write { file: first, value },
            ("append", Some(value)) => UndoAction::Append { file: first, value },
            _ => return None,
        })
    }

    /// Undoes it. Succeeds if it is already gone.
    pub(super) fn apply(&self, tracefs: &Tracefs) -> io::Result<()> {
        let done = match self {
            UndoAction::Unmount(mount_point) => tracefs::unmount(mount_point),
            UndoAction::RemoveInstance(name) => remove_instance(tracefs, name),
            UndoAction::Write { file, value } => tracefs.write(file, value),
            UndoAction::Append { file, value } => tracefs.append(file, value),
            UndoAction::RemoveEmptyFile(path) => remove_empty(path),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// Files of a buffer are closed a moment after their process has died; until then it cannot be removed.
const REMOVAL_TRIES: u32 = 200;
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);

fn remove_instance(tracefs: &Tracefs, name: &str) -> io::Result<()> {
    let folder = format!("instances/{name}");
    // Stops it at once even if it cannot be removed yet; if that fails, the removal reports why. A buffer that takes
    // copies of markers must not be switched off before.
    for file in [COPY_MARKERS, "tracing_on"] {
        let _ = tracefs.write(&format!("{folder}/{file}"), "0");
    }
    for _ in 0..REMOVAL_TRIES {
        match std::fs::remove_dir(tracefs.path(&folder)) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(REMOVAL_PAUSE),
            removed => return removed,
        }
    }
    std::fs::remove_dir(tracefs.path(&folder))
}

fn remove_empty(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.len() == 0 { std::fs::remove_file(path) } else { Ok(()) }
}

/// The undo list. Dropping it undoes its entries.
pub(super) struct Restorer {
    tracefs: Rc<Tracefs>,
    actions: Vec<UndoAction>,
    guardian: Guardian,
}

impl Restorer {
    pub(super) fn new(tracefs: Rc<Tracefs>, guardian: Guardian) -> Restorer {
        Restorer { tracefs, actions: Vec::new(), guardian }
    }

    /// Adds the undo action of a change that is about to be made.
    pub(super) fn before(&mut self, action: UndoAction) -> Result<(), RecordError> {
        self.if_killed(&action)?;
        self.actions.push(action);
        Ok(())
    }

    /// Adds an action for the guardian alone, if the recorder is killed.
    pub(super) fn if_killed(&mut self, action: &UndoAction) -> Result<(), RecordError> {
        self.guardian.notify(&action.to_line()).map_err(|source| RecordError::Kernel {
            what: "the process that restores tracing if this one dies has exited; nothing was recorded"
                .to_owned(),
            source,
        })
    }

    /// Undoes everything, the last change first; returns what could not be undone, one sentence each.
    pub(super) fn restore(&mut self) -> Vec<String> {
        let mut failures = Vec::new();
        while let Some(action) = self.actions.pop() {
            match action.apply(&self.tracefs) {
                // Another process uses the mount now: it is left mounted.
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy
                        && matches!(action, UndoAction::Unmount(_)) => {}
                Err(error) => failures
                    .push(format!("Could not undo '{}': {error}.", action.to_line().replace('\t', " "))),
                Ok(()) => {}
            }
        }
        self.guardian.dismiss();
        failures
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        self.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_actions_survive_serialization() {
        for action in [
            UndoAction::Unmount("/sys/kernel/tracing".into()),
            UndoAction::RemoveInstance("laggard-1-2".into()),
            UndoAction::Write { file: "trace_clock".into(), value: "local".into() },
            UndoAction::Write { file: "set_event".into(), value: String::new() },
            UndoAction::Append { file: "uprobe_events".into(), value: "-:a/b".into() },
            UndoAction::RemoveEmptyFile("/tmp/trace.dat".into()),
        ] {
            assert_eq!(UndoAction::from_line(&action.to_line()), Some(action));
        }
        for line in ["", "remove", "format\tx", "write\tx", "remove\ta\tb"] {
            assert_eq!(UndoAction::from_line(line), None, "{line}");
        }
    }
}
