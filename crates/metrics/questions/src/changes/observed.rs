//! The observations of one server from the table of windows: its windows with data, and its most frequent types.

use super::ChangesSettings;
use crate::sample_summary::{cell, seconds};
use laggard_changes::Observations;
use laggard_numeric::Matrix;
use laggard_samples::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};

/// Maximum difference between the transactions that the servers of a tier count and those of the system, as a share of the
/// latter, for both to be the same.
const OWN_COUNTS_OFF_MAX: f64 = 0.02;

/// The name under which rare transaction types are pooled.
pub(crate) const POOLED: &str = "(other)";

/// One server, or the servers of a tier together, ready to be analyzed.
#[derive(Clone, Debug)]
pub(crate) struct ObservedServer {
    pub(crate) observations: Observations,
    /// Calls to the server by transaction type, `T x n`, NaN where unknown; `None` if transactions do not reach it by calls.
    pub(crate) calls: Option<Matrix>,
    /// Name of each column; the last may be [`POOLED`].
    pub(crate) transactions: Vec<String>,
    /// Types of the table in each column.
    pub(crate) types: Vec<Vec<usize>>,
    /// Number of pooled types.
    pub(crate) pooled: usize,
    /// Maximum number of servers among which the counts of the system were divided evenly; 1 if they were not divided.
    pub(crate) sharing: usize,
    /// Number of cells (window x type) whose outbound calls took longer than the transaction: their own time is unknown.
    pub(crate) overlapping: u64,
    /// Whether the capacity in cores is known.
    pub(crate) cores_known: bool,
}

impl ObservedServer {
    /// Windows with both transactions and utilization, in order. At most `types_max` transaction types, the most frequent,
    /// have a column of their own.
    pub(crate) fn of(table: &WindowTable, server: &ServerWindows, types_max: usize) -> ObservedServer {
        let source = SampleSource::of(table, server);
        let used = |window: usize| server.utilization.get(window).copied().unwrap_or(f64::NAN);
        let observed = ObservedWindows { table, source, windows: &(0..table.windows).collect::<Vec<_>>() };
        ObservedServer {
            cores_known: server.cores.is_some(),
            ..observed.server(used, server.cores.unwrap_or(1.0), types_max)
        }
    }

    /// The servers of a tier as one, over some windows, with the transactions of the system. `used` is their mean
    /// utilization in a window, `cores` the cores of all together.
    pub(crate) fn from_tier(
        table: &WindowTable,
        servers: &[usize],
        windows: &[usize],
        used: impl Fn(usize) -> f64,
        cores: f64,
    ) -> ObservedServer {
        let servers: Vec<&ServerWindows> = servers.iter().map(|&index| &table.servers[index]).collect();
        let observed = ObservedWindows { table, source: SampleSource::from_tier(table, &servers), windows };
        ObservedServer {
            cores_known: servers.iter().all(|server| server.cores.is_some()),
            ..observed.server(used, cores, ChangesSettings::default().types_max)
        }
    }
}

/// Windows of a server and the source of its transactions.
struct ObservedWindows<'a> {
    table: &'a WindowTable,
    source: SampleSource<'a>,
    windows: &'a [usize],
}

impl ObservedWindows<'_> {
    fn server(&self, used: impl Fn(usize) -> f64, cores: f64, types_max: usize) -> ObservedServer {
        let ObservedWindows { table, source, .. } = self;
        let is_observed =
            |&window: &usize| is_known(&source.transactions.counts, window) && used(window).is_finite();
        let windows: Vec<usize> = self.windows.iter().copied().filter(is_observed).collect();
        let columns = Columns::of(table, &source.transactions.counts, &windows, types_max);
        let sharing = windows.iter().map(|&window| source.servers_at(window)).max().unwrap_or(1);
        let mut overlapping = 0;
        let (mut counts, mut calls, mut response_s) = (Vec::new(), Vec::new(), Vec::new());
        for &window in &windows {
            let share = 1.0 / source.servers_at(window) as f64;
            for column in &columns.groups {
                let pooled_type = source.pooled(window, column);
                counts.push(pooled_type.count * share);
                calls.push(pooled_type.calls * share);
                response_s.push(pooled_type.own_time_s);
                overlapping += pooled_type.overlapping;
            }
        }
        let matrix = |values: Vec<f64>| Matrix::from_row_major(windows.len(), columns.groups.len(), values);
        let has_times = response_s.iter().any(|time| time.is_finite());
        let observations = Observations {
            window_s: seconds(table.length),
            counts: matrix(counts),
            utilization: windows.iter().map(|&window| used(window).max(0.0)).collect(),
            response_s: if has_times { matrix(response_s) } else { Matrix::zeros(0, 0) },
            windows: windows.clone(),
            cores,
        };
        ObservedServer {
            observations,
            calls: matches!(source.times, Times::Called(_)).then(|| matrix(calls)),
            transactions: columns.names,
            types: columns.groups,
            pooled: columns.pooled,
            sharing,
            overlapping,
            cores_known: false,
        }
    }
}

fn known_at(values: &[f64], window: usize) -> bool {
    values.get(window).is_some_and(|value| value.is_finite())
}

fn is_known(counts: &Matrix, window: usize) -> bool {
    window < counts.rows() && counts.cols() > 0 && counts.row(window).iter().all(|count| count.is_finite())
}

/// The source of a server's transactions.
struct SampleSource<'a> {
    transactions: &'a TransactionWindows,
    /// Servers among which the transactions are divided.
    peers: Vec<&'a ServerWindows>,
    times: Times<'a>,
}

/// The source of the times at the server's tier.
#[derive(Clone, Copy)]
enum Times<'a> {
    /// The response times minus outbound calls.
    Own,
    /// The times of the calls to the tier.
    Called(&'a OutboundWindows),
    /// Unknown.
    Unknown,
}

