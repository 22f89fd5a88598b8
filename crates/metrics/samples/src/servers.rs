//! Utilization, capacity and clients by window.

use crate::counters::increments;
use crate::coverage::{Coverage, WindowKnown};
use crate::grid::Grid;
use crate::groups::{ServerKey, ServerSeries};
use crate::points::Series;
use crate::sample_intervals::{sample_intervals, usual_length};
use crate::settings::{CoresOf, UtilizationUnit};
use laggard_model::{Loss, Losses};
use laggard_numeric::median;
use std::ops::Range;

/// The windows to fill.
#[derive(Clone, Debug)]
pub(crate) struct WindowSpan {
    pub(crate) grid: Grid,
    pub(crate) windows: Range<i64>,
}

/// Largest utilization value that may be a fraction; larger values are percentages.
const FRACTION_MAX: f64 = 1.5;

/// A series is in percent when at least this share of its values is above [`FRACTION_MAX`].
const PERCENT_SHARE: f64 = 0.01;

/// Decides the unit of utilization values: percent when any series is in percent, because one export has one unit, and
/// an idle server in percent looks like a busy one in fractions. A series is in percent when at least 1 % of its values,
/// and at least two unless it has only one, are above 1.5.
pub(crate) fn unit_of<'s>(all: impl Iterator<Item = &'s Series>) -> UtilizationUnit {
    let mut all = all.filter(|series| {
        let above = series.points.iter().filter(|point| point.value > FRACTION_MAX).count();
        let least = (series.points.len() as f64 * PERCENT_SHARE).max(2.0).min(series.points.len() as f64);
        above > 0 && above as f64 >= least
    });
    all.next().map_or(UtilizationUnit::Fraction, |_| UtilizationUnit::Percent)
}

/// The capacity of a server: the user's value for its name, its tier, or all servers; else the median of the samples.
pub(crate) fn cores_of(
    server_key: &ServerKey<'_>,
    group: &ServerSeries<'_>,
    reported: &[CoresOf],
) -> Option<f64> {
    let by_name = |name: &str| reported.iter().rev().find(|row| row.name == name).map(|row| row.cores);
    let named = |name: &str| if name.is_empty() { None } else { by_name(name) };
    if let Some(cores) = named(server_key.server).or_else(|| named(server_key.tier)).or_else(|| by_name("")) {
        return Some(cores);
    }
    // Several series of one server (its processors, its containers) add up.
    let with_points = group.cores.iter().filter(|series| !series.points.is_empty());
    let medians = with_points
        .map(|series| median(&mut series.points.iter().map(|point| point.value).collect::<Vec<f64>>()));
    Some(medians.sum::<f64>()).filter(|&cores| cores > 0.0)
}

/// The time average of some series by window: their mean, weighted by overlap; NaN where too little is covered.
pub(crate) fn averages(span: &WindowSpan, all: &[&Series], losses: &mut Losses) -> Vec<f64> {
    let rows = (span.windows.end - span.windows.start) as usize;
    let mut sums = vec![0.0; rows];
    let mut weights = vec![0.0; rows];
    let mut coverage = Coverage::new(span.grid, span.windows.clone());
    coverage.is_continuous = true;
    for series in all {
        let window_ns = span.grid.length().ns() as i64;
        let length = usual_length(series, series.spacing()).unwrap_or(window_ns);
        for interval in sample_intervals(&series.points, length).filter(|interval| !interval.value.is_nan()) {
            coverage.cover(interval.from, interval.to);
            let seconds = (interval.to - interval.from) as f64 / 1e9;
            span.grid.overlaps(interval.from, interval.to, &span.windows, |row, share| {
                sums[row] += interval.value * share * seconds;
                weights[row] += share * seconds;
            });
        }
    }
    let known = coverage.known();
    count_partial(&known, losses, all);
    let mean = |row: usize| match known[row] {
        WindowKnown::Share(_) if weights[row] > 0.0 => sums[row] / weights[row],
        _ => f64::NAN,
    };
    (0..rows).map(mean).collect()
}

