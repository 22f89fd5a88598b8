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
use crate::sites::table::{Observation, SiteTable};
use laggard_model::{OperationId, ReplicaId, Timestamp};
use laggard_parallel::parallel_map;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Range;

/// Units of a window, of which its parts consist.
const UNITS: usize = 32;
/// Shorter parts are not searched: what is slow for less time is ordinary, such as the first calls of a replica.
const PART_BINS_MIN: usize = 8;
/// Shorter periods are not reported.
const PERIOD_BINS_MIN: usize = 4;

/// Periods in which some replicas are slower than their peers, in order of time; periods that overlap are joined. Sites of the
/// operations in `known` are left out.
pub fn find_replica_periods(
    table: &SiteTable,
    known: &BTreeSet<OperationId>,
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Vec<Range<Timestamp>> {
    let Some(bins) = Bins::of(table, settings.scan.bin) else { return Vec::new() };
    let parts = parts(bins.requests.len());
    if parts.is_empty() {
        return Vec::new();
    }
    let sites = compared_sites(table).into_iter().filter(|(site, _)| !known.contains(&site.operation()));
    let sites: Vec<&[Observation]> = sites.map(|(_, rows)| rows).collect();
    let choices = sites.len() * parts.len();
    let scan = Scan { table, keyed: Keyed::new(table), bins, parts, choices, settings: &settings.culprits };
    let found = parallel_map(&sites, threads, |rows| scan.period(rows));
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

fn joined(mut periods: Vec<Range<Timestamp>>) -> Vec<Range<Timestamp>> {
    periods.sort_by_key(|period| (period.start, period.end));
    let mut out: Vec<Range<Timestamp>> = Vec::new();
    for period in periods {
        match out.last_mut() {
            Some(last) if period.start < last.end => last.end = last.end.max(period.end),
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
        if rows.len() < self.settings.observations_min {
            return None;
        }
        let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
        let mut sets: Vec<Vec<ReplicaId>> = Vec::new();
        for row in rows {
            numbers.entry(row.set).or_insert_with(|| {
                sets.push(self.table.sets[row.set as usize].clone());
                sets.len() - 1
            });
        }
        if sets.len() < 2 {
            return None;
        }
        let ratios = log_ratios(&self.keyed, rows);
        let values = Winsorized::of(&ratios.shares);
        let mut units = vec![vec![Moments::default(); sets.len()]; UNITS];
        let bins = self.bins.requests.len();
        for (row, share) in rows.iter().zip(&ratios.shares) {
            let unit = self.bin_of(row) * UNITS / bins;
            units[unit][numbers[&row.set]].add(values.moments(share));
        }
        let culprits = |part: &Range<usize>| {
            let mut moments = vec![Moments::default(); sets.len()];
            for unit in &units[part.clone()] {
                moments.iter_mut().zip(unit).for_each(|(sum, unit)| sum.add(*unit));
            }
            Search::from_times(moments, &sets).culprits(self.choices, self.settings)
        };
        if !culprits(&(0..UNITS)).is_empty() {
            return None;
        }
        let evidence = |culprits: &[Culprit]| -> f64 {
            culprits.iter().map(|culprit| culprit.observations as f64 * culprit.factor.ln().powi(2)).sum()
        };
        let found = self.parts.iter().map(culprits).filter(|culprits| !culprits.is_empty());
        let culprits = found.max_by(|a, b| evidence(a).total_cmp(&evidence(b)))?;
        let is_slow = |row: &Observation| {
            let set = &self.table.sets[row.set as usize];
            culprits.iter().any(|culprit| set.contains(&culprit.replica))
        };
        let mut normal = Moments::default();
        let shares = || rows.iter().zip(&ratios.shares);
        shares().filter(|(row, _)| !is_slow(row)).for_each(|(_, share)| normal.add(values.moments(share)));
        // What raises a bin above the middle between both levels speaks for it.
        let middle = normal.mean() + 0.5 * culprits[0].factor.ln();
        let mut raised = vec![0.0; bins];
        for (row, share) in shares().filter(|(row, _)| is_slow(row)) {
            raised[self.bin_of(row)] += values.moments(share).sum - middle;
        }
        let slow = largest_sum(&raised);
        (slow.len() >= PERIOD_BINS_MIN).then(|| self.bins.start_of(slow.start)..self.bins.start_of(slow.end))
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
        let period = |from: i64, to: i64| Timestamp::from_unix_ns(from)..Timestamp::from_unix_ns(to);
        let all = vec![period(50, 60), period(10, 20), period(15, 30), period(30, 40)];
        assert_eq!(joined(all), [period(10, 30), period(30, 40), period(50, 60)]);
    }
}