impl<'a> Times<'a> {
    /// The source of the times at a server for the transactions of the system.
    fn from_system(table: &'a WindowTable, server: &ServerWindows) -> Times<'a> {
        let alone = table.servers.iter().all(|other| other.tier == server.tier);
        let outbound = &table.system.outbound;
        match outbound.iter().find(|calls| calls.callee == server.tier) {
            Some(calls) => Times::Called(calls),
            // Response times include other tiers, if there are any and no outbound calls are known.
            None if alone || !outbound.is_empty() => Times::Own,
            None => Times::Unknown,
        }
    }
}

/// Whether the transactions that servers count themselves, if they do, are those of the system.
fn count_the_system(table: &WindowTable, servers: &[&ServerWindows]) -> bool {
    let total = |counts: &Matrix, column: usize| -> f64 {
        (0..counts.rows()).map(|row| counts.get(row, column)).filter(|count| count.is_finite()).sum()
    };
    let own: Vec<&TransactionWindows> = servers.iter().filter_map(|server| server.own.as_ref()).collect();
    let counts = &table.system.counts;
    own.is_empty()
        || (0..counts.cols()).all(|column| {
            let counted: f64 = own.iter().map(|own| total(&own.counts, column)).sum();
            (counted - total(counts, column)).abs() <= OWN_COUNTS_OFF_MAX * total(counts, column)
        })
}

impl<'a> SampleSource<'a> {
    /// The server's own transactions, or those of the system, divided evenly among the servers of its tier.
    fn of(table: &'a WindowTable, server: &'a ServerWindows) -> SampleSource<'a> {
        if let Some(own) = &server.own {
            return SampleSource { transactions: own, peers: vec![], times: Times::Own };
        }
        let peers: Vec<&ServerWindows> =
            table.servers.iter().filter(|other| other.tier == server.tier && other.own.is_none()).collect();
        SampleSource { transactions: &table.system, peers, times: Times::from_system(table, server) }
    }

    /// The transactions of the system. Times at the tier are unknown if its servers count other transactions than those.
    fn from_tier(table: &'a WindowTable, servers: &[&'a ServerWindows]) -> SampleSource<'a> {
        let times = match Times::from_system(table, servers[0]) {
            Times::Own if !count_the_system(table, servers) => Times::Unknown,
            times => times,
        };
        SampleSource { transactions: &table.system, peers: vec![], times }
    }

    fn servers_at(&self, window: usize) -> usize {
        self.peers.iter().filter(|peer| known_at(&peer.utilization, window)).count().max(1)
    }

    /// Pools several types: counts are added, times are means weighted by count.
    fn pooled(&self, window: usize, types: &[usize]) -> Pooled {
        let mut out = Pooled { count: 0.0, calls: 0.0, own_time_s: f64::NAN, overlapping: 0 };
        let (mut time, mut timed) = (0.0, 0.0);
        for &index in types {
            let count = self.transactions.counts.get(window, index);
            out.count += count;
            if let Times::Called(calls) = self.times {
                out.calls += cell(&calls.counts, window, index);
            }
            let own = match self.times {
                Times::Own => self.own_time_s(window, index),
                Times::Called(calls) => called_s(calls, window, index) / count,
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
    fn own_time_s(&self, window: usize, index: usize) -> f64 {
        let response = cell(&self.transactions.response_s, window, index);
        let count = self.transactions.counts.get(window, index);
        let outbound = self.transactions.outbound.iter().map(|calls| {
            let calls_s = called_s(calls, window, index);
            if calls_s.is_finite() { calls_s } else { 0.0 }
        });
        if count > 0.0 { response - outbound.sum::<f64>() / count } else { f64::NAN }
    }
}

/// Seconds of all calls of a transaction type in a window.
fn called_s(calls: &OutboundWindows, window: usize, index: usize) -> f64 {
    cell(&calls.counts, window, index) * cell(&calls.time_s, window, index)
}

/// Pooled types in one window.
struct Pooled {
    count: f64,
    /// Calls to the tier; 0 if transactions do not reach it by calls.
    calls: f64,
    own_time_s: f64,
    overlapping: u64,
}

/// The columns of a server: frequent types, and the pooled rare types.
struct Columns {
    names: Vec<String>,
    /// Types of each column.
    groups: Vec<Vec<usize>>,
    pooled: usize,
}

impl Columns {
    /// Frequent types in the order of the table, then the pooled rare types; types that never occur are left out.
    fn of(table: &WindowTable, counts: &Matrix, windows: &[usize], types_max: usize) -> Columns {
        let total = |index: usize| windows.iter().map(|&window| counts.get(window, index)).sum::<f64>();
        let mut by_total: Vec<(usize, f64)> =
            (0..counts.cols()).map(|index| (index, total(index))).filter(|&(_, total)| total > 0.0).collect();
        by_total.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let columns_max = if by_total.len() > types_max { types_max.saturating_sub(1) } else { types_max };
        let rare = by_total.split_off(by_total.len().min(columns_max));
        let mut frequent: Vec<usize> = by_total.into_iter().map(|(index, _)| index).collect();
        frequent.sort_unstable();
        let name = |index: usize| table.transactions.get(index).cloned().unwrap_or_default();
        let mut names: Vec<String> = frequent.iter().map(|&index| name(index)).collect();
        let mut groups: Vec<Vec<usize>> = frequent.into_iter().map(|index| vec![index]).collect();
        let pooled = rare.len();
        if pooled > 0 {
            names.push(POOLED.to_owned());
            groups.push(rare.into_iter().map(|(index, _)| index).collect());
        }
        Columns { names, groups, pooled }
    }
}
