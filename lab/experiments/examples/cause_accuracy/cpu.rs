//! CPU of simulated servers, from the own times of their spans.

use super::kinds::{FAULT_S, LENGTH_S, MINUTE_S};
use laggard_model::{Measure, Nanos, SampleRecord, Sink, SpanId, Timestamp};
use laggard_samples::SampleTable;
use laggard_simulate::{Day, DayRequest};
use std::collections::{BTreeMap, HashMap};

/// The share of a span's own time that is CPU, and the cores of every replica.
const CPU_SHARE: f64 = 0.4;
const CORES: f64 = 2.0;

/// CPU seconds by replica and minute.
pub(crate) struct Cpu {
    start: Timestamp,
    by_replica: BTreeMap<String, (String, Vec<f64>)>,
}

impl Cpu {
    pub(crate) fn new(start: Timestamp) -> Cpu {
        Cpu { start, by_replica: BTreeMap::new() }
    }

    /// The replicas that serve calls in each minute of the fault: a release or a smaller number of replicas ends others before it.
    pub(crate) fn replicas_during_fault(&self) -> impl Iterator<Item = &String> {
        let during = (FAULT_S / MINUTE_S) as usize..(LENGTH_S / MINUTE_S) as usize;
        let serving = move |minutes: &[f64]| minutes[during.clone()].iter().all(|cpu| *cpu > 0.0);
        self.by_replica.iter().filter(move |(_, usage)| serving(&usage.1)).map(|(name, _)| name)
    }

    pub(crate) fn add(&mut self, request: &DayRequest, day: &Day, uses_cpu: bool) {
        let records: Vec<_> =
            request.spans.iter().map(|span| (request.record(span, day), span.injected)).collect();
        let mut below: HashMap<SpanId, f64> = HashMap::new();
        for (record, _) in &records {
            if let Some(parent) = record.parent {
                *below.entry(parent).or_default() += record.inclusive.ns() as f64;
            }
        }
        for (record, injected) in records {
            let children = below.get(&record.span_id).copied().unwrap_or(0.0);
            let injected = injected.ns() as f64;
            let own = (record.inclusive.ns() as f64 - children - injected).max(0.0);
            let used = CPU_SHARE * own + if uses_cpu { injected } else { 0.0 };
            let minute =
                request.start.since(self.start).non_negative().map_or(0, |since| since.ns() / 60_000_000_000);
            let (_, minutes) = self.by_replica.entry(record.replica.to_owned()).or_insert_with(|| {
                (record.service.to_owned(), vec![0.0; (LENGTH_S / MINUTE_S) as usize + 1])
            });
            if let Some(cpu) = minutes.get_mut(minute as usize) {
                *cpu += used / 1e9;
            }
        }
    }

    pub(crate) fn samples(&self, table: &mut SampleTable, foreign_on: &[String], foreign: f64) {
        for (replica, (service, minutes)) in &self.by_replica {
            for (minute, cpu) in minutes.iter().enumerate().take((LENGTH_S / MINUTE_S) as usize) {
                let is_foreign = minute as u32 * MINUTE_S >= FAULT_S;
                let other = if is_foreign && foreign_on.contains(replica) { foreign } else { 0.0 };
                // A percent of base load, and a few percent of noise that has no pattern.
                let noise = 1.0 + 0.02 * (((minute * 7_919) % 101) as f64 / 50.0 - 1.0);
                let used = 0.01 + noise * cpu / (f64::from(MINUTE_S) * CORES) + other;
                for (measure, value) in [(Measure::Utilization, used.min(1.0)), (Measure::Cores, CORES)] {
                    table.sample(&SampleRecord {
                        time: self.start.plus(Nanos::from_secs(minute as u64 * u64::from(MINUTE_S))),
                        measure,
                        server: replica,
                        tier: service,
                        transaction: "",
                        callee: "",
                        value,
                    });
                }
            }
        }
    }
}
