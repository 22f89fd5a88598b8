//! The report: what was found, how sure, why, and what was lost on the way; and its renderers.
//!
//! A [`Report`] is plain data. A renderer is one file over the same data; `--output json` prints the data
//! itself, and its field names are a published schema (`docs/manual/report-json.md`).

mod data;

pub use data::*;
