//! The use of memory and file systems over time.

use laggard_model::{Loss, Measure, SampleRecord, Timestamp};
use std::collections::BTreeMap;

/// Length of the intervals that points are means of.
const BUCKET_NS: i64 = 300_000_000_000;

// Limit: memory and file systems whose use is watched, by tenant | `series_limit`
/// Maximum number of resources.
const RESOURCES_MAX: usize = 2_000;

/// One resource of one server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StorageKey {
    /// The server's tier; empty when unknown.
    pub tier: String,
    /// Its name; empty when unknown.
    pub server: String,
    /// The mount point of a file system; absent for memory.
    pub device: Option<String>,
}

/// The use of one resource.
#[derive(Clone, PartialEq, Debug)]
pub struct StorageUse {
    /// Which.
    pub key: StorageKey,
    /// Middle of an interval of five minutes, and the mean share in use, 0..1; in order of time.
    pub points: Vec<(Timestamp, f64)>,
}

/// Collects samples of memory and file systems, of any servers and in any order; leaves out all other samples.
#[derive(Debug, Default)]
pub struct StorageTable {
    resources: BTreeMap<StorageKey, StorageSamples>,
    omitted: u64,
}

#[derive(Debug, Default)]
struct StorageSamples {
    /// Sums and counts by interval: of shares in use, of available bytes.
    used: BTreeMap<i64, (f64, f64)>,
    available: BTreeMap<i64, (f64, f64)>,
    /// The latest size, with its time.
    size: Option<(i64, f64)>,
}

impl StorageTable {
    /// Adds a sample; `false` if it is of something else.
    pub fn add(&mut self, sample: &SampleRecord<'_>) -> bool {
        if !sample.measure.is_of_storage() {
            return false;
        }
        if !sample.value.is_finite() || sample.value < 0.0 {
            return true;
        }
        let is_of_memory = matches!(
            sample.measure,
            Measure::MemoryUtilization | Measure::MemoryAvailable | Measure::MemorySize
        );
        let key = StorageKey {
            tier: sample.tier.to_owned(),
            server: sample.server.to_owned(),
            device: (!is_of_memory).then(|| sample.callee.to_owned()),
        };
        if self.resources.len() >= RESOURCES_MAX && !self.resources.contains_key(&key) {
            self.omitted += 1;
            return true;
        }
        let ns = sample.time.unix_ns();
        let resource = self.resources.entry(key).or_default();
        let sums = match sample.measure {
            Measure::MemorySize | Measure::DiskSize => {
                if resource.size.is_none_or(|(last, _)| last <= ns) {
                    resource.size = Some((ns, sample.value));
                }
                return true;
            }
            Measure::MemoryUtilization | Measure::DiskUtilization => &mut resource.used,
            _ => &mut resource.available,
        };
        let sum = sums.entry(ns.div_euclid(BUCKET_NS)).or_default();
        *sum = (sum.0 + sample.value, sum.1 + 1.0);
        true
    }

    /// Samples that were left out, with the loss they are counted as.
    pub fn omitted(&self) -> (Loss, u64) {
        (Loss::SeriesLimit, self.omitted)
    }

    /// Removes the intervals before an instant, and those from another one on; returns where the latter begin.
    pub fn retain(&mut self, since: Timestamp, until: Timestamp) -> Timestamp {
        let buckets = since.unix_ns().div_euclid(BUCKET_NS)..until.unix_ns().div_euclid(BUCKET_NS);
        for resource in self.resources.values_mut() {
            resource.used.retain(|bucket, _| buckets.contains(bucket));
            resource.available.retain(|bucket, _| buckets.contains(bucket));
        }
        self.resources.retain(|_, resource| !resource.used.is_empty() || !resource.available.is_empty());
        Timestamp::from_unix_ns(buckets.end.saturating_mul(BUCKET_NS))
    }

    /// The use of every resource whose use is known, by name.
    pub fn uses(&self) -> Vec<StorageUse> {
        let all = self
            .resources
            .iter()
            .map(|(key, samples)| StorageUse { key: key.clone(), points: samples.points() });
        all.filter(|resource| !resource.points.is_empty()).collect()
    }
}

impl StorageSamples {
    /// Shares as they were measured, or else of the size; values beyond 0..1 are cut.
    fn points(&self) -> Vec<(Timestamp, f64)> {
        let point = |bucket: i64, used: f64| {
            let middle = bucket.saturating_mul(BUCKET_NS).saturating_add(BUCKET_NS / 2);
            (Timestamp::from_unix_ns(middle), used.clamp(0.0, 1.0))
        };
        if !self.used.is_empty() {
            return self.used.iter().map(|(&bucket, (sum, count))| point(bucket, sum / count)).collect();
        }
        let Some((_, size)) = self.size.filter(|(_, size)| *size > 0.0) else { return vec![] };
        self.available.iter().map(|(&bucket, (sum, count))| point(bucket, 1.0 - sum / count / size)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(measure: Measure, callee: &str, minute: i64, value: f64) -> SampleRecord<'_> {
        SampleRecord {
            time: Timestamp::from_unix_ns(minute * 60_000_000_000),
            measure,
            server: "db-1",
            tier: "db",
            transaction: "",
            callee,
            value,
        }
    }

    #[test]
    fn bytes_and_shares_become_shares_of_five_minutes() {
        let mut table = StorageTable::default();
        assert!(!table.add(&sample(Measure::Utilization, "", 0, 0.5)), "CPU is something else");
        for minute in 0..10 {
            table.add(&sample(Measure::MemoryAvailable, "", minute, 600.0 - 20.0 * minute as f64));
            table.add(&sample(Measure::MemorySize, "", minute, 1_000.0));
            table.add(&sample(Measure::DiskUtilization, "/data", minute, 0.25));
        }
        table.add(&sample(Measure::DiskAvailable, "/other", 3, 5.0));
        table.add(&sample(Measure::DiskUtilization, "/data", 3, f64::NAN));
        let all = table.uses();
        let shares = |index: usize| all[index].points.iter().map(|point| point.1).collect::<Vec<f64>>();
        assert_eq!(all.len(), 2, "a file system of unknown size says nothing: {all:?}");
        // 1 − mean(600, 580, 560, 540, 520) / 1000, and so on.
        assert_eq!((all[0].key.device.as_deref(), shares(0)), (None, vec![1.0 - 0.56, 1.0 - 0.46]));
        assert_eq!((all[1].key.device.as_deref(), shares(1)), (Some("/data"), vec![0.25, 0.25]));
        assert_eq!(all[0].points[1].0.unix_ns(), 450_000_000_000);
        let minute = |minute: i64| Timestamp::from_unix_ns(minute * 60_000_000_000);
        assert_eq!(table.retain(minute(0), minute(7)), minute(5));
        assert_eq!(table.uses()[1].points.len(), 1);
        table.retain(minute(5), minute(100));
        assert_eq!(table.uses(), []);
    }
}
