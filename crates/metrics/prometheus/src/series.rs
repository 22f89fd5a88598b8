//! Series of a matrix to series of samples: series that differ only in unused labels are joined.

use crate::Query;
use crate::answer::MatrixSeries;
use crate::labels::SeriesNames;
use laggard_model::{Loss, Measure, SampleRecord, Sink, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How series with the same names are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JoinRule {
    /// Increments of each counter are summed, so that a counter that ends or restarts does not disturb the others.
    Counters,
    /// Values of one instant are summed.
    Sum,
    /// Values of one instant are averaged.
    Mean,
    /// The largest value of one instant: the fullest memory, the busiest link.
    Largest,
}

const fn joining(measure: Measure) -> JoinRule {
    match measure {
        Measure::CpuSecondsTotal
        | Measure::TransactionsTotal
        | Measure::ResponseSecondsTotal
        | Measure::CallsTotal
        | Measure::CallSecondsTotal => JoinRule::Counters,
        Measure::Utilization | Measure::ResponseTime | Measure::CallTime => JoinRule::Mean,
        Measure::MemoryUtilization | Measure::NetworkUtilization => JoinRule::Largest,
        _ => JoinRule::Sum,
    }
}

/// Whether a value at an instant represents the step before it.
const fn covers_a_step(measure: Measure) -> bool {
    !matches!(measure, Measure::Cores | Measure::Clients)
}

/// One reading of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
struct CounterReading {
    /// The instant of the query's step.
    step_ns: i64,
    /// The instant at which it was read, as far as it is known.
    read_ns: i64,
    value: f64,
}

/// All responses to one query, joined.
#[derive(Debug)]
pub(crate) struct JoinedSeries<'q> {
    query: &'q Query,
    step_ns: i64,
    /// The last reading of each series of the server.
    last_readings: HashMap<Vec<(String, String)>, Option<CounterReading>>,
    /// Instants at which each target was scraped.
    targets: HashMap<Vec<String>, BTreeSet<i64>>,
    /// For each series of samples `(ns, value)`; for counters, the value is an increment.
    joined: BTreeMap<SeriesNames, Vec<(i64, f64)>>,
    points: u64,
}

/// Maximum number of readings stored per query.
pub(crate) const POINTS_MAX: u64 = 1 << 26;

/// Labels that identify a target.
const TARGET: [&str; 4] = ["instance", "pod", "job", "namespace"];

impl<'q> JoinedSeries<'q> {
    pub(crate) fn new(query: &'q Query, step_ns: i64) -> JoinedSeries<'q> {
        JoinedSeries {
            query,
            step_ns,
            last_readings: HashMap::new(),
            targets: HashMap::new(),
            joined: BTreeMap::new(),
            points: 0,
        }
    }

    /// Series of the server, and readings of them.
    pub(crate) fn series(&self) -> u64 {
        self.last_readings.len() as u64
    }

    pub(crate) fn points(&self) -> u64 {
        self.points
    }

    /// Adds the response for a later time range. `read` contains for each series and step the instant at which the
    /// value was scraped; equal instants are the same reading.
    pub(crate) fn add(
        &mut self,
        series_of_answer: &[MatrixSeries],
        read: Option<&ReadTimes>,
        sink: &mut dyn Sink,
    ) {
        let mut all_readings: Vec<Vec<CounterReading>> = Vec::with_capacity(series_of_answer.len());
        for series in series_of_answer {
            let readings = self.readings(series, read, sink);
            self.targets
                .entry(target(series))
                .or_default()
                .extend(readings.iter().map(|reading| reading.read_ns));
            all_readings.push(readings);
        }
        for (series, readings) in series_of_answer.iter().zip(all_readings) {
            for _ in &series.histograms {
                sink.lose(Loss::OtherSignal, &|| format!("a native histogram of {}", self.query.promql));
            }
            self.join(series, &readings, sink);
        }
    }

    fn readings(
        &mut self,
        series: &MatrixSeries,
        read: Option<&ReadTimes>,
        sink: &mut dyn Sink,
    ) -> Vec<CounterReading> {
        let key = identity(series);
        let times = read.map(|read| read.instants.get(&key));
        let mut last = self.last_readings.get(&key).copied().flatten().map(|reading| reading.read_ns);
        let mut readings = Vec::new();
        for point in series.points() {
            let read_ns = match times {
                None => point.ns,
                Some(times) => match times.and_then(|times| times.get(&point.ns)) {
                    Some(&ns) => ns,
                    None => continue,
                },
            };
            if times.is_some() && last == Some(read_ns) {
                continue;
            }
            last = Some(read_ns);
            self.points += 1;
            if self.points > POINTS_MAX {
                sink.lose(Loss::SampleLimit, &|| self.query.promql.clone());
                continue;
            }
            readings.push(CounterReading {
                step_ns: point.ns,
                read_ns,
                value: point.value * self.query.factor,
            });
        }
        readings
    }

    fn join(&mut self, series: &MatrixSeries, readings: &[CounterReading], sink: &mut dyn Sink) {
        let names = self.query.labels.names(&series.metric);
        let last = self.last_readings.entry(identity(series)).or_default();
        let joined = self.joined.entry(names).or_default();
        let read = &self.targets[&target(series)];
        for &reading in readings {
            if joining(self.query.measure) != JoinRule::Counters {
                joined.push((reading.step_ns, reading.value));
            } else if reading.value.is_finite() && reading.value >= 0.0 {
                add_increment(joined, *last, reading, read, || {
                    sink.lose(Loss::CounterReset, &|| self.query.promql.clone());
                });
            } else {
                sink.lose(Loss::InvalidSample, &|| self.query.promql.clone());
                continue;
            }
            *last = Some(reading);
        }
    }

    /// Passes all samples to `sink`, series by series in order of time.
    pub(crate) fn emit(mut self, sink: &mut dyn Sink) {
        let measure = self.query.measure;
        for (names, mut joined) in std::mem::take(&mut self.joined) {
            joined.sort_by_key(|event| event.0);
            let mut total = 0.0;
            for event in joined.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = event.iter().map(|event| event.1).sum();
                total += sum;
                let (ns, value) = match joining(measure) {
                    JoinRule::Counters => (event[0].0, total),
                    JoinRule::Sum => (self.start_of(event[0].0), sum),
                    JoinRule::Mean => (self.start_of(event[0].0), mean(event)),
                    JoinRule::Largest => (self.start_of(event[0].0), largest(event)),
                };
                sink.sample(&SampleRecord {
                    time: Timestamp::from_unix_ns(ns),
                    measure,
                    server: &names.server,
                    tier: &names.tier,
                    transaction: &names.transaction,
                    callee: &names.callee,
                    value,
                });
            }
        }
    }

