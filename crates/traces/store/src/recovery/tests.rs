//! Simulated power loss at every call: acknowledged data is stored exactly once, whatever had been committed.

use super::*;
use crate::FlushBatch;
use crate::intake::CloseCriteria;
use crate::log::simulated::{Fault, Simulated};
use crate::random_batches::{TestRng, batch};
use laggard_model::{Measure, SampleRecord, Severity, Sink, SpanEvent, SpanId, Timestamp, TraceId};
use std::collections::{BTreeMap, BTreeSet};

/// A store without threads: each step is called by the test.
struct SimulatedStore {
    files: Simulated,
    log: WriteAheadLog,
    intake: Intake,
    /// Contents of segments: flush batches and the position of the last one.
    committed: Vec<FlushBatch>,
    acknowledged: BTreeSet<u64>,
    /// Spans that were sent, acknowledged or not.
    sent: u64,
    dice: TestRng,
}

/// Files are short, so that there are many.
const FILE_BYTES: u64 = 600;

/// The event of a span.
fn event(trace: u128, span: u64) -> SpanEvent {
    SpanEvent {
        trace: TraceId::from_value(trace),
        span: SpanId::new(span).expect("generated ids are not zero"),
        time: Timestamp::from_unix_ns(1),
        severity: Severity::default(),
        name: "".into(),
        body: "text".into(),
        attributes: "".into(),
    }
}

impl SimulatedStore {
    fn open(files: Simulated, committed: Vec<FlushBatch>, dice: TestRng) -> SimulatedStore {
        let position = committed.last().map(|batch| batch.position.clone()).unwrap_or_default();
        let all: Arc<dyn LogFiles> = Arc::new(files.clone());
        let Recovered { intake, findings, .. } = recover(all.clone(), &position).unwrap();
        let last = findings.last.max(position.settled);
        let log = WriteAheadLog::new(all, last + 1, findings.files, FILE_BYTES);
        SimulatedStore { files, log, intake, committed, acknowledged: BTreeSet::new(), sent: 0, dice }
    }

    /// Some appends, closings and commits; ends early when the power is lost.
    fn work(&mut self, rounds: u64) -> Result<(), ()> {
        for _ in 0..rounds {
            match self.dice.below(5) {
                0..=2 => self.append()?,
                3 => self.close(0)?,
                _ => self.close(1)?,
            }
        }
        Ok(())
    }

    fn append(&mut self) -> Result<(), ()> {
        let mut group = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let spans: Vec<(u128, u64)> = (0..=self.dice.below(3))
                .map(|_| {
                    self.sent += 1;
                    (u128::from(self.dice.below(6)) + 1, self.sent)
                })
                .collect();
            let mut batch = batch(&spans);
            for &(trace, id) in &spans {
                batch.event(event(trace, id));
                let (time, measure, value) = (Timestamp::from_unix_ns(1), Measure::Cores, id as f64);
                let server = "s";
                batch.sample(&SampleRecord {
                    time,
                    measure,
                    server,
                    tier: "",
                    transaction: "",
                    callee: "",
                    value,
                });
            }
            self.log.push(&batch);
            group.push(batch);
        }
        let first = self.log.commit().map_err(|_| ())?;
        for (number, batch) in (first..).zip(group) {
            self.intake.ingest(number, &batch, RecordPart::All);
            self.acknowledged.extend(batch.spans.iter().map(|row| row.span.value()));
        }
        Ok(())
    }

    /// Closes some traces; the power loss may be before the commit, after it, or while files are deleted.
    fn close(&mut self, old: u64) -> Result<(), ()> {
        let head = self.intake.head();
        let some = |dice: &mut TestRng| head - dice.below(head.min(6) + 1);
        let criteria = CloseCriteria {
            idle_through: some(&mut self.dice),
            early_through: some(&mut self.dice) * self.dice.below(2),
            old_through: head.saturating_sub(8) * old,
            rows_max: 1 + self.dice.below(9) as usize,
        };
        let Some(closed) = self.intake.close(&criteria) else { return Ok(()) };
        let batch = closed.pack();
        let replay_from = batch.position.replay_from;
        self.files.tick().map_err(|_| ())?;
        self.committed.push(batch);
        self.log.forget(replay_from).map_err(|_| ())
    }

    /// How often each span, each sample, and each event is stored or open.
    fn copies(&mut self) -> [BTreeMap<u64, u32>; 3] {
        let head = self.intake.head();
        let criteria =
            CloseCriteria { idle_through: head, early_through: 0, old_through: 0, rows_max: usize::MAX };
        let rest = self.intake.close(&criteria).map(|closed| closed.pack());
        let mut found = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
        for batch in self.committed.iter().chain(&rest) {
            assert_eq!(batch.losses.count(laggard_model::Loss::DuplicateSpan), 0);
            for row in &batch.spans {
                *found[0].entry(row.span.value()).or_default() += 1;
            }
            for row in &batch.samples.rows {
                *found[1].entry(row.value as u64).or_default() += 1;
            }
            for event in &batch.events {
                *found[2].entry(event.span.value()).or_default() += 1;
            }
        }
        found
    }

    fn check(&mut self, acknowledged: &BTreeSet<u64>, context: &str) {
        for (found, what) in self.copies().iter().zip(["span", "sample", "event"]) {
            for id in acknowledged {
                assert_eq!(found.get(id), Some(&1), "{context}: acknowledged {what} {id}");
            }
            assert!(found.values().all(|&times| times == 1), "{context}: a {what} twice: {found:?}");
        }
    }
}

#[test]
fn a_power_loss_neither_loses_nor_duplicates_acknowledged_data() {
    for seed in 0..3 {
        let mut complete = SimulatedStore::open(Simulated::default(), Vec::new(), TestRng(seed));
        complete.work(30).unwrap();
        let steps = complete.files.steps();
        assert!(steps > 30 && complete.committed.len() > 3);
        for step in 0..steps {
            let context = format!("seed {seed}, step {step}");
            let files = Simulated::default();
            files.fail(step, Fault::PowerLoss);
            let mut store = SimulatedStore::open(files, Vec::new(), TestRng(seed));
            assert!(store.work(30).is_err(), "{context}: it did not fail");
            // Two power losses, the second soon after the first.
            for _ in 0..2 {
                let mut dice = TestRng(seed ^ step << 8);
                let files = store.files.after_power_loss(&mut dice);
                let (acknowledged, sent) = (store.acknowledged, store.sent);
                files.fail(1 + dice.below(40), Fault::PowerLoss);
                store = SimulatedStore::open(files, store.committed, dice);
                (store.acknowledged, store.sent) = (acknowledged, sent);
                let _ = store.work(10);
            }
            let files = store.files.after_power_loss(&mut TestRng(step));
            let mut last = SimulatedStore::open(files, store.committed, TestRng(0));
            last.check(&store.acknowledged, &context);
        }
    }
}

#[test]
fn a_missing_log_is_reported() {
    let position = LogPosition { replay_from: 3, settled: 9, closings: Vec::new() };
    let recovered = recover(Arc::new(Simulated::default()), &position).unwrap();
    assert_eq!(recovered.findings.corrupt[0].records, 7);
    assert_eq!((recovered.log.last(), recovered.intake.head()), (9, 9));
    let clean = LogPosition { replay_from: 10, settled: 9, closings: Vec::new() };
    assert!(recover(Arc::new(Simulated::default()), &clean).unwrap().findings.corrupt.is_empty());
}
