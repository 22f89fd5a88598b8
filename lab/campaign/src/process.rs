//! Processes that end with their owner.

use crate::{CampaignError, in_file};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process in the background; dropping it ends it as an operator would.
pub(crate) struct Process(Child);

impl Process {
    /// Starts it; what it prints goes to a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Process, CampaignError> {
        let output = File::create(log).map_err(|error| in_file(log, &error))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        let what = format!("{command:?}");
        command.spawn().map(Process).map_err(|error| format!("{what}: {error}"))
    }

    /// Whether it exited without being stopped.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            // It may end between the two.
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}
