//! Slow periods: intervals in which requests take longer than in the rest of the window.
//!
//! The window is cut into bins. A bin's value at a site is the log of the time spent over the time expected for its
//! mix of requests; most bins are assumed to be normal, so median and MAD over the bins describe the usual level. A
//! bin is slow when sites clearly above their usual level add up to a share of the latency that users notice.
//! Consecutive slow bins form one incident.

use crate::sites::blocks::{BlockValue, Expected, Sums, sum_parts};
use crate::sites::bulk::Bulk;
use crate::sites::per_category::Keyed;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{Nanos, Timestamp};
use laggard_numeric::{mad, median_of};
use laggard_parallel::parallel_map;
use laggard_settings::settings;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

settings! {
    group "combined";
    /// Thresholds of the scan.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct ScanSettings {
        /// Length of a bin in the search for slow periods; longer than 1,440 bins, windows get longer bins
        bin ("period-bin"): Nanos = Nanos::from_secs(60), within(1e-3, 1e9), "ours";
        /// Fewest bins with enough requests
        bins_min ("period-bins-min", "bins"): usize = 12, at_least(1.0), "ours: with fewer, nothing says what is usual";
        /// Fewest requests in a bin
        requests_min ("period-requests-min", "requests"): usize = 10, at_least(1.0), "ours";
        /// In a slow bin, a site is above its usual by this
        mad_min ("period-mad", "MAD"): f64 = 6.0, within(0.0, 1e6), "ours";
        /// In a slow bin, a site takes at least this factor of its usual time
        factor_min ("period-factor-min"): f64 = 1.3, within(1.0, 1e6), "ours";
        /// In a slow bin, sites add this share to the usual latency of the requests that call them
        excess_min ("period-excess-min"): f64 = 0.25, within(0.0, 1e6), "ours";
        /// Fewest requests of a slow bin that call the site
        calling_min ("period-calling-min", "requests"): usize = 5, at_least(1.0), "ours";
    }
}

/// A slow period.
#[derive(Clone, PartialEq, Debug)]
pub struct Incident {
    /// Start of the first slow bin.
    pub since: Timestamp,
    /// End of the last slow bin.
    pub until: Timestamp,
    /// Number of slow bins.
    pub bins: usize,
    /// Largest share over its bins: excess time over the usual latency of the affected requests.
    pub excess_share: f64,
    /// Estimated start with its interval: see [`crate::find_onset`].
    pub onset: Option<Onset>,
}

/// The estimated start of a slow period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Onset {
    /// The most likely time.
    pub at: Timestamp,
    /// Earliest time of the 95 % interval.
    pub earliest: Timestamp,
    /// Latest time of the 95 % interval.
    pub latest: Timestamp,
}

/// The bins of a window.
#[derive(Clone, PartialEq, Debug)]
pub struct Bins {
    /// Start of the first bin.
    pub start: Timestamp,
    /// Length of each bin.
    pub length: Nanos,
    /// Number of requests in each bin.
    pub requests: Vec<usize>,
}

// Limit: bins of a window | longer bins
/// Most bins; longer windows get longer bins.
const BINS_MAX: u64 = 1440;

impl Bins {
    /// Cuts the window of a table into bins that start at multiples of their length. `None` without requests.
    pub fn of(table: &SiteTable, length: Nanos) -> Option<Bins> {
        let (first, last) = (table.requests.first()?.start, table.requests.last()?.start);
        let window = last.since(first).magnitude().ns();
        let length = length.ns().max(1);
        let length = length.saturating_mul((window / length / BINS_MAX) + 1);
        let start = first.unix_ns().saturating_sub(first.unix_ns().rem_euclid(length as i64));
        let mut bins =
            Bins { start: Timestamp::from_unix_ns(start), length: Nanos::from_ns(length), requests: vec![] };
        bins.requests = vec![0; bins.bin_of(last) + 1];
        for request in &table.requests {
            let bin = bins.bin_of(request.start);
            bins.requests[bin] += 1;
        }
        Some(bins)
    }

    /// The bin of a time not before the first bin.
    pub fn bin_of(&self, time: Timestamp) -> usize {
        (time.since(self.start).magnitude().ns() / self.length.ns()) as usize
    }

    /// Start of a bin.
    pub fn start_of(&self, bin: usize) -> Timestamp {
        self.start.plus(Nanos::from_ns(self.length.ns().saturating_mul(bin as u64)))
    }
}

/// Scans a window for slow periods, in order of time. Also empty when there are too few bins with enough requests.
pub fn find_incidents(table: &SiteTable, settings: &ScanSettings, threads: NonZeroUsize) -> Vec<Incident> {
    let Some(bins) = Bins::of(table, settings.bin) else { return Vec::new() };
    let usable = bins.requests.iter().filter(|&&requests| requests >= settings.requests_min).count();
    if usable < settings.bins_min {
        return Vec::new();
    }
    let slow_bins = slow_bins(table, &bins, settings, threads);
    let mut incidents: Vec<Incident> = Vec::new();
    // Single bins without requests neither end an incident nor start one.
    let mut open: Option<usize> = None;
    for (bin, &excess) in slow_bins.iter().enumerate() {
        let silent = bins.requests[bin] == 0;
        if silent && bin > 0 && bins.requests[bin - 1] > 0 {
            continue;
        }
        if excess <= 0.0 {
            open = None;
            continue;
        }
        let index = *open.get_or_insert_with(|| {
            incidents.push(Incident {
                since: bins.start_of(bin),
                until: bins.start_of(bin + 1),
                bins: 0,
                excess_share: 0.0,
                onset: None,
            });
            incidents.len() - 1
        });
        incidents[index].until = bins.start_of(bin + 1);
        incidents[index].bins += 1;
    }
    for incident in &mut incidents {
        let slow = &slow_bins[bins.bin_of(incident.since)..bins.bin_of(incident.until)];
        incident.excess_share = slow.iter().copied().fold(0.0, f64::max);
    }
    incidents
}

