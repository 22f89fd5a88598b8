//! Observed loads: windows with transactions, joined until they have enough transactions for a mix.

use crate::sample_summary::{cell, seconds};
use laggard_samples::{TransactionWindows, WindowTable};

/// Minimum number of transactions of a load: its shares are then known to a few percent.
pub(super) const TRANSACTIONS_MIN: f64 = 100.0;

// Limit: intervals of a capacity report | longer intervals
/// Maximum number of loads; with more windows, each is longer.
const LOADS_MAX: usize = 1_440;

/// Minimum share of a window's transactions with known response times for its mean to be used.
const KNOWN_SHARE_MIN: f64 = 0.9;

/// A tier whose servers have a known utilization.
#[derive(Clone, Debug)]
pub(super) struct ServerGroup {
    /// Its name, in reports and for `--set`.
    pub(super) name: String,
    /// Rows of the table's servers.
    pub(super) servers: Vec<usize>,
    /// Mean cores of a server.
    pub(super) cores: f64,
    /// Whether the cores of every server are known.
    pub(super) has_known_cores: bool,
    /// Whether servers differ in their cores.
    pub(super) uneven: bool,
}

impl ServerGroup {
    /// Cores of all servers.
    pub(super) fn capacity(&self) -> f64 {
        self.cores * self.servers.len() as f64
    }
}

/// The tiers with a known utilization, by name.
pub(super) fn server_groups(table: &WindowTable) -> Vec<ServerGroup> {
    let known = |index: &usize| table.servers[*index].utilization.iter().any(|used| used.is_finite());
    let mut groups: Vec<ServerGroup> = Vec::new();
    for index in (0..table.servers.len()).filter(known) {
        let name = &table.servers[index].tier;
        match groups.last_mut() {
            Some(last) if table.servers[last.servers[0]].tier == *name => last.servers.push(index),
            _ => groups.push(ServerGroup {
                name: name.clone(),
                servers: vec![index],
                cores: 1.0,
                has_known_cores: false,
                uneven: false,
            }),
        }
    }
    groups.iter_mut().for_each(|group| group.describe(table));
    groups
}

impl ServerGroup {
    fn describe(&mut self, table: &WindowTable) {
        let cores: Vec<f64> =
            self.servers.iter().map(|index| table.servers[*index].cores.unwrap_or(1.0)).collect();
        self.cores = cores.iter().sum::<f64>() / cores.len() as f64;
        self.has_known_cores = self.servers.iter().all(|index| table.servers[*index].cores.is_some());
        self.uneven = cores.iter().any(|each| (each / self.cores - 1.0).abs() > 0.01);
        if self.name.is_empty() {
            self.name = match self.servers.as_slice() {
                [only] if !table.servers[*only].server.is_empty() => table.servers[*only].server.clone(),
                [_] => "cpu".to_owned(),
                _ => "servers".to_owned(),
            };
        }
    }

    /// Mean utilization of its cores in a window; NaN if it is known for fewer than half of its servers.
    pub(super) fn utilization(&self, table: &WindowTable, window: usize) -> f64 {
        let (mut used, mut cores, mut known) = (0.0, 0.0, 0);
        for &index in &self.servers {
            let server = &table.servers[index];
            let value = server.utilization.get(window).copied().unwrap_or(f64::NAN);
            if value.is_finite() {
                known += 1;
                used += value * server.cores.unwrap_or(1.0);
                cores += server.cores.unwrap_or(1.0);
            }
        }
        if 2 * known >= self.servers.len() && known > 0 { used / cores } else { f64::NAN }
    }
}

/// Sums and means over several windows; NaN if unknown in all of them.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// First window.
    pub(super) first: usize,
    /// Last window.
    pub(super) last: usize,
    /// Number of windows with data.
    pub(super) windows: usize,
    /// Total length in seconds.
    pub(super) seconds: f64,
    /// Transactions by type.
    pub(super) counts: Vec<f64>,
    /// Mean clients.
    pub(super) clients: f64,
    /// Mean response time in seconds.
    pub(super) response_s: f64,
    /// Mean utilization of each group of servers.
    pub(super) utilization: Vec<f64>,
}

