//! Settings of a recording: its events, its duration, the sizes of its buffers.

use crate::events::{EventGroup, EventName};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The end of the recording. All threads of the machine are recorded in every case: whoever a thread waits for may be anywhere.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordTarget {
    /// A program is run, and recorded until it ends. Never empty.
    Command(Vec<OsString>),
    /// Until the process with this number ends.
    Process(u32),
    /// Until a signal comes or the duration is over.
    Everything,
}

impl RecordTarget {
    /// Whether this program is the command that is run.
    pub fn runs(&self, program: &Path) -> bool {
        matches!(self, RecordTarget::Command(words) if words.first().is_some_and(|first| first == program.as_os_str()))
    }
}

/// Which version of trace.dat is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatForm {
    /// Version 6, not compressed: every trace-cmd reads it.
    V6,
    /// Version 7, compressed with zstd: trace-cmd 3.0 and later.
    V7,
}

/// When the buffer is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordMode {
    /// While recording, whenever it is half full: nothing is lost unless the disk is too slow.
    Stream,
    /// At the end only: the buffer keeps the latest events.
    FlightRecorder,
}

/// Whether texts that programs write to `trace_marker` are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkerMode {
    /// When that needs nothing outside our own buffer.
    IfPossible,
    /// Always: tracefs is mounted where programs look for it, and the machine's own buffer is used where the kernel
    /// cannot copy markers.
    Required,
}

/// Which buffer is recorded to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferLocation {
    /// One of our own where the kernel has them, else the machine's.
    Auto,
    /// The machine's own buffer, whose settings are put back at the end.
    TopLevel,
}

/// A function of a program, whose calls are recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uprobe {
    /// The program or library.
    pub binary: PathBuf,
    /// The function's symbol, or `0x` and an offset in the file.
    pub function: String,
}

/// How the guardian is started: a program and its arguments that call [`guard`](crate::guard) and do nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardianProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// The settings of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSettings {
    /// The file that is written.
    pub output: PathBuf,
    /// Its version.
    pub form: DatForm,
    /// The command or process that determines when the recording ends.
    pub target: RecordTarget,
    /// Maximum duration.
    pub duration: Option<Duration>,
    /// Groups of events beside those of a path.
    pub groups: Vec<EventGroup>,
    /// Further events by name.
    pub events: Vec<EventName>,
    /// Functions whose calls and returns are recorded.
    pub uprobes: Vec<Uprobe>,
    /// Whether the call stacks in the kernel of waiting and waking threads are recorded.
    pub stacks: bool,
    /// Bytes of buffer for each CPU; `None`: a default that depends on the memory of the machine.
    pub buffer_bytes: Option<u64>,
    /// When the buffer is read.
    pub mode: RecordMode,
    /// Whether markers are recorded.
    pub markers: MarkerMode,
    /// Which buffer is recorded to.
    pub location: BufferLocation,
    /// The second process that undoes everything when this one dies.
    pub guardian: GuardianProgram,
}

/// The settings of a flight recorder.
#[derive(Clone, Debug, PartialEq)]
pub struct FlightSettings {
    /// Memory for the latest events of all CPUs together, in bytes.
    pub buffer_bytes: u64,
    /// Where pages that were read are put, in files without names.
    pub folder: PathBuf,
    /// The second process that undoes everything when this one dies.
    pub guardian: GuardianProgram,
}
