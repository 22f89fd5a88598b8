//! Whether a server uses more CPU than its transactions did before: for alerts, window by window.

use crate::changes::ObservedServer;
use laggard_changes::{CpuCause, CpuExcess, ExcessSettings, KnownExcess, TooLittleDataError, cpu_excess};
use laggard_samples::{ServerWindows, WindowTable};
use std::ops::Range;

/// Most transaction types of a server; rarer ones are pooled.
const TYPES_MAX: usize = 20;

/// Windows that were busier are no reference.
const REFERENCE_UTILIZATION_MAX: f64 = 0.95;

/// The windows of the table to compare.
#[derive(Clone, Debug)]
pub struct ExcessQuestion<'a> {
    /// Windows of all servers.
    pub table: &'a WindowTable,
    /// The server.
    pub server: &'a ServerWindows,
    /// The windows that show what is usual.
    pub reference: Range<usize>,
    /// The windows to test, up to the last.
    pub recent: Range<usize>,
    /// Windows that are neither.
    pub excluded: &'a [Range<usize>],
    /// An excess that is known: the first window, its share, and its share of what transactions used to take if it
    /// grows with the load.
    pub known: Option<(usize, f64, Option<f64>)>,
    /// Thresholds.
    pub settings: &'a ExcessSettings,
}

/// The CPU of the last windows against those before, with names.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerExcess {
    /// The first window of the excess.
    pub onset: usize,
    /// Cores of the server; 1 when they are unknown.
    pub cores: f64,
    /// As [`CpuExcess`] has it.
    pub excess: CpuExcess,
    /// Transactions that cost more: name, seconds of CPU before and since.
    pub transactions: Vec<(String, f64, f64)>,
}

/// Tests one server.
///
/// # Errors
/// When it has too few windows with transactions and CPU.
pub fn server_excess(question: &ExcessQuestion<'_>) -> Result<ServerExcess, TooLittleDataError> {
    let observed = ObservedServer::of(question.table, question.server, TYPES_MAX);
    let observations = &observed.observations;
    let rows = |range: &Range<usize>| -> Vec<usize> {
        let is_excluded = |window: usize| question.excluded.iter().any(|range| range.contains(&window));
        let all = observations.windows.iter().enumerate();
        all.filter(|(_, window)| range.contains(window) && !is_excluded(**window))
            .map(|(row, _)| row)
            .collect()
    };
    let mut reference = rows(&question.reference);
    reference.retain(|&row| observations.utilization[row] < REFERENCE_UTILIZATION_MAX);
    let recent = rows(&question.recent);
    let known = question.known.map(|(window, share, relative)| KnownExcess {
        onset: observations.windows.partition_point(|&other| other < window),
        share,
        relative,
    });
    let excess = cpu_excess(observations, &reference, &recent, known, question.settings)?;
    let name = |transaction: usize| observed.transactions.get(transaction).cloned().unwrap_or_default();
    let transactions = match &excess.cause {
        CpuCause::Transactions(steps) => {
            steps.iter().map(|step| (name(step.transaction), step.before_s, step.after_s)).collect()
        }
        _ => vec![],
    };
    let onset = observations.windows.get(excess.onset).copied().unwrap_or(question.recent.start);
    Ok(ServerExcess { onset, cores: observations.cores, excess, transactions })
}
