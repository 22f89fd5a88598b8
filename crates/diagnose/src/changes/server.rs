//! The answer for one server, with names and times.

use super::observed::ObservedServer;
use super::regions::Region;
use super::series::{models_of_rows, utilization};
use super::times::{Clock, Span};
use laggard_changes::{Analysis, SegmentKind, ServiceTime, TransactionModel, signature};
use laggard_report::{
    ChangeEvent, ChangeEventKind, ChangeVerdict, CostModel, ReportedSegment, SegmentState, ServerChanges,
    TransactionCost,
};
use laggard_samples::{ServerWindows, WindowTable};
use std::ops::Range;

/// Two-sided 95 % of the normal distribution.
const Z_95: f64 = 1.96;

/// What is known of one server.
pub(super) struct Judged<'a> {
    pub(super) table: &'a WindowTable,
    pub(super) server: &'a ServerWindows,
    pub(super) observed: &'a ObservedServer,
    pub(super) analysis: &'a Analysis,
}

/// The answer about a server of which nothing could be said.
pub(super) fn not_judged(
    table: &WindowTable,
    server: &ServerWindows,
    observed: &ObservedServer,
) -> ServerChanges {
    ServerChanges {
        server: server.server.clone(),
        tier: server.tier.clone(),
        cores: observed.observations.cores,
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

impl Judged<'_> {
    pub(super) fn report(&self) -> ServerChanges {
        let rows = self.observed.observations.utilization.len();
        let models = models_of_rows(self.analysis, rows);
        let regions = self.regions(&models);
        let changes = self.changes(&regions);
        ServerChanges {
            verdict: verdict(&changes, &regions),
            models: self.models(),
            segments: self.segments(),
            changes,
            regions: regions.into_iter().map(|region| region.told).collect(),
            series: utilization(self.table, self.observed, &models),
            cautions: self.analysis.cautions.clone(),
            estimator: "Non-negative least squares.".to_owned(),
            ..not_judged(self.table, self.server, self.observed)
        }
    }

    pub(super) fn clock(&self) -> Clock<'_> {
        Clock { table: self.table, windows: &self.observed.observations.windows }
    }

    pub(super) fn ranges_of(&self, group: usize) -> Vec<Range<usize>> {
        let is_its = |kind: &SegmentKind| matches!(kind, SegmentKind::Normal { group: it } if *it == group);
        let segments = self.analysis.segments.iter().filter(|segment| is_its(&segment.kind));
        segments.map(|segment| segment.rows.clone()).collect()
    }

    fn models(&self) -> Vec<CostModel> {
        let normal = self.analysis.segments.iter().rev().find_map(|segment| match segment.kind {
            SegmentKind::Normal { group } => Some(group),
            _ => None,
        });
        let one = |(at, group): (usize, &laggard_changes::Group)| {
            let ranges = self.ranges_of(at);
            CostModel {
                segments: group.segments.iter().map(|&segment| segment as u32).collect(),
                windows: ranges.iter().map(|rows| rows.len() as u64).sum(),
                constant_percent: group.model.constant_percent,
                error: group.model.error,
                condition: Some(group.model.condition).filter(|condition| condition.is_finite()),
                in_force: normal == Some(at),
                transactions: self.costs(&group.model, &signature(&self.observed.observations, &ranges)),
            }
        };
        self.analysis.groups.iter().enumerate().map(one).collect()
    }

    fn costs(&self, model: &TransactionModel, times: &[Option<ServiceTime>]) -> Vec<TransactionCost> {
        let one = |(at, name): (usize, &String)| {
            let demand_s = model.demand_s.get(at).copied().unwrap_or(f64::NAN);
            let error = model.standard_error_s.get(at).copied().unwrap_or(f64::NAN);
            let service = times.get(at).copied().flatten();
            TransactionCost {
                transaction: name.clone(),
                demand_s,
                demand_low_s: (demand_s - Z_95 * error).max(0.0),
                demand_high_s: demand_s + Z_95 * error,
                told_apart: model.condition.is_finite() && 2.0 * Z_95 * error < demand_s,
                service_time_s: service.map(|time| time.seconds),
                service_time_error_s: service.map(|time| time.standard_error_s),
            }
        };
        self.observed.transactions.iter().enumerate().map(one).collect()
    }

    fn segments(&self) -> Vec<ReportedSegment> {
        let one = |segment: &laggard_changes::Segment| {
            let Span { since_ns, until_ns, since, until } = self.clock().span(&segment.rows);
            let (state, model, reason) = match &segment.kind {
                SegmentKind::Normal { group } => (SegmentState::Normal, Some(*group as u32), None),
                SegmentKind::Anomalous { reason } => {
                    (SegmentState::Anomalous, None, Some((*reason).to_owned()))
                }
                SegmentKind::Pending => (SegmentState::Pending, None, None),
            };
            ReportedSegment {
                since_ns,
                until_ns,
                since,
                until,
                windows: segment.rows.len() as u64,
                state,
                model,
                reason,
                constant_percent: segment.model.constant_percent,
                error: segment.model.error,
            }
        };
        self.analysis.segments.iter().map(one).collect()
    }
}

fn verdict(changes: &[ChangeEvent], regions: &[Region]) -> ChangeVerdict {
    let of = |event: &ChangeEvent| match event.kind {
        ChangeEventKind::ApplicationChange | ChangeEventKind::Rollback => ChangeVerdict::ApplicationChange,
        ChangeEventKind::WorkloadChange => ChangeVerdict::WorkloadChange,
        ChangeEventKind::Unexplained => ChangeVerdict::UnexplainedChange,
        ChangeEventKind::AnomalyStart | ChangeEventKind::AnomalyEnd => ChangeVerdict::Anomaly,
    };
    let strongest = changes.iter().map(of).max().unwrap_or(ChangeVerdict::Steady);
    if regions.is_empty() { strongest } else { strongest.max(ChangeVerdict::Anomaly) }
}
