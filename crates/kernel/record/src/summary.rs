//! Summary of a recording.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How the command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandEnd {
    /// There was none.
    NoCommand,
    /// With this exit status.
    Exited(u8),
    /// By this signal.
    Signaled(u8),
}

impl CommandEnd {
    /// The exit status a shell would show: 128 and the signal's number for a command that was killed.
    pub const fn status(self) -> u8 {
        match self {
            CommandEnd::NoCommand => 0,
            CommandEnd::Exited(status) => status,
            CommandEnd::Signaled(signal) => 128 | signal,
        }
    }
}

/// Counts of one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuSummary {
    /// The CPU's number.
    pub cpu: u32,
    /// Events in the file.
    pub events: u64,
    /// Events dropped because the buffer was full. In a flight recorder: those overwritten by later ones.
    pub lost: u64,
}

/// Summary of a recording; its text is a paragraph.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordSummary {
    /// The file.
    pub file: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// How long was recorded.
    pub duration: Duration,
    /// Every CPU.
    pub cpus: Vec<CpuSummary>,
    /// Whether losses are what a flight recorder is for.
    pub flight_recorder: bool,
    /// Whether calls of functions are among the events.
    pub has_calls: bool,
    /// Notes for the reader, a sentence each.
    pub notes: Vec<String>,
}

impl RecordSummary {
    /// Events in the file.
    pub fn events(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.events).sum()
    }

    /// Events dropped because the buffer was full.
    pub fn lost(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.lost).sum()
    }
}

impl fmt::Display for RecordSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus: Vec<String> =
            self.cpus.iter().map(|cpu| format!("CPU {}: {}", cpu.cpu, cpu.events)).collect();
        write!(
            f,
            "recorded {} events in {:.3} s to {} ({:.1} MB; {})",
            self.events(),
            self.duration.as_secs_f64(),
            self.file.display(),
            self.bytes as f64 / 1e6,
            shorten(&cpus)
        )?;
        match (self.lost(), self.flight_recorder) {
            (0, _) => f.write_str("; none lost.")?,
            (lost, true) => write!(f, "; {lost} older events were overwritten.")?,
            (lost, false) => write!(f, "; {lost} events LOST: give a larger --buffer.")?,
        }
        for note in &self.notes {
            write!(f, " {note}")?;
        }
        let file = self.file.display();
        write!(f, " Next: `laggard kernel stats {file}` or `laggard kernel path {file}`")?;
        match self.has_calls {
            true => write!(f, "; `laggard diagnose {file}` for the calls of functions."),
            false => f.write_str("."),
        }
    }
}

/// The first few of many CPUs.
fn shorten(cpus: &[String]) -> String {
    const SHOWN: usize = 8;
    match cpus.len().checked_sub(SHOWN) {
        None | Some(0) => cpus.join(", "),
        Some(rest) => format!("{} and {rest} more", cpus[..SHOWN].join(", ")),
    }
}

/// A finished recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    /// Summary of the recording.
    pub summary: RecordSummary,
    /// How the command ended.
    pub end: CommandEnd,
}

/// Summary of a snapshot of a flight recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlightSnapshot {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Events of the interval.
    pub events: u64,
}
