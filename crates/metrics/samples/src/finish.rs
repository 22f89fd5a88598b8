//! Builds the table from the series.

use crate::extent;
use crate::grid::{Grid, grid_for};
use crate::groups::{ServerKey, ServerSeries, groups};
use crate::points::covers_an_interval;
use crate::resources::{memory_use, network_use};
use crate::servers::{Utilization, WindowSpan, averages, unit_of, utilization};
use crate::settings::{LENGTH_MAX, LENGTH_MIN};
use crate::system::{system, system_servers};
use crate::table::{ServerWindows, TransactionWindows};
use crate::transactions::{TransactionSums, counts_spacing, is_coarse, sum_transactions};
use crate::types::{Columns, columns, drop_sums, pooled};
use crate::window_sums::TableFrame;
use crate::{SampleTable, UtilizationUnit, WindowError, WindowSettings, WindowTable};
use laggard_model::{Losses, Nanos};
use laggard_numeric::Matrix;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

impl SampleTable {
    /// The window grid for the samples so far: at multiples of the length, or at the phase of samples that would
    /// otherwise be split.
    pub fn grid(&mut self, length: Nanos) -> Grid {
        let losses = &mut self.losses;
        self.series.iter_mut().for_each(|series| series.tidy(losses));
        grid_for(self.series.iter().filter(|series| covers_an_interval(series.measure)), length)
    }

    /// The table of windows. Costs a sort of each series that is not in order, then one pass over all samples.
    ///
    /// # Errors
    /// If no sample in the requested time has transactions or CPU use, if windows are too short for the
    /// samples or too many for the memory, or if a requested server does not exist.
    pub fn finish(mut self, settings: &WindowSettings) -> Result<WindowTable, WindowError> {
        if !(LENGTH_MIN..=LENGTH_MAX).contains(&settings.length) {
            return Err(WindowError::Length { length: settings.length });
        }
        let samples = self.samples();
        let grid = self.grid(settings.length);
        let windows = extent::windows(&mut self.series, grid, settings, &mut self.losses);
        if windows.is_empty() {
            return Err(WindowError::NoSamples { samples });
        }
        let mut cautions = Vec::new();
        let mut groups = groups(&self.series);
        drop_sums(&mut groups, &mut cautions);
        check_utilization(&groups, settings.length, &mut cautions)?;
        let mut losses = self.losses.clone();
        let span = WindowSpan { grid, windows };
        let has_utilization = groups.values().any(ServerSeries::has_utilization);
        let unlisted = unlisted(&groups, settings, &mut cautions);
        let listing = Listing { settings, unlisted: &unlisted };
        let transactions = transactions(&groups, &span, &listing, &mut losses, &mut cautions).map_err(
            |error| match error {
                // No other length would help.
                WindowError::TooFine { .. } if !has_utilization => WindowError::NoUtilization { samples },
                error => error,
            },
        )?;
        let servers = servers(&groups, &span, &listing, &mut losses, &mut cautions);
        let clients: Vec<_> = groups.values().flat_map(|group| &group.clients).copied().collect();
        let clients = averages(&span, &clients, &mut Losses::none());
        let parts = TableParts { span, transactions, servers, clients };
        let mut table = parts.table().ok_or(WindowError::NoSamples { samples })?;
        filter_servers(&mut table, settings)?;
        table.losses = losses;
        table.cautions = cautions;
        Ok(table)
    }
}

// Limit: servers without CPU utilization in a sample table | left out; the report counts them
/// Most servers with transactions but without CPU utilization: nothing can be said about them, and anybody who sends spans can
/// make up any number of their names.
const WITHOUT_CPU_MAX: usize = 1_000;

/// Which servers have a part in the table.
struct Listing<'a> {
    settings: &'a WindowSettings,
    unlisted: &'a BTreeSet<ServerKey<'a>>,
}

impl Listing<'_> {
    fn includes(&self, server_key: &ServerKey<'_>) -> bool {
        self.settings.includes(server_key.server, server_key.tier) && !self.unlisted.contains(server_key)
    }
}

