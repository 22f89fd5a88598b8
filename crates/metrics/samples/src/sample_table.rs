//! Collects samples by series.

use crate::groups::SeriesForm;
use crate::points::{Point, Series};
use laggard_model::{CallRecord, Loss, Losses, Measure, SampleRecord, Sink, SpanRecord};
use std::collections::{BTreeSet, HashMap};

/// Limits of one [`SampleTable`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleLimits {
    /// Maximum number of distinct series; samples of further ones are dropped and counted.
    pub series_max: usize,
    /// Maximum number of samples, of 16 bytes each; further ones are dropped and counted.
    pub samples_max: usize,
}

impl Default for SampleLimits {
    /// A hundred thousand series, 64 Mi samples (1 GiB).
    fn default() -> SampleLimits {
        SampleLimits { series_max: 100_000, samples_max: 1 << 26 }
    }
}

/// A sink that stores samples by series, of any servers and in any order. Several can fill in parallel and be merged in
/// the order of their inputs.
///
/// Spans and call-log records are counted as another signal.
#[derive(Clone, Debug, Default)]
pub struct SampleTable {
    limits: SampleLimits,
    /// Number of each series by its key.
    numbers: HashMap<Box<[u8]>, u32>,
    pub(crate) series: Vec<Series>,
    pub(crate) losses: Losses,
    samples: usize,
    key: Vec<u8>,
    /// The series of the last sample.
    last: Option<u32>,
}

/// Maximum length of a name, in bytes; longer ones are truncated.
const NAME_BYTES_MAX: usize = 1024;

impl SampleTable {
    /// An empty table.
    pub fn new(limits: SampleLimits) -> SampleTable {
        SampleTable { limits, ..SampleTable::default() }
    }

    /// Number of stored samples.
    pub fn samples(&self) -> u64 {
        self.samples as u64
    }

    /// Number of stored series.
    pub fn series(&self) -> u64 {
        self.series.len() as u64
    }

    /// Losses so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Adds losses that occurred before this table.
    pub fn add_losses(&mut self, losses: &Losses) {
        self.losses.merge(losses);
    }

    /// Which servers have transaction counts.
    pub fn counted_servers(&self) -> CountedServers {
        let counts = |series: &&Series| {
            SeriesForm::from_measure(series.measure).is_some_and(SeriesForm::is_count)
                && !is_of_calls(series.measure)
        };
        let counted: Vec<&Series> = self.series.iter().filter(counts).collect();
        CountedServers {
            any: !counted.is_empty(),
            servers: counted
                .iter()
                .map(|series| series.server.to_string())
                .filter(|name| !name.is_empty())
                .collect(),
        }
    }

    /// Adds the table of a later input to this one's.
    pub fn merge(&mut self, later: SampleTable) {
        self.losses.merge(&later.losses);
        for series in later.series {
            let number = self.number(&series.record());
            let free_samples = self.limits.samples_max - self.samples;
            let stored_points = series.points.len().min(free_samples);
            self.losses.add_many(Loss::SampleLimit, (series.points.len() - stored_points) as u64, || {
                series.to_string()
            });
            match number {
                None => self.losses.add_many(Loss::SeriesLimit, stored_points as u64, || series.to_string()),
                Some(number) => {
                    self.samples += stored_points;
                    let points = &mut self.series[number as usize].points;
                    match points.is_empty() && stored_points == series.points.len() {
                        true => *points = series.points,
                        false => points.extend_from_slice(&series.points[..stored_points]),
                    }
                }
            }
        }
        self.last = None;
    }

    /// The number of a record's series; `None` when there are too many.
    fn number(&mut self, record: &SampleRecord<'_>) -> Option<u32> {
        write_key(&mut self.key, record);
        // Tables repeat their columns row by row, so the series that followed last time is likely to follow again.
        if let Some(last) = self.last {
            let follower = self.series[last as usize].follower;
            if self.series.get(follower as usize).is_some_and(|series| *series.key == *self.key) {
                return Some(follower);
            }
        }
        if let Some(&number) = self.numbers.get(&self.key[..]) {
            return Some(number);
        }
        if self.series.len() >= self.limits.series_max {
            return None;
        }
        let number = self.series.len() as u32;
        self.numbers.insert(self.key.as_slice().into(), number);
        self.series.push(Series::new(record, &self.key));
        Some(number)
    }
}

