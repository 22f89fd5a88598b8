//! Reports: what was found, how sure, why, and what was lost on the way; and how they are shown.
//!
//! ```text
//! model/    reports as plain data; their JSON is a published schema ([`schema()`])
//!   │ cause/     what kind of cause several reports support together
//!   │ present/   one file or folder for each question: all wording of facts
//! document/ sentences, tables, charts, and other blocks
//!   │ render/    knows blocks, and no question
//!   ├── text      for a person at a terminal
//!   ├── markdown  for an incident channel, forty lines at most
//!   └── html      one self-contained page
//! ```

mod cause;
pub mod document;
mod input_facts;
mod instants;
mod names;
mod numbers;
mod render;
mod schema;
mod times;

/// Reports as data: their field names are a published schema (`docs/manual/json/diagnose.md`).
mod model {
    mod baseline;
    mod between;
    mod capacity;
    mod cause;
    mod changes;
    mod clause;
    mod compare;
    mod diagnose;
    mod input;
    mod kernel;
    mod onset;
    mod published;
    mod replica_load;
    mod samples;
    mod signature;
    mod suspect;
    mod system_event;

    pub use baseline::*;
    pub use between::*;
    pub use capacity::*;
    pub use cause::*;
    pub use changes::*;
    pub use clause::*;
    pub use compare::*;
    pub use diagnose::*;
    pub use input::*;
    pub(crate) use input::{losses, spilled};
    pub use kernel::*;
    pub use onset::*;
    pub use published::*;
    pub use replica_load::*;
    pub(crate) use samples::server_name;
    pub use samples::{SampleSummary, SampledServer};
    pub use signature::*;
    pub use system_event::*;
}

/// Presentation of each report: wording and order, one file or folder for each question.
mod present {
    mod basis;
    mod calls;
    pub(crate) mod capacity;
    pub(crate) mod changes;
    pub(crate) mod compare;
    pub(crate) mod diagnose;
    pub(crate) mod events;
    pub(crate) mod facts;
    pub(crate) mod kernel;
    pub(crate) mod signature;
}

schema::reports! {
    "diagnose", "The report of laggard diagnose", Report, |report| report.verdict;
    "compare", "The comparison of laggard compare", Comparison, |report| report.verdict;
    "changes", "The report of laggard changes", ChangeReport, |report| report.verdict;
    "signature", "The file that laggard signature writes", Signature, |report| report.verdict;
    "signature-diff", "The report of laggard signature diff", SignatureDiff, |report| report.verdict;
    "capacity", "The report of laggard capacity", CapacityReport, |report| report.verdict;
    "kernel-path", "The report of laggard kernel path", KernelPathReport,
        |report| schema::described(!report.executions.is_empty());
    "kernel-diagnose", "The report of laggard kernel diagnose", KernelDiagnosis, |report| report.verdict;
    "kernel-stats", "The report of laggard kernel stats", KernelStatsReport,
        |report| schema::described(report.input.traces.iter().any(|trace| trace.events > 0));
}

pub use cause::conclude;
pub use document::Document;
pub use input_facts::InputFacts;
pub use instants::rfc3339;
pub use model::*;
pub use names::visible;
pub use numbers::{bytes as data_size, counted};
pub use present::capacity::headline::capacity_headline;
pub use present::changes::headline::change_headline;
pub use present::changes::phrases::location as change_location;
pub use present::compare::headline::comparison_headline;
pub use present::diagnose::behavior::behavior_phrase;
pub use present::diagnose::clauses::{OtherEvidence, clauses_text};
pub use present::diagnose::headline::headline;
pub use present::events::{event_phrase, suspect_events_sentence};
pub use present::kernel::headline::{kernel_diagnosis_headline, kernel_path_headline, kernel_stats_headline};
pub use present::kernel::phrases::{WaitFacts, wait_words};
pub use present::signature::headline::{diff_headline, signature_headline};
pub use render::json::write as json;
pub use render::{
    ColorChoice, DiffOutput, HasTestCases, Output, Present, TestCases, TextStyle, render, render_difference,
};
pub use schema::{DeclaredReport, ReportSchema, schema};
pub use times::minute;
