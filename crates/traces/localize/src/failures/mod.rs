//! Failures: calls that fail, and calls that are no longer made, or made for the first time, or more often.
//!
//! ```text
//!            baseline                     window
//!   get ─ find ─ read             get ─ find ✗              find fails: the deepest call with an error
//!   get ─ find ─ read             get ─ find                find no longer calls read
//! ```
//!
//! Errors spread from callees to callers, so an error belongs to the deepest failing call. A call that fails or stops
//! early makes its callers' trees shorter as well; rates of calls are therefore rates per call of the caller, over calls of
//! the caller that did not fail.

mod calls;
mod calls_since;
mod errors;
mod load;
mod outcomes;
pub(crate) mod rates;
mod some_replicas;

pub use calls::{CallChange, CallChangeKind, changed_calls};
pub use calls_since::missing_calls_since;
pub use errors::{ErrorRate, ErrorRise, error_rises, errors_since, frequent_errors, uneven_errors};
pub use load::{ReplicaCalls, UnevenLoad, uneven_load};
pub use outcomes::{FailedRequest, OutcomeTable, OutcomeTree, RequestNumbers};
pub use some_replicas::{SomeReplicas, performed_by_some};

use laggard_settings::settings;

settings! {
    group "combined";
    /// Thresholds of failures.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct FailureSettings {
        /// False discovery rate of changed rates of errors and calls
        level ("failure-fdr"): f64 = 0.001, within(0.0, 1.0), "ours";
        /// At least this share of an operation's calls fails or stops short in addition
        share_min ("failure-share-min"): f64 = 0.02, within(0.0, 1.0), "ours";
        /// Fewest requests that failures of an operation hit
        requests_min ("failure-requests-min", "requests"): usize = 5, at_least(1.0), "ours";
        /// A rate of errors, or of calls per call of the caller, has risen by at least this factor
        factor_min ("failure-factor-min"): f64 = 2.0, within(1.0, 1e6), "ours";
    }
}
