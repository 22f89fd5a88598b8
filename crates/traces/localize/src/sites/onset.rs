//! When a site began to be slow, or an operation to fail: one change of level, with an interval.

use crate::sites::incidents::Onset;
use crate::sites::table::{Site, SiteTable};
use laggard_model::Timestamp;
use laggard_numeric::{mad, median_of};

/// Fewest requests on each side of a change.
const SIDE_MIN: usize = 5;
/// The log likelihood may fall by this much inside a 95 % interval. The time of a change is not a smooth
/// parameter, so this is not half a χ² quantile (1.92) but half the quantile 7.35 of Hansen (*Econometrica* 68,
/// 2000): `P(2 · fall ≤ x) = (1 − exp(−x/2))²`.
const LIKELIHOOD_DROP: f64 = 3.675;
/// Values further than this many MAD from the median are clamped.
const WINSOR_MAD: f64 = 6.0;

/// The time at which a site's calls became slower, among requests that start in `from..to`: the most likely split of
/// their log times into an earlier, lower and a later, higher level under equal Gaussian noise, and
/// the times that are not much less likely. `None` when there are too few requests or no clear rise.
pub fn find_onset(table: &SiteTable, site: Site, from: Timestamp, to: Timestamp) -> Option<Onset> {
    let mut series: Vec<(Timestamp, f64)> = (table.rows_of(site))
        .iter()
        .map(|row| (table.requests[row.request as usize].start, row))
        .filter(|(start, _)| (from..to).contains(start))
        .map(|(start, row)| (start, (f64::from(row.time_ns) / f64::from(row.calls)).max(1.0).ln()))
        .collect();
    series.sort_by_key(|&(start, _)| start);
    if series.len() < 2 * SIDE_MIN {
        return None;
    }
    winsorize(&mut series);
    onset(&series, &split_gains(&series))
}

/// The share of requests with a failure before its onset is at most this part of that afterwards; else the rate fluctuates.
const RATE_BEFORE_MAX: f64 = 0.5;

/// The time from which requests are hit more often: requests in order of start, and whether each is hit. The most likely
/// split into an earlier, lower and a later, higher share. `None` when there are too few requests or no clear rise.
pub fn find_rate_onset(series: &[(Timestamp, bool)]) -> Option<Onset> {
    if series.len() < 2 * SIDE_MIN {
        return None;
    }
    onset(series, &share_gains(series))
}

/// Gain in log likelihood of two shares instead of one, split before each index; indices without a clear rise are left out.
fn share_gains(series: &[(Timestamp, bool)]) -> Vec<(usize, f64)> {
    let likelihood = |hit: f64, all: f64| {
        let part = |count: f64| if count > 0.0 { count * (count / all).ln() } else { 0.0 };
        part(hit) + part(all - hit)
    };
    let n = series.len() as f64;
    let total = series.iter().filter(|(_, is_hit)| *is_hit).count() as f64;
    let whole = likelihood(total, n);
    let mut left = 0.0;
    let mut gains = Vec::new();
    for index in 1..series.len() {
        left += f64::from(u8::from(series[index - 1].1));
        if index < SIDE_MIN || series.len() - index < SIDE_MIN {
            continue;
        }
        let (a, b) = (index as f64, n - index as f64);
        if left / a <= RATE_BEFORE_MAX * (total - left) / b {
            gains.push((index, likelihood(left, a) + likelihood(total - left, b) - whole));
        }
    }
    gains
}

/// The onset with the largest gain in log likelihood, if it is clear; gains by index, ascending.
fn onset<T>(series: &[(Timestamp, T)], gains: &[(usize, f64)]) -> Option<Onset> {
    let (best, gain) = gains.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    // A split may be anywhere, so the gain must also exceed the penalty of selecting one.
    if gain < (series.len() as f64).ln() + 3.0 {
        return None;
    }
    let likely =
        || gains.iter().filter(|(_, other)| *other >= gain - LIKELIHOOD_DROP).map(|(index, _)| *index);
    let (first, last) = (likely().min()?, likely().max()?);
    Some(Onset { at: series[best].0, earliest: series[first - 1].0, latest: series[last].0 })
}

fn winsorize(series: &mut [(Timestamp, f64)]) {
    let values: Vec<f64> = series.iter().map(|&(_, value)| value).collect();
    let middle = median_of(&values);
    let reach = WINSOR_MAD * mad(&values, middle).max(0.01);
    series.iter_mut().for_each(|(_, value)| *value = value.clamp(middle - reach, middle + reach));
}

