//! From series to the table.

use crate::extent;
use crate::grid::{Grid, grid_for};
use crate::groups::{Group, Place, groups};
use crate::points::covers_a_stretch;
use crate::servers::{Span, Utilization, averages, unit_of, utilization};
use crate::settings::{CELLS_MAX, LENGTH_MAX, LENGTH_MIN};
use crate::system::system;
use crate::table::{ServerWindows, TransactionWindows};
use crate::tally::Frame;
use crate::told::{Told, check_spacing, is_coarse, tell};
use crate::types::{Columns, columns, drop_sums, pooled};
use crate::{SampleTable, UtilizationUnit, WindowError, WindowSettings, WindowTable};
use laggard_model::{Losses, Nanos};
use laggard_numeric::Matrix;
use std::collections::BTreeMap;
use std::ops::Range;

impl SampleTable {
    /// The windows that the samples so far suggest: at multiples of the length, or at the phase of samples that
    /// would otherwise be cut.
    pub fn grid(&mut self, length: Nanos) -> Grid {
        let losses = &mut self.losses;
        self.series.iter_mut().for_each(|series| series.tidy(losses));
        grid_for(self.series.iter().filter(|series| covers_a_stretch(series.measure)), length)
    }

    /// The table of windows. Costs a sort of each series that is not in order, then one pass over all samples.
    ///
    /// # Errors
    /// When no sample tells anything of transactions or CPU in the time asked for, when windows are too short for
    /// the samples or too many for the memory, or when a server is asked for that does not exist.
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
        let span = Span { grid, windows };
        let transactions = transactions(&groups, &span, settings, &mut losses, &mut cautions)?;
        let servers = servers(&groups, &span, settings, &mut losses, &mut cautions);
        let clients: Vec<_> = groups.values().flat_map(|group| &group.clients).copied().collect();
        let clients = averages(&span, &clients, &mut Losses::none());
        let parts = Parts { span, transactions, servers, clients };
        let mut table = parts.table().ok_or(WindowError::NoSamples { samples })?;
        keep_wanted(&mut table, settings)?;
        table.losses = losses;
        table.cautions = cautions;
        Ok(table)
    }
}

/// Transactions by place.
struct Transactions<'g> {
    names: Vec<String>,
    told: BTreeMap<Place<'g>, Told>,
    system: Option<Told>,
}

fn transactions<'g>(
    groups: &BTreeMap<Place<'g>, Group<'g>>,
    span: &Span,
    settings: &WindowSettings,
    losses: &mut Losses,
    cautions: &mut Vec<String>,
) -> Result<Transactions<'g>, WindowError> {
    let Columns { of, names } = columns(groups, settings.transactions_max, losses);
    let callees = callees(groups, settings.transactions_max, losses);
    let frame = Frame { grid: span.grid, windows: span.windows.clone(), columns: of, types: names.len() };
    let counted = || groups.iter().filter(|(_, group)| group.has_counts());
    let tables: usize = counted().map(|(_, group)| 1 + group.calls.len().min(callees.names.len())).sum();
    let cells = frame.rows().saturating_mul(3 * names.len()).saturating_mul(tables + 1);
    if cells > CELLS_MAX {
        return Err(WindowError::TooLarge { windows: frame.rows(), cells });
    }
    let mut told = BTreeMap::new();
    for (place, group) in counted() {
        check_spacing(place, group, settings.length)?;
        told.insert(place.clone(), tell(place, group, &frame, &callees, losses));
    }
    let untold = groups.iter().filter(|(_, group)| !group.transactions.is_empty() && !group.has_counts());
    cautions.extend(untold.map(|(place, _)| {
        format!("Response times of {} were not used, because nothing counts its transactions.", place.words())
    }));
    let system = system(&told, settings.front.as_deref(), cautions);
    Ok(Transactions { names, told, system })
}

fn callees<'s>(groups: &BTreeMap<Place<'_>, Group<'s>>, most: usize, losses: &mut Losses) -> Columns<'s> {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for (&callee, types) in groups.values().flat_map(|group| &group.calls) {
        let samples = types.values().flatten().map(|series| series.points.len() as f64);
        *sizes.entry(callee).or_default() += samples.sum::<f64>();
    }
    pooled(sizes, most, losses)
}

/// Refuses windows that are too short for every server's utilization, and warns of single servers.
fn check_utilization(
    groups: &BTreeMap<Place<'_>, Group<'_>>,
    length: Nanos,
    cautions: &mut Vec<String>,
) -> Result<(), WindowError> {
    let spacings = groups.iter().filter_map(|(place, group)| {
        let all = group.utilization.iter().chain(&group.cpu_seconds);
        let spacing = all.filter_map(|series| series.spacing()).min()?;
        Some((place, Nanos::from_ns(spacing.unsigned_abs())))
    });
    let (coarse, fine): (Vec<_>, Vec<_>) = spacings.partition(|&(_, spacing)| is_coarse(spacing, length));
    if let (Some(&(place, spacing)), true) = (coarse.first(), fine.is_empty()) {
        let what = format!("CPU samples of {}", place.words());
        return Err(WindowError::TooFine { length, spacing, what });
    }
    cautions.extend(coarse.iter().map(|(place, spacing)| {
        format!(
            "CPU samples of {} come every {} s only, so neighboring windows share them.",
            place.words(),
            spacing.ns() as f64 / 1e9
        )
    }));
    Ok(())
}

