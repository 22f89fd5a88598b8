//! Step 6: regions in which nothing but transactions ran after all.

use super::evidence::ChangeEvidence;
use super::fit::{Drift, FitPart};
use super::intervals::{CutInterval, CutIntervalKind};
use super::timeline::{ModelGroup, Timeline};

/// Returns anomalous intervals between two normal ones of one model to that model if, together, they used the CPU that it expects.
/// What else runs only adds to it; deviations to both sides are of the cost of transactions, as while a cache fills.
pub(super) fn rejoin_balanced(
    evidence: ChangeEvidence<'_>,
    intervals: &mut [CutInterval],
    timeline: &mut Timeline,
) {
    let across: Vec<(usize, usize)> = timeline
        .boundaries
        .iter()
        .filter(|boundary| boundary.kind.is_none() && boundary.after > boundary.before + 1)
        .map(|boundary| (boundary.before, boundary.after))
        .collect();
    for (before, after) in across {
        let of_both =
            |group: &&mut ModelGroup| group.intervals.contains(&before) && group.intervals.contains(&after);
        let Some(group) = timeline.groups.iter_mut().find(of_both) else { continue };
        let rows = intervals[before].rows.end..intervals[after].rows.start;
        let parts = [FitPart { rows: &group.rows, drift: Drift::NONE }];
        let fit = evidence.design.fit(&parts, f64::INFINITY);
        let more: f64 = rows.clone().map(|row| evidence.design.residual(&fit, Drift::NONE, row)).sum();
        if more.abs() >= evidence.settings.effect_min_percent * rows.len() as f64 {
            continue;
        }
        for interval in &mut intervals[before + 1..after] {
            interval.kind = CutIntervalKind::Normal;
            group.rows.push(interval.rows.clone());
        }
        group.intervals.extend(before + 1..after);
        group.intervals.sort_unstable();
    }
}