/// CPU seconds per second, summed over counters, by window; NaN if too little is covered.
pub(crate) fn cores_in_use(span: &WindowSpan, all: &[&Series], losses: &mut Losses) -> Vec<f64> {
    let rows = (span.windows.end - span.windows.start) as usize;
    let mut used = vec![0.0; rows];
    let window_ns = span.grid.length().ns() as i64;
    let mut coverage = Coverage::new(span.grid, span.windows.clone());
    coverage.is_continuous = true;
    for series in all {
        increments(
            series,
            window_ns,
            |_| false,
            losses,
            |increment| {
                coverage.cover(increment.from, increment.to);
                span.grid.overlaps(increment.from, increment.to, &span.windows, |row, share| {
                    used[row] += increment.mass * share;
                });
            },
        );
    }
    let known = coverage.known();
    count_partial(&known, losses, all);
    let seconds = window_ns as f64 / 1e9;
    let rate = |row: usize| match known[row] {
        WindowKnown::Share(share) => used[row] / (seconds * share),
        _ => f64::NAN,
    };
    (0..rows).map(rate).collect()
}

/// Counts windows that are known in part. Those at both ends of the data are always cut.
pub(crate) fn count_partial(known: &[WindowKnown], losses: &mut Losses, all: &[&Series]) {
    let partly = known.iter().filter(|&&known| known == WindowKnown::Partly).count() as u64;
    losses
        .add_many(Loss::PartialWindow, partly, || all.first().map_or_else(String::new, ToString::to_string));
}

/// The utilization of one server, and what was assumed.
pub(crate) struct Utilization {
    /// 0..1 by window, NaN in gaps.
    pub(crate) by_window: Vec<f64>,
    /// Its capacity, if known or assumed.
    pub(crate) cores: Option<f64>,
    /// The assumption, as a sentence.
    pub(crate) caution: Option<String>,
}

/// The utilization of a server: measured directly or, where unknown, from CPU time and capacity.
pub(crate) fn utilization(
    span: &WindowSpan,
    server_key: &ServerKey<'_>,
    group: &ServerSeries<'_>,
    unit: UtilizationUnit,
    reported: &[CoresOf],
    losses: &mut Losses,
) -> Utilization {
    let mut cores = cores_of(server_key, group, reported);
    let mut caution = None;
    let used = (!group.cpu_seconds.is_empty()).then(|| cores_in_use(span, &group.cpu_seconds, losses));
    let mut by_window = averages(span, &group.utilization, losses);
    let mut assume = |most: f64| {
        let assumed = most.max(f64::MIN_POSITIVE).ceil().max(1.0);
        // A single core may appear slightly over 100 % busy.
        let assumed = if most <= 1.05 { 1.0 } else { assumed };
        caution = Some(format!(
            "The CPU capacity of {} is unknown and was assumed to be {assumed} {}; set it with --cores.",
            server_key.description(),
            if assumed == 1.0 { "core" } else { "cores" }
        ));
        cores = Some(assumed);
        assumed
    };
    let scale = match unit {
        UtilizationUnit::Percent => 100.0,
        UtilizationUnit::Cores if !group.utilization.is_empty() => {
            cores_of(server_key, group, reported).unwrap_or_else(|| assume(largest(&by_window)))
        }
        _ => 1.0,
    };
    by_window.iter_mut().for_each(|value| *value /= scale);
    if let Some(used) = used {
        let capacity = cores_of(server_key, group, reported).unwrap_or_else(|| assume(largest(&used)));
        for (value, used) in by_window.iter_mut().zip(&used) {
            if value.is_nan() {
                *value = used / capacity;
            }
        }
    }
    clamp(&mut by_window, server_key, losses);
    Utilization { by_window, cores, caution }
}

/// Excess over 1 that rounding alone can cause; a larger excess is counted as a loss.
const ROUNDING: f64 = 1e-6;

fn clamp(values: &mut [f64], server_key: &ServerKey<'_>, losses: &mut Losses) {
    for value in values.iter_mut().filter(|value| **value > 1.0) {
        if *value > 1.0 + ROUNDING {
            losses.add(Loss::UtilizationAboveOne, || format!("{value:.3} at {}", server_key.description()));
        }
        *value = 1.0;
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
}