/// Which servers have transaction counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CountedServers {
    /// Whether any do.
    pub any: bool,
    /// The servers that have counts of their own.
    pub servers: BTreeSet<String>,
}

const fn is_of_calls(measure: Measure) -> bool {
    matches!(measure, Measure::Calls | Measure::CallsTotal)
}

impl Sink for SampleTable {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.losses.add(Loss::OtherSignal, || format!("span {} of {}", span.operation, span.service));
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.losses.add(Loss::OtherSignal, || format!("call {} of {}", call.operation, call.service));
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        // File systems have no part in the windows.
        if sample.measure.is_of_storage() && !sample.measure.is_of_memory_or_network() {
            return;
        }
        let record = SampleRecord {
            server: truncated_name(sample.server),
            tier: truncated_name(sample.tier),
            transaction: truncated_name(sample.transaction),
            callee: truncated_name(sample.callee),
            ..*sample
        };
        let Some(number) = self.number(&record) else {
            self.losses.add(Loss::SeriesLimit, || Series::new(&record, &[]).to_string());
            return;
        };
        if let Some(last) = self.last {
            self.series[last as usize].follower = number;
        }
        self.last = Some(number);
        let series = &mut self.series[number as usize];
        if self.samples >= self.limits.samples_max {
            self.losses.add(Loss::SampleLimit, || series.to_string());
            return;
        }
        let ns = sample.time.unix_ns();
        if series.points.last().is_some_and(|before| before.ns > ns) && series.measure != Measure::Completion
        {
            self.losses.add(Loss::LateSample, || series.to_string());
        }
        self.samples += 1;
        series.points.push(Point { ns, value: sample.value });
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }
}

/// Names with their lengths, so that no two series share a key.
fn write_key(key: &mut Vec<u8>, record: &SampleRecord<'_>) {
    key.clear();
    key.push(record.measure as u8);
    for name in [record.server, record.tier, record.transaction, record.callee] {
        key.extend_from_slice(&(name.len() as u16).to_le_bytes());
        key.extend_from_slice(name.as_bytes());
    }
}

/// A name truncated to [`NAME_BYTES_MAX`] at a character boundary.
fn truncated_name(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Timestamp;

    fn push(table: &mut SampleTable, transaction: &str, ns: i64) {
        table.sample(&SampleRecord {
            time: Timestamp::from_unix_ns(ns),
            measure: Measure::Transactions,
            server: "",
            tier: "",
            transaction,
            callee: "",
            value: 1.0,
        });
    }

    #[test]
    fn samples_beyond_the_limits_are_counted_and_dropped() {
        let mut table = SampleTable::new(SampleLimits { series_max: 2, samples_max: 4 });
        for name in ["a", "b", "c", "a", "b", "c", "a"] {
            push(&mut table, name, 0);
        }
        assert_eq!((table.series(), table.samples()), (2, 4));
        assert_eq!(table.losses().count(Loss::SeriesLimit), 2);
        assert_eq!(table.losses().count(Loss::SampleLimit), 1);
        let mut table_with_limits = SampleTable::new(SampleLimits { series_max: 1, samples_max: 3 });
        push(&mut table_with_limits, "b", 5);
        table_with_limits.merge(table);
        assert_eq!((table_with_limits.series(), table_with_limits.samples()), (1, 3));
        assert_eq!(table_with_limits.losses().count(Loss::SeriesLimit), 2 + 2);
        assert_eq!(table_with_limits.losses().count(Loss::SampleLimit), 1);
    }

    #[test]
    fn late_samples_are_counted_per_series() {
        let mut table = SampleTable::default();
        for (name, ns) in [("a", 5), ("b", 1), ("a", 4), ("b", 2), ("a", 6)] {
            push(&mut table, name, ns);
        }
        assert_eq!(table.losses().count(Loss::LateSample), 1);
    }

    #[test]
    fn equal_concatenations_of_labels_are_different_series() {
        let mut table = SampleTable::default();
        push(&mut table, "ab", 0);
        table.sample(&SampleRecord {
            time: Timestamp::from_unix_ns(0),
            measure: Measure::Transactions,
            server: "",
            tier: "a",
            transaction: "b",
            callee: "",
            value: 1.0,
        });
        assert_eq!(table.series(), 2);
        push(&mut table, &"é".repeat(2000), 0);
        assert_eq!(table.series[2].transaction.len(), 1024);
    }
}
