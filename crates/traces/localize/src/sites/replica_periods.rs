//! Periods in which replicas are slower than their peers, although they are not over the whole window.
//!
//! A site's observations are summed by unit of time and set of replicas once, so that every part of the window is searched for
//! culprits at the cost of a few sums.

use crate::sites::culprits::{Culprit, CulpritSettings, Search, Winsorized};
use crate::sites::incidents::Bins;
use crate::sites::judge::SiteSettings;
use crate::sites::moments::Moments;
use crate::sites::peers::{compared_sites, log_ratios};
use crate::sites::per_category::Keyed;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{OperationId, ReplicaId, Timestamp};
use laggard_numeric::spread_evenly;
use laggard_parallel::parallel_map;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::Range;

/// Units of a window, of which its parts consist.
const UNITS: usize = 32;
/// Shorter parts are not searched: what is slow for less time is ordinary, such as the first calls of a replica.
const PART_BINS_MIN: usize = 8;
/// Shorter periods are not reported.
const PERIOD_BINS_MIN: usize = 4;
/// Who is slow for more of the window than this is slow in the window as a whole.
const PERIOD_PART_MAX: f64 = 0.75;
/// Observations of a site, evenly drawn, that show where replicas may differ; whether they do is judged by all of them.
const OBSERVATIONS_MAX: usize = 16_384;
/// The parts of the window that are examined, the most evident ones first. Those around the first calls of a replica have no period.
const PARTS_TRIED_MAX: usize = 4;

/// A period in which replicas are slower than their peers.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaPeriod {
    /// Its time, in whole bins.
    pub time: Range<Timestamp>,
    /// Operations that are slow on some replicas in it; of a link, the callee.
    pub operations: BTreeSet<OperationId>,
}

/// Periods in which some replicas are slower than their peers, in order of time, with the operations that are; periods that overlap are
/// joined. Sites of the operations in `known` are left out.
pub fn find_replica_periods(
    table: &SiteTable,
    known: &BTreeSet<OperationId>,
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Vec<ReplicaPeriod> {
    let Some(bins) = Bins::of(table, settings.scan.bin) else { return Vec::new() };
    let parts = parts(bins.requests.len());
    if parts.is_empty() {
        return Vec::new();
    }
    let sites = compared_sites(table).into_iter().filter(|(site, _)| !known.contains(&site.operation()));
    let sites: Vec<(Site, &[Observation])> = sites.collect();
    let choices = sites.len() * parts.len();
    let scan = Scan { table, keyed: Keyed::new(table), bins, parts, choices, settings: &settings.culprits };
    let found = parallel_map(&sites, threads, |&(site, rows)| {
        let operations = BTreeSet::from([site.operation()]);
        scan.period(rows).map(|time| ReplicaPeriod { time, operations })
    });
    joined(found.into_iter().flatten().collect())
}

/// Halves, quarters, eighths, and sixteenths of a window with so many bins, and those in the middle between two, as ranges of units.
fn parts(bins: usize) -> Vec<Range<usize>> {
    let lengths = [2, 4, 8, 16].into_iter().filter(|count| bins / count >= PART_BINS_MIN);
    let of_length = |count: usize| {
        let half = UNITS / count / 2;
        (0..2 * count - 1).map(move |at| at * half..(at + 2) * half)
    };
    lengths.flat_map(of_length).collect()
}

fn joined(mut periods: Vec<ReplicaPeriod>) -> Vec<ReplicaPeriod> {
    periods.sort_by_key(|period| (period.time.start, period.time.end));
    let mut out: Vec<ReplicaPeriod> = Vec::new();
    for period in periods {
        match out.last_mut() {
            Some(last) if period.time.start < last.time.end => {
                last.time.end = last.time.end.max(period.time.end);
                last.operations.extend(period.operations);
            }
            _ => out.push(period),
        }
    }
    out
}

struct Scan<'a> {
    table: &'a SiteTable,
    keyed: Keyed<'a>,
    bins: Bins,
    /// As ranges of units.
    parts: Vec<Range<usize>>,
    /// Number of searches.
    choices: usize,
    settings: &'a CulpritSettings,
}

