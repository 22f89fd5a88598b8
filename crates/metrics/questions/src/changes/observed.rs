//! From the table of windows to what is analyzed: one server, its windows with data, its most frequent types.

use crate::sample_summary::seconds;
use laggard_changes::Observations;
use laggard_numeric::Matrix;
use laggard_samples::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};

/// The name under which rare transaction types are pooled.
pub(crate) const POOLED: &str = "(other)";

/// One server, ready to be analyzed.
#[derive(Clone, Debug)]
pub(crate) struct ObservedServer {
    pub(crate) observations: Observations,
    /// Name of each column; the last may be [`POOLED`].
    pub(crate) transactions: Vec<String>,
    /// Types that were pooled.
    pub(crate) pooled: usize,
    /// Servers that shared the counts of the system evenly, at most; 1 when none were shared.
    pub(crate) sharing: usize,
    /// Windows x types whose outbound calls took longer than the transaction: their own time is unknown.
    pub(crate) overlapping: u64,
    /// Whether the capacity in cores was told.
    pub(crate) cores_known: bool,
}

impl ObservedServer {
    /// Windows with both transactions and utilization, in order. At most `types_max` transaction types are kept apart,
    /// the most frequent.
    pub(crate) fn of(table: &WindowTable, server: &ServerWindows, types_max: usize) -> ObservedServer {
        let source = SampleSource::of(table, server);
        let windows: Vec<usize> = (0..table.windows)
            .filter(|&window| {
                is_known(&source.transactions.counts, window) && known_at(&server.utilization, window)
            })
            .collect();
        let columns = Columns::of(table, &source.transactions.counts, &windows, types_max);
        let sharing = windows.iter().map(|&window| source.servers_at(window)).max().unwrap_or(1);
        let mut overlapping = 0;
        let (mut counts, mut response_s) = (Vec::new(), Vec::new());
        for &window in &windows {
            let share = 1.0 / source.servers_at(window) as f64;
            for column in &columns.groups {
                let found = source.pooled(window, column);
                counts.push(found.count * share);
                response_s.push(found.own_time_s);
                overlapping += found.overlapping;
            }
        }
        let (rows, width) = (windows.len(), columns.groups.len());
        let told = response_s.iter().any(|time| time.is_finite());
        let observations = Observations {
            window_s: seconds(table.length),
            counts: Matrix::from_row_major(rows, width, counts),
            utilization: windows.iter().map(|&window| server.utilization[window]).collect(),
            response_s: match told {
                true => Matrix::from_row_major(rows, width, response_s),
                false => Matrix::zeros(0, 0),
            },
            windows,
            cores: server.cores.unwrap_or(1.0),
        };
        ObservedServer {
            observations,
            transactions: columns.names,
            pooled: columns.pooled,
            sharing,
            overlapping,
            cores_known: server.cores.is_some(),
        }
    }
}

fn known_at(values: &[f64], window: usize) -> bool {
    values.get(window).is_some_and(|value| value.is_finite())
}

fn is_known(counts: &Matrix, window: usize) -> bool {
    window < counts.rows() && counts.cols() > 0 && counts.row(window).iter().all(|count| count.is_finite())
}

/// Where a server's transactions come from.
struct SampleSource<'a> {
    transactions: &'a TransactionWindows,
    /// Servers among which they are divided.
    peers: Vec<&'a ServerWindows>,
    times: Times<'a>,
}

/// Which times are those of the server's tier.
#[derive(Clone, Copy)]
enum Times<'a> {
    /// The response times, less outbound calls.
    Own,
    /// Those of the calls that reach the tier.
    Called(&'a OutboundWindows),
    /// None that are known.
    Unknown,
}