/// A site that is clearly above its usual level in a bin: the excess time of each request that calls it there.
struct Raised {
    requests: Vec<(u32, f64)>,
    share: f64,
}

impl Raised {
    /// From the excess time of each request at the site, nanoseconds.
    fn new(table: &SiteTable, requests: Vec<(u32, f64)>) -> Raised {
        Raised { share: share(table, requests.iter().copied()), requests }
    }
}

/// By bin: excess time over the usual latency of the affected requests; 0 where that is not slow.
fn slow_bins(table: &SiteTable, bins: &Bins, settings: &ScanSettings, threads: NonZeroUsize) -> Vec<f64> {
    let bin_of: Vec<u32> = table.requests.iter().map(|request| bins.bin_of(request.start) as u32).collect();
    let scan = Scan { table: Keyed::new(table), bins: bins.requests.len(), bin_of: &bin_of, settings };
    let sites: Vec<&[Observation]> =
        (table.by_site()).filter(|(site, _)| !matches!(site, Site::Chain(_))).map(|(_, rows)| rows).collect();
    let mut raised: Vec<Vec<Raised>> = (0..bins.requests.len()).map(|_| Vec::new()).collect();
    for (bin, site) in parallel_map(&sites, threads, |rows| scan.raised(rows)).into_iter().flatten() {
        raised[bin].push(site);
    }
    let share = |sites| concerned_share(table, sites, settings.calling_min);
    let slow = |share: f64| if share > settings.excess_min { share } else { 0.0 };
    raised.into_iter().map(share).map(slow).collect()
}

/// The largest share that the sites of one bin reach together, in order of their own shares: a site that
/// all requests call must not hide one that few do.
fn concerned_share(table: &SiteTable, mut sites: Vec<Raised>, calling_min: usize) -> f64 {
    // Equal shares are in a fixed order.
    let first = |site: &Raised| site.requests.first().map(|&(request, _)| request);
    sites.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| first(a).cmp(&first(b))));
    let mut beyond: BTreeMap<u32, f64> = BTreeMap::new();
    let mut best = 0.0;
    for site in sites {
        for (request, excess) in site.requests {
            *beyond.entry(request).or_default() += excess;
        }
        if beyond.len() >= calling_min {
            best = f64::max(best, carried_share(table, &beyond));
        }
    }
    best
}

/// The share without the requests that contribute most: a few giant requests are not a slow period.
fn carried_share(table: &SiteTable, beyond: &BTreeMap<u32, f64>) -> f64 {
    let mut sizes: Vec<f64> = beyond.values().copied().collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let left_out = 1 + sizes.len() / GIANTS_ONE_IN;
    let limit = sizes.get(left_out).copied().unwrap_or(0.0);
    share(table, beyond.iter().map(|(&request, &excess)| (request, excess.min(limit))))
}

/// One in this many requests may be a giant.
const GIANTS_ONE_IN: usize = 10;

/// Excess over usual latency of the given requests.
fn share(table: &SiteTable, requests: impl Iterator<Item = (u32, f64)>) -> f64 {
    let (beyond, usual) = requests.fold((0.0, 0.0), |(beyond, usual), (request_index, excess)| {
        let request = &table.requests[request_index as usize];
        let weight = f64::from(request.weight);
        (beyond + weight * excess, usual + weight * (request.latency_ns - excess).max(0.0))
    });
    beyond / f64::max(usual, 1.0)
}

/// The inputs of scanning a site.
struct Scan<'a> {
    table: Keyed<'a>,
    bins: usize,
    /// The bin of every request.
    bin_of: &'a [u32],
    settings: &'a ScanSettings,
}

impl Scan<'_> {
    /// The bins in which one site is clearly above its usual level, ascending.
    fn raised(&self, rows: &[Observation]) -> Vec<(usize, Raised)> {
        let expected = Expected::of(&self.table, rows);
        let bin_of = |request: u32| self.bin_of[request as usize] as usize;
        let expected = |id| (expected.call_ns(id), 1.0);
        let sums = sum_parts(&self.table, rows, (expected, Bulk::ALL), self.bins, bin_of);
        let values: Vec<Option<BlockValue>> = sums.into_iter().map(Sums::value).collect();
        if values.iter().flatten().count() < self.settings.bins_min {
            return Vec::new();
        }
        let (middle, mean_limit) = self.limit(&values, |bin| bin.mean);
        let (_, geometric_limit) = self.limit(&values, |bin| bin.geometric);
        let above = |value: &BlockValue| value.mean > mean_limit || value.geometric > geometric_limit;
        if !values.iter().flatten().any(above) {
            return Vec::new();
        }
        let mut raised: BTreeMap<usize, Vec<(u32, f64)>> = BTreeMap::new();
        for row in rows {
            let bin = bin_of(row.request);
            let Some(value) = values[bin].filter(above) else { continue };
            let part = (1.0 - (middle - value.mean).exp()).max(0.0);
            raised.entry(bin).or_default().push((row.request, part * f64::from(row.path_ns)));
        }
        raised.into_iter().map(|(bin, requests)| (bin, Raised::new(&self.table, requests))).collect()
    }

    /// The usual value, and the limit above which a value is clearly higher.
    fn limit(&self, values: &[Option<BlockValue>], value: fn(&BlockValue) -> f64) -> (f64, f64) {
        let values: Vec<f64> = values.iter().flatten().map(value).collect();
        let middle = median_of(&values);
        let reach = self.settings.mad_min * mad(&values, middle);
        (middle, middle + reach.max(self.settings.factor_min.ln()))
    }
}