    fn start_of(&self, step_ns: i64) -> i64 {
        if covers_a_step(self.query.measure) { step_ns.saturating_sub(self.step_ns) } else { step_ns }
    }
}

/// The mean of the values that are numbers; NaN when none is.
fn mean(events: &[(i64, f64)]) -> f64 {
    let known: Vec<f64> = events.iter().map(|event| event.1).filter(|value| !value.is_nan()).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

/// The largest value that is a number; NaN when none is.
fn largest(events: &[(i64, f64)]) -> f64 {
    events.iter().fold(f64::NAN, |largest, event| largest.max(event.1))
}

/// Adds the increment of a counter. A counter that did not exist at the previous reading of its target started at 0.
fn add_increment(
    joined: &mut Vec<(i64, f64)>,
    last: Option<CounterReading>,
    reading: CounterReading,
    read: &BTreeSet<i64>,
    mut on_reset: impl FnMut(),
) {
    let increment = match last {
        Some(last) if reading.value >= last.value => reading.value - last.value,
        Some(_) => {
            on_reset();
            reading.value
        }
        None => match read.range(..reading.read_ns).next_back() {
            Some(&before) => {
                joined.push((before, 0.0));
                reading.value
            }
            None => 0.0,
        },
    };
    joined.push((reading.read_ns, increment));
}

/// The labels of a series but for the name of its metric.
fn identity(series: &MatrixSeries) -> Vec<(String, String)> {
    let labels = series.metric.iter().filter(|(label, _)| *label != "__name__");
    labels.map(|(label, value)| (label.clone(), value.clone())).collect()
}

fn target(series: &MatrixSeries) -> Vec<String> {
    TARGET.iter().map(|&label| series.metric.get(label).cloned().unwrap_or_default()).collect()
}

/// When the values of a range query were scraped: the response to `timestamp(…)` of the same selector.
#[derive(Debug, Default)]
pub(crate) struct ReadTimes {
    instants: HashMap<Vec<(String, String)>, HashMap<i64, i64>>,
}

impl ReadTimes {
    pub(crate) fn new(series_of_answer: &[MatrixSeries]) -> ReadTimes {
        let mut instants = HashMap::new();
        for series in series_of_answer {
            let times = series.points().filter(|point| point.value.is_finite());
            let times = times.map(|point| (point.ns, (point.value * 1e3).round() as i64 * 1_000_000));
            instants.insert(identity(series), times.collect());
        }
        ReadTimes { instants }
    }
}
