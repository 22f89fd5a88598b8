//! Whether more calls of a site are slow than in the baseline. A fault of few calls moves neither their mean nor their median
//! by much.

use crate::failures::rates::{BlockCount, rise, total};
use crate::sites::blocks::{Blocks, Expected, ExpectedRatios, Mix};
use crate::sites::change::{ChangeSettings, SiteChange};
use crate::sites::per_category::Keyed;
use crate::sites::table::Observation;
use laggard_numeric::benjamini_hochberg;

/// Share of the baseline's calls that are beyond the limit.
const TAIL_SHARE: f64 = 0.02;
/// Slow calls take at least this factor of the median call of the baseline.
const FACTOR_MIN: f64 = 2.0;
/// The share of slow calls has risen at least by this factor.
const RISE_MIN: f64 = 2.0;
/// Calls in the baseline with which the tail is known.
const BASELINE_CALLS_MIN: usize = 100;
/// Calls of a block with which its level is known.
const BLOCK_CALLS_MIN: usize = 5;
/// Beyond this p-value nobody asks for the requests that are hit.
const P_VALUE_MAX: f64 = 0.01;

/// A baseline does not show how often bursts of slow calls come that it happens not to have: p-values of the share of slow calls
/// count as so many times as large.
const SLOW_CALLS_PENALTY: f64 = 100.0;

/// Shares of calls that are slow: that take longer than nearly all calls of the baseline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlowCalls {
    /// In the window, 0 to 1.
    pub share: f64,
    /// In the baseline, 0 to 1.
    pub usual_share: f64,
    /// p-value of "at least twice as many as before", adjusted over all sites.
    pub p_adjusted: f64,
}

/// How many calls of a site are slow, compared with the baseline.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SlowShare {
    /// Share of slow calls in the window.
    pub(crate) share: f64,
    /// The same in the baseline, in the window's mix.
    pub(crate) usual_share: f64,
    /// One-sided p-value of the hypothesis that the share has risen by more than the least factor.
    pub(crate) p_value: f64,
    /// Time of the slow calls over the expected time, less the part that the baseline has as well; weighted, nanoseconds.
    pub(crate) excess_ns: f64,
    /// The share of all calls' time that this is.
    pub(crate) part: f64,
    /// The same excess on the critical path.
    pub(crate) path_excess_ns: f64,
    /// Requests with a slow call, growing; empty where the share has certainly not risen.
    pub(crate) hit: Vec<u32>,
}

/// Observations of one site.
type SiteRows<'a> = (&'a Keyed<'a>, &'a [Observation]);

