//! Questions by their settings' names: one place for the flags of the command line and the fields of the HTTP API.
//!
//! ```text
//! flags ─► struct ──┬─► settings of diagnose ─► answer
//! JSON  ─► struct ──┘
//!          struct ─► JSON: a question to a server
//! ```
//!
//! A setting is a field here: its name with dashes is the flag's and the JSON field's, its documentation is the help's.
//! With the feature `flags` the structs are arguments of clap, with `openapi` they are schemas. Kernel traces are read
//! here, too, since both fronts read them alike.

mod capacity;
mod change_thresholds;
mod changes;
mod compare;
mod diagnose;
mod given;
mod kernel;
mod kernel_diagnose;
mod kernel_hosts;
mod kernel_read;
mod lengths;
mod moment;
#[cfg(feature = "openapi")]
mod openapi;
mod readers;
mod signature;
mod text;
mod thresholds;
pub mod times;
mod windows;

pub use capacity::{Capacity, CapacityAsked, Clients, Factor, MoreServers, Seconds, SomeSeconds};
pub use change_thresholds::ChangeThresholds;
pub use changes::{Changes, ChangesAsked, ChangesMethod};
pub use compare::{Compare, ComparedData, WHAT_TO_COMPARE, Window};
pub use diagnose::{BaselineData, Diagnose, DiagnoseAsked};
pub use given::{Given, Invalid, Named};
pub use kernel::{KernelPath, KernelStats};
pub use kernel_diagnose::{KernelDiagnose, KernelDiagnoseAsked, KernelSources, KernelThresholds};
pub use kernel_hosts::{Hosts, read_hosts};
pub use kernel_read::{ReadError, Reading, TraceFile, Watch, read_traces};
pub use lengths::{AtLeastOne, Probability, WindowLength, at_least_one, length};
pub use moment::Moment;
pub use readers::{Inputs, LogTime, OfFiles, SampleFormats, SampleReading, Weights};
pub use signature::{Signature, SignatureAsked};
pub use text::{Spelled, Text};
pub use thresholds::{PcaThresholds, SiteThresholds, Thresholds};
pub use windows::{Deployment, UtilizationForm, Windows};
