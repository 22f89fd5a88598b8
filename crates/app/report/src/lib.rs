//! Reports: what was found, how sure, why, and what was lost on the way; and how they are shown.
//!
//! ```text
//! model/    reports as plain data; their JSON is a published schema ([`schema()`])
//!   │ present/   one file or folder for each question: all wording of facts
//! document/ sentences, tables, charts, and other blocks
//!   │ render/    knows blocks, and no question
//!   ├── text      for a person at a terminal
//!   ├── markdown  for an incident channel, forty lines at most
//!   └── html      one self-contained page
//! ```

pub mod document;
mod input_facts;
mod model;
mod names;
mod numbers;
mod present;
mod render;
mod rfc3339;
mod schema;
mod times;

pub use document::Document;
pub use input_facts::InputFacts;
pub use model::*;
pub use present::capacity::headline::capacity_headline;
pub use present::changes::headline::change_headline;
pub use present::compare::headline::comparison_headline;
pub use present::diagnose::headline::headline;
pub use present::kernel::headline::{kernel_diagnosis_headline, kernel_path_headline, kernel_stats_headline};
pub use present::kernel::phrases::{WaitFacts, wait_words};
pub use present::signature::headline::{diff_headline, signature_headline};
pub use render::json::write as json;
pub use render::{ColorChoice, DiffOutput, Output, Present, TextStyle, render, render_signature_diff};
pub use rfc3339::rfc3339;
pub use schema::{ReportSchema, SCHEMAS, schema};