impl SlowShare {
    /// `expected` has the times by the baseline. `None` where that has too few calls.
    pub(crate) fn of(
        baseline: SiteRows<'_>,
        window: SiteRows<'_>,
        expected: &Expected,
        blocks: &Blocks,
    ) -> Option<SlowShare> {
        if baseline.1.len() < BASELINE_CALLS_MIN {
            return None;
        }
        // A call tree that the baseline lacks may lack a lost call, whose time is then its caller's.
        let category = |row: &&Observation| window.0.categories[window.0.key(row).category as usize];
        let known: Vec<Observation> =
            window.1.iter().filter(|row| expected.knows(category(row))).copied().collect();
        let window = (window.0, &known[..]);
        if known.is_empty() {
            return None;
        }
        let logs = |(table, rows): SiteRows<'_>| -> Vec<f64> {
            let mut ratios = ExpectedRatios::new(table, expected);
            rows.iter().map(|row| ratios.log(row)).collect()
        };
        let (mut earlier, mut now) = (logs(baseline), logs(window));
        let usual = quantile(&mut earlier.clone(), 0.5);
        remove_levels(&mut earlier, usual, baseline, blocks.baseline);
        remove_levels(&mut now, usual, window, blocks.window);
        let mut ordered = earlier.clone();
        let limit =
            quantile(&mut ordered, 1.0 - TAIL_SHARE).max(quantile(&mut ordered, 0.5) + FACTOR_MIN.ln());
        let mix = Mix::of(baseline, window);
        let tilt = |row: &Observation| mix.tilt(baseline.0.categories[baseline.0.key(row).category as usize]);
        let (sum, squares) = (baseline.1.iter().map(tilt))
            .fold((0.0, 0.0), |(sum, squares), tilt| (sum + tilt, squares + tilt * tilt));
        // Weighted calls are as much evidence as this number of unweighted ones (Kish, *Survey Sampling*, 1965): `sum²/squares`.
        let scale = if squares > 0.0 { sum / squares } else { 0.0 };
        let before = counts(baseline, &earlier, limit, blocks.baseline, |row| scale * tilt(row));
        let after = counts(window, &now, limit, blocks.window, |_| 1.0);
        let share = |blocks: &[BlockCount]| {
            let all = total(blocks);
            all.events / all.exposure.max(f64::MIN_POSITIVE)
        };
        let (usual_share, share) = (share(&before), share(&after));
        let p_value = rise(&before, &after, blocks, RISE_MIN);
        let slow = || window.1.iter().zip(&now).filter(|(_, log)| **log > limit);
        let new_part = (1.0 - usual_share / share.max(f64::MIN_POSITIVE)).max(0.0);
        let excess = |time: fn(&Observation) -> f32| {
            let excess = |(row, log): (&Observation, &f64)| {
                f64::from(window.0.key(row).weight) * f64::from(time(row)) * (1.0 - (-log).exp())
            };
            new_part * slow().map(excess).sum::<f64>()
        };
        let is_possible = p_value <= P_VALUE_MAX;
        let mut hit: Vec<u32> = slow().filter(|_| is_possible).map(|(row, _)| row.request).collect();
        hit.dedup();
        let (excess_ns, path_excess_ns) = (excess(|row| row.time_ns), excess(|row| row.path_ns));
        let time = |row: &Observation| f64::from(window.0.key(row).weight) * f64::from(row.time_ns);
        let part = excess_ns / window.1.iter().map(time).sum::<f64>().max(1.0);
        Some(SlowShare { share, usual_share, p_value, excess_ns, part, path_excess_ns, hit })
    }
}

/// Removes from logarithms what the median of each block is above the usual one: calls that are all slower have a longer tail, too.
fn remove_levels(logs: &mut [f64], usual: f64, (table, rows): SiteRows<'_>, blocks: usize) {
    let block = |row: &Observation| row.request as usize * blocks / table.requests.len();
    let mut start = 0;
    for rows in rows.chunk_by(|a, b| block(a) == block(b)) {
        let logs = &mut logs[start..start + rows.len()];
        start += rows.len();
        if rows.len() >= BLOCK_CALLS_MIN {
            let level = quantile(&mut logs.to_vec(), 0.5) - usual;
            logs.iter_mut().for_each(|log| *log -= level.max(0.0));
        }
    }
}

/// Weighted calls and slow calls by block.
fn counts(
    (table, rows): SiteRows<'_>,
    logs: &[f64],
    limit: f64,
    blocks: usize,
    weight: impl Fn(&Observation) -> f64,
) -> Vec<BlockCount> {
    let mut counts = vec![BlockCount::default(); blocks];
    for (row, &log) in rows.iter().zip(logs) {
        let weight = weight(row);
        let block = &mut counts[row.request as usize * blocks / table.requests.len()];
        block.exposure += weight;
        block.events += if log > limit { weight } else { 0.0 };
    }
    counts
}