impl Load {
    pub(super) fn transactions(&self) -> f64 {
        self.counts.iter().sum()
    }

    pub(super) fn throughput(&self) -> f64 {
        self.transactions() / self.seconds
    }
}

/// Windows with transactions, in order.
pub(super) fn usable_windows(table: &WindowTable) -> Vec<usize> {
    let columns = 0..table.transactions.len();
    let total = |window: usize| -> f64 {
        let counts = columns.clone().map(|column| cell(&table.system.counts, window, column));
        counts.filter(|count| count.is_finite()).sum()
    };
    (0..table.windows).filter(|window| total(*window) > 0.0).collect()
}

/// Mean response time of a window over all types; NaN if too many response times are unknown.
fn mean_response_s(system: &TransactionWindows, window: usize, columns: usize) -> f64 {
    let (mut all, mut known, mut sum) = (0.0, 0.0, 0.0);
    for column in 0..columns {
        let count = cell(&system.counts, window, column);
        let response_s = cell(&system.response_s, window, column);
        if count.is_finite() {
            all += count;
        }
        if count > 0.0 && response_s.is_finite() {
            known += count;
            sum += count * response_s;
        }
    }
    if known > 0.0 && known >= KNOWN_SHARE_MIN * all { sum / known } else { f64::NAN }
}

/// A weighted mean over the known values.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: f64, weight: f64) {
        if value.is_finite() && weight > 0.0 {
            self.sum += value * weight;
            self.weight += weight;
        }
    }

    fn value(self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { f64::NAN }
    }
}

/// The windows as one load.
pub(super) fn pooled(table: &WindowTable, groups: &[ServerGroup], windows: &[usize]) -> Load {
    let types = table.transactions.len();
    let mut counts = vec![0.0; types];
    let (mut clients, mut response) = (Mean::default(), Mean::default());
    let mut utilization = vec![Mean::default(); groups.len()];
    for &window in windows {
        let mut all = 0.0;
        for (column, sum) in counts.iter_mut().enumerate() {
            let count = cell(&table.system.counts, window, column);
            if count.is_finite() {
                *sum += count;
                all += count;
            }
        }
        clients.add(table.clients.get(window).copied().unwrap_or(f64::NAN), 1.0);
        response.add(mean_response_s(&table.system, window, types), all);
        for (mean, group) in utilization.iter_mut().zip(groups) {
            mean.add(group.utilization(table, window), 1.0);
        }
    }
    Load {
        first: windows.first().copied().unwrap_or(0),
        last: windows.last().copied().unwrap_or(0),
        windows: windows.len(),
        seconds: windows.len() as f64 * seconds(table.length),
        counts,
        clients: clients.value(),
        response_s: response.value(),
        utilization: utilization.into_iter().map(Mean::value).collect(),
    }
}

/// Successive windows joined to loads with enough transactions each; remaining windows join the last load.
pub(super) fn load_intervals(table: &WindowTable, groups: &[ServerGroup], windows: &[usize]) -> Vec<Load> {
    let length_min = windows.len().div_ceil(LOADS_MAX).max(1);
    let mut intervals: Vec<Vec<usize>> = Vec::new();
    let mut interval = Vec::new();
    let mut transactions = 0.0;
    for &window in windows {
        let columns = 0..table.transactions.len();
        let counts = columns.map(|column| cell(&table.system.counts, window, column));
        transactions += counts.filter(|count| count.is_finite()).sum::<f64>();
        interval.push(window);
        if interval.len() >= length_min && transactions >= TRANSACTIONS_MIN {
            intervals.push(std::mem::take(&mut interval));
            transactions = 0.0;
        }
    }
    match intervals.last_mut() {
        Some(last) => last.append(&mut interval),
        None if interval.is_empty() => {}
        None => intervals.push(interval),
    }
    intervals.iter().map(|interval| pooled(table, groups, interval)).collect()
}
