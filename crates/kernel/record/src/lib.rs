//! Records a kernel trace through tracefs: just the events a critical path needs, and everything put back at the end.
//!
//! ```text
//! settings ─► tracefs (found, or mounted for ourselves) ─► a buffer of our own ─► events on ─► COMMAND runs
//!                     ▲ guardian: undoes it all when we die          │ a thread per CPU reads whole pages
//!                     └──────────────── undo list ◄──────────────────┴─► trace.dat
//! ```
//!
//! What is changed in the kernel's tracing is written to an undo list first, and a second process, the guardian, has
//! the same list: it undoes what is left when this one dies without doing so.

mod commands;
pub mod dat;
mod error;
mod events;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other_systems;
mod settings;
mod summary;

pub use commands::equivalent_commands;
pub use error::RecordError;
pub use events::{EventGroup, EventName, Need, PATH_EVENTS, WantedEvent, flight_events};
pub use laggard_elf::{ElfError, function_offset};
#[cfg(target_os = "linux")]
pub use linux::{FlightRecorder, StopSignals, guard, record};
#[cfg(not(target_os = "linux"))]
pub use other_systems::{FlightRecorder, StopSignals, guard, record};
pub use settings::{
    BufferLocation, DatForm, FlightSettings, GuardianProgram, MarkerMode, RecordMode, RecordSettings,
    RecordTarget, Uprobe,
};
pub use summary::{CommandEnd, CpuSummary, FlightSnapshot, RecordSummary, Recording};
