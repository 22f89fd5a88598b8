//! The state of a series between points: its start, and sums that the metric itself does not contain.

use super::groups::{PointGroup, PointNames};
use super::mappings::{Mapping, MetricOrigin};
use super::{Instrument, Temporality};
use laggard_model::{Loss, Measure, Sink};
use std::collections::HashMap;

// Limit: series of metrics with restart detection | restarts show only where a counter falls
/// Maximum number of tracked series; restarts of further ones are detected only where the counter decreases.
const SERIES_MAX: usize = if cfg!(test) { 1_000 } else { 100_000 };
/// Bytes of their names.
const NAME_BYTES_TOTAL_MAX: usize = 64 << 20;
/// At the limit, series without a point for this long are dropped to make space for new ones.
const FORGOTTEN_AFTER_NS: u64 = 3_600_000_000_000;

/// State of one series.
#[derive(Clone, Copy, Debug)]
struct SeriesState {
    start_ns: i64,
    /// Of the point before.
    time_ns: i64,
    /// CPU seconds so far, where the metric has only those since the previous point.
    seconds: f64,
    /// The instant at which it was 0, if the previous point had one.
    zero_ns: Option<i64>,
}

/// The series of one input.
#[derive(Debug, Default)]
pub(super) struct SeriesTable {
    states: HashMap<(Measure, PointNames), SeriesState>,
    name_bytes: usize,
    /// The input's first point.
    first_ns: Option<i64>,
    /// The latest point when the limit was last reached.
    full_ns: i64,
}

/// A group and its mapping, on their way out.
#[derive(Clone, Copy)]
struct Outgoing<'g> {
    group: &'g PointGroup,
    measure: Measure,
    /// Measure of the number of observations of a distribution.
    count_measure: Option<Measure>,
}

impl SeriesTable {
    /// Emits the samples of a group.
    pub(super) fn emit(
        &mut self,
        group: &PointGroup,
        mapping: &Mapping,
        instrument: Instrument,
        sink: &mut dyn Sink,
    ) {
        let measure = if group.names.is_call { outbound_measure(mapping.measure) } else { mapping.measure };
        let (measure, count_measure) = match instrument {
            Instrument::Distribution(_) => (summed(measure), count_measure(measure)),
            _ => (measure, None),
        };
        // The connector counts calls in a metric of their own.
        let count_measure = count_measure.filter(|_| mapping.origin != MetricOrigin::Spans);
        let outgoing = Outgoing { group, measure, count_measure };
        let first_ns = *self.first_ns.get_or_insert(group.time_ns);
        group.names.emit_machine(group.time_ns, sink);
        if outgoing.measure == Measure::CpuSecondsTotal {
            return self.emit_cpu(outgoing, mapping, instrument, sink);
        }
        match instrument {
            Instrument::ReadMonitor => {
                emit(outgoing, group.time_ns, outgoing.measure, group.value(measure), sink);
            }
            Instrument::Counter(Temporality::Delta) | Instrument::Distribution(Temporality::Delta) => {
                let start_ns = if group.start_ns > 0 { group.start_ns } else { group.time_ns };
                emit_both(outgoing, start_ns, |measure| measure, sink);
            }
            Instrument::Counter(Temporality::Cumulative)
            | Instrument::Distribution(Temporality::Cumulative) => {
                if let Some(start_ns) = self.restart(outgoing, first_ns) {
                    emit(outgoing, start_ns, total(measure), group.amount.value.map(|_| 0.0), sink);
                    if let Some(counts) = outgoing.count_measure {
                        emit(outgoing, start_ns, total(counts), Some(0.0), sink);
                    }
                }
                emit_both(outgoing, group.time_ns, total, sink);
            }
        }
    }

    /// The instant at which a counter restarted since the previous point: it was 0 then, which
    /// reveals a restart even if the new count exceeds the old. A series that starts after the input does
    /// was 0 then, too.
    fn restart(&mut self, outgoing: Outgoing<'_>, first_ns: i64) -> Option<i64> {
        let PointGroup { start_ns, time_ns, .. } = *outgoing.group;
        let key = (outgoing.measure, outgoing.group.names.clone());
        let before = self.states.get(&key).copied();
        if before.is_none() && !self.has_capacity(time_ns) {
            return None;
        }
        let seconds = before.map_or(0.0, |states| states.seconds);
        let is_new = match before {
            // The same point again.
            Some(states) if time_ns == states.time_ns && start_ns == states.start_ns => {
                states.zero_ns.is_some()
            }
            Some(states) => start_ns > states.start_ns && start_ns > states.time_ns,
            None => start_ns > first_ns,
        };
        let zero_ns = (is_new && start_ns < time_ns).then_some(start_ns);
        self.remember(key, SeriesState { start_ns, time_ns, seconds, zero_ns });
        zero_ns
    }

    fn remember(&mut self, key: (Measure, PointNames), states: SeriesState) {
        let bytes = key.1.bytes();
        if self.states.insert(key, states).is_none() {
            self.name_bytes += bytes;
        }
    }

    /// Whether another series can be tracked, possibly after dropping some.
    fn has_capacity(&mut self, now_ns: i64) -> bool {
        let has_capacity = |series: &SeriesTable| {
            series.states.len() < SERIES_MAX && series.name_bytes < NAME_BYTES_TOTAL_MAX
        };
        if has_capacity(self) {
            return true;
        }
        // Looking through all of them for every new one would cost more than reading.
        if now_ns.abs_diff(self.full_ns) > FORGOTTEN_AFTER_NS / 60 {
            self.full_ns = now_ns;
            self.states.retain(|_, states| now_ns.abs_diff(states.time_ns) <= FORGOTTEN_AFTER_NS);
            self.name_bytes = self.states.keys().map(|(_, names)| names.bytes()).sum();
        }
        has_capacity(self)
    }