/// Requested servers beyond the limit: those with the fewest samples.
fn unlisted<'g>(
    groups: &BTreeMap<ServerKey<'g>, ServerSeries<'g>>,
    settings: &WindowSettings,
    cautions: &mut Vec<String>,
) -> BTreeSet<ServerKey<'g>> {
    let is_requested = |server_key: &ServerKey<'_>| settings.includes(server_key.server, server_key.tier);
    let without_cpu =
        groups.iter().filter(|(server_key, group)| !group.has_cpu() && is_requested(server_key));
    let mut by_size: Vec<(usize, &ServerKey<'g>)> =
        without_cpu.map(|(server_key, group)| (group.transaction_samples(), server_key)).collect();
    by_size.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let unlisted: BTreeSet<ServerKey<'g>> =
        by_size.into_iter().skip(WITHOUT_CPU_MAX).map(|(_, server_key)| server_key.clone()).collect();
    if !unlisted.is_empty() {
        cautions.push(format!(
            "{} servers without CPU utilization were left out: at most {WITHOUT_CPU_MAX} are listed.",
            unlisted.len()
        ));
    }
    unlisted
}

/// Transactions by server.
struct AllTransactions<'g> {
    names: Vec<String>,
    reported: BTreeMap<ServerKey<'g>, TransactionSums>,
    system: Option<TransactionSums>,
}

fn transactions<'g>(
    groups: &BTreeMap<ServerKey<'g>, ServerSeries<'g>>,
    span: &WindowSpan,
    listing: &Listing<'_>,
    losses: &mut Losses,
    cautions: &mut Vec<String>,
) -> Result<AllTransactions<'g>, WindowError> {
    let settings = listing.settings;
    let Columns { by_name, names } = columns(groups, settings.transactions_max, losses);
    let callees = callees(groups, settings.transactions_max, losses);
    let frame =
        TableFrame { grid: span.grid, windows: span.windows.clone(), columns: by_name, types: names.len() };
    let counted = counted(groups, settings, cautions)?;
    let system_servers = system_servers(&counted, settings.front.as_deref(), cautions);
    let is_needed =
        |server_key: &ServerKey<'_>| listing.includes(server_key) || system_servers.contains(server_key);
    let needed = || counted.iter().filter(|server_key| is_needed(server_key));
    let tables: usize =
        needed().map(|server_key| 1 + groups[server_key].calls.len().min(callees.names.len())).sum();
    let cells = frame.rows().saturating_mul(3 * names.len()).saturating_mul(tables + 1);
    if cells > settings.cells_max {
        let cells_max = settings.cells_max;
        return Err(WindowError::TooLarge { windows: frame.rows(), cells, cells_max });
    }
    let sums = |server_key: &ServerKey<'g>| {
        let sums = sum_transactions(server_key, &groups[server_key], &frame, &callees, losses);
        (server_key.clone(), sums)
    };
    let reported: BTreeMap<ServerKey<'g>, TransactionSums> = needed().map(sums).collect();
    let uncounted = groups.iter().filter(|(_, group)| !group.transactions.is_empty() && !group.has_counts());
    cautions.extend(uncounted.map(|(server_key, _)| {
        format!(
            "Response times of {} were not used, because nothing counts its transactions.",
            server_key.description()
        )
    }));
    let system = system(&reported, &system_servers);
    Ok(AllTransactions { names, reported, system })
}

