//! Differences between two signatures, as data. Field names and meanings are schema version 2.

use crate::Window;
use crate::instants::window_or_empty;
use serde::Serialize;
use utoipa::ToSchema;

/// Version of the JSON schema of differences. Fields may be added within a version; none is removed or changes
/// meaning.
pub const SIGNATURE_DIFF_SCHEMA_VERSION: u32 = 2;

/// Which transactions take longer than before?
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct SignatureDiff {
    /// [`SIGNATURE_DIFF_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `signature-diff`: which report this is.
    pub report: &'static str,
    /// Version of Laggard that compared.
    pub laggard_version: String,
    /// The answer in one word.
    pub verdict: DiffVerdict,
    /// The answer in one or two sentences; names stand in backticks.
    pub headline: String,
    /// The signature before.
    pub old: DiffSide,
    /// The signature after.
    pub new: DiffSide,
    /// When a difference counts.
    pub test: DiffTest,
    /// Transactions by outcome.
    pub counts: DiffCounts,
    /// Every transaction of every server, what got slower first.
    pub transactions: Vec<TransactionDiff>,
    /// Limitations of the answer; whole sentences.
    pub cautions: Vec<String>,
    /// Without enough data: what would have been needed; whole sentences.
    pub missing: Vec<String>,
}

/// One of the two signatures.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct DiffSide {
    /// The file it was read from.
    pub file: String,
    /// The user's label; may be empty.
    pub label: String,
    /// Version of Laggard that wrote it.
    pub laggard_version: String,
    /// From the start of its first window to the end of its last; 0 and empty text without windows.
    #[serde(flatten, serialize_with = "window_or_empty")]
    #[schema(value_type = Window)]
    pub time: Option<Window>,
    /// Length of its windows in seconds.
    pub window_s: f64,
}

/// When a difference counts (Cherkasova et al. 2009, section 4.4, made robust).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct DiffTest {
    /// It is more than this share of the time before.
    pub change_min: f64,
    /// … and by more than this many standard errors, with regard to how many transactions are tested.
    pub standard_errors_min: f64,
    /// … and both signatures have at least this many windows of the transaction.
    pub windows_min: u64,
    /// … and when only times are known and the load differs, it is more than this share of how much the correction for queueing
    /// differs.
    pub correction_share: f64,
}

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiffVerdict {
    /// No transaction could be tested, or one that takes much longer could not be.
    #[default]
    InsufficientData,
    /// No transaction that could be tested got slower or faster.
    Same,
    /// Some got faster, none slower.
    Faster,
    /// Some got slower.
    Slower,
}

/// How a transaction changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionOutcome {
    /// It takes longer.
    Slower,
    /// It takes less.
    Faster,
    /// Only the new signature has it.
    New,
    /// Only the old signature has it.
    Removed,
    /// Too little is known of it; the reason says what.
    Inconclusive,
    /// It takes as long as before, as far as the data show.
    Same,
}

impl TransactionOutcome {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            TransactionOutcome::Slower => "slower",
            TransactionOutcome::Faster => "faster",
            TransactionOutcome::New => "new",
            TransactionOutcome::Removed => "removed",
            TransactionOutcome::Inconclusive => "inconclusive",
            TransactionOutcome::Same => "same",
        }
    }
}

/// What of a transaction is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedQuantity {
    /// Its time at the server without queueing.
    #[default]
    Time,
    /// Its CPU, where all of the server's work is divided in proportion to the times.
    WorkShare,
    /// Its CPU, where such shares are wrong because transactions use CPU after their response: the server's additional work, or
    /// what it does less, belongs to the transactions that changed.
    WorkDifference,
}

impl ComparedQuantity {
    /// The words for it in a table.
    pub const fn words(self) -> &'static str {
        match self {
            ComparedQuantity::Time => "time",
            ComparedQuantity::WorkShare => "CPU by times",
            ComparedQuantity::WorkDifference => "CPU by difference",
        }
    }
}

/// Transactions by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[expect(missing_docs, reason = "the fields are named after the outcomes")]
pub struct DiffCounts {
    pub slower: u64,
    pub faster: u64,
    pub new: u64,
    pub removed: u64,
    pub inconclusive: u64,
    pub same: u64,
}

impl DiffCounts {
    /// Counts the outcomes of `transactions`.
    pub fn of(transactions: &[TransactionDiff]) -> DiffCounts {
        let count =
            |outcome| transactions.iter().filter(|transaction| transaction.outcome == outcome).count() as u64;
        DiffCounts {
            slower: count(TransactionOutcome::Slower),
            faster: count(TransactionOutcome::Faster),
            new: count(TransactionOutcome::New),
            removed: count(TransactionOutcome::Removed),
            inconclusive: count(TransactionOutcome::Inconclusive),
            same: count(TransactionOutcome::Same),
        }
    }

    /// Transactions that were tested.
    pub const fn tested(&self) -> u64 {
        self.slower + self.faster + self.same
    }
}

/// One transaction at one server, or at all servers of a tier.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TransactionDiff {
    /// The server; empty when the signatures name none, or when a whole tier is compared.
    pub server: String,
    /// Its tier; empty when the signatures name none.
    pub tier: String,
    /// The transaction.
    pub transaction: String,
    /// How it changed.
    pub outcome: TransactionOutcome,
    /// Why it could not be tested; a phrase.
    pub reason: Option<String>,
    /// What the seconds are; `null` when nothing is compared.
    pub quantity: Option<ComparedQuantity>,
    /// CPU or time before, in seconds.
    pub before_s: Option<f64>,
    /// … and after.
    pub after_s: Option<f64>,
    /// After less before, in seconds.
    pub difference_s: Option<f64>,
    /// Standard error of the difference in seconds.
    pub standard_error_s: Option<f64>,
    /// The smallest difference in seconds that would have counted.
    pub detectable_s: Option<f64>,
    /// Windows before.
    pub windows_before: u64,
    /// … and after.
    pub windows_after: u64,
    /// Share of the transactions before, 0..1.
    pub share_before: Option<f64>,
    /// … and after.
    pub share_after: Option<f64>,
}

impl TransactionDiff {
    /// For people and for names of test suites: the server, else the tier, else `system`.
    pub(crate) fn location(&self) -> &str {
        match (self.server.as_str(), self.tier.as_str()) {
            ("", "") => "system",
            ("", tier) => tier,
            (server, _) => server,
        }
    }
}
