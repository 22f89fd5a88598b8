//! How many clients a system can serve within a latency target.
//!
//! ```text
//! WindowTable ─► loads (joined windows) ─► tiers with demands, think time ─► System
//!                        │                                                   │ mean value analysis
//!                        └──── observed X, R, U ◄── model's error ───────────┤
//!                                                                            ▼
//!                                     capacity by load, the smallest of them, what-if ─► CapacityReport
//! ```

mod accuracy;
mod answer;
mod breakdown;
mod change;
mod change_cost;
mod client_groups;
mod current_windows;
mod fit;
mod loads;
mod low_load;
mod model;
mod remarks;
mod resources;
mod think;
mod what_if;

pub use change::{Amount, Property, WhatIfChange};
pub use client_groups::RequestedClients;

use crate::sample_summary::{SampleFacts, sample_summary};
use current_windows::CurrentWindows;
use laggard_capacity::System;
use laggard_report::{
    CAPACITY_SCHEMA_VERSION, CapacityReport, CapacityVerdict, ClientsBasis, CurrentLoad, Setting,
    capacity_headline,
};
use laggard_samples::WindowTable;
use laggard_settings::{Settings, settings};
use loads::{Load, ServerGroup, load_intervals, pooled, server_groups, usable_windows};
use model::Model;
use resources::Limits;
use std::num::NonZeroUsize;

/// Minimum number of windows with transactions and utilization.
pub const WINDOWS_MIN: usize = 10;

/// Number of windows at the end that are the current load.
const NOW_WINDOWS: usize = 10;

/// Share of the capacity from which a system is near its limit.
const NEAR: f64 = 0.8;

settings! {
    group "capacity";
    /// Latency target and what-if.
    #[derive(Clone, PartialEq, Debug)]
    pub struct CapacitySettings {
        /// Number of clients at which the search ends
        clients_max ("clients-max", "clients"): u64 = 1_000_000, within(1.0, 1e7), "cost";
        /// Share of its memory from which a server is full
        memory_max ("memory-max"): f64 = 0.9, within(0.01, 1.0), "ours: a tenth for peaks within a window";
        /// Share of its network link from which a server is full
        network_max ("network-max"): f64 = 0.8, within(0.01, 1.0), "ours: queues of a link grow beyond it";
    }
    other {
        /// The latency target: mean response time in seconds, > 0, think time not included.
        latency_max_s: f64 = 0.0;
        /// Think time in seconds: used where it cannot be estimated, a what-if where it can.
        think_s: Option<f64> = None;
        /// A mix for a what-if: transaction types and shares, which need not sum to 1.
        mix: Option<Vec<(String, f64)>> = None;
        /// Changes for a what-if.
        changes: Vec<WhatIfChange> = Vec::new();
        /// Groups of clients with mixes of their own.
        client_groups: Vec<RequestedClients> = Vec::new();
        /// Multiple of the current load, for a what-if.
        load_factor: Option<f64> = None;
        /// The tier that transactions enter; `None`: the first that no other tier calls.
        front: Option<String> = None;
        /// The windows to use.
        windows: CountedWindows = CountedWindows::Current;
        /// Number of threads; the result does not depend on it.
        threads: NonZeroUsize = NonZeroUsize::MIN;
    }
}

/// The windows to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountedWindows {
    /// Windows since the last change of the application, without times of foreign load.
    Current,
    /// All windows.
    All,
}

impl CapacitySettings {
    /// Defaults around a latency target in seconds.
    pub fn new(latency_max_s: f64) -> CapacitySettings {
        CapacitySettings { latency_max_s, ..CapacitySettings::default() }
    }

    fn rows(&self) -> Vec<Setting> {
        let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let rows = [
            ("latency-max", self.latency_max_s.to_string()),
            ("think", optional(self.think_s)),
            ("load", optional(self.load_factor)),
            ("front", self.front.clone().unwrap_or_default()),
            ("all-windows", (self.windows == CountedWindows::All).to_string()),
        ];
        rows.into_iter()
            .chain(self.values())
            .map(|(name, value)| Setting { name: name.to_owned(), value })
            .collect()
    }
}

/// Computes how many clients the system can serve.
///
/// # Errors
/// A setting with an unknown name, as a sentence.
pub fn capacity(
    table: &WindowTable,
    facts: &SampleFacts,
    settings: &CapacitySettings,
) -> Result<CapacityReport, String> {
    let mut report = CapacityReport {
        schema_version: CAPACITY_SCHEMA_VERSION,
        report: "capacity",
        verdict: CapacityVerdict::InsufficientData,
        headline: String::new(),
        input: sample_summary(table, facts),
        latency_max_s: settings.latency_max_s,
        load: None,
        answer: None,
        what_if: None,
        client_groups: None,
        last_change: None,
        limits: Vec::new(),
        model: None,
        accuracy: None,
        observed: Vec::new(),
        callees: table.system.outbound.iter().map(|outbound| outbound.callee.clone()).collect(),
        latency: Vec::new(),
        cautions: table.cautions.clone(),
        missing: Vec::new(),
        settings: settings.rows(),
    };
    let groups = server_groups(table);
    let windows = usable_windows(table);
    report.missing = remarks::missing(table, &groups, &windows);
    if report.missing.is_empty() {
        let counted = match settings.windows {
            CountedWindows::Current => current_windows::current_windows(table, &windows, settings.threads),
            CountedWindows::All => CurrentWindows { windows, cautions: vec![], previous: None },
        };
        report.cautions.extend(counted.cautions.iter().cloned());
        fill(&mut report, table, &groups, &counted, settings)?;
    }
    report.verdict = verdict(&report);
    report.headline = capacity_headline(&report);
    Ok(report)
}

