//! Series of a matrix to series of samples: labels that no name is made of are summed or averaged away.

use crate::Query;
use crate::answer::MatrixSeries;
use crate::labels::SeriesNames;
use laggard_model::{Loss, Measure, SampleRecord, Sink, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How series of the same names become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JoinRule {
    /// What each grew by is summed, so that one that ends or starts anew does not disturb the others.
    Counters,
    /// Values of one instant are summed.
    Sum,
    /// Values of one instant are averaged.
    Mean,
}

const fn joining(measure: Measure) -> JoinRule {
    match measure {
        Measure::CpuSecondsTotal
        | Measure::TransactionsTotal
        | Measure::ResponseSecondsTotal
        | Measure::CallsTotal
        | Measure::CallSecondsTotal => JoinRule::Counters,
        Measure::Utilization | Measure::ResponseTime | Measure::CallTime => JoinRule::Mean,
        _ => JoinRule::Sum,
    }
}

/// Whether a value at an instant stands for the step before it.
const fn covers_a_step(measure: Measure) -> bool {
    !matches!(measure, Measure::Cores | Measure::Clients)
}

/// State of one series of the server.
#[derive(Debug, Default)]
struct RawSeries {
    /// Value of the last reading, and its instant in ns.
    last: Option<CounterReading>,
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

/// What one series of samples is made of: `(ns, value)`, for counters what was added.
#[derive(Debug, Default)]
struct JoinedPoints {
    events: Vec<(i64, f64)>,
}

/// All responses to one query, joined.
#[derive(Debug)]
pub(crate) struct JoinedSeries<'q> {
    query: &'q Query,
    step_ns: i64,
    raw: HashMap<Vec<(String, String)>, RawSeries>,
    /// Instants at which each target was scraped.
    targets: HashMap<Vec<String>, BTreeSet<i64>>,
    joined: BTreeMap<SeriesNames, JoinedPoints>,
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
            raw: HashMap::new(),
            targets: HashMap::new(),
            joined: BTreeMap::new(),
            points: 0,
        }
    }

    /// Series of the server, and readings of them.
    pub(crate) fn series(&self) -> u64 {
        self.raw.len() as u64
    }

    pub(crate) fn points(&self) -> u64 {
        self.points
    }

    /// Adds the response for a later time range. `read` contains for each series and step the instant at which the
    /// value was scraped; equal instants are the same reading.
    pub(crate) fn add(&mut self, all: &[MatrixSeries], read: Option<&ReadTimes>, sink: &mut dyn Sink) {
        let mut kept: Vec<Vec<CounterReading>> = Vec::with_capacity(all.len());
        for series in all {
            let readings = self.readings(series, read, sink);
            self.targets
                .entry(target(series))
                .or_default()
                .extend(readings.iter().map(|reading| reading.read_ns));
            kept.push(readings);
        }
        for (series, readings) in all.iter().zip(kept) {
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
        let times = read.map(|read| read.of.get(&key));
        let mut last = self.raw.get(&key).and_then(|raw| raw.last).map(|reading| reading.read_ns);
        let mut kept = Vec::new();
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
            kept.push(CounterReading { step_ns: point.ns, read_ns, value: point.value * self.query.factor });
        }
        kept
    }

    fn join(&mut self, series: &MatrixSeries, readings: &[CounterReading], sink: &mut dyn Sink) {
        let names = self.query.labels.names(&series.metric);
        let raw = self.raw.entry(identity(series)).or_default();
        let joined = self.joined.entry(names).or_default();
        let read = &self.targets[&target(series)];
        for &reading in readings {
            if joining(self.query.measure) != JoinRule::Counters {
                joined.events.push((reading.step_ns, reading.value));
            } else if reading.value.is_finite() && reading.value >= 0.0 {
                count(joined, raw.last, reading, read, || {
                    sink.lose(Loss::CounterReset, &|| self.query.promql.clone());
                });
            } else {
                sink.lose(Loss::InvalidSample, &|| self.query.promql.clone());
                continue;
            }
            raw.last = Some(reading);
        }
    }

    /// Hands everything on, series by series in order of time.
    pub(crate) fn emit(mut self, sink: &mut dyn Sink) {
        let measure = self.query.measure;
        for (names, mut joined) in std::mem::take(&mut self.joined) {
            joined.events.sort_by_key(|event| event.0);
            let mut total = 0.0;
            for event in joined.events.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = event.iter().map(|event| event.1).sum();
                total += sum;
                let (ns, value) = match joining(measure) {
                    JoinRule::Counters => (event[0].0, total),
                    JoinRule::Sum => (self.start_of(event[0].0), sum),
                    JoinRule::Mean => (self.start_of(event[0].0), mean(event)),
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

/// Adds what a counter grew by. One that was not there when its target was read before began at 0.
fn count(
    joined: &mut JoinedPoints,
    last: Option<CounterReading>,
    reading: CounterReading,
    read: &BTreeSet<i64>,
    mut fell: impl FnMut(),
) {
    let grown = match last {
        Some(last) if reading.value >= last.value => reading.value - last.value,
        Some(_) => {
            fell();
            reading.value
        }
        None => match read.range(..reading.read_ns).next_back() {
            Some(&before) => {
                joined.events.push((before, 0.0));
                reading.value
            }
            None => 0.0,
        },
    };
    joined.events.push((reading.read_ns, grown));
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
    of: HashMap<Vec<(String, String)>, HashMap<i64, i64>>,
}

impl ReadTimes {
    pub(crate) fn new(all: &[MatrixSeries]) -> ReadTimes {
        let mut of = HashMap::new();
        for series in all {
            let times = series.points().filter(|point| point.value.is_finite());
            let times = times.map(|point| (point.ns, (point.value * 1e3).round() as i64 * 1_000_000));
            of.insert(identity(series), times.collect());
        }
        ReadTimes { of }
    }
}
