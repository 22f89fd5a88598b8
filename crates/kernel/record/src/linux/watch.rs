//! Runs the command and waits: for its end, for a process, for a signal, or for the time to be over.

use super::groups::numbers;
use crate::error::RecordError;
use crate::settings::RecordTarget;
use crate::summary::CommandEnd;
use laggard_model::Tid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, getpgrp, kill_process, pidfd_open, test_kill_process};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Signals that end a recording.
const SIGNALS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
/// Polling interval where the kernel cannot notify of a process's end.
const LOOK: Duration = Duration::from_millis(50);

/// A caught signal's pipe: a byte for each time it came.
struct CaughtSignals {
    signal: Signal,
    pipe: UnixStream,
    id: signal_hook::SigId,
}

/// Signals that are caught from now on until this is dropped.
pub(super) struct Signals {
    caught: Vec<CaughtSignals>,
    /// Whether a terminal sends Ctrl-C to the command too.
    terminal: bool,
    /// Interrupts that were left to the terminal.
    left: u32,
}

impl Signals {
    /// Catches them, also those that our caller ignores: shells ignore Ctrl-C in what scripts start with `&`, and a recorder that
    /// nothing but SIGKILL ends never writes its file.
    pub(super) fn catch() -> std::io::Result<Signals> {
        let mut caught = Vec::new();
        for signal in SIGNALS {
            let (pipe, sender) = UnixStream::pair()?;
            pipe.set_nonblocking(true)?;
            let id = signal_hook::low_level::pipe::register(signal.as_raw(), sender)?;
            caught.push(CaughtSignals { signal, pipe, id });
        }
        Ok(Signals { caught, terminal: in_foreground(), left: 0 })
    }

    /// Passes a signal on to the command. The terminal has sent Ctrl-C to its whole process group already: the command
    /// must not get it twice. A second one is passed on.
    fn forward(&mut self, signal: Signal, child: Pid) {
        if self.terminal && [Signal::INT, Signal::QUIT].contains(&signal) && self.left == 0 {
            self.left += 1;
            return;
        }
        // It may have ended since.
        let _ = kill_process(child, signal);
    }

    /// Signals that have come.
    fn take(&mut self) -> Vec<Signal> {
        let came = self.caught.iter_mut().filter_map(|caught| {
            let mut bytes = [0; 16];
            matches!(caught.pipe.read(&mut bytes), Ok(1..)).then_some(caught.signal)
        });
        came.collect()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for caught in &self.caught {
            signal_hook::low_level::unregister(caught.id);
        }
    }
}

/// Whether we are in the foreground of a terminal.
fn in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp())
}

/// Why waiting is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StopReason {
    /// The watched process has ended.
    Ended,
    /// A signal came and there is no command to pass it to.
    Signal,
    /// The time is over.
    Time,
}

/// The watched process.
pub(super) struct WatchOutcome {
    child: Option<Child>,
    pid: Option<Pid>,
    descriptor: Option<OwnedFd>,
}

impl WatchOutcome {
    /// Starts the command, or finds the process.
    pub(super) fn start(target: &RecordTarget) -> Result<WatchOutcome, RecordError> {
        match target {
            RecordTarget::Command(words) => WatchOutcome::run(words),
            RecordTarget::Process(number) => WatchOutcome::find(*number),
            RecordTarget::Everything => Ok(WatchOutcome { child: None, pid: None, descriptor: None }),
        }
    }

    fn run(words: &[std::ffi::OsString]) -> Result<WatchOutcome, RecordError> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(RecordError::Impossible { reason: "give a command to run".to_owned() });
        };
        let child = Command::new(program)
            .args(arguments)
            .spawn()
            .map_err(|source| RecordError::Command { program: PathBuf::from(program), source })?;
        let pid = Pid::from_child(&child);
        Ok(WatchOutcome {
            child: Some(child),
            pid: Some(pid),
            descriptor: pidfd_open(pid, PidfdFlags::empty()).ok(),
        })
    }

    fn find(number: u32) -> Result<WatchOutcome, RecordError> {
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
        let pid = pid.filter(|pid| lives(*pid));
        let pid =
            pid.ok_or_else(|| RecordError::Impossible { reason: format!("there is no process {number}") })?;
        Ok(WatchOutcome {
            child: None,
            pid: Some(pid),
            descriptor: pidfd_open(pid, PidfdFlags::empty()).ok(),
        })
    }

    /// The watched process and the descendants that it has now.
    pub(super) fn processes(&self) -> Vec<Tid> {
        let Some(pid) = self.pid else { return Vec::new() };
        let mut processes = vec![pid.as_raw_nonzero().get().unsigned_abs()];
        let parents: Vec<(u32, u32)> =
            numbers("/proc").into_iter().filter_map(|process| Some((process, parent(process)?))).collect();
        let mut next = 0;
        while let Some(&parent) = processes.get(next) {
            next += 1;
            let children = parents.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process);
            let new: Vec<u32> = children.filter(|process| !processes.contains(process)).collect();
            processes.extend(new);
        }
        processes.into_iter().map(Tid).collect()
    }

    /// Waits; signals are passed on to the command, if there is one.
    pub(super) fn wait(&mut self, signals: &mut Signals, until: Option<Instant>) -> StopReason {
        loop {
            if self.has_ended() {
                return StopReason::Ended;
            }
            let now = Instant::now();
            if until.is_some_and(|until| until <= now) {
                return StopReason::Time;
            }
            self.sleep(signals, until.map(|until| until - now));
            for signal in signals.take() {
                match (&self.child, self.pid) {
                    (Some(_), Some(pid)) => signals.forward(signal, pid),
                    _ => return StopReason::Signal,
                }
            }
        }
    }

    /// Sleeps until something may have happened.
    fn sleep(&self, signals: &Signals, remaining: Option<Duration>) {
        let must_look = self.pid.is_some() && self.descriptor.is_none();
        let longest =
            if must_look { Some(remaining.map_or(LOOK, |remaining| remaining.min(LOOK))) } else { remaining };
        let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
        let mut watched: Vec<PollFd<'_>> =
            signals.caught.iter().map(|caught| PollFd::new(&caught.pipe, PollFlags::IN)).collect();
        watched.extend(self.descriptor.iter().map(|descriptor| PollFd::new(descriptor, PollFlags::IN)));
        // An interrupted sleep is one that ends early.
        let _ = poll(&mut watched, longest.as_ref());
    }

    fn has_ended(&mut self) -> bool {
        match (&mut self.child, self.pid) {
            (Some(child), _) => !matches!(child.try_wait(), Ok(None)),
            (None, Some(pid)) => !lives(pid),
            (None, None) => false,
        }
    }

    /// Waits for the command's end, if there is one, and returns how it ended.
    pub(super) fn end(&mut self, signals: &mut Signals) -> CommandEnd {
        if self.child.is_some() {
            self.wait(signals, None);
        }
        let Some(child) = &mut self.child else { return CommandEnd::NoCommand };
        match child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => CommandEnd::Exited(code as u8),
                (None, signal) => CommandEnd::Signaled(signal.unwrap_or(0) as u8),
            },
            Err(_) => CommandEnd::NoCommand,
        }
    }
}

/// The parent of a process: the second field after its name, which is in parentheses and may contain any character.
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process lives; one that has ended and was not yet waited for does not.
fn lives(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    match state {
        Some(state) => !['Z', 'X'].contains(&state),
        None => test_kill_process(pid).is_ok(),
    }
}