/// By nearest rank. Changes the order of the logarithms.
fn quantile(logs: &mut [f64], share: f64) -> f64 {
    let at = ((share * logs.len() as f64) as usize).min(logs.len() - 1);
    *logs.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Finds sites of which more calls are slow than before among those that are not slower as a whole.
pub(crate) fn find_slow_calls(
    changes: &mut [SiteChange],
    shares: &[Option<&SlowShare>],
    settings: &ChangeSettings,
) {
    let p_value =
        |share: &Option<&SlowShare>| share.map_or(1.0, |share| (SLOW_CALLS_PENALTY * share.p_value).min(1.0));
    let adjusted = benjamini_hochberg(&shares.iter().map(p_value).collect::<Vec<f64>>());
    let part_min = 1.0 - 1.0 / settings.factor_min;
    for ((change, share), p_adjusted) in changes.iter_mut().zip(shares).zip(adjusted) {
        let Some(share) = share.filter(|share| share.part >= part_min && share.path_excess_ns > 0.0) else {
            continue;
        };
        if !change.slower && p_adjusted <= settings.level {
            (change.slower, change.p_adjusted) = (true, p_adjusted);
            change.slow_calls =
                Some(SlowCalls { share: share.share, usual_share: share.usual_share, p_adjusted });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::change::compare_sites;
    use crate::sites::table::{Site, SiteRequest, SiteTable};
    use crate::sites::table_builder::{SiteTableBuilder, Spent};
    use laggard_model::{AttributeSetId, Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
    use std::num::NonZeroUsize;

    /// One call a request: 1 ms with noise, or ten times as long.
    fn table(requests: usize, is_slow: impl Fn(usize) -> bool) -> SiteTable {
        let mut builder = SiteTableBuilder::default();
        for index in 0..requests {
            let noise = 1.0 + 0.4 * ((index as f64 * 0.618_034).fract() - 0.5);
            let time_ns = 1e6 * noise * if is_slow(index) { 10.0 } else { 1.0 };
            let request = SiteRequest {
                start: Timestamp::from_unix_ns(index as i64 * 1_000_000),
                trace: TraceId::from_value(index as u128 + 1),
                latency_ns: time_ns,
                category: 0,
                weight: 1.0,
                number: 0,
                attributes: AttributeSetId::default(),
            };
            builder.request(Fingerprint::from_value(1), request);
            let site = Site::Operation(OperationId::from_index(0));
            builder.spend(Spent { site, replicas: &[ReplicaId::from_index(0)], time_ns, path_ns: time_ns });
        }
        builder.finish(NonZeroUsize::MIN)
    }

    fn change(baseline: &SiteTable, window: &SiteTable) -> SiteChange {
        let services = [laggard_model::ServiceId::from_index(0)];
        compare_sites(baseline, window, &services, &ChangeSettings::default(), NonZeroUsize::MIN).remove(0)
    }

    /// 4 % of the calls take ten times as long: their mean rises by about a third, but so it does in some blocks of the baseline,
    /// in which such calls come in clusters.
    #[test]
    fn few_slow_calls_are_found_where_the_mean_varies_by_more() {
        let one_in = |rate: usize| move |index: usize| index % rate == 3;
        let change = change(&table(8_000, one_in(200)), &table(1_000, one_in(25)));
        assert!(change.slower, "{change:?}");
        assert_eq!(change.hit.len(), 40);
        let quiet = self::change(&table(8_000, one_in(200)), &table(1_000, one_in(180)));
        assert!(!quiet.slower, "{quiet:?}");
    }

    #[test]
    fn the_share_of_slow_calls_is_compared_in_the_window_and_before() {
        let (before, now) = (table(8_000, |index| index % 200 == 3), table(1_000, |index| index % 25 == 3));
        let share = shares(&before, &now);
        assert!((share.share - 0.04).abs() < 1e-9 && (share.usual_share - 0.005).abs() < 1e-3, "{share:?}");
        assert!(share.p_value < 1e-6, "{share:?}");
        // 40 calls of 9 ms more, less the eighth that is usual.
        assert!((share.excess_ns / (40.0 * 9e6 * 0.875) - 1.0).abs() < 0.1, "{share:?}");
    }

    #[test]
    fn one_burst_of_slow_calls_is_no_rise() {
        let burst = shares(&table(8_000, |_| false), &table(1_000, |index| (500..530).contains(&index)));
        assert!(burst.p_value > 0.01, "{burst:?}");
        let usual = shares(&table(8_000, |index| index % 25 == 3), &table(1_000, |index| index % 25 == 3));
        assert!(usual.p_value > 0.5, "{usual:?}");
    }

    fn shares(baseline: &SiteTable, window: &SiteTable) -> SlowShare {
        let blocks = Blocks::choose(baseline.requests.len(), window.requests.len());
        let (before, now) = (Keyed::new(baseline), Keyed::new(window));
        let rows = |table: &SiteTable| table.by_site().next().map(|(_, rows)| rows.to_vec()).unwrap();
        let (earlier, now_rows) = (rows(baseline), rows(window));
        let expected = Expected::of(&before, &earlier);
        SlowShare::of((&before, &earlier), (&now, &now_rows), &expected, &blocks).unwrap()
    }
}
