//! The result for one server, with names and times.

use super::costs::{self, FittedCosts};
use super::observed::ObservedServer;
use super::regions::Region;
use super::series::{models_of_rows, utilization};
use super::times::Clock;
use laggard_changes::{Analysis, SegmentKind};
use laggard_report::{
    ChangeEvent, ChangeEventKind, ChangeVerdict, ReportedSegment, SegmentState, ServerChanges,
};
use laggard_samples::{ServerWindows, WindowTable};
use std::ops::Range;

/// Error of a model from which transactions do not explain the CPU utilization.
const UNEXPLAINED_MIN: f64 = 0.2;

/// The same as a share of the server's CPU: below it, the errors of an idle server are no finding.
const UNEXPLAINED_CPU_MIN: f64 = 0.02;

/// The analysis of one server.
pub(super) struct ServerResult<'a> {
    pub(super) table: &'a WindowTable,
    pub(super) server: &'a ServerWindows,
    pub(super) observed: &'a ObservedServer,
    pub(super) analysis: &'a Analysis,
}

/// The result for a server with too little data.
pub(super) fn not_evaluated(
    table: &WindowTable,
    server: &ServerWindows,
    observed: &ObservedServer,
) -> ServerChanges {
    ServerChanges {
        server: server.server.clone(),
        tier: server.tier.clone(),
        machine: server.machine.clone(),
        cores: observed.observations.cores,
        cores_known: observed.cores_known,
        windows: observed.observations.utilization.len() as u64,
        verdict: ChangeVerdict::InsufficientData,
        estimator: String::new(),
        models: vec![],
        segments: vec![],
        changes: vec![],
        regions: vec![],
        series: utilization(table, observed, &[]),
        cautions: vec![],
    }
}

impl ServerResult<'_> {
    pub(super) fn report(&self) -> ServerChanges {
        let rows = self.observed.observations.utilization.len();
        let models = models_of_rows(self.analysis, rows);
        let regions = self.regions(&models);
        let fitted_costs = self.models();
        let changes = self.changes(&regions, &fitted_costs);
        let current = fitted_costs.iter().find(|costs| costs.model.current);
        let mut cautions = self.analysis.cautions.clone();
        cautions.extend(current.iter().flat_map(|costs| costs.cautions.iter().cloned()));
        ServerChanges {
            verdict: self.verdict(&changes, &regions, &fitted_costs),
            segments: self.segments(),
            changes,
            regions: regions.into_iter().map(|region| region.region).collect(),
            series: utilization(self.table, self.observed, &models),
            cautions,
            estimator: current.map_or_else(String::new, |costs| costs.reason.clone()),
            models: fitted_costs.into_iter().map(|costs| costs.model).collect(),
            ..not_evaluated(self.table, self.server, self.observed)
        }
    }

    /// The strongest verdict of the changes; without any, whether transactions explain the CPU at all.
    fn verdict(&self, changes: &[ChangeEvent], regions: &[Region], costs: &[FittedCosts]) -> ChangeVerdict {
        let verdict = verdict(changes, regions);
        let is_unexplained = || costs.iter().any(|costs| self.is_unexplained(costs));
        match verdict {
            // A step against a model that explains nothing shows nothing.
            ChangeVerdict::Steady | ChangeVerdict::WorkloadChange | ChangeVerdict::UnexplainedChange
                if is_unexplained() =>
            {
                ChangeVerdict::CpuNotExplained
            }
            verdict => verdict,
        }
    }

    /// Whether a model misses a large part of the CPU that was used, and not of next to nothing.
    fn is_unexplained(&self, costs: &FittedCosts) -> bool {
        let used = &self.observed.observations.utilization;
        let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
        costs.model.error >= UNEXPLAINED_MIN && costs.model.error * mean >= UNEXPLAINED_CPU_MIN
    }

    pub(super) fn clock(&self) -> Clock<'_> {
        Clock { table: self.table, windows: &self.observed.observations.windows }
    }

    pub(super) fn ranges_of(&self, group: usize) -> Vec<Range<usize>> {
        let is_its =
            |kind: &SegmentKind| matches!(kind, SegmentKind::Normal { group: other } if *other == group);
        let segments = self.analysis.segments.iter().filter(|segment| is_its(&segment.kind));
        segments.map(|segment| segment.rows.clone()).collect()
    }

    fn models(&self) -> Vec<FittedCosts> {
        let current = self.analysis.segments.iter().rev().find_map(|segment| match segment.kind {
            SegmentKind::Normal { group } => Some(group),
            _ => None,
        });
        let fitted = |(index, group)| {
            let mut costs = costs::fitted_costs(self.observed, group, &self.ranges_of(index));
            costs.model.current = current == Some(index);
            costs
        };
        self.analysis.groups.iter().enumerate().map(fitted).collect()
    }

    fn segments(&self) -> Vec<ReportedSegment> {
        let fitted = |segment: &laggard_changes::Segment| {
            let (state, model, reason) = match &segment.kind {
                SegmentKind::Normal { group } => (SegmentState::Normal, Some(*group as u32), None),
                SegmentKind::Anomalous { reason } => {
                    (SegmentState::Anomalous, None, Some((*reason).to_owned()))
                }
                SegmentKind::Pending => (SegmentState::Pending, None, None),
            };
            ReportedSegment {
                time: self.clock().span(&segment.rows),
                windows: segment.rows.len() as u64,
                state,
                model,
                reason,
                constant_percent: segment.model.constant_percent,
                error: segment.model.error,
            }
        };
        self.analysis.segments.iter().map(fitted).collect()
    }
}

fn verdict(changes: &[ChangeEvent], regions: &[Region]) -> ChangeVerdict {
    let verdict_of = |event: &ChangeEvent| match event.kind {
        ChangeEventKind::ApplicationChange | ChangeEventKind::Drift | ChangeEventKind::Rollback => {
            ChangeVerdict::ApplicationChange
        }
        ChangeEventKind::HostChange => ChangeVerdict::HostChange,
        ChangeEventKind::WaitChange => ChangeVerdict::WaitChange,
        ChangeEventKind::WorkloadChange => ChangeVerdict::WorkloadChange,
        ChangeEventKind::Unexplained => ChangeVerdict::UnexplainedChange,
        ChangeEventKind::AnomalyStart | ChangeEventKind::AnomalyEnd => ChangeVerdict::Anomaly,
    };
    let strongest = changes.iter().map(verdict_of).max().unwrap_or(ChangeVerdict::Steady);
    if regions.is_empty() { strongest } else { strongest.max(ChangeVerdict::Anomaly) }
}
