//! Series for charts, thinned to the resolution of a chart.

use super::observed::{ObservedServer, POOLED};
use crate::sample_summary::{cell, seconds, window_start};
use laggard_changes::{Analysis, SegmentKind, TransactionModel};
use laggard_report::{MixSeries, ResponseSeries, SERIES_POINTS_MAX, UtilizationSeries};
use laggard_samples::WindowTable;

/// Maximum number of types of the mix with a series of their own.
const MIX_TYPES: usize = 8;

/// Maximum number of types with a series of response times.
const RESPONSE_TYPES: usize = 6;

/// Utilization that a model predicts from the transactions of a row, 0..
pub(super) fn predicted(model: &TransactionModel, observed: &ObservedServer, row: usize) -> f64 {
    let observations = &observed.observations;
    let counts = observations.counts.row(row).iter();
    let work_s: f64 = counts.zip(&model.demand_s).map(|(count, demand)| count * demand).sum();
    model.constant_percent / 100.0 + work_s / (observations.window_s * observations.cores)
}

/// The model to compare each row with: that of its group or, in an anomalous region, the model before it (or after it, if
/// there is none before). `None` if no segment is normal.
pub(super) fn models_of_rows(analysis: &Analysis, rows: usize) -> Vec<Option<&TransactionModel>> {
    let mut out: Vec<Option<&TransactionModel>> = vec![None; rows];
    let group_of = |kind: &SegmentKind| match kind {
        SegmentKind::Normal { group } => analysis.groups.get(*group),
        _ => None,
    };
    let first = analysis.segments.iter().find_map(|segment| group_of(&segment.kind));
    let mut last = first.map(|group| &group.model);
    for segment in &analysis.segments {
        last = group_of(&segment.kind).map(|group| &group.model).or(last);
        out[segment.rows.start.min(rows)..segment.rows.end.min(rows)].fill(last);
    }
    out
}

/// Minimum number of windows per point for at most [`SERIES_POINTS_MAX`] points.
fn windows_per_point(windows: usize) -> usize {
    windows.div_ceil(SERIES_POINTS_MAX).max(1)
}

/// Mean and range of several numbers.
#[derive(Clone, Copy, Default)]
struct Spread {
    sum: f64,
    count: f64,
    range: Option<(f64, f64)>,
}

impl Spread {
    fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.sum += value;
        self.count += 1.0;
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    fn low(&self) -> Option<f64> {
        self.range.map(|(low, _)| low)
    }

    fn high(&self) -> Option<f64> {
        self.range.map(|(_, high)| high)
    }
}

/// Utilization observed and predicted, and throughput. `models` has one entry a row.
pub(super) fn utilization(
    table: &WindowTable,
    observed: &ObservedServer,
    models: &[Option<&TransactionModel>],
) -> UtilizationSeries {
    let step = windows_per_point(table.windows);
    let points = table.windows.div_ceil(step);
    let spreads = || vec![Spread::default(); points];
    let [mut used, mut expected_spread, mut residual, mut rate] =
        [spreads(), spreads(), spreads(), spreads()];
    let observations = &observed.observations;
    for (row, &window) in observations.windows.iter().enumerate() {
        let point = window / step;
        let utilization = observations.utilization[row];
        used[point].add(utilization);
        rate[point].add(observations.counts.row(row).iter().sum::<f64>() / observations.window_s);
        if let Some(model) = models.get(row).copied().flatten() {
            let expected = predicted(model, observed, row);
            expected_spread[point].add(expected);
            residual[point].add(utilization - expected);
        }
    }
    let list = |spreads: &[Spread], value: fn(&Spread) -> Option<f64>| spreads.iter().map(value).collect();
    UtilizationSeries {
        since: window_start(table, 0),
        step_s: seconds(table.length) * step as f64,
        windows_per_point: step as u64,
        observed: list(&used, Spread::mean),
        observed_low: list(&used, Spread::low),
        observed_high: list(&used, Spread::high),
        predicted: list(&expected_spread, Spread::mean),
        residual_low: list(&residual, Spread::low),
        residual_high: list(&residual, Spread::high),
        transactions_per_s: list(&rate, Spread::mean),
    }
}

/// Shares of the most frequent transaction types of the system; `None` when there are no transactions.
pub(super) fn mix(table: &WindowTable) -> Option<MixSeries> {
    let counts = &table.system.counts;
    let step = windows_per_point(table.windows);
    let points = table.windows.div_ceil(step);
    let mut sums = vec![vec![0.0; points]; counts.cols()];
    for window in 0..counts.rows().min(table.windows) {
        for (index, &count) in counts.row(window).iter().enumerate().filter(|(_, count)| count.is_finite()) {
            sums[index][window / step] += count;
        }
    }
    let total = |index: &usize| sums[*index].iter().sum::<f64>();
    let mut order: Vec<usize> = (0..counts.cols()).filter(|index| total(index) > 0.0).collect();
    order.sort_by(|a, b| total(b).total_cmp(&total(a)).then(a.cmp(b)));
    if order.is_empty() {
        return None;
    }
    let rest = if order.len() > MIX_TYPES + 1 { order.split_off(MIX_TYPES) } else { vec![] };
    let all: Vec<f64> = (0..points).map(|point| sums.iter().map(|sum| sum[point]).sum()).collect();
    let share = |types: &[usize], point: usize| {
        let part: f64 = types.iter().map(|&index| sums[index][point]).sum();
        (all[point] > 0.0).then(|| part / all[point])
    };
    let shares = |types: &[usize]| (0..points).map(|point| share(types, point)).collect();
    let mut transactions: Vec<String> =
        order.iter().map(|&index| table.transactions[index].clone()).collect();
    let mut lists: Vec<Vec<Option<f64>>> = order.iter().map(|&index| shares(&[index])).collect();
    if !rest.is_empty() {
        transactions.push(POOLED.to_owned());
        lists.push(shares(&rest));
    }
    Some(MixSeries {
        since: table.since,
        step_s: seconds(table.length) * step as f64,
        windows_per_point: step as u64,
        transactions,
        shares: lists,
    })
}

/// Mean response times of the most frequent transaction types of the system; `None` where none are known.
pub(super) fn response(table: &WindowTable) -> Option<ResponseSeries> {
    let system = &table.system;
    let step = windows_per_point(table.windows);
    let points = table.windows.div_ceil(step);
    let mut series: Vec<(f64, usize, Vec<Option<f64>>)> = (0..table.transactions.len())
        .map(|column| {
            let (mut sums, mut counts) = (vec![0.0; points], vec![0.0; points]);
            for window in 0..table.windows {
                let count = cell(&system.counts, window, column);
                let response_s = cell(&system.response_s, window, column);
                if count > 0.0 && response_s.is_finite() {
                    sums[window / step] += count * response_s;
                    counts[window / step] += count;
                }
            }
            let mean = |point: usize| (counts[point] > 0.0).then(|| sums[point] / counts[point]);
            (counts.iter().sum(), column, (0..points).map(mean).collect())
        })
        .filter(|(count, ..)| *count > 0.0)
        .collect();
    series.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    series.truncate(RESPONSE_TYPES);
    (!series.is_empty()).then(|| ResponseSeries {
        since: table.since,
        step_s: seconds(table.length) * step as f64,
        windows_per_point: step as u64,
        transactions: series.iter().map(|(_, column, _)| table.transactions[*column].clone()).collect(),
        response_s: series.into_iter().map(|(.., points)| points).collect(),
    })
}
