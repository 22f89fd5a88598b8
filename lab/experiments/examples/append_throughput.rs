//! Speed and memory of the write path: spans appended, made durable, closed, written into segments.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example append_throughput -- [SPANS] [SPANS A SECOND, 0 for all there is]
//! ```
//! Batches of 1,000 spans, traces of 10 spans that come in three batches, 8 senders.

use laggard_engine::Batch;
use laggard_model::{Nanos, OperationKey, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId};
use laggard_store::{AppendError, DurableFolder, Store, StoreSettings};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const BATCH_SPANS: u64 = 1_000;
const TRACE_SPANS: u64 = 10;
const SENDERS: u64 = 8;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let (spans, rate) = (arguments.next().unwrap_or(3_000_000), arguments.next().unwrap_or(0));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    runtime.block_on(measure(spans, rate));
}

async fn measure(spans: u64, rate: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let segments = folder.path().join("segments");
    std::fs::create_dir_all(&segments).expect("the folder is ours");
    let objects = Arc::new(DurableFolder::open(&segments).expect("the folder is ours"));
    let settings = StoreSettings { idle: Nanos::from_secs(5), ..StoreSettings::default() };
    let store = Store::open(settings, objects, &folder.path().join("log")).await.expect("an empty store");
    let (started, next, busy) = (Instant::now(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let cpu_before = cpu_seconds();
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            tokio::spawn(send(store.clone(), next.clone(), busy.clone(), spans / BATCH_SPANS, rate, started))
        })
        .collect();
    for sender in senders {
        sender.await.expect("no sender panics");
    }
    let appended = started.elapsed().as_secs_f64();
    let log_bytes = store.state().log_bytes;
    store.flush().await.expect("the disk is there");
    let flushed = started.elapsed().as_secs_f64();
    let state = store.state();
    store.close().await.expect("the disk is there");
    let cpu = cpu_seconds() - cpu_before;
    let million = spans as f64 / 1e6;
    let text = format!(
        "{spans} spans, {} at once{}\n\
         acknowledged  {appended:.1} s  {:.0} spans/s\n\
         in segments   {flushed:.1} s  {:.0} spans/s\n\
         CPU           {cpu:.1} s  {:.2} s a million spans (drawing the batches included)\n\
         log at most   {:.0} MB at the end; segments {:.0} MB in {}\n\
         peak memory   {:.0} MB; refused {} times; stored {}\n",
        BATCH_SPANS,
        if rate == 0 { String::new() } else { format!(", {rate} a second wanted") },
        spans as f64 / appended,
        spans as f64 / flushed,
        cpu / million,
        log_bytes as f64 / 1e6,
        state.segment_bytes as f64 / 1e6,
        state.segments,
        peak_memory_mb(),
        busy.load(Ordering::Relaxed),
        state.spans_stored,
    );
    std::io::stdout().write_all(text.as_bytes()).expect("a terminal or a file");
}

async fn send(
    store: Store,
    next: Arc<AtomicU64>,
    busy: Arc<AtomicU64>,
    batches: u64,
    rate: u64,
    started: Instant,
) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= batches {
            return;
        }
        if rate > 0 {
            let due = Duration::from_secs_f64((number * BATCH_SPANS) as f64 / rate as f64);
            tokio::time::sleep_until((started + due).into()).await;
        }
        let drawn = batch(number);
        while let Err(refused) = store.append(drawn.clone()).await {
            let AppendError::Busy(back) = refused else { panic!("{refused:?}") };
            busy.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(back).await;
        }
    }
}

/// Span `n` is of trace `n / 10`, but three batches in a row exchange spans, so that no trace comes whole.
fn batch(number: u64) -> Batch {
    let mut batch = Batch::default();
    let operations: Vec<_> = (0..20)
        .map(|index| {
            let (service, operation) = (format!("service-{}", index % 5), format!("GET /thing/{index}"));
            let key = OperationKey { service: &service, operation: &operation, kind: SpanKind::Server };
            batch.names.operation(key)
        })
        .collect();
    let replicas: Vec<_> = (0..10).map(|index| batch.names.replica(&format!("pod-{index}"))).collect();
    let (group, lane) = (number / 3, number % 3);
    for index in 0..BATCH_SPANS {
        let span = group * 3 * BATCH_SPANS + index * 3 + lane;
        let (trace, place) = (span / TRACE_SPANS, span % TRACE_SPANS);
        let root = SpanId::new(trace * TRACE_SPANS + 1).expect("above 0");
        batch.spans.push(SpanRow {
            trace: TraceId::from_value(
                u128::from(trace).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835),
            ),
            span: SpanId::new(span + 1).expect("above 0"),
            parent: (place > 0).then_some(root),
            start: Timestamp::from_unix_ns(
                1_800_000_000_000_000_000 + (trace * 60_000 + place * 1_000) as i64,
            ),
            inclusive: Nanos::from_us(1_000 - 100 * place),
            operation: operations[(trace % 2 * 10 + place) as usize],
            replica: replicas[((trace * 7 + place) % 10) as usize],
            kind: SpanKind::Server,
            status: Status::Ok,
            incomplete: false,
            adjusted_count: None,
        });
    }
    batch
}

/// CPU time of this process; Linux counts it in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 = after_name.split(' ').skip(11).take(2).filter_map(|text| text.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

fn peak_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|text| text.trim().parse().ok());
    kilobytes.unwrap_or(0.0) / 1e3
}
