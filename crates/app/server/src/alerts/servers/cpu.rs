//! The CPU of one server: more than its transactions used to take, or less left than the reserve.

use super::super::finding::{ServerEvidence, ServerFinding, ServerSubject, TransactionCost};
use super::super::lifecycle::{Alert, AlertList};
use super::{RECENT_WINDOWS, ServerDetection, ServerEvaluation, exceptions, firing};
use laggard_metrics_questions::{CpuCause, ExcessQuestion, ServerExcess, server_excess};
use laggard_model::Timestamp;
use laggard_params::Window;
use laggard_samples::{ServerWindows, WindowTable};
use std::ops::Range;

/// Windows whose mean utilization is compared with the reserve, and how many of them must be known.
const LOAD_WINDOWS: usize = 15;
const LOAD_KNOWN_MIN: usize = 10;
/// An alert about the reserve ends when the free capacity exceeds the reserve by this share of the reserve.
const RESERVE_MARGIN: f64 = 0.1;

pub(super) fn evaluate(
    detection: &ServerDetection,
    alerts: &AlertList,
    table: &WindowTable,
    server: &ServerWindows,
    evaluation: &mut ServerEvaluation,
) {
    let subject = ServerSubject::new("cpu", &server.tier, &server.server);
    if let Some(finding) = excess(detection, alerts, table, server, &subject) {
        evaluation.add(subject, finding);
    }
    if detection.reserve > 0.0 {
        let subject = ServerSubject::new("capacity", &server.tier, &server.server);
        if let Some(finding) = low_capacity(detection, alerts, table, server, &subject) {
            evaluation.add(subject, finding);
        }
    }
}

/// `None` when there is too little data, `Some(None)` when the CPU is as usual.
fn excess(
    detection: &ServerDetection,
    alerts: &AlertList,
    table: &WindowTable,
    server: &ServerWindows,
    subject: &ServerSubject,
) -> Option<Option<ServerFinding>> {
    let windows = WindowNumbers { table };
    let known = firing(alerts, subject);
    let gap = RECENT_WINDOWS.min(table.windows / 4);
    let until = match known {
        Some(alert) => windows.at(alert.healthy_ns).min(table.windows),
        None => table.windows - gap,
    };
    let length = (detection.baseline.ns() / table.length.ns()) as usize;
    let excluded: Vec<Range<usize>> = exceptions(alerts, subject, detection.rules)
        .into_iter()
        .map(|time: Window| windows.at(time.since.unix_ns())..windows.at(time.until.unix_ns()) + 1)
        .collect();
    let question = ExcessQuestion {
        table,
        server,
        reference: until.saturating_sub(length)..until,
        recent: until.max(table.windows.saturating_sub(RECENT_WINDOWS))..table.windows,
        excluded: &excluded,
        known: known.and_then(|alert| known_excess(&windows, alert)),
        settings: &detection.excess,
    };
    let result = server_excess(&question).ok()?;
    let is_excess = if known.is_some() { result.excess.is_held } else { result.excess.is_new };
    Some(is_excess.then(|| ServerFinding {
        server: server.server.clone(),
        tier: server.tier.clone(),
        onset_ns: Some(windows.start(result.onset).unix_ns()),
        evidence: evidence(&result, known),
    }))
}

/// The first window of an excess, its share of the server, and of what transactions used to take.
fn known_excess(windows: &WindowNumbers<'_>, alert: &Alert) -> Option<(usize, f64, Option<f64>)> {
    let (share, relative) = match &alert.finding.server()?.evidence {
        ServerEvidence::HigherCost { share, relative, .. } => (*share, Some(*relative)),
        ServerEvidence::UnexplainedCpu { share, .. } => (*share, None),
        _ => return None,
    };
    Some((windows.at(alert.since_ns), share, relative))
}

/// A firing alert stays of its kind.
fn evidence(result: &ServerExcess, known: Option<&Alert>) -> ServerEvidence {
    let (share, relative) = (result.excess.share, result.excess.relative);
    let cores = share * result.cores;
    let cost =
        |transactions, factor| ServerEvidence::HigherCost { transactions, factor, cores, share, relative };
    let unexplained = |times_known| ServerEvidence::UnexplainedCpu { share, cores, times_known };
    let fresh = match &result.excess.cause {
        CpuCause::Transactions(_) => cost(costs(result), None),
        CpuCause::AllTransactions { factor } => cost(vec![], Some(*factor)),
        CpuCause::Other => unexplained(true),
        CpuCause::Unknown => unexplained(false),
    };
    match (known.and_then(|alert| alert.finding.server()).map(|finding| &finding.evidence), &fresh) {
        (
            Some(ServerEvidence::HigherCost { transactions, factor, .. }),
            ServerEvidence::UnexplainedCpu { .. },
        ) => cost(transactions.clone(), *factor),
        (Some(ServerEvidence::UnexplainedCpu { times_known, .. }), ServerEvidence::HigherCost { .. }) => {
            unexplained(*times_known)
        }
        _ => fresh,
    }
}

fn costs(result: &ServerExcess) -> Vec<TransactionCost> {
    let cost = |(transaction, before_s, after_s): &(String, f64, f64)| TransactionCost {
        transaction: transaction.clone(),
        before_s: *before_s,
        after_s: *after_s,
    };
    result.transactions.iter().map(cost).collect()
}

fn low_capacity(
    detection: &ServerDetection,
    alerts: &AlertList,
    table: &WindowTable,
    server: &ServerWindows,
    subject: &ServerSubject,
) -> Option<Option<ServerFinding>> {
    let rows = table.windows.saturating_sub(LOAD_WINDOWS)..table.windows;
    let utilization = mean(&server.utilization[rows.clone()])?;
    let margin = if firing(alerts, subject).is_some() { RESERVE_MARGIN * detection.reserve } else { 0.0 };
    let is_low = utilization > 1.0 - detection.reserve - margin;
    Some(is_low.then(|| {
        let growth = 1.0 / utilization;
        let clients = table.clients.get(rows).and_then(mean);
        ServerFinding {
            server: server.server.clone(),
            tier: server.tier.clone(),
            onset_ns: None,
            evidence: ServerEvidence::LowCapacity {
                utilization,
                reserve: detection.reserve,
                growth,
                clients_left: clients.map(|clients| clients * (growth - 1.0)),
            },
        }
    }))
}

/// The mean of known values, if most are known.
fn mean(values: &[f64]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    (known.len() >= LOAD_KNOWN_MIN).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// Times as numbers of windows.
struct WindowNumbers<'a> {
    table: &'a WindowTable,
}

impl WindowNumbers<'_> {
    /// The window of an instant; the first for an earlier one.
    fn at(&self, ns: i64) -> usize {
        let since = ns.saturating_sub(self.table.since.unix_ns()).max(0) as u64;
        (since / self.table.length.ns()) as usize
    }

    fn start(&self, window: usize) -> Timestamp {
        Timestamp::from_unix_ns(self.table.since.unix_ns() + window as i64 * self.table.length.ns() as i64)
    }
}
