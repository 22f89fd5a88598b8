//! Requests that take long by nature are compared with their kind.
//!
//! ```text
//! a column    hit ▄█▄   missed ▄█▄           aligned  ▄██▄
//! delayed           ▂▄▂          ▂▄▂    ──►              ▂▄▂
//! ```
//!
//! Many columns have several modes without a fault: a cache that is hit or missed, a short or a long list. Such a mode has many
//! of the requests, or it does not make them slower. Times are reduced by the distance of their kind from the lowest one, and
//! latencies by what the kind adds to them. A delay is then one mode, whatever kind of request it affects.

use super::modes::cuts;
use super::settings::PatternSettings;
use laggard_numeric::{Alternative, mann_whitney_asymptotic, median_of};

/// A mode whose requests are slower than others with at most this probability has nothing to do with the latency.
const UNRELATED_SEPARATION_MAX: f64 = 0.6;

/// Two distances between modes are alike when they differ by at most this share.
const DISTANCE_TOLERANCE: f64 = 0.1;

/// Most modes of a column that are distinguished.
const MODES_MAX: usize = 255;

/// A column and its modes.
pub(super) struct AlignedColumn {
    /// Times as measured; what is not above 0 is no time.
    pub(super) times: Vec<f64>,
    /// Times less the distance of their kind from the lowest one.
    pub(super) aligned: Vec<f64>,
    /// Mode of each request; [`AlignedColumn::modes`] where there is no time.
    pub(super) labels: Vec<u8>,
    pub(super) modes: usize,
}

impl AlignedColumn {
    pub(super) fn new(times: Vec<f64>, settings: &PatternSettings) -> AlignedColumn {
        let (labels, modes) = labels(&times, settings);
        AlignedColumn { aligned: times.clone(), times, labels, modes }
    }

    /// Values of the requests in each mode.
    fn by_mode(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let mut out = vec![Vec::new(); self.modes + 1];
        for (&mode, &value) in self.labels.iter().zip(values) {
            out[usize::from(mode)].push(value);
        }
        out.truncate(self.modes);
        out
    }
}

/// Whether an operation was called.
pub(super) fn is_time(time: f64) -> bool {
    time.is_finite() && time > 0.0
}

