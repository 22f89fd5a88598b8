//! Series that are one sample, joined over messages.

use crate::metrics::groups::PointNames;
use crate::metrics::series::total;
use laggard_model::{Loss, Measure, Sink};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum number of tracked input series; samples of further ones are left out.
const RAW_MAX: usize = if cfg!(test) { 100 } else { 500_000 };
/// Maximum number of tracked output series, and bytes of their names.
const JOINED_MAX: usize = 100_000;
const NAME_BYTES_TOTAL_MAX: usize = 64 << 20;
/// At the limit, series without a point for this long are dropped to make space for new ones.
const FORGOTTEN_AFTER_NS: u64 = 3_600_000_000_000;
/// A counter that appears this long after its target is new, so it started at 0. Earlier it may only
/// have come over a slower connection.
const BEGAN_AFTER_NS: i64 = 300_000_000_000;
/// Processors of a server that are counted.
const PROCESSORS_MAX: usize = 4_096;

/// How series of the same names become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JoinKind {
    /// Increments are summed.
    Counter,
    /// The latest values are summed.
    Sum,
    /// The latest values are averaged.
    Mean,
    /// Cores in use, from which CPU time is added up.
    Rate,
}

/// The description of an incoming series.
#[derive(Clone, Debug)]
pub(super) struct SeriesUpdate {
    pub(super) measure: Measure,
    pub(super) kind: JoinKind,
    pub(super) names: PointNames,
    /// Identifies the series.
    pub(super) series: u128,
    /// Identity of the scraped target.
    pub(super) target: u128,
    /// The processor that it is of; empty when it is of none.
    pub(super) processor: String,
}

/// A point of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SeriesPoint {
    pub(super) time_ns: i64,
    /// `None` when the series has ended.
    pub(super) value: Option<f64>,
}

/// The state of all series.
#[derive(Debug, Default)]
pub(super) struct JoinedSeries {
    raw: HashMap<u128, RawSeries>,
    /// When each target had its first point.
    targets: HashMap<u128, TargetScrape>,
    joined: HashMap<(Measure, PointNames), JoinedValue>,
    name_bytes: usize,
    /// Those that the message that is being read changes, in the order in which it does.
    changed: Vec<(Measure, PointNames)>,
    /// The latest point when the limit was last reached.
    full_ns: i64,
}

/// A series as received.
#[derive(Clone, Copy, Debug)]
struct RawSeries {
    time_ns: i64,
    value: f64,
}

/// When a target was read.
#[derive(Clone, Copy, Debug)]
struct TargetScrape {
    first_ns: i64,
    /// The instant before the latest.
    before_ns: i64,
    last_ns: i64,
}

/// A series of samples.
#[derive(Debug)]
struct JoinedValue {
    kind: JoinKind,
    value: f64,
    members: f64,
    /// The latest sample.
    last_ns: i64,
    processors: HashSet<Box<str>>,
    /// What the message that is being read changed, by time.
    changes: BTreeMap<i64, CounterChange>,
}

#[derive(Clone, Copy, Default, Debug)]
struct CounterChange {
    value: f64,
    members: f64,
}

impl JoinedSeries {
    /// Adds a point; [`JoinedSeries::emit`] emits the samples.
    pub(super) fn add(&mut self, update: &SeriesUpdate, point: SeriesPoint, sink: &mut dyn Sink) {
        let before = self.raw.get(&update.series).copied();
        if before.is_none() && !self.has_capacity(point.time_ns) {
            return sink.lose(Loss::SeriesLimit, &|| update.names.server.clone());
        }
        if before.is_some_and(|raw| point.time_ns < raw.time_ns) {
            return sink.lose(Loss::DuplicateSample, &|| update.names.server.clone());
        }
        let zero_ns = self.read_before(update.target, point.time_ns);
        let change = change(update, before, point, zero_ns.is_some(), sink);
        match point.value {
            Some(value) => self.raw.insert(update.series, RawSeries { time_ns: point.time_ns, value }),
            None => self.raw.remove(&update.series),
        };
        let Some(change) = change else { return };
        let is_new = before.is_none() && update.kind == JoinKind::Counter;
        let joined = self.joined(update);
        if !update.processor.is_empty() && joined.processors.len() < PROCESSORS_MAX {
            joined.processors.insert(update.processor.as_str().into());
        }
        // The first sample of a counter has no difference.
        if let Some(zero_ns) = zero_ns.filter(|_| is_new && joined.last_ns == i64::MIN) {
            joined.changes.entry(zero_ns).or_default();
        }
        let sum = joined.changes.entry(point.time_ns).or_default();
        sum.value += change.value;
        sum.members += change.members;
    }

