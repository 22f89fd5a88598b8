//! The changes of one server, in order of time.

use super::capacity_cost::ComparedSides;
use super::costs::FittedCosts;
use super::regions::Region;
use super::server::ServerResult;
use laggard_changes::{
    Change, ChangeKind, ChangedQuantity, SegmentKind, ServiceTime, SignatureTest, TransactionChange,
    signature, signature_changes,
};
use laggard_report::{
    ChangeEvent, ChangeEventKind, CpuSplit, MixShift, ShiftQuantity, SignatureShift, TransactionShift,
};
use std::ops::Range;

/// Two-sided 95 % of the normal distribution.
const Z_95: f64 = 1.96;

/// Maximum number of transaction types listed for a change of the mix.
const MIX_SHIFTS_MAX: usize = 5;

/// Minimum change of a type's share in the mix to be listed.
const MIX_SHIFT_MIN: f64 = 0.005;

impl ServerResult<'_> {
    /// The changes of the analysis, and the starts of regions without a change: those at the beginning of the data.
    pub(super) fn changes(&self, regions: &[Region], costs: &[FittedCosts]) -> Vec<ChangeEvent> {
        let changes = &self.analysis.changes;
        let starts = |row: usize| {
            changes.iter().any(|change| change.kind == ChangeKind::AnomalyStart && change.onset.row == row)
        };
        let silent = regions.iter().filter(|region| !starts(region.first_row)).map(|region| Change {
            kind: ChangeKind::AnomalyStart,
            onset: laggard_changes::Onset {
                row: region.first_row,
                earliest: region.first_row,
                latest: region.first_row,
            },
            error_ratio: f64::NAN,
            transactions: vec![],
            cpu: None,
        });
        let mut all: Vec<Change> = changes.iter().cloned().chain(silent).collect();
        all.sort_by_key(|change| change.onset.row);
        all.iter().map(|change| self.event(change, costs)).collect()
    }

    fn event(&self, change: &Change, costs: &[FittedCosts]) -> ChangeEvent {
        let row = change.onset.row;
        let before = self.normal_segment(|rows| rows.start < row, true);
        let after = self.normal_segment(|rows| rows.start >= row, false);
        let (rate_before, rate_after) = (self.rate(before.as_ref()), self.rate(after.as_ref()));
        let kind = event_kind(change.kind);
        let sides = [(&before, true), (&after, false)].map(|(side, is_before)| {
            let rows = side.as_ref().map_or_else(Vec::new, |(group, _)| self.side(*group, row, is_before));
            signature(&self.observed.observations, &rows)
        });
        let named = match kind {
            ChangeEventKind::ApplicationChange => named(change, &sides),
            _ => change.transactions.clone(),
        };
        let cpu = change.cpu.as_ref().map(cpu_split);
        let transactions: Vec<TransactionShift> =
            named.iter().filter_map(|change| self.shift(change)).collect();
        let compared = ComparedSides { kind, row, cpu, transactions: &transactions, costs };
        ChangeEvent {
            kind,
            onset: self.clock().onset(&change.onset),
            error_ratio: change.error_ratio,
            model_before: before.as_ref().map(|(group, _)| *group as u32),
            model_after: after.as_ref().map(|(group, _)| *group as u32),
            signature: if kind.is_alarm() { self.signatures(&sides, &named) } else { vec![] },
            capacity: self.capacity_cost(&compared, before.as_ref(), after.as_ref()),
            transactions,
            mix: self.mix(before.as_ref(), after.as_ref()),
            cpu,
            rate_before,
            rate_after,
            deployment: None,
        }
    }

    fn shift(&self, change: &TransactionChange) -> Option<TransactionShift> {
        Some(TransactionShift {
            transaction: self.observed.transactions.get(change.transaction)?.clone(),
            quantity: match change.quantity {
                ChangedQuantity::Cpu => ShiftQuantity::Cpu,
                ChangedQuantity::Time => ShiftQuantity::Time,
                ChangedQuantity::CpuAndTime => ShiftQuantity::CpuAndTime,
            },
            before_s: change.before_s,
            after_s: change.after_s,
            difference_s: change.after_s - change.before_s,
            standard_error_s: change.standard_error_s,
            servers: 1,
        })
    }

    /// The normal segment next to a change: its group and rows.
    fn normal_segment(
        &self,
        side: impl Fn(&Range<usize>) -> bool,
        last: bool,
    ) -> Option<(usize, Range<usize>)> {
        let normal = |segment: &laggard_changes::Segment| match segment.kind {
            SegmentKind::Normal { group } if side(&segment.rows) => Some((group, segment.rows.clone())),
            _ => None,
        };
        let mut segments = self.analysis.segments.iter().filter_map(normal);
        if last { segments.next_back() } else { segments.next() }
    }

    /// Rows of a group on one side of a row: the same version of the application.
    pub(super) fn side(&self, group: usize, row: usize, before: bool) -> Vec<Range<usize>> {
        let ranges = self.ranges_of(group).into_iter();
        let cut = |rows: Range<usize>| {
            if before { rows.start..rows.end.min(row) } else { rows.start.max(row)..rows.end }
        };
        ranges.map(cut).filter(|rows| !rows.is_empty()).collect()
    }

    fn signatures(
        &self,
        [before, after]: &[Vec<Option<ServiceTime>>; 2],
        named: &[TransactionChange],
    ) -> Vec<SignatureShift> {
        if before.iter().chain(after).all(Option::is_none) {
            return vec![];
        }
        let signature_shift = |(index, name): (usize, &String)| {
            let [before, after] = [before, after].map(|times| times.get(index).copied().flatten());
            SignatureShift {
                transaction: name.clone(),
                before_s: before.map_or(f64::NAN, |time| time.seconds),
                before_error_s: before.map_or(f64::NAN, |time| time.standard_error_s),
                after_s: after.map_or(f64::NAN, |time| time.seconds),
                after_error_s: after.map_or(f64::NAN, |time| time.standard_error_s),
                changed: named.iter().any(|changed| changed.transaction == index),
            }
        };
        self.observed.transactions.iter().enumerate().map(signature_shift).collect()
    }

    fn rate(&self, segment: Option<&(usize, Range<usize>)>) -> f64 {
        let Some((_, rows)) = segment else { return f64::NAN };
        let observations = &self.observed.observations;
        let all: f64 = rows.clone().map(|row| observations.counts.row(row).iter().sum::<f64>()).sum();
        all / (rows.len() as f64 * observations.window_s)
    }

    fn mix(
        &self,
        before: Option<&(usize, Range<usize>)>,
        after: Option<&(usize, Range<usize>)>,
    ) -> Vec<MixShift> {
        let (Some((_, before)), Some((_, after))) = (before, after) else { return vec![] };
        let (before, after) = (self.shares(before), self.shares(after));
        let names = self.observed.transactions.iter().enumerate();
        let mut out: Vec<MixShift> = names
            .map(|(index, name)| MixShift {
                transaction: name.clone(),
                share_before: before[index],
                share_after: after[index],
            })
            .filter(|shift| (shift.share_after - shift.share_before).abs() >= MIX_SHIFT_MIN)
            .collect();
        let size = |shift: &MixShift| (shift.share_after - shift.share_before).abs();
        out.sort_by(|a, b| size(b).total_cmp(&size(a)));
        out.truncate(MIX_SHIFTS_MAX);
        out
    }

    fn shares(&self, rows: &Range<usize>) -> Vec<f64> {
        let counts = &self.observed.observations.counts;
        let sum = |index: usize| rows.clone().map(|row| counts.get(row, index)).sum::<f64>();
        let sums: Vec<f64> = (0..counts.cols()).map(sum).collect();
        let all: f64 = sums.iter().sum();
        sums.into_iter().map(|sum| if all > 0.0 { sum / all } else { 0.0 }).collect()
    }
}

