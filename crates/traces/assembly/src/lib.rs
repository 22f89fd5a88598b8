//! Spans to call trees (Mi et al. §3, CloudDiag §3): pure functions over one trace at a time.
//!
//! ```text
//! call records of a request ──rebuild_calls──► span rows ─┐
//!                                   span rows of a trace ─┴─assemble──► call trees ──Shaper──► shape
//! ```
//!
//! Times of different hosts are never subtracted from each other: remote callees count with their own
//! length, and where their recorded times are used at all (to see which of several ran in parallel) they lie
//! inside the caller's interval, which bounds the skew.

mod call_log;
mod children;
mod clocks;
mod loops;
mod shape;
mod trace;
mod tree;

pub use call_log::{RebuiltCalls, rebuild_calls};
pub use clocks::{ClockAgreement, ClockBounds};
pub use shape::{PERIOD_MAX, Shape, ShapePosition, ShapeRule, Shaper, TreeColumns};
pub use trace::{AssembledTrace, CallRows, Request, assemble};

// Limit: nesting of calls | `depth_limit`, folded
/// Calls nested deeper than this fold into the node at the limit (algorithms §1.3).
pub const DEPTH_MAX: u32 = 256;