/// The utilization of one place.
struct Server<'g> {
    place: Place<'g>,
    utilization: Utilization,
}

fn servers<'g>(
    groups: &BTreeMap<Place<'g>, Group<'g>>,
    span: &Span,
    settings: &WindowSettings,
    losses: &mut Losses,
    cautions: &mut Vec<String>,
) -> Vec<Server<'g>> {
    let unit = match settings.utilization {
        UtilizationUnit::Auto => {
            let unit = unit_of(groups.values().flat_map(|group| &group.utilization).copied());
            if unit == UtilizationUnit::Percent {
                cautions.push("Utilization was read as percent; say --utilization if it is not.".to_owned());
            }
            unit
        }
        told => told,
    };
    let mut servers = Vec::new();
    for (place, group) in groups {
        let has_cpu =
            !(group.utilization.is_empty() && group.cpu_seconds.is_empty() && group.cores.is_empty());
        // What is told of the system is not a server, unless it is the only one.
        if !has_cpu && (*place == Place::SYSTEM || !group.has_counts()) {
            continue;
        }
        let mut found = utilization(span, place, group, unit, &settings.cores, losses);
        cautions.extend(found.caution.take());
        servers.push(Server { place: place.clone(), utilization: found });
    }
    servers
}

/// Everything of a table, with room at both ends.
struct Parts<'g> {
    span: Span,
    transactions: Transactions<'g>,
    servers: Vec<Server<'g>>,
    clients: Vec<f64>,
}

impl Parts<'_> {
    /// The table without the windows at both ends in which nothing is known; `None` when there is no other.
    fn table(self) -> Option<WindowTable> {
        let rows = self.rows()?;
        let (told, names) = (&self.transactions.told, &self.transactions.names);
        let system = match &self.transactions.system {
            Some(system) => system.windows(&rows),
            None => nothing(rows.len(), names.len()),
        };
        let servers = self.servers.iter().map(|server| ServerWindows {
            server: server.place.server.to_owned(),
            tier: server.place.tier.to_owned(),
            cores: server.utilization.cores,
            utilization: server.utilization.by_window[rows.clone()].to_vec(),
            own: told
                .get(&server.place)
                .filter(|_| server.place != Place::SYSTEM)
                .map(|told| told.windows(&rows)),
        });
        Some(WindowTable {
            since: self.span.grid.start_of(self.span.windows.start + rows.start as i64),
            length: self.span.grid.length(),
            windows: rows.len(),
            transactions: names.clone(),
            system,
            clients: self.clients[rows.clone()].to_vec(),
            servers: servers.collect(),
            losses: Losses::none(),
            cautions: Vec::new(),
        })
    }

    /// From the first window in which anything is known to the last.
    fn rows(&self) -> Option<Range<usize>> {
        let told = self.transactions.told.values().map(Told::life);
        let busy = self.servers.iter().map(|server| {
            let known = |value: &f64| !value.is_nan();
            let values = &server.utilization.by_window;
            let first = values.iter().position(known).unwrap_or(values.len());
            first..values.iter().rposition(known).map_or(first, |last| last + 1)
        });
        let lives = told.chain(busy).filter(|life| !life.is_empty());
        lives.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
    }
}

fn nothing(rows: usize, types: usize) -> TransactionWindows {
    let unknown = || Matrix::from_row_major(rows, types, vec![f64::NAN; rows * types]);
    TransactionWindows { counts: unknown(), response_s: unknown(), outbound: Vec::new() }
}

/// Leaves the servers that are wanted.
fn keep_wanted(table: &mut WindowTable, settings: &WindowSettings) -> Result<(), WindowError> {
    let wanted = settings
        .servers
        .iter()
        .map(|name| (name, false))
        .chain(settings.tiers.iter().map(|name| (name, true)));
    for (name, is_tier) in wanted {
        let own = |server: &ServerWindows| if is_tier { server.tier.clone() } else { server.server.clone() };
        let mut known: Vec<String> = table.servers.iter().map(own).collect();
        if !known.contains(name) {
            known.dedup();
            known.truncate(10);
            return Err(WindowError::Unknown { name: name.clone(), known });
        }
    }
    table.servers.retain(|server| {
        (settings.servers.is_empty() || settings.servers.contains(&server.server))
            && (settings.tiers.is_empty() || settings.tiers.contains(&server.tier))
    });
    Ok(())
}