fn cpu_split(cpu: &laggard_changes::CpuSplit) -> CpuSplit {
    let ratio = |errors: f64| (cpu.log_ratio + errors * cpu.standard_error).exp();
    CpuSplit {
        before: cpu.before_percent / 100.0,
        after: cpu.after_percent / 100.0,
        load: cpu.load_percent / 100.0,
        mix: cpu.mix_percent / 100.0,
        cost: cpu.cost_percent / 100.0,
        ratio: ratio(0.0),
        ratio_low: ratio(-Z_95),
        ratio_high: ratio(Z_95),
    }
}

/// The transactions that the method named; if it named none, those whose signature changed.
fn named(change: &Change, [before, after]: &[Vec<Option<ServiceTime>>; 2]) -> Vec<TransactionChange> {
    if !change.transactions.is_empty() {
        return change.transactions.clone();
    }
    let changed = signature_changes(before, after, SignatureTest::default());
    let transaction_change = |change: laggard_changes::ServiceTimeChange| TransactionChange {
        transaction: change.transaction,
        before_s: change.before.seconds,
        after_s: change.after.seconds,
        standard_error_s: change.standard_error_s(),
        quantity: ChangedQuantity::Time,
    };
    changed.into_iter().map(transaction_change).collect()
}

const fn event_kind(kind: ChangeKind) -> ChangeEventKind {
    match kind {
        ChangeKind::AnomalyStart => ChangeEventKind::AnomalyStart,
        ChangeKind::AnomalyEnd => ChangeEventKind::AnomalyEnd,
        ChangeKind::HostChange => ChangeEventKind::HostChange,
        ChangeKind::WaitChange => ChangeEventKind::WaitChange,
        ChangeKind::WorkloadChange => ChangeEventKind::WorkloadChange,
        ChangeKind::ApplicationChange => ChangeEventKind::ApplicationChange,
        ChangeKind::Unexplained => ChangeEventKind::Unexplained,
        ChangeKind::Rollback { .. } => ChangeEventKind::Rollback,
    }
}