/// The servers with counts of transactions that are close enough for the windows.
fn counted<'g>(
    groups: &BTreeMap<ServerKey<'g>, ServerSeries<'g>>,
    settings: &WindowSettings,
    cautions: &mut Vec<String>,
) -> Result<Vec<ServerKey<'g>>, WindowError> {
    let length = settings.length;
    let counted = groups.iter().filter(|(_, group)| group.has_counts());
    let spacing = |(server_key, group): (&ServerKey<'g>, &ServerSeries<'g>)| {
        (server_key.clone(), counts_spacing(group))
    };
    let (coarse, fine): (Vec<_>, Vec<_>) = counted
        .map(spacing)
        .partition(|(_, spacing)| spacing.is_some_and(|spacing| is_coarse(spacing, length)));
    let what = |server_key: &ServerKey<'_>| format!("counts of transactions of {}", server_key.description());
    if let (Some((server_key, Some(spacing))), true) = (coarse.first(), fine.is_empty()) {
        return Err(WindowError::TooFine { length, spacing: *spacing, what: what(server_key) });
    }
    cautions.extend(coarse.iter().filter_map(|(server_key, spacing)| {
        let seconds = (*spacing)?.ns() as f64 / 1e9;
        Some(format!("The {} were not used: they come every {seconds} s only.", what(server_key)))
    }));
    Ok(fine.into_iter().map(|(server_key, _)| server_key).collect())
}

fn callees<'s>(
    groups: &BTreeMap<ServerKey<'_>, ServerSeries<'s>>,
    most: usize,
    losses: &mut Losses,
) -> Columns<'s> {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for (&callee, types) in groups.values().flat_map(|group| &group.calls) {
        let samples = types.values().flatten().map(|series| series.points.len() as f64);
        *sizes.entry(callee).or_default() += samples.sum::<f64>();
    }
    pooled(sizes, most, losses)
}

/// Fails if windows are too short for every server's utilization, and warns about single servers.
fn check_utilization(
    groups: &BTreeMap<ServerKey<'_>, ServerSeries<'_>>,
    length: Nanos,
    cautions: &mut Vec<String>,
) -> Result<(), WindowError> {
    let spacings = groups.iter().filter_map(|(server_key, group)| {
        let all = group.utilization.iter().chain(&group.cpu_seconds);
        let spacing = all.filter_map(|series| series.spacing()).min()?;
        Some((server_key, Nanos::from_ns(spacing.unsigned_abs())))
    });
    let (coarse, fine): (Vec<_>, Vec<_>) = spacings.partition(|&(_, spacing)| is_coarse(spacing, length));
    if let (Some(&(server_key, spacing)), true) = (coarse.first(), fine.is_empty()) {
        let what = format!("CPU samples of {}", server_key.description());
        return Err(WindowError::TooFine { length, spacing, what });
    }
    cautions.extend(coarse.iter().map(|(server_key, spacing)| {
        format!(
            "CPU samples of {} come every {} s only, so neighboring windows share them.",
            server_key.description(),
            spacing.ns() as f64 / 1e9
        )
    }));
    Ok(())
}

/// The utilization of one server.
struct ServerUtilization<'g> {
    server_key: ServerKey<'g>,
    machine: Option<&'g str>,
    utilization: Utilization,
    /// Of its memory and network link by window; empty if never measured.
    memory: Vec<f64>,
    network: Vec<f64>,
}

fn servers<'g>(
    groups: &BTreeMap<ServerKey<'g>, ServerSeries<'g>>,
    span: &WindowSpan,
    listing: &Listing<'_>,
    losses: &mut Losses,
    cautions: &mut Vec<String>,
) -> Vec<ServerUtilization<'g>> {
    let settings = listing.settings;
    let unit = match settings.utilization {
        UtilizationUnit::Auto => {
            let unit = unit_of(groups.values().flat_map(|group| &group.utilization).copied());
            if unit == UtilizationUnit::Percent {
                cautions.push("Utilization was read as percent; set --utilization if it is not.".to_owned());
            }
            unit
        }
        reported => reported,
    };
    let mut servers = Vec::new();
    for (server_key, group) in groups {
        // Values of the system are not a server's, unless there is no other.
        let is_listed = group.has_counts() && !listing.unlisted.contains(server_key);
        if !group.has_cpu() && (*server_key == ServerKey::SYSTEM || !is_listed) {
            continue;
        }
        let mut utilization = utilization(span, server_key, group, unit, &settings.cores, losses);
        cautions.extend(utilization.caution.take());
        servers.push(ServerUtilization {
            server_key: server_key.clone(),
            machine: group.machine(),
            utilization,
            memory: memory_use(span, &group.memory),
            network: network_use(span, &group.network),
        });
    }
    servers
}

