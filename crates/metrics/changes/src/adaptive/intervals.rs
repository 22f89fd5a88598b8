//! Step 3: the intervals between cuts, classified by whether transactions explain them.

use std::ops::Range;

use super::design::Design;
use super::fit::{Drift, Fit, FitPart};
use super::settings::ChangeSettings;

/// A window is unexplained by a model if it deviates by more than this number of noise standard deviations.
const UNEXPLAINED_DEVIATIONS: f64 = 4.0;
/// Minimum number of unexplained windows of an anomalous region; fewer are single outliers.
const UNEXPLAINED_MIN: usize = 3;

/// One in this number of windows may be an outlier.
const OUTLIER_SHARE: usize = 10;

/// The kind of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CutIntervalKind {
    /// Transactions explain it.
    Normal,
    /// Transactions do not explain it; the reason is a phrase.
    Anomalous(&'static str),
    /// At the end of the data and too short to classify.
    Pending,
}

/// An interval of regression rows between two cuts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CutInterval {
    pub(super) rows: Range<usize>,
    pub(super) kind: CutIntervalKind,
    /// Whether it is cut from the one before only because the load or the mix changes.
    pub(super) is_load_step: bool,
}

/// Reason for an anomalous interval.
pub(super) const TOO_SHORT: &str = "too short for a model";
/// Reason for an anomalous interval.
pub(super) const UNEXPLAINED: &str = "CPU that transactions do not explain";
/// Reason for an anomalous interval.
pub(super) const LARGE_CONSTANT: &str = "a large constant load";

/// The intervals between `cuts` (regression rows, ascending): absorbs single outliers, joins adjacent anomalous
/// intervals, and moves their edges to where the neighbor's model stops holding.
pub(super) fn intervals(design: &Design, cuts: &[usize], settings: &ChangeSettings) -> Vec<CutInterval> {
    let end = design.regression.rows();
    let windows_min = settings.windows_min(design.demands()).min((end / 2).max(1));
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(end));
    let classified =
        starts.zip(ends).map(|(start, end)| classify(design, start..end, windows_min, settings)).collect();
    let mut intervals = absorb(design, join(classified));
    mark_pending(&mut intervals, windows_min);
    for index in 0..intervals.len() {
        trim(design, &mut intervals, index);
    }
    intervals
}

fn classify(
    design: &Design,
    rows: Range<usize>,
    windows_min: usize,
    settings: &ChangeSettings,
) -> CutInterval {
    let kind = if rows.len() < windows_min {
        CutIntervalKind::Anomalous(TOO_SHORT)
    } else if noise_ratio(design, rows.clone()) > settings.noise_ratio_max {
        CutIntervalKind::Anomalous(UNEXPLAINED)
    } else {
        CutIntervalKind::Normal
    };
    CutInterval { rows, kind, is_load_step: false }
}

fn own_fit(design: &Design, rows: Range<usize>) -> Fit {
    design.fit(&[FitPart { rows: &[rows], drift: Drift::NONE }], f64::INFINITY)
}

/// Residual noise of the best fit over the usual noise. The tenth of the windows with the largest deviations are
/// ignored: a few outliers are not a region.
fn noise_ratio(design: &Design, rows: Range<usize>) -> f64 {
    let first = own_fit(design, rows.clone());
    let mut by_deviation: Vec<usize> = rows.collect();
    by_deviation.sort_by(|&a, &b| deviations(design, &first, a).total_cmp(&deviations(design, &first, b)));
    by_deviation.truncate(by_deviation.len() - by_deviation.len() / OUTLIER_SHARE);
    by_deviation.sort_unstable();
    let retained: Vec<Range<usize>> = by_deviation.into_iter().map(|row| row..row + 1).collect();
    let fit = design.fit(&[FitPart { rows: &retained, drift: Drift::NONE }], f64::INFINITY);
    let left = retained.len().saturating_sub(fit.positive).max(1) as f64;
    (design.misfit(&fit, Drift::NONE, &retained).square / left).sqrt()
}

/// Joins neighbors that are both anomalous.
fn join(intervals: Vec<CutInterval>) -> Vec<CutInterval> {
    let mut joined: Vec<CutInterval> = Vec::new();
    for interval in intervals {
        let is_mergeable = |last: &&mut CutInterval| is_anomalous(last) && is_anomalous(&interval);
        match joined.last_mut().filter(is_mergeable) {
            Some(last) => {
                last.rows.end = interval.rows.end;
                last.kind = CutIntervalKind::Anomalous(UNEXPLAINED);
            }
            None => joined.push(interval),
        }
    }
    joined
}

