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
mod kernel;
mod kernel_diagnose;
mod kernel_hosts;
mod kernel_read;
mod lengths;
mod moment;
#[cfg(feature = "openapi")]
mod openapi;
mod raw;
mod readers;
mod signature;
mod text;
mod thresholds;
pub mod times;
mod windows;

pub use capacity::{CapacityParams, CapacityQuery, Clients, Factor, MoreServers, Seconds, SomeSeconds};
pub use change_thresholds::ChangeThresholds;
pub use changes::{ChangesMethod, ChangesParams, ChangesQuery};
pub use compare::{CompareParams, ComparedData, WHAT_TO_COMPARE, Window};
pub use diagnose::{BaselineData, DiagnoseParams, DiagnoseQuery};
pub use kernel::{KernelPathParams, KernelStatsParams};
pub use kernel_diagnose::{KernelDiagnoseParams, KernelDiagnoseQuery, KernelSources, KernelThresholds};
pub use kernel_hosts::{Hosts, read_hosts};
pub use kernel_read::{KernelReadSettings, ReadError, ReadProgress, TraceFile, read_traces};
pub use lengths::{AtLeastOne, Probability, WindowLength, at_least_one, length};
pub use moment::Moment;
pub use raw::{FromParams, ParamsError, RawParams};
pub use readers::{Inputs, LogTime, SampleFormats, SampleReading, Weights, WithFiles};
pub use signature::{SignatureParams, SignatureQuery};
pub use text::{FromText, Text};
pub use thresholds::{PcaThresholds, SiteThresholds, Thresholds};
pub use windows::{Deployment, UtilizationForm, Windows};