    /// CPU time: as it is from a counter, added up from differences and from cores in use.
    fn emit_cpu(
        &mut self,
        outgoing: Outgoing<'_>,
        mapping: &Mapping,
        instrument: Instrument,
        sink: &mut dyn Sink,
    ) {
        let group = outgoing.group;
        let Some(value) = group.amount.value else { return };
        if group.processors() > 0 {
            let processors = Some(group.processors() as f64);
            emit(outgoing, group.time_ns, Measure::Cores, processors, sink);
        }
        let is_counter = matches!(instrument, Instrument::Counter(Temporality::Cumulative));
        if is_counter && !mapping.is_cores_in_use {
            if let Some(start_ns) = self.restart(outgoing, self.first_ns.unwrap_or(group.time_ns)) {
                emit(outgoing, start_ns, Measure::CpuSecondsTotal, Some(0.0), sink);
            }
            return emit(outgoing, group.time_ns, Measure::CpuSecondsTotal, Some(value), sink);
        }
        let is_delta = matches!(instrument, Instrument::Counter(Temporality::Delta));
        if !is_delta && !mapping.is_cores_in_use {
            // A gauge of CPU time is treated as a counter, which it should be.
            return emit(outgoing, group.time_ns, Measure::CpuSecondsTotal, Some(value), sink);
        }
        self.add_up(outgoing, value, mapping.is_cores_in_use, sink);
    }

    fn add_up(&mut self, outgoing: Outgoing<'_>, value: f64, is_rate: bool, sink: &mut dyn Sink) {
        let PointGroup { start_ns, time_ns, .. } = *outgoing.group;
        let key = (outgoing.measure, outgoing.group.names.clone());
        let before = self.states.get(&key).copied();
        if before.is_none() && !self.has_capacity(time_ns) {
            let transaction = &outgoing.group.names.server;
            return sink.lose(Loss::NameLimit, &|| format!("CPU of server {transaction:?}"));
        }
        let elapsed_s =
            before.map_or(0.0, |states| time_ns.saturating_sub(states.time_ns).max(0) as f64 / 1e9);
        let is_again = before
            .filter(|states| is_rate || states.start_ns == start_ns)
            .is_some_and(|states| states.time_ns == time_ns);
        // The first difference counts from its own start, which is a separate point.
        let zero_ns = match before {
            Some(states) if is_again => states.zero_ns,
            None if !is_rate && start_ns > 0 && start_ns < time_ns => Some(start_ns),
            _ => None,
        };
        let added = match before {
            Some(_) if is_again => 0.0,
            _ if is_rate => value * elapsed_s,
            None if zero_ns.is_none() => 0.0,
            _ => value,
        };
        if let Some(zero_ns) = zero_ns {
            emit(outgoing, zero_ns, Measure::CpuSecondsTotal, Some(0.0), sink);
        }
        let added = if added.is_finite() && added > 0.0 { added } else { 0.0 };
        let seconds = before.map_or(0.0, |states| states.seconds) + added;
        self.remember(key, SeriesState { start_ns, time_ns, seconds, zero_ns });
        emit(outgoing, time_ns, Measure::CpuSecondsTotal, Some(seconds), sink);
    }
}

fn emit_both(outgoing: Outgoing<'_>, time_ns: i64, form: impl Fn(Measure) -> Measure, sink: &mut dyn Sink) {
    if let Some(counts) = outgoing.count_measure {
        emit(outgoing, time_ns, form(counts), Some(outgoing.group.amount.count), sink);
        // A distribution of which only the number counts.
        if counts == outgoing.measure {
            return;
        }
    }
    emit(outgoing, time_ns, form(outgoing.measure), outgoing.group.value(outgoing.measure), sink);
}

fn emit(outgoing: Outgoing<'_>, time_ns: i64, measure: Measure, value: Option<f64>, sink: &mut dyn Sink) {
    let Some(value) = value else { return };
    outgoing.group.names.emit(time_ns, measure, value, sink);
}

/// The measure of a distribution's sum.
pub(super) const fn summed(measure: Measure) -> Measure {
    match measure {
        Measure::ResponseTime => Measure::ResponseSeconds,
        Measure::CallTime => Measure::CallSeconds,
        other => other,
    }
}

/// The measure of a distribution's number of observations.
pub(super) const fn count_measure(measure: Measure) -> Option<Measure> {
    match measure {
        Measure::ResponseSeconds | Measure::ResponseTime | Measure::Transactions => {
            Some(Measure::Transactions)
        }
        Measure::CallSeconds | Measure::CallTime | Measure::Calls => Some(Measure::Calls),
        _ => None,
    }
}

/// The measure of an outbound call that corresponds to one of a transaction.
pub(super) const fn outbound_measure(measure: Measure) -> Measure {
    match measure {
        Measure::Transactions => Measure::Calls,
        Measure::ResponseSeconds => Measure::CallSeconds,
        other => other,
    }
}

/// The counter of a measure.
pub(super) const fn total(measure: Measure) -> Measure {
    match measure {
        Measure::Transactions => Measure::TransactionsTotal,
        Measure::ResponseSeconds => Measure::ResponseSecondsTotal,
        Measure::Calls => Measure::CallsTotal,
        Measure::CallSeconds => Measure::CallSecondsTotal,
        other => other,
    }
}