fn is_anomalous(interval: &CutInterval) -> bool {
    matches!(interval.kind, CutIntervalKind::Anomalous(_))
}

/// Merges an anomalous interval into a normal neighbor whose model holds for nearly all of its windows.
fn absorb(design: &Design, mut intervals: Vec<CutInterval>) -> Vec<CutInterval> {
    let mut index = 0;
    while index < intervals.len() {
        let host =
            is_anomalous(&intervals[index]).then(|| absorbing_neighbor(design, &intervals, index)).flatten();
        let Some(host) = host else {
            index += 1;
            continue;
        };
        intervals[host].rows = union(&intervals[host].rows, &intervals[index].rows);
        intervals.remove(index);
        index = index.saturating_sub(1);
    }
    intervals
}

fn absorbing_neighbor(design: &Design, intervals: &[CutInterval], index: usize) -> Option<usize> {
    let neighbors = [index.checked_sub(1), (index + 1 < intervals.len()).then_some(index + 1)];
    let rows = &intervals[index].rows;
    let mut hosts = neighbors.into_iter().flatten();
    hosts.find(|&host| {
        let of_host = &intervals[host].rows;
        intervals[host].kind == CutIntervalKind::Normal
            && (is_explained(design, &own_fit(design, of_host.clone()), rows)
                || intervals[index].kind == CutIntervalKind::Anomalous(TOO_SHORT)
                    && is_explained_together(design, of_host, rows))
    })
}

/// Whether one model explains a host and a short interval. The model of a host that is hardly longer than it has coefficients
/// may be far off outside its own windows.
fn is_explained_together(design: &Design, host: &Range<usize>, rows: &Range<usize>) -> bool {
    let both = union(host, rows);
    let fit = own_fit(design, both.clone());
    is_explained(design, &fit, rows) && is_explained(design, &fit, host)
}

fn is_explained(design: &Design, fit: &Fit, rows: &Range<usize>) -> bool {
    let is_unexplained = |row: &usize| deviations(design, fit, *row) > UNEXPLAINED_DEVIATIONS;
    rows.clone().filter(is_unexplained).count() < UNEXPLAINED_MIN
}

fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.min(b.start)..a.end.max(b.end)
}

/// Absolute deviation of a window from a model, in noise standard deviations.
fn deviations(design: &Design, fit: &Fit, row: usize) -> f64 {
    design.residual(fit, Drift::NONE, row).abs() / design.noise(row)
}

/// Marks the last interval as pending if it is short and follows a normal one.
fn mark_pending(intervals: &mut [CutInterval], windows_min: usize) {
    let [.., before, last] = intervals else { return };
    if is_anomalous(last) && last.rows.len() < windows_min && before.kind == CutIntervalKind::Normal {
        last.kind = CutIntervalKind::Pending;
    }
}

/// Moves the edges of an anomalous interval to where the neighbors' models stop holding.
fn trim(design: &Design, intervals: &mut [CutInterval], index: usize) {
    if !is_anomalous(&intervals[index]) {
        return;
    }
    let rows = intervals[index].rows.clone();
    if index > 0 && intervals[index - 1].kind == CutIntervalKind::Normal {
        let fit = own_fit(design, intervals[index - 1].rows.clone());
        let is_foreign = |row: &usize| deviations(design, &fit, *row) > UNEXPLAINED_DEVIATIONS;
        let start = rows.clone().find(is_foreign).unwrap_or(rows.start);
        // Unexplained windows just before the interval belong to it too.
        let earlier = (intervals[index - 1].rows.start + 1..rows.start).rev().take_while(is_foreign).count();
        let start = if start == rows.start { start - earlier } else { start };
        (intervals[index - 1].rows.end, intervals[index].rows.start) = (start, start);
    }
    let rows = intervals[index].rows.clone();
    if index + 1 < intervals.len() && intervals[index + 1].kind == CutIntervalKind::Normal {
        let fit = own_fit(design, intervals[index + 1].rows.clone());
        let is_foreign = |row: &usize| deviations(design, &fit, *row) > UNEXPLAINED_DEVIATIONS;
        let end = rows.clone().rev().find(is_foreign).map_or(rows.end, |row| row + 1);
        let later = (rows.end..intervals[index + 1].rows.end - 1).take_while(is_foreign).count();
        let end = if end == rows.end { end + later } else { end };
        (intervals[index].rows.end, intervals[index + 1].rows.start) = (end, end);
    }
}
