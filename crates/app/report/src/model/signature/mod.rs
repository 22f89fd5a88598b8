//! The application signature: what each transaction takes at each server without queueing, as data and as a file
//! that later versions read. Field names and meanings are schema version 1.
//!
//! The file is this data as JSON. Lengths end in `_s` and are seconds, instants in `_ns` (nanoseconds since the
//! Unix epoch), shares are 0..1.

mod diff;
mod read;

pub use diff::{
    ComparedQuantity, DiffCounts, DiffSide, DiffTest, DiffVerdict, SIGNATURE_DIFF_SCHEMA_VERSION,
    SignatureDiff, TransactionDiff, TransactionOutcome,
};
pub use read::{SignatureReadError, read_signature};

use crate::instants::{window_if_any, window_or_empty};
use crate::{SampleSummary, Window};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Version of the file's schema. Fields may be added within a version; none is removed or changes meaning.
pub const SIGNATURE_SCHEMA_VERSION: u32 = 1;

/// Service times of transactions at every server.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Signature {
    /// [`SIGNATURE_SCHEMA_VERSION`] of the version that wrote it.
    pub schema_version: u32,
    /// Always `signature`: which report this is.
    pub report: String,
    /// Version of Laggard that wrote it.
    pub laggard_version: String,
    /// The user's label: a version, a commit; may be empty.
    pub label: String,
    /// Whether there was enough data.
    pub verdict: SignatureVerdict,
    /// The finding in one or two sentences; names stand in backticks.
    pub headline: String,
    /// From the start of the first window to the end of the last; 0 and empty text without windows.
    #[serde(flatten, serialize_with = "window_or_empty", deserialize_with = "window_if_any")]
    #[schema(value_type = Window)]
    pub time: Option<Window>,
    /// Length of a window in seconds.
    pub window_s: f64,
    /// Windows with fewer transactions of a type than this do not count for it.
    pub count_min: f64,
    /// Windows with a utilization of this and above do not count.
    pub utilization_max: f64,
    /// Every server, by tier and name.
    pub servers: Vec<ServerSignature>,
    /// Limitations; whole sentences.
    pub cautions: Vec<String>,
    /// Without enough data: what would have been needed; whole sentences.
    pub missing: Vec<String>,
    /// The input and its losses. Not read back: nothing is compared by it.
    #[serde(deserialize_with = "ignored")]
    pub input: SampleSummary,
}

/// Whether a signature can be compared with another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureVerdict {
    /// At least one transaction has enough windows.
    Usable,
    /// None has.
    #[default]
    #[serde(other)]
    InsufficientData,
}

/// Service times of transactions at one server.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ServerSignature {
    /// Its name; empty when the samples name none.
    pub server: String,
    /// Its tier; empty when the samples name none.
    pub tier: String,
    /// CPU capacity in cores; 1 where it is not known.
    pub cores: f64,
    /// Whether the input states it.
    pub cores_known: bool,
    /// Windows with both transactions and utilization, without those in which something else used the CPU.
    pub windows: u64,
    /// Mean utilization over them, 0..1; `None` without any.
    pub utilization_mean: Option<f64>,
    /// Use of the server beside the transactions, in percent of its capacity; `None` without a model.
    pub constant_percent: Option<f64>,
    /// Relative absolute error of the model over the windows, 0..; `None` without a model.
    pub model_error: Option<f64>,
    /// Every transaction type, by name.
    pub transactions: Vec<TransactionSignature>,
}

/// Service times of one transaction type at one server.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TransactionSignature {
    /// Its name.
    pub transaction: String,
    /// Transactions completed in the windows.
    pub count: f64,
    /// Their share of all of the server's, 0..1: the mix.
    pub share: f64,
    /// Time at the server without queueing: the median over the windows, in seconds; `None` when no window counts.
    pub service_time_s: Option<f64>,
    /// Its standard error in seconds.
    pub standard_error_s: Option<f64>,
    /// The distribution behind the median: quantiles of the windows' values from 0 to 100 % in steps of 5 %, in seconds (Cherkasova
    /// et al. 2009, figure 11); empty when no window counts.
    pub distribution_s: Vec<f64>,
    /// Windows it comes from.
    pub windows: u64,
    /// CPU seconds a transaction takes if the work of the windows is divided in proportion to the times; `None` without
    /// the times of all types. Hardly depends on the load.
    pub work_share_s: Option<f64>,
    /// Its standard error in seconds.
    pub work_share_error_s: Option<f64>,
    /// CPU seconds a transaction takes by the model; `None` without one. Within one mix single demands mean little.
    pub demand_s: Option<f64>,
    /// Its standard error in seconds; `None` where it cannot be computed.
    pub demand_standard_error_s: Option<f64>,
}

impl ServerSignature {
    /// The transactions, the most frequent first.
    pub(crate) fn by_share(&self) -> Vec<&TransactionSignature> {
        let mut transactions: Vec<&TransactionSignature> = self.transactions.iter().collect();
        transactions
            .sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.transaction.cmp(&b.transaction)));
        transactions
    }
}

/// What was read is of no use to a later run, so nothing of it is read back.
fn ignored<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SampleSummary, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| SampleSummary::default())
}