    /// The output series of an update, about to change.
    fn joined(&mut self, update: &SeriesUpdate) -> &mut JoinedValue {
        let key = (update.measure, update.names.clone());
        let joined = self.joined.entry(key.clone()).or_insert_with(|| {
            self.name_bytes += update.names.bytes();
            JoinedValue {
                kind: update.kind,
                value: 0.0,
                members: 0.0,
                last_ns: i64::MIN,
                processors: HashSet::new(),
                changes: BTreeMap::new(),
            }
        });
        if joined.changes.is_empty() {
            self.changed.push(key);
        }
        joined
    }

    /// When a target was read before, if it has been read for long: a counter that is new now was 0 then.
    fn read_before(&mut self, target: u128, time_ns: i64) -> Option<i64> {
        let new = TargetScrape { first_ns: time_ns, before_ns: time_ns, last_ns: time_ns };
        let seen = self.targets.entry(target).or_insert(new);
        if time_ns > seen.last_ns {
            seen.before_ns = seen.last_ns;
            seen.last_ns = time_ns;
        }
        let is_long = time_ns.saturating_sub(seen.first_ns) > BEGAN_AFTER_NS && seen.before_ns < time_ns;
        is_long.then_some(seen.before_ns)
    }

    /// Emits the samples of a message.
    pub(super) fn emit(&mut self, sink: &mut dyn Sink) {
        for key in std::mem::take(&mut self.changed) {
            if let Some(joined) = self.joined.get_mut(&key) {
                joined.emit(key.0, &key.1, sink);
            }
        }
    }

    /// Whether there is no state.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.raw.is_empty() && self.joined.is_empty()
    }

    /// Whether another series can be tracked, possibly after dropping some.
    fn has_capacity(&mut self, now_ns: i64) -> bool {
        let has_capacity = |all: &JoinedSeries| {
            all.raw.len() < RAW_MAX
                && all.targets.len() < RAW_MAX
                && all.joined.len() < JOINED_MAX
                && all.name_bytes < NAME_BYTES_TOTAL_MAX
        };
        if has_capacity(self) {
            return true;
        }
        // Looking through all of them for every new one would cost more than reading.
        if now_ns.abs_diff(self.full_ns) > FORGOTTEN_AFTER_NS / 60 {
            self.full_ns = now_ns;
            let is_recent = |time_ns: i64| now_ns.abs_diff(time_ns) <= FORGOTTEN_AFTER_NS;
            self.raw.retain(|_, raw| is_recent(raw.time_ns));
            self.targets.retain(|_, seen| is_recent(seen.last_ns));
            self.joined.retain(|_, joined| !joined.changes.is_empty() || is_recent(joined.last_ns));
            self.name_bytes = self.joined.keys().map(|(_, names)| names.bytes()).sum();
        }
        has_capacity(self)
    }
}

/// What a point changes; `None` for the end of a series that changes nothing.
fn change(
    update: &SeriesUpdate,
    before: Option<RawSeries>,
    point: SeriesPoint,
    began_at_zero: bool,
    sink: &mut dyn Sink,
) -> Option<CounterChange> {
    let kind = update.kind;
    let old = before.map_or(0.0, |raw| raw.value);
    let members = if before.is_some() { 0.0 } else { 1.0 };
    let Some(value) = point.value else {
        let is_gauge = matches!(kind, JoinKind::Sum | JoinKind::Mean);
        return (is_gauge && before.is_some()).then_some(CounterChange { value: -old, members: -1.0 });
    };
    let grown = match kind {
        JoinKind::Sum | JoinKind::Mean => value - old,
        JoinKind::Rate => {
            let elapsed_ns = before.map_or(0, |raw| point.time_ns.saturating_sub(raw.time_ns));
            value * elapsed_ns as f64 / 1e9
        }
        JoinKind::Counter if before.is_none() && !began_at_zero => 0.0,
        JoinKind::Counter if value >= old => value - old,
        JoinKind::Counter => {
            sink.lose(Loss::CounterReset, &|| update.names.server.clone());
            value
        }
    };
    Some(CounterChange { value: grown, members })
}

impl JoinedValue {
    /// Gives what changed. Times of samples only grow: points of the same instant come in several messages, and
    /// each of these has to count.
    fn emit(&mut self, measure: Measure, names: &PointNames, sink: &mut dyn Sink) {
        let form =
            if matches!(self.kind, JoinKind::Counter | JoinKind::Rate) { total(measure) } else { measure };
        for (time_ns, change) in std::mem::take(&mut self.changes) {
            self.value += change.value;
            self.members += change.members;
            let is_new_instant = time_ns > self.last_ns;
            self.last_ns = time_ns.max(self.last_ns.saturating_add(1));
            let cores = self.processors.len();
            if cores > 0 && is_new_instant {
                names.emit(time_ns, Measure::Cores, cores as f64, sink);
            }
            let value = match self.kind {
                // What is left of gauges that have all ended is rounding.
                JoinKind::Sum | JoinKind::Mean if self.members <= 0.0 => {
                    self.value = 0.0;
                    continue;
                }
                JoinKind::Mean => self.value / self.members,
                _ => self.value,
            };
            names.emit(self.last_ns, form, value, sink);
        }
    }
}