fn fill(
    report: &mut CapacityReport,
    table: &WindowTable,
    groups: &[ServerGroup],
    counted: &CurrentWindows,
    settings: &CapacitySettings,
) -> Result<(), String> {
    let windows = &counted.windows[..];
    let mut loads = load_intervals(table, groups, windows);
    let everything = pooled(table, groups, windows);
    let mut model = without_clients(table, groups, windows, &everything, settings)?;
    report.cautions.extend(low_load::fit_low_load(table, &mut model, &loads));
    let mut now = pooled(table, groups, &windows[windows.len().saturating_sub(NOW_WINDOWS)..]);
    report.cautions.extend(think::set_clients(&mut model, &everything, &loads, settings.think_s));
    think::fill_clients(&model, &mut loads);
    think::fill_clients(&model, std::slice::from_mut(&mut now));
    let load = current(&now, &loads);
    report.load = Some(load);
    let target =
        answer::LatencyTarget { latency_max_s: settings.latency_max_s, clients_max: settings.clients_max };
    report.answer = answer::answer(table, &model, &loads, None, target);
    let changed = what_if::changed(&model, settings)?;
    report.what_if = what_if::what_if(table, &model, &changed, &loads, &load, settings)?;
    report.client_groups = client_groups::client_groups(&changed.model, settings)?;
    report.last_change = counted
        .previous
        .as_ref()
        .and_then(|previous| change_cost::change_cost(table, groups, &model, previous, &now, settings));
    if let Some(answer) = &report.answer {
        let limits = Limits { table, groups, windows, loads: &loads, model: &model, answer, settings };
        report.limits = limits.all();
    }
    report.cautions.extend(resources::cautions(&report.limits));
    let compared = accuracy::compare(&model, &loads);
    let accuracy = accuracy::accuracy(&model, &compared);
    report.cautions.extend(accuracy::cautions(&model, &accuracy));
    report.observed = accuracy::observed(table, &model, &compared);
    report.accuracy = Some(accuracy);
    let front_demands_s = &model.system.tiers[model.front()].demands_s;
    let breakdown = breakdown::breakdown(table, windows, front_demands_s);
    report.latency = breakdown.rows;
    report.cautions.extend(remarks::overlapping(breakdown.overlapping));
    report.cautions.extend(remarks::cautions(report, groups, &model));
    report.model = Some(model.described());
    Ok(())
}

/// The model of processors and calls, before clients and other delays are known.
fn without_clients(
    table: &WindowTable,
    groups: &[ServerGroup],
    windows: &[usize],
    everything: &Load,
    settings: &CapacitySettings,
) -> Result<Model, String> {
    let mut model = Model {
        transactions: table.transactions.clone(),
        system: System { tiers: Vec::new(), think_s: 0.0 },
        tiers: Vec::new(),
        clients: ClientsBasis::Unknown,
        think: None,
        mix: everything.counts.clone(),
        front: 0,
    };
    groups.iter().for_each(|group| model.add(fit::cpu_tier(table, group, windows)));
    fit::call_tiers(table, groups, windows).into_iter().for_each(|tier| model.add(tier));
    model.front = front(table, groups, settings)?;
    Ok(model)
}

fn front(table: &WindowTable, groups: &[ServerGroup], settings: &CapacitySettings) -> Result<usize, String> {
    if let Some(name) = &settings.front {
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        return names.iter().position(|known| known == name).ok_or_else(|| {
            format!("--front: there is no tier {name:?} with processors; known are {}", names.join(", "))
        });
    }
    let is_callee =
        |group: &ServerGroup| table.system.outbound.iter().any(|outbound| outbound.callee == group.name);
    Ok(groups.iter().position(|group| !is_callee(group)).unwrap_or(0))
}

fn current(now: &Load, loads: &[Load]) -> CurrentLoad {
    let known = |value: f64| value.is_finite().then_some(value);
    let clients = loads.iter().map(|load| load.clients).filter(|clients| clients.is_finite());
    CurrentLoad {
        windows: now.windows as u64,
        clients: known(now.clients),
        throughput: now.throughput(),
        response_s: known(now.response_s),
        clients_peak: clients.reduce(f64::max),
        throughput_peak: loads.iter().map(Load::throughput).fold(0.0, f64::max),
    }
}

fn verdict(report: &CapacityReport) -> CapacityVerdict {
    let peak = report.used_at_peak().unwrap_or(0.0);
    match report.used() {
        None => CapacityVerdict::InsufficientData,
        Some(used) if used > 1.0 || used.is_nan() => CapacityVerdict::Exceeded,
        Some(used) if used.max(peak) > NEAR => CapacityVerdict::NearLimit,
        Some(_) => CapacityVerdict::Enough,
    }
}
