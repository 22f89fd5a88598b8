//! Ground truth of a run.

use super::catalog::MIX_NAMES;
use super::plan::Plan;
use super::settings::{ChangedPart, Phase, TpcwSettings, Workload};
use serde::{Deserialize, Serialize};

/// Version of the layout of a run's `truth.json`.
pub const TPCW_TRUTH_SCHEMA_VERSION: u32 = 1;

/// Ground truth and expected analysis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TpcwTruth {
    /// [`TPCW_TRUTH_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Start of the first window, in nanoseconds since the Unix epoch.
    pub start_unix_ns: i64,
    /// Length of a window in seconds.
    pub window_s: u32,
    /// Number of windows.
    pub windows: usize,
    /// Phases in order of time.
    pub segments: Vec<SegmentTruth>,
    /// Transaction types, sorted by name, at the start of the run.
    pub transactions: Vec<TransactionTruth>,
    /// The expected changes of the front tier, in order of time.
    pub expected: Vec<ExpectedChange>,
    /// Share of the front CPUs' capacity that something foreign used, by window.
    pub foreign_share: Vec<f64>,
}

/// A phase.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SegmentTruth {
    /// Its first window.
    pub start: usize,
    /// The window after its last.
    pub end: usize,
    /// The workload in words.
    pub workload: String,
    /// Whether foreign load makes it anomalous.
    pub is_anomalous: bool,
    /// Number of the application version that runs: equal numbers, equal costs.
    pub application: usize,
}

/// The cost of a transaction type at the front tier before any change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TransactionTruth {
    /// Its name.
    pub name: String,
    /// CPU time of a transaction with its embedded objects, in ms.
    pub demand_ms: f64,
    /// CPU time of the main page, in ms: what the signature should be.
    pub service_ms: f64,
    /// Outbound calls.
    pub calls: u32,
    /// Time of one at the idle database, in ms.
    pub call_ms: f64,
}

/// Something an analysis should report, or (workload changes) may.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ExpectedChange {
    /// The first window of it.
    pub window: usize,
    /// What.
    pub kind: ExpectedKind,
    /// The transactions whose cost changed, by name; none when all changed alike, or nothing did.
    pub transactions: Vec<ChangedTransaction>,
}

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedKind {
    /// Something foreign begins to use the CPU.
    AnomalyStart,
    /// It ends.
    AnomalyEnd,
    /// Only the load or the mix moves.
    WorkloadChange,
    /// Transactions cost something else.
    ApplicationChange,
    /// They cost again what they did in an earlier segment.
    Rollback,
}

/// A transaction whose cost changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChangedTransaction {
    /// Its name.
    pub name: String,
    /// By how much, in ms.
    pub difference_ms: f64,
}

impl TpcwTruth {
    pub(crate) fn new(settings: &TpcwSettings, plan: &Plan) -> TpcwTruth {
        let applications = applications(&settings.phases);
        TpcwTruth {
            schema_version: TPCW_TRUTH_SCHEMA_VERSION,
            scenario: settings.name.clone(),
            seed: settings.seed,
            start_unix_ns: settings.start_unix_ns,
            window_s: settings.window_s,
            windows: plan.phase.len(),
            segments: segments(settings, &applications),
            transactions: transactions(settings),
            expected: expected(settings, &applications),
            foreign_share: plan.foreign.clone(),
        }
    }
}

/// To the nanosecond: numbers that survive the way through a file.
fn milliseconds(seconds: f64) -> f64 {
    libm::round(seconds * 1e9) / 1e6
}

fn transactions(settings: &TpcwSettings) -> Vec<TransactionTruth> {
    let truth = settings.transactions.iter().map(|transaction| TransactionTruth {
        name: transaction.name.clone(),
        demand_ms: milliseconds(transaction.demand_s),
        service_ms: milliseconds(transaction.demand_s * transaction.main_share),
        calls: transaction.calls,
        call_ms: milliseconds(transaction.call_s),
    });
    truth.collect()
}

/// Factors of all demands that differ by less are the same application: drift.
const DRIFT: f64 = 0.1;

