//! A process that appends, flushes, compacts, and deletes as fast as possible, and another that kills it.
//!
//! The child prints `ack FIRST LAST` for every batch once it is acknowledged. Spans are numbered; span `n` is of
//! trace `n / 4`, whose spans come in two batches.

use laggard_engine::Batch;
use laggard_model::{
    CallRecord, Loss, Nanos, OperationKey, Sink, SpanId, SpanKind, SpanRecord, SpanRow, Status, Timestamp,
    TraceId,
};
use laggard_store::{AppendError, DurableFolder, Store, StoreSettings};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Parameters of the child process: `FOLDER;FIRST;SEED`.
pub(crate) const CHILD_VARIABLE: &str = "LAGGARD_KILL_CHILD";

/// Size of the range of numbers of one child.
const NUMBERS: u64 = 1 << 24;

/// Spans of a trace.
const TRACE_SPANS: u64 = 4;

/// Traces of a batch.
const BATCH_TRACES: u64 = 10;

/// Age of the data that retention deletes.
const OLD: Nanos = Nanos::from_secs(48 * 3600);

/// Reproducible random numbers (SplitMix64, Steele et al. 2014).
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

fn settings() -> StoreSettings {
    StoreSettings {
        slice: Nanos::from_secs(10),
        idle: Nanos::from_ms(50),
        memory_bytes: 32 << 20,
        keep_for: Some(Nanos::from_secs(24 * 3600)),
        ..StoreSettings::default()
    }
}

async fn open(folder: &Path) -> Store {
    let segments = folder.join("segments");
    std::fs::create_dir_all(&segments).expect("the folder is ours");
    let objects = Arc::new(DurableFolder::open(&segments).expect("the folder is ours"));
    Store::open(settings(), objects, &folder.join("log")).await.expect("a kill leaves a store that opens")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads")
}

/// A batch with one half of the spans of some traces.
fn batch(first_trace: u64, half: u64, start: Timestamp) -> Batch {
    let mut batch = Batch::default();
    let key = OperationKey { service: "shop", operation: "buy", kind: SpanKind::Server };
    let operation = batch.names.operation(key);
    let replica = batch.names.replica(&format!("pod-{}", first_trace % 7));
    for trace in first_trace..first_trace + BATCH_TRACES {
        let root = SpanId::new(trace * TRACE_SPANS).expect("numbers begin above 0");
        for index in [2 * half, 2 * half + 1] {
            let number = trace * TRACE_SPANS + index;
            batch.spans.push(SpanRow {
                trace: TraceId::from_value(u128::from(trace)),
                span: SpanId::new(number).expect("numbers begin above 0"),
                parent: (index > 0).then_some(root),
                start: start.plus(Nanos::from_us(number % 1000)),
                inclusive: Nanos::from_ns(1_000 + number),
                operation,
                replica,
                kind: SpanKind::Server,
                status: Status::Ok,
                incomplete: false,
                adjusted_count: None,
            });
        }
    }
    batch
}

/// Does the work of the child process if the environment variable is set; then it ends only by being killed.
pub(crate) fn child_from_environment() -> bool {
    let Ok(parameters) = std::env::var(CHILD_VARIABLE) else { return false };
    let mut parts = parameters.split(';');
    let mut part = || parts.next().expect("three parts");
    let folder = PathBuf::from(part());
    let (first, seed) = (part().parse().expect("a number"), part().parse().expect("a number"));
    runtime().block_on(child(folder, first, seed));
    true
}

async fn child(folder: PathBuf, first: u64, seed: u64) {
    let store = open(&folder).await;
    let mut dice = TestRng(seed);
    let flushing = store.clone();
    let pause = Duration::from_millis(10 + dice.below(60));
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(pause).await;
            flushing.flush().await.expect("the disk is there");
        }
    });
    let compacting = store.clone();
    let pause = Duration::from_millis(20 + dice.below(100));
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(pause).await;
            compacting.compact().await.expect("the disk is there");
        }
    });
    // Two senders, so that batches share a write.
    let sender = |lane: u64| send(store.clone(), first + lane * NUMBERS / 2, NUMBERS / 2);
    let ended = tokio::join!(sender(0), sender(1));
    panic!("the child was not killed: {ended:?}");
}

async fn send(store: Store, first: u64, numbers: u64) {
    let start = Timestamp::from_unix_ns(1_800_000_000_000_000_000);
    let traces = first / TRACE_SPANS..(first + numbers) / TRACE_SPANS;
    for (round, trace) in (0_u64..).zip(traces.step_by(BATCH_TRACES as usize)) {
        for half in [0, 1] {
            // Every sixth round has data that retention deletes; they are not checked.
            let old = round % 6 == 5;
            let time = start.plus(Nanos::from_ms(round * 20));
            append(&store, batch(trace, half, if old { time.minus(OLD) } else { time })).await;
            if !old {
                acknowledge(trace * TRACE_SPANS, half);
            }
        }
    }
}

async fn append(store: &Store, batch: Batch) {
    loop {
        match store.append(batch.clone()).await {
            Ok(()) => return,
            Err(AppendError::Busy(_)) => tokio::task::yield_now().await,
            Err(other) => panic!("{other:?}"),
        }
    }
}

