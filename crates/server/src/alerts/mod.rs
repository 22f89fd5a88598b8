//! Continuous detection, and whom it tells (`docs/manual/alerts.md`).
//!
//! ```text
//! store ─► looks: window, baselines ─► judge: diagnose ─► book: pending, firing, resolved
//! ```

mod book;
mod judge;
mod looks;

pub use book::{ALERTS_MAX, Alert, AlertBook, AlertState, Changes, Rules, Span, Told};
pub use judge::{Found, JudgeSettings, Judgement, SlowCategory, TooFew, judge};
pub use looks::Detection;