/// Whether the application is the same, slow drift aside.
fn is_same(a: &Phase, b: &Phase) -> bool {
    a.changes == b.changes && is_drift(a, b)
}

fn is_drift(a: &Phase, b: &Phase) -> bool {
    (a.demand_factor - b.demand_factor).abs() < DRIFT * a.demand_factor
}

/// Number of the application version in each phase.
fn applications(phases: &[Phase]) -> Vec<usize> {
    let mut versions: Vec<&Phase> = Vec::new();
    let number = phases.iter().map(|phase| {
        let known = versions.iter().position(|version| is_same(version, phase));
        known.unwrap_or_else(|| {
            versions.push(phase);
            versions.len() - 1
        })
    });
    number.collect()
}

fn segments(settings: &TpcwSettings, applications: &[usize]) -> Vec<SegmentTruth> {
    let mut start = 0;
    let truth = settings.phases.iter().zip(applications).map(|(phase, &application)| {
        let end = start + phase.windows as usize;
        let begin = std::mem::replace(&mut start, end);
        let (workload, is_anomalous) = (phase.workload.words(), phase.foreign.is_anomaly());
        SegmentTruth { start: begin, end, workload, is_anomalous, application }
    });
    truth.collect()
}

fn expected(settings: &TpcwSettings, applications: &[usize]) -> Vec<ExpectedChange> {
    let mut changes = Vec::new();
    let mut window = 0;
    // The last phase without anything foreign.
    let mut normal: Option<usize> = None;
    for (index, phase) in settings.phases.iter().enumerate() {
        let is_anomalous = phase.foreign.is_anomaly();
        let was_anomalous = index > 0 && settings.phases[index - 1].foreign.is_anomaly();
        let mut push = |kind, transactions| changes.push(ExpectedChange { window, kind, transactions });
        if is_anomalous && !was_anomalous {
            push(ExpectedKind::AnomalyStart, Vec::new());
        }
        if !is_anomalous && was_anomalous {
            push(ExpectedKind::AnomalyEnd, Vec::new());
        }
        if let Some(before) = normal.filter(|_| !is_anomalous) {
            let old = &settings.phases[before];
            if applications[before] != applications[index] {
                let is_known = applications[..before].contains(&applications[index]);
                let kind = if is_known { ExpectedKind::Rollback } else { ExpectedKind::ApplicationChange };
                push(kind, differences(settings, old, phase));
            } else if old.workload != phase.workload {
                push(ExpectedKind::WorkloadChange, Vec::new());
            }
        }
        if !is_anomalous {
            normal = Some(index);
        }
        window += phase.windows as usize;
    }
    changes
}

/// Transactions that cost something else in the second phase than in the first; none when all do alike.
fn differences(settings: &TpcwSettings, before: &Phase, after: &Phase) -> Vec<ChangedTransaction> {
    if !is_drift(before, after) {
        return Vec::new();
    }
    let without_drift = |phase: &Phase| Phase { demand_factor: 1.0, ..phase.clone() };
    let (before, after) = (without_drift(before), without_drift(after));
    let all = settings.transactions.iter().map(|transaction| {
        let cost_s = |phase: &Phase| {
            let parts = [ChangedPart::MainPage, ChangedPart::Objects];
            parts.map(|part| phase.cost_s(transaction, part)).iter().sum::<f64>()
        };
        let difference_ms = milliseconds(cost_s(&after) - cost_s(&before));
        ChangedTransaction { name: transaction.name.clone(), difference_ms }
    });
    all.filter(|change| change.difference_ms != 0.0).collect()
}

impl Workload {
    fn words(&self) -> String {
        match self {
            Workload::Steps { mix, clients } => {
                let (least, most) = (clients.iter().min(), clients.iter().max());
                let range = format!("{} to {}", least.unwrap_or(&0), most.unwrap_or(&0));
                format!("{}, {range} clients", MIX_NAMES[*mix])
            }
            Workload::Bursts { burst_clients: [least, most], .. } => {
                format!("mixed, with bursts of {least} to {most} shopping clients")
            }
            Workload::Diurnal { .. } => "mixed, by time of day".to_owned(),
        }
    }
}