fn acknowledge(first: u64, half: u64) {
    let line = format!("\nack {first} {half}\n");
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).expect("the other process reads");
}

/// The killing process.
pub(crate) struct KillRun {
    folder: PathBuf,
    dice: TestRng,
    children: u64,
    acknowledged: Vec<u64>,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KillOutcome {
    /// Acknowledged spans, each stored exactly once.
    pub(crate) acknowledged: u64,
    /// Spans that are stored without an acknowledgment: they were durable when the process was killed.
    pub(crate) unacknowledged: u64,
}

impl KillRun {
    /// A run in an empty folder.
    pub(crate) fn new(folder: &Path, seed: u64) -> KillRun {
        KillRun { folder: folder.to_owned(), dice: TestRng(seed), children: 0, acknowledged: Vec::new() }
    }

    /// Starts a child, lets it run for a moment, and kills it.
    pub(crate) fn kill_once(&mut self, command: &mut Command) {
        self.children += 1;
        let first = self.children * NUMBERS;
        let parameters = format!("{};{first};{}", self.folder.display(), self.dice.below(1 << 32));
        let mut child = command
            .env(CHILD_VARIABLE, parameters)
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let out = child.stdout.take().expect("it is piped");
        let (working, works) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || read_acknowledged(BufReader::new(out), &working));
        // Every second child is killed early, possibly while it opens the store.
        if self.children % 2 == 1 {
            works.recv_timeout(Duration::from_secs(60)).expect("the child gets to work");
        }
        std::thread::sleep(Duration::from_millis(5 + self.dice.below(350)));
        let ended = child.try_wait().expect("it is our child");
        assert!(ended.is_none(), "the child ended by itself: {ended:?}");
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
        self.acknowledged.extend(reader.join().expect("reading does not panic"));
    }

    /// Opens the store, and checks for every span.
    pub(crate) fn check(&self) -> KillOutcome {
        runtime().block_on(async {
            let store = open(&self.folder).await;
            let problems = store.state().problems;
            assert!(problems.iter().all(|problem| problem.name == "torn_log"), "{problems:?}");
            store.flush().await.expect("the disk is there");
            let found = self.compare(&store).await;
            store.compact().await.expect("the disk is there");
            let again = self.compare(&store).await;
            assert_eq!(found.acknowledged, again.acknowledged);
            store.close().await.expect("the disk is there");
            found
        })
    }

    async fn compare(&self, store: &Store) -> KillOutcome {
        let mut stored = SpanCounter::default();
        let lost =
            store.view().spans(Timestamp::MIN, Timestamp::MAX, &mut stored).await.expect("it can be read");
        assert!(lost.is_empty(), "{lost:?}");
        for number in &self.acknowledged {
            assert_eq!(stored.times.get(number), Some(&1), "acknowledged span {number}");
        }
        for (number, times) in &stored.times {
            assert_eq!(*times, 1, "span {number} is there more than once");
        }
        self.compare_requests(store).await;
        let acknowledged = self.acknowledged.len() as u64;
        KillOutcome { acknowledged, unacknowledged: stored.times.len() as u64 - acknowledged }
    }

    /// Requests, assembled ahead of time, have the calls of their traces once, too.
    async fn compare_requests(&self, store: &Store) {
        let mut calls: HashMap<u128, usize> = HashMap::new();
        for slice in store.view().requests(Timestamp::MIN, Timestamp::MAX).await.expect("it can be read") {
            for request in &slice.requests {
                *calls.entry(request.trace.value()).or_default() +=
                    slice.structures[request.structure as usize].len();
            }
        }
        let mut filter: HashMap<u128, usize> = HashMap::new();
        for number in &self.acknowledged {
            *filter.entry(u128::from(number / TRACE_SPANS)).or_default() += 1;
        }
        for (trace, spans) in filter.into_iter().filter(|&(_, spans)| spans == TRACE_SPANS as usize) {
            assert_eq!(calls.get(&trace), Some(&spans), "calls of trace {trace:x}");
        }
    }
}

/// Numbers of acknowledged spans; a last line that was cut off does not count.
fn read_acknowledged(mut out: impl BufRead, working: &Sender<()>) -> Vec<u64> {
    let (mut numbers, mut line) = (Vec::new(), String::new());
    while out.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        let acknowledged =
            line.strip_prefix("ack ").and_then(|rest| rest.strip_suffix('\n')?.split_once(' '));
        if let Some((first, half)) = acknowledged {
            let (first, half): (u64, u64) =
                (first.parse().expect("a number"), half.parse().expect("a number"));
            let traces = (0..BATCH_TRACES).map(|trace| first + trace * TRACE_SPANS + 2 * half);
            // Waits only for the first one, if any.
            let _ = working.send(());
            numbers.extend(traces.flat_map(|number| [number, number + 1]));
        }
        line.clear();
    }
    numbers
}

/// How often each span is stored, but those that retention deletes.
#[derive(Default)]
struct SpanCounter {
    times: HashMap<u64, u32>,
}

impl Sink for SpanCounter {
    fn span(&mut self, span: &SpanRecord<'_>) {
        if span.start > Timestamp::from_unix_ns(1_799_990_000_000_000_000) {
            *self.times.entry(span.span_id.value()).or_default() += 1;
        }
    }

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {}
}
