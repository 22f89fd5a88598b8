//! Parameters of questions by name: one place for the flags of the command line and the fields of the HTTP API.
//!
//! ```text
//! flags ─► struct ──┬─► settings of diagnose ─► answer
//! JSON  ─► struct ──┘
//!          struct ─► JSON: a question to a server
//! ```
//!
//! A parameter is a field here: its name with dashes is the flag's and the JSON field's, its documentation is the help's.
//! Thresholds are declared by the methods that have them, and are set by name (`--set name=value`, the object `set`).
//! The structs are arguments of clap and schemas of the OpenAPI document. Kernel traces are read here, too, since command
//! line and server read them alike.

mod capacity;
mod changes;
mod compare;
mod diagnose;
mod field;
mod form;
mod kernel;
mod kernel_diagnose;
mod kernel_hosts;
mod kernel_read;
mod kernel_sources;
mod lengths;
mod listing;
mod moment;
mod openapi;
mod question;
mod raw;
mod readers;
mod set;
mod signature;
mod system_events;
mod text;
pub mod times;
mod tool;
mod windows;

pub use capacity::{CapacityParams, Factor, MoreServers, Seconds, SomeSeconds};
pub use changes::ChangesParams;
pub use compare::{CompareParams, ComparedData, WHAT_TO_COMPARE, Window};
pub use diagnose::{BaselineData, BaselineMode, DiagnoseParams};
pub use field::{Field, FieldChoice, FilePart, QuestionPage};
pub use form::{Form, Forms};
pub use kernel::{KernelPathParams, KernelStatsParams};
pub use kernel_diagnose::KernelDiagnoseParams;
pub use kernel_hosts::{Hosts, read_hosts};
pub use kernel_read::{KernelReadSettings, ReadError, ReadProgress, TraceFile, read_traces};
pub use kernel_sources::{KernelFiles, KernelSources, KernelTraces, OneSet, TwoSets};
pub use lengths::{AtLeastOne, Probability, WindowLength, at_least_one};
pub use listing::{SettingEntry, SettingsListing};
pub use moment::Moment;
pub use openapi::add_schemas;
pub use question::{
    Alarm, Declaration, DeclaredQuestion, KernelQuestion, QuestionVisitor, SampleQuestion, WindowedSamples,
};
pub use raw::{FromParams, ParamsError, RawParams};
pub use readers::{Inputs, LogTime, SampleFormats, SampleQuery, SampleReading, Weights};
pub use set::SetArgument;
pub use signature::SignatureParams;
pub use system_events::ServiceDeployment;
pub use text::{FromText, Text};
pub use tool::{COMPARE_QUESTION, DIAGNOSE_QUESTION, INSTRUCTIONS, settings_answer, settings_tool, tool};
pub use windows::{Deployment, UtilizationForm, Windows};

/// Every question whose command, route, and page follow from what it declares, in the order of the navigation.
pub fn each_question(visitor: &mut impl QuestionVisitor) {
    visitor.about_samples::<ChangesParams>();
    visitor.about_samples::<SignatureParams>();
    visitor.about_samples::<CapacityParams>();
    visitor.about_kernel_traces::<KernelStatsParams>();
    visitor.about_kernel_traces::<KernelPathParams>();
    visitor.about_kernel_traces::<KernelDiagnoseParams>();
}