impl<'a> SampleSource<'a> {
    /// The server's own transactions, or those of the system, divided evenly among the servers of its tier.
    fn of(table: &'a WindowTable, server: &'a ServerWindows) -> SampleSource<'a> {
        if let Some(own) = &server.own {
            return SampleSource { transactions: own, peers: vec![], times: Times::Own };
        }
        let peers: Vec<&ServerWindows> =
            table.servers.iter().filter(|other| other.tier == server.tier && other.own.is_none()).collect();
        let alone = table.servers.iter().all(|other| other.tier == server.tier);
        let system = &table.system;
        let times = match system.outbound.iter().find(|calls| calls.callee == server.tier) {
            Some(calls) => Times::Called(calls),
            // What clients wait for is the time of this tier only when nothing else is in it.
            None if alone || !system.outbound.is_empty() => Times::Own,
            None => Times::Unknown,
        };
        SampleSource { transactions: system, peers, times }
    }

    fn servers_at(&self, window: usize) -> usize {
        self.peers.iter().filter(|peer| known_at(&peer.utilization, window)).count().max(1)
    }

    /// Several types as one: counts add up, times are means by count.
    fn pooled(&self, window: usize, types: &[usize]) -> Pooled {
        let mut out = Pooled { count: 0.0, own_time_s: f64::NAN, overlapping: 0 };
        let (mut time, mut timed) = (0.0, 0.0);
        for &at in types {
            let count = self.transactions.counts.get(window, at);
            out.count += count;
            let own = match self.times {
                Times::Own => self.own_time_s(window, at),
                Times::Called(calls) => called_s(calls, window, at) / count,
                Times::Unknown => f64::NAN,
            };
            if own < 0.0 {
                out.overlapping += 1;
            } else if own.is_finite() && count > 0.0 {
                time += own * count;
                timed += count;
            }
        }
        if timed > 0.0 {
            out.own_time_s = time / timed;
        }
        out
    }

    /// Response time without outbound calls (Cherkasova et al. 2009, equation 6); negative when calls overlap.
    fn own_time_s(&self, window: usize, at: usize) -> f64 {
        let response = entry(&self.transactions.response_s, window, at);
        let count = self.transactions.counts.get(window, at);
        let outbound = self.transactions.outbound.iter().map(|calls| {
            let calls_s = called_s(calls, window, at);
            if calls_s.is_finite() { calls_s } else { 0.0 }
        });
        if count > 0.0 { response - outbound.sum::<f64>() / count } else { f64::NAN }
    }
}

/// Seconds of all calls of a transaction type in a window.
fn called_s(calls: &OutboundWindows, window: usize, at: usize) -> f64 {
    entry(&calls.counts, window, at) * entry(&calls.time_s, window, at)
}

/// What types in one window amount to.
struct Pooled {
    count: f64,
    own_time_s: f64,
    overlapping: u64,
}

fn entry(matrix: &Matrix, row: usize, column: usize) -> f64 {
    if row < matrix.rows() && column < matrix.cols() { matrix.get(row, column) } else { f64::NAN }
}

/// Which types are kept apart.
struct Columns {
    names: Vec<String>,
    /// Types of each column.
    groups: Vec<Vec<usize>>,
    pooled: usize,
}

impl Columns {
    /// In the order of the table, types that never occurred left out, rare ones pooled at the end.
    fn of(table: &WindowTable, counts: &Matrix, windows: &[usize], types_max: usize) -> Columns {
        let total = |at: usize| windows.iter().map(|&window| counts.get(window, at)).sum::<f64>();
        let mut by_total: Vec<(usize, f64)> =
            (0..counts.cols()).map(|at| (at, total(at))).filter(|&(_, total)| total > 0.0).collect();
        by_total.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let room = if by_total.len() > types_max { types_max.saturating_sub(1) } else { types_max };
        let rare = by_total.split_off(by_total.len().min(room));
        let mut kept: Vec<usize> = by_total.into_iter().map(|(at, _)| at).collect();
        kept.sort_unstable();
        let name = |at: usize| table.transactions.get(at).cloned().unwrap_or_default();
        let mut names: Vec<String> = kept.iter().map(|&at| name(at)).collect();
        let mut groups: Vec<Vec<usize>> = kept.into_iter().map(|at| vec![at]).collect();
        let pooled = rare.len();
        if pooled > 0 {
            names.push(POOLED.to_owned());
            groups.push(rare.into_iter().map(|(at, _)| at).collect());
        }
        Columns { names, groups, pooled }
    }
}