/// The mode of every time, and how many modes there are; that number where there is no time.
pub(super) fn labels(times: &[f64], settings: &PatternSettings) -> (Vec<u8>, usize) {
    let mut sorted: Vec<f64> = times.iter().copied().filter(|&time| is_time(time)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut cuts = cuts(&sorted, settings);
    cuts.truncate(MODES_MAX - 1);
    let modes = cuts.len() + 1;
    let label = |time: f64| if is_time(time) { cuts.partition_point(|&cut| cut < time) } else { modes };
    (times.iter().map(|&time| label(time) as u8).collect(), modes)
}

/// Reduces latencies, then the times of each column, of all kinds of requests to those of the lowest kind.
pub(super) fn align(columns: &mut [AlignedColumn], latencies: &mut [f64], settings: &PatternSettings) {
    let most = settings.share_max * latencies.len() as f64;
    let mut frequent: Vec<(usize, Vec<usize>)> = Vec::new();
    for (index, column) in columns.iter().enumerate().filter(|(_, column)| column.modes > 1) {
        let counts = column.by_mode(&column.times).into_iter().map(|times| times.len() as f64);
        let kinds: Vec<usize> =
            counts.enumerate().filter(|&(_, count)| count > most).map(|(mode, _)| mode).collect();
        if kinds.len() > 1 {
            frequent.push((index, kinds));
        }
    }
    // Operations that call each other have the same kinds: the column whose kinds differ most comes first, and leaves
    // nothing to the others.
    while !frequent.is_empty() {
        let spreads: Vec<f64> =
            frequent.iter().map(|(index, kinds)| spread(&columns[*index], kinds, latencies)).collect();
        let widest = (0..spreads.len()).max_by(|&a, &b| spreads[a].total_cmp(&spreads[b]).then(b.cmp(&a)));
        let (index, kinds) = frequent.remove(widest.unwrap_or(0));
        columns[index].reduce(latencies, &kinds);
    }
    for column in columns.iter_mut().filter(|column| column.modes > 1) {
        let kinds = column.kinds(latencies, most, settings);
        let mut aligned = std::mem::take(&mut column.aligned);
        column.reduce(&mut aligned, &kinds);
        column.aligned = aligned;
    }
}

/// How far the median latencies of kinds are apart.
fn spread(column: &AlignedColumn, kinds: &[usize], latencies: &[f64]) -> f64 {
    let by_mode = column.by_mode(latencies);
    let medians: Vec<f64> = kinds.iter().map(|&kind| median_of(&by_mode[kind])).collect();
    medians.iter().copied().fold(0.0, f64::max) - medians.iter().copied().fold(f64::INFINITY, f64::min)
}

impl AlignedColumn {
    /// Modes that are kinds of requests, ascending: the largest, those with more than `most` requests, and those that do not
    /// make requests slower.
    fn kinds(&self, latencies: &[f64], most: f64, settings: &PatternSettings) -> Vec<usize> {
        let by_mode = self.by_mode(latencies);
        let largest =
            (0..self.modes).max_by_key(|&mode| (by_mode[mode].len(), self.modes - mode)).unwrap_or(0);
        let is_unrelated = |latencies: &[f64]| {
            let test = mann_whitney_asymptotic(latencies, &by_mode[largest], Alternative::Greater);
            latencies.len() >= settings.rows_min && test.effect <= UNRELATED_SEPARATION_MAX
        };
        let is_kind = |mode: usize| {
            mode == largest || by_mode[mode].len() as f64 > most || is_unrelated(&by_mode[mode])
        };
        (0..self.modes).filter(|&mode| is_kind(mode)).collect()
    }

    /// Subtracts from every value, of a time or a latency, what its kind has beyond the lowest kind. Values stay above 0.
    fn reduce(&self, values: &mut [f64], kinds: &[usize]) {
        let times = self.by_mode(&self.times);
        let counts: Vec<usize> = times.iter().map(Vec::len).collect();
        let kind_of = kinds_of_modes(&times.into_iter().map(middle).collect::<Vec<f64>>(), &counts, kinds);
        let mut by_mode = self.by_mode(values);
        let usual: Vec<f64> = kinds.iter().map(|&kind| middle(std::mem::take(&mut by_mode[kind]))).collect();
        let least = values.iter().copied().filter(|&value| is_time(value)).fold(f64::INFINITY, f64::min);
        for (&mode, value) in self.labels.iter().zip(values) {
            if usize::from(mode) < self.modes {
                *value = (*value - (usual[kind_of[usize::from(mode)]] - usual[0])).max(least);
            }
        }
    }
}

/// The value in the middle, one of the sample: times stay on their grid.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The kind of every mode, as an index into `kinds`: itself, else one below it, else the lowest. `middles` are the usual times
/// of the modes, `counts` their requests.
///
/// A delay adds a mode above each kind, at the same distance. So a mode belongs to the kind below it whose distance most
/// requests in further modes have from their kinds; without any, to the next one below.
fn kinds_of_modes(middles: &[f64], counts: &[usize], kinds: &[usize]) -> Vec<usize> {
    let requests_alike = |mode: usize, kind: usize| -> usize {
        let distance = middles[mode] - middles[kind];
        let is_alike = |other: f64| (other - distance).abs() <= DISTANCE_TOLERANCE * distance;
        let others = (0..middles.len()).filter(|other| *other != mode && !kinds.contains(other));
        let has_distance = |other: &usize| {
            kinds
                .iter()
                .any(|&base| base != kind && base < *other && is_alike(middles[*other] - middles[base]))
        };
        others.filter(has_distance).map(|other| counts[other]).sum()
    };
    let kind_of = |mode: usize| {
        let below = kinds.partition_point(|&kind| kind <= mode);
        if kinds.contains(&mode) || below < 2 {
            return below.saturating_sub(1);
        }
        (0..below).max_by_key(|&index| (requests_alike(mode, kinds[index]), index)).unwrap_or(0)
    };
    (0..middles.len()).map(kind_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times 10 to 13, in every second request 40 more, and in every tenth 100 more: four modes.
    fn cached() -> Vec<f64> {
        let time = |at: u32| {
            let missed = if at.is_multiple_of(2) { 40 } else { 0 };
            let delayed = if at % 20 < 2 { 100 } else { 0 };
            f64::from(10 + at / 20 % 4 + missed + delayed)
        };
        (0..1000).map(time).collect()
    }

    #[test]
    fn a_delay_is_one_mode_for_all_kinds() {
        let settings = PatternSettings::default();
        let mut columns = vec![AlignedColumn::new(cached(), &settings)];
        assert_eq!(columns[0].modes, 4);
        let mut latencies: Vec<f64> = cached().iter().map(|time| time + 30.0).collect();
        align(&mut columns, &mut latencies, &settings);
        let (aligned, modes) = labels(&columns[0].aligned, &settings);
        assert_eq!(modes, 2);
        assert!(aligned.iter().enumerate().all(|(at, &mode)| (mode == 1) == (at % 20 < 2)));
        // Requests that miss the cache are as long as the others, but for the delay.
        assert_eq!((latencies[5], latencies[4], latencies[0], latencies[21]), (40.0, 40.0, 140.0, 141.0));
    }

    #[test]
    fn a_mode_that_makes_requests_slower_is_no_kind() {
        let settings = PatternSettings::default();
        let times: Vec<f64> =
            (0..500).map(|at| f64::from(10 + at % 4 + if at % 5 == 0 { 40 } else { 0 })).collect();
        let mut columns = vec![AlignedColumn::new(times.clone(), &settings)];
        let mut latencies = times.clone();
        align(&mut columns, &mut latencies, &settings);
        assert_eq!((&columns[0].aligned, &latencies), (&times, &times));
    }

    #[test]
    fn modes_belong_to_the_kind_that_has_their_distance() {
        // Kinds at 10 and 50; delays of 100 above both. The next kind below 110 is that of 50.
        assert_eq!(kinds_of_modes(&[10.0, 50.0, 110.0, 150.0], &[400, 400, 100, 100], &[0, 1]), [0, 1, 0, 1]);
        // Nothing else has the distance of 110 from 10.
        assert_eq!(kinds_of_modes(&[10.0, 50.0, 110.0], &[400, 400, 100], &[0, 1]), [0, 1, 1]);
        // A mode below all kinds belongs to the lowest.
        assert_eq!(kinds_of_modes(&[2.0, 10.0, 50.0], &[20, 400, 400], &[1, 2]), [0, 0, 1]);
    }
}
