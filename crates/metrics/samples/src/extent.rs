//! The range of windows of the table.

use crate::grid::Grid;
use crate::points::{SPACING_SAMPLE, Series};
use crate::settings::WindowSettings;
use laggard_model::{Loss, Losses, Measure};
use std::collections::BTreeMap;
use std::ops::Range;

// Limit: windows of a sample table | `stray_sample`
/// Most windows of a table: a year of minutes.
pub(crate) const WINDOWS_MAX: i64 = 527_040;

/// The windows that samples of transactions and of CPU touch, within the requested time. If they exceed the maximum
/// length of a table, the densest range is retained and the rest is removed from the series.
pub(crate) fn windows(
    series: &mut [Series],
    grid: Grid,
    settings: &WindowSettings,
    losses: &mut Losses,
) -> Range<i64> {
    let requested = grid.windows_inside(settings.since, settings.until);
    let mut windows = touched(series, grid);
    windows = windows.start.max(requested.start)..windows.end.min(requested.end);
    if windows.is_empty() || windows.end.saturating_sub(windows.start) <= WINDOWS_MAX {
        return windows;
    }
    let dense = densest(series, grid, &windows);
    let mut strays = 0;
    for series in series.iter_mut().filter(|series| defines_extent(series.measure)) {
        let all = series.points.len();
        series.points.retain(|point| {
            let window = grid.window_of(point.ns);
            dense.contains(&window) || !windows.contains(&window)
        });
        strays += (all - series.points.len()) as u64;
    }
    let first = || {
        format!("not from {} to {}", grid.start_of(dense.start).unix_ns(), grid.start_of(dense.end).unix_ns())
    };
    losses.add_many(Loss::StraySample, strays, first);
    let touched_rows = touched(series, grid);
    touched_rows.start.max(dense.start)..touched_rows.end.min(dense.end)
}

const fn defines_extent(measure: Measure) -> bool {
    !matches!(measure, Measure::Cores | Measure::Clients | Measure::Machine)
        && !measure.is_of_memory_or_network()
}

/// From the first to the last touched window, including the intervals that the last samples represent.
fn touched(series: &[Series], grid: Grid) -> Range<i64> {
    let ends = series.iter().filter(|series| defines_extent(series.measure)).filter_map(|series| {
        let (first, last) = (series.points.first()?, series.points.last()?);
        Some((grid.window_of(first.ns), grid.window_of(last.ns).saturating_add(2)))
    });
    ends.fold(0..0, |range, (first, end)| match range.is_empty() {
        true => first..end,
        false => range.start.min(first)..range.end.max(end),
    })
}

/// The range of at most [`WINDOWS_MAX`] windows with the most samples; of several, the first.
fn densest(series: &[Series], grid: Grid, windows: &Range<i64>) -> Range<i64> {
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    for series in series.iter().filter(|series| defines_extent(series.measure)) {
        // Enough points of a long series to weigh its parts; all of a short one, which may be an outlier.
        let step = series.points.len().div_ceil(SPACING_SAMPLE * 16).max(1);
        for point in series.points.iter().step_by(step) {
            let window = grid.window_of(point.ns);
            if windows.contains(&window) {
                *counts.entry(window).or_default() += step as u64;
            }
        }
    }
    let counts: Vec<(i64, u64)> = counts.into_iter().collect();
    let (mut from, mut sum) = (0, 0);
    let mut best = (0, windows.start..windows.start);
    for &(window, count) in &counts {
        sum += count;
        while window.saturating_sub(counts[from].0) >= WINDOWS_MAX {
            sum -= counts[from].1;
            from += 1;
        }
        if sum > best.0 {
            best = (sum, counts[from].0..window + 1);
        }
    }
    // One more window on each side, within the limit, for intervals that extend beyond.
    let end = best.1.end.saturating_add(1).min(best.1.start.saturating_add(WINDOWS_MAX));
    best.1.start..end
}