/// Gain in log likelihood of a rise before each index; indices without a rise are left out.
fn split_gains(series: &[(Timestamp, f64)]) -> Vec<(usize, f64)> {
    let n = series.len() as f64;
    let total: f64 = series.iter().map(|&(_, value)| value).sum();
    let squares: f64 = series.iter().map(|&(_, value)| value * value).sum();
    let before = (squares - total * total / n).max(1e-9);
    let mut left = 0.0;
    let mut gains = Vec::new();
    for index in 1..series.len() {
        left += series[index - 1].1;
        if index < SIDE_MIN || series.len() - index < SIDE_MIN {
            continue;
        }
        let (a, b) = (index as f64, n - index as f64);
        let (low, high) = (left / a, (total - left) / b);
        if high <= low {
            continue;
        }
        let after = (squares - a * low * low - b * high * high).max(before * 1e-9);
        gains.push((index, 0.5 * n * (before / after).ln()));
    }
    gains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::table::SiteRequest;
    use crate::sites::table_builder::{SiteTableBuilder, Spent};
    use laggard_model::{AttributeSetId, Fingerprint, OperationId, ReplicaId, TraceId};

    fn site() -> Site {
        Site::Chain(OperationId::from_index(0))
    }

    fn table(times: impl Iterator<Item = f64>) -> SiteTable {
        let mut builder = SiteTableBuilder::default();
        for (index, time_ns) in times.enumerate() {
            let request = SiteRequest {
                start: Timestamp::from_unix_ns(index as i64 * 1000),
                trace: TraceId::from_value(index as u128 + 1),
                latency_ns: time_ns,
                category: 0,
                weight: 1.0,
                number: 0,
                attributes: AttributeSetId::default(),
            };
            builder.request(Fingerprint::from_value(1), request);
            let replicas = [ReplicaId::from_index(0)];
            builder.spend(Spent { site: site(), replicas: &replicas, time_ns, path_ns: 0.0 });
        }
        builder.finish(std::num::NonZeroUsize::MIN)
    }

    fn onset(table: &SiteTable) -> Option<Onset> {
        find_onset(table, site(), Timestamp::MIN, Timestamp::MAX)
    }

    fn noisy(index: usize, level: f64) -> f64 {
        level * (1.0 + 0.4 * ((index as f64 * 0.618_034).fract() - 0.5))
    }

    #[test]
    fn a_step_is_located() {
        let stepped = table((0..200).map(|index| noisy(index, if index < 120 { 1e6 } else { 2e6 })));
        let onset = onset(&stepped).unwrap();
        assert_eq!(onset.at, Timestamp::from_unix_ns(120_000));
        assert!(onset.earliest < onset.at && onset.at <= onset.latest);
        assert!(onset.latest <= Timestamp::from_unix_ns(123_000), "{onset:?}");
    }

    #[test]
    fn the_time_from_which_calls_fail_is_located() {
        let series = |is_hit: &dyn Fn(usize) -> bool| -> Vec<(Timestamp, bool)> {
            (0..400).map(|index| (Timestamp::from_unix_ns(index as i64), is_hit(index))).collect()
        };
        let onset = find_rate_onset(&series(&|index| index >= 250 && index % 3 == 1)).unwrap();
        assert_eq!(onset.at, Timestamp::from_unix_ns(250));
        assert!(onset.earliest >= Timestamp::from_unix_ns(235), "{onset:?}");
        assert_eq!(find_rate_onset(&series(&|index| index % 3 == 0)), None, "all the time");
        assert_eq!(find_rate_onset(&series(&|index| index < 250)), None, "until then");
        assert_eq!(find_rate_onset(&series(&|_| true)), None);
        let risen = |index: usize| index % 10 < if index < 200 { 4 } else { 7 };
        assert_eq!(find_rate_onset(&series(&risen)), None, "often before as well");
    }

    #[test]
    fn constant_and_falling_times_have_no_onset() {
        assert_eq!(onset(&table((0..200).map(|index| noisy(index, 1e6)))), None);
        assert_eq!(
            onset(&table((0..200).map(|index| noisy(index, if index < 120 { 2e6 } else { 1e6 })))),
            None
        );
        assert_eq!(onset(&table((0..6).map(|index| noisy(index, 1e6)))), None);
    }
}