/// The contents of a table, before unknown windows at both ends are removed.
struct TableParts<'g> {
    span: WindowSpan,
    transactions: AllTransactions<'g>,
    servers: Vec<ServerUtilization<'g>>,
    clients: Vec<f64>,
}

impl TableParts<'_> {
    /// The table without unknown windows at both ends; `None` if no window is known.
    fn table(self) -> Option<WindowTable> {
        let rows = self.rows()?;
        let AllTransactions { names, mut reported, system } = self.transactions;
        let system = match system {
            Some(system) => system.into_windows(&rows),
            None => no_transactions(rows.len(), names.len()),
        };
        let servers = self.servers.iter().map(|server| ServerWindows {
            server: server.server_key.server.to_owned(),
            tier: server.server_key.tier.to_owned(),
            machine: server.machine.map(str::to_owned),
            cores: server.utilization.cores,
            utilization: server.utilization.by_window[rows.clone()].to_vec(),
            memory: server.memory.get(rows.clone()).unwrap_or_default().to_vec(),
            network: server.network.get(rows.clone()).unwrap_or_default().to_vec(),
            own: reported
                .remove(&server.server_key)
                .filter(|_| server.server_key != ServerKey::SYSTEM)
                .map(|reported| reported.into_windows(&rows)),
        });
        Some(WindowTable {
            since: self.span.grid.start_of(self.span.windows.start + rows.start as i64),
            length: self.span.grid.length(),
            windows: rows.len(),
            servers: servers.collect(),
            transactions: names,
            system,
            clients: self.clients[rows].to_vec(),
            losses: Losses::none(),
            cautions: Vec::new(),
        })
    }

    /// From the first to the last known window.
    fn rows(&self) -> Option<Range<usize>> {
        let reported = self.transactions.reported.values().map(TransactionSums::known_rows);
        let busy = self.servers.iter().map(|server| {
            let known = |value: &f64| !value.is_nan();
            let values = &server.utilization.by_window;
            let first = values.iter().position(known).unwrap_or(values.len());
            first..values.iter().rposition(known).map_or(first, |last| last + 1)
        });
        let lives = reported.chain(busy).filter(|known_rows| !known_rows.is_empty());
        lives.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
    }
}

fn no_transactions(rows: usize, types: usize) -> TransactionWindows {
    let unknown = || Matrix::from_row_major(rows, types, vec![f64::NAN; rows * types]);
    TransactionWindows { counts: unknown(), response_s: unknown(), outbound: Vec::new() }
}

/// Retains the requested servers.
fn filter_servers(table: &mut WindowTable, settings: &WindowSettings) -> Result<(), WindowError> {
    let requested = settings
        .servers
        .iter()
        .map(|name| (name, false))
        .chain(settings.tiers.iter().map(|name| (name, true)));
    for (name, is_tier) in requested {
        let own = |server: &ServerWindows| if is_tier { server.tier.clone() } else { server.server.clone() };
        let mut known: Vec<String> = table.servers.iter().map(own).collect();
        if !known.contains(name) {
            known.dedup();
            known.truncate(10);
            return Err(WindowError::Unknown { name: name.clone(), known });
        }
    }
    let is_selected = |server: &ServerWindows| settings.includes(&server.server, &server.tier);
    let selected = table.servers.iter().filter(|server| settings.with_machines && is_selected(server));
    let machines: BTreeSet<String> = selected.filter_map(|server| server.machine.clone()).collect();
    let is_on_machines = |server: &ServerWindows| {
        machines.contains(&server.server)
            || server.machine.as_ref().is_some_and(|name| machines.contains(name))
    };
    table.servers.retain(|server| is_selected(server) || is_on_machines(server));
    Ok(())
}