impl Scan<'_> {
    fn bin_of(&self, row: &Observation) -> usize {
        self.bins.bin_of(self.table.requests[row.request as usize].start)
    }

    fn period(&self, rows: &[Observation]) -> Option<Range<Timestamp>> {
        let rows: Vec<Observation> =
            spread_evenly(rows.len(), OBSERVATIONS_MAX).map(|index| rows[index]).collect();
        let mut numbers: Vec<u32> = rows.iter().map(|row| row.set).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if rows.len() < self.settings.observations_min || numbers.len() < 2 {
            return None;
        }
        let sets: Vec<Vec<ReplicaId>> =
            numbers.iter().map(|&set| self.table.sets[set as usize].clone()).collect();
        let ratios = log_ratios(&self.keyed, &rows);
        let values = Winsorized::of(&ratios.shares);
        let mut units = vec![vec![Moments::default(); sets.len()]; UNITS];
        let bins = self.bins.requests.len();
        for (row, share) in rows.iter().zip(&ratios.shares) {
            let unit = self.bin_of(row) * UNITS / bins;
            let set = numbers.binary_search(&row.set).expect("of all sets");
            units[unit][set].add(values.moments(share));
        }
        let culprits = |part: &Range<usize>| {
            let mut moments = vec![Moments::default(); sets.len()];
            for unit in &units[part.clone()] {
                moments.iter_mut().zip(unit).for_each(|(sum, unit)| sum.add(*unit));
            }
            Search::from_times(moments, &sets).culprits(self.choices, self.settings)
        };
        let evidence = |culprits: &[Culprit]| -> f64 {
            culprits.iter().map(|culprit| culprit.observations as f64 * culprit.factor.ln().powi(2)).sum()
        };
        let mut found: Vec<Vec<Culprit>> = self.parts.iter().map(culprits).collect();
        found.retain(|culprits| !culprits.is_empty());
        found.sort_by(|a, b| evidence(b).total_cmp(&evidence(a)));
        let observations: Vec<(&Observation, Moments)> =
            rows.iter().zip(&ratios.shares).map(|(row, share)| (row, values.moments(share))).collect();
        found.iter().take(PARTS_TRIED_MAX).find_map(|culprits| self.slow_bins(&observations, culprits))
    }

    /// When culprits are slow. What raises a bin above the middle between the normal level and theirs speaks for it.
    fn slow_bins(
        &self,
        observations: &[(&Observation, Moments)],
        culprits: &[Culprit],
    ) -> Option<Range<Timestamp>> {
        let is_slow = |row: &Observation| {
            let set = &self.table.sets[row.set as usize];
            culprits.iter().any(|culprit| set.contains(&culprit.replica))
        };
        let mut normal = Moments::default();
        observations.iter().filter(|(row, _)| !is_slow(row)).for_each(|(_, value)| normal.add(*value));
        let middle = normal.mean() + 0.5 * culprits[0].factor.ln();
        let bins = self.bins.requests.len();
        let mut raised = vec![0.0; bins];
        for (row, value) in observations.iter().filter(|(row, _)| is_slow(row)) {
            raised[self.bin_of(row)] += value.sum - middle;
        }
        let slow = largest_sum(&raised);
        let inside = observations.iter().filter(|(row, _)| is_slow(row) && slow.contains(&self.bin_of(row)));
        let (mut all, mut above) = (0, 0);
        for (_, value) in inside {
            all += 1;
            above += usize::from(value.sum > middle);
        }
        // A few very long calls are no level.
        let is_level = all >= self.settings.observations_min && 2 * above >= all;
        let is_period = slow.len() >= PERIOD_BINS_MIN && slow.len() as f64 <= PERIOD_PART_MAX * bins as f64;
        (is_level && is_period).then(|| self.bins.start_of(slow.start)..self.bins.start_of(slow.end))
    }
}

/// The consecutive values with the largest sum.
fn largest_sum(values: &[f64]) -> Range<usize> {
    let (mut best, mut largest) = (0..0, 0.0);
    let (mut start, mut sum) = (0, 0.0);
    for (index, value) in values.iter().enumerate() {
        if sum <= 0.0 {
            (start, sum) = (index, 0.0);
        }
        sum += value;
        if sum > largest {
            (best, largest) = (start..index + 1, sum);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_overlap_by_half_and_are_not_too_short() {
        assert_eq!(parts(15), []);
        assert_eq!(parts(16), [0..16, 8..24, 16..32]);
        assert_eq!(parts(33).len(), 3 + 7);
        assert_eq!(parts(1_440).len(), 3 + 7 + 15 + 31);
        assert_eq!(parts(1_440).last(), Some(&(30..32)));
    }

    #[test]
    fn the_largest_sum_is_found() {
        assert_eq!(largest_sum(&[-1.0, 2.0, -1.0, 3.0, -5.0, 3.5]), 1..4);
        assert_eq!(largest_sum(&[-1.0, -2.0]), 0..0);
        assert_eq!(largest_sum(&[]), 0..0);
    }

    #[test]
    fn overlapping_periods_are_joined() {
        let period = |from: i64, to: i64, operations: &[usize]| ReplicaPeriod {
            time: Timestamp::from_unix_ns(from)..Timestamp::from_unix_ns(to),
            operations: operations.iter().map(|&at| OperationId::from_index(at)).collect(),
        };
        let all =
            vec![period(50, 60, &[1]), period(10, 20, &[2]), period(15, 30, &[1]), period(30, 40, &[3])];
        let joined = joined(all);
        assert_eq!(joined, [period(10, 30, &[1, 2]), period(30, 40, &[3]), period(50, 60, &[1])]);
    }
}
