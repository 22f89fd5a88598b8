//! The report: what was found, how sure, why, and what was lost on the way; and its renderers.
//!
//! A [`Report`] is plain data. A renderer is one file over the same data; `--output json` prints the data
//! itself, and its field names are a published schema (`docs/manual/report-json.md`).
//!
//! ```text
//! Report ──┬── text      for a person at a terminal
//!          ├── json      the data itself
//!          ├── markdown  for an incident channel, forty lines at most
//!          └── html      one self-contained page
//! ```

mod capacity;
pub mod document;
mod html;
mod input_facts;
mod markdown;
mod model;
mod names;
mod numbers;
mod present;
mod render;
mod rfc3339;
mod schema;
mod text;
mod times;

pub use capacity::{
    CAPACITY_SCHEMA_VERSION, CapacityAnswer, CapacityModel, CapacityReport, CapacityVerdict, ClientsBasis,
    CurrentLoad, CurvePoint, ModelAccuracy, ObservedLoad, ThinkTime, TierError, TierKind, TierLoad,
    TierModel, TransactionLatency, TransactionResponse, Trust, WhatIf, WhatIfLoad, WindowCapacity,
    capacity_headline, render_capacity,
};
pub use document::Document;
pub use input_facts::InputFacts;
pub use model::*;
pub use present::changes::headline::change_headline;
pub use present::compare::headline::comparison_headline;
pub use present::diagnose::headline::headline;
pub use present::kernel::headline::{kernel_diagnosis_headline, kernel_path_headline, kernel_stats_headline};
pub use present::kernel::phrases::{WaitFacts, wait_words};
pub use present::signature::headline::{diff_headline, signature_headline};
use render::json;
pub use render::json::write as json;
pub use render::{ColorChoice, DiffOutput, Output, Present, TextStyle, render, render_signature_diff};
pub use rfc3339::rfc3339;
pub use schema::schema;
