//! How fast segments are written and read: `cargo run --release -p laggard-experiments --example segments_speed -- FOLDER
//! [millions of spans]`. The folder must be empty; what is written stays there to be looked at.

use laggard_engine::RequestSlice;
use laggard_model::{Names, Nanos, OperationKey, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId};
use laggard_store::{DurableFolder, FlushBatch, Segments, StoreSettings};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Spans of one request.
const SPANS_PER_REQUEST: u64 = 10;

/// Spans handed over at once.
const SPANS_PER_BATCH: u64 = 1_000_000;

/// Spans a second of the data's own time.
const RATE: u64 = 20_000;

/// A small pseudo-random generator (splitmix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder is an argument"));
    let millions: u64 = arguments.next().map_or(10, |text| text.parse().expect("a number of millions"));
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    runtime.block_on(measure(folder, millions * 1_000_000 / SPANS_PER_BATCH));
}

/// Wall-clock and processor time of this process: on a shared machine only the latter means much. Linux provides it in
/// ticks of 10 ms.
struct Watch {
    wall: Instant,
    ticks: u64,
}

impl Watch {
    fn start() -> Watch {
        Watch { wall: Instant::now(), ticks: ticks() }
    }

    fn describe(&self) -> String {
        format!(
            "{:.2?} ({:.2} s of processor time)",
            self.wall.elapsed(),
            (ticks() - self.ticks) as f64 / 100.0
        )
    }
}

fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

async fn measure(folder: PathBuf, parcels: u64) {
    let mut out = std::io::stdout();
    let objects = Arc::new(DurableFolder::open(&folder).expect("the folder can be written"));
    let settings = StoreSettings { cache_bytes: 2 << 30, ..StoreSettings::default() };
    let (segments, _) = Segments::open(Arc::clone(&objects) as _, &settings).await.expect("it can be opened");
    let mut draw = Draw(7);
    let (mut commits, mut busy) = (std::time::Duration::ZERO, 0);
    for number in 0..parcels {
        let parcel = Arc::new(parcel(&mut draw, number));
        let (start, before) = (Instant::now(), ticks());
        segments.commit(parcel).await.expect("the folder has room");
        commits += start.elapsed();
        busy += ticks() - before;
    }
    let spans = parcels * SPANS_PER_BATCH;
    let rate = spans as f64 / commits.as_secs_f64();
    let figures = segments.figures();
    let per_span = figures.bytes as f64 / spans as f64;
    let _ = writeln!(
        out,
        "commit: {spans} spans in {commits:.2?} ({:.2} s of processor time), {rate:.0} spans/s; {} segments, \
         {per_span:.1} bytes/span",
        busy as f64 / 100.0,
        figures.segments
    );
    drop(segments);
    let (segments, _) = Segments::open(objects, &settings).await.expect("it can be opened");
    for what in ["first", "again"] {
        let start = Watch::start();
        let slices = segments.view().requests(Timestamp::MIN, Timestamp::MAX).await.expect("it can be read");
        let requests: usize = slices.iter().map(|slice: &Arc<RequestSlice>| slice.requests.len()).sum();
        let _ = writeln!(out, "requests, {what}: {requests} in {}", start.describe());
    }
    for number in [1, 2, 3, 4, 5] {
        let trace = trace_of(number * 1000 % parcels * SPANS_PER_BATCH / SPANS_PER_REQUEST + number);
        let start = Watch::start();
        let found = segments.view().trace(trace).await.expect("it can be read");
        let spans = found.map_or(0, |found| found.spans.len());
        let _ = writeln!(out, "one trace: {spans} spans in {}", start.describe());
    }
    let start = Watch::start();
    let mut steps = 0;
    while segments.compact_once().await.expect("the folder has room") {
        steps += 1;
    }
    let _ = writeln!(
        out,
        "compaction: {steps} steps in {}; {} segments",
        start.describe(),
        segments.figures().segments
    );
}

fn trace_of(request: u64) -> TraceId {
    let mut draw = Draw(request);
    TraceId::from_value(u128::from(draw.next()) << 64 | u128::from(draw.next()))
}

/// Requests of twenty kinds, each a chain with siblings, over fifty replicas.
fn parcel(draw: &mut Draw, number: u64) -> FlushBatch {
    let mut names = Names::new();
    let operations: Vec<_> = (0..200_u64)
        .map(|index| {
            let (service, operation) = (format!("service-{}", index % 20), format!("operation-{index}"));
            let key = OperationKey { service: &service, operation: &operation, kind: SpanKind::Server };
            names.operation(key)
        })
        .collect();
    let replicas: Vec<_> = (0..50).map(|index| names.replica(&format!("pod-7c9b5d4f-{index:05}"))).collect();
    let mut spans = Vec::with_capacity(SPANS_PER_BATCH as usize);
    let requests = SPANS_PER_BATCH / SPANS_PER_REQUEST;
    for request in number * requests..(number + 1) * requests {
        let start = 1_700_000_000_000_000_000 + request * SPANS_PER_REQUEST * (1_000_000_000 / RATE);
        let kind = draw.below(20);
        let mut remaining = 2_000_000 + draw.below(50_000_000);
        let mut begin = start + draw.below(1_000_000);
        for node in 0..SPANS_PER_REQUEST {
            let operation = (kind * 10 + node) as usize;
            spans.push(SpanRow {
                trace: trace_of(request),
                span: SpanId::new(draw.next() | 1).expect("an odd number is not 0"),
                parent: None,
                start: Timestamp::from_unix_ns(begin as i64),
                inclusive: Nanos::from_ns(remaining),
                operation: operations[operation],
                replica: replicas[(operation * 3 + draw.below(5) as usize) % 50],
                kind: SpanKind::Server,
                status: if draw.below(100) == 0 { Status::Error } else { Status::Unset },
                incomplete: false,
                adjusted_count: None,
            });
            let last = spans.len() - 1;
            if node > 0 {
                // The second half are siblings under the fifth.
                let parent = last - if node > 5 { (node - 4) as usize } else { 1 };
                spans[last].parent = Some(spans[parent].span);
            }
            let spent = draw.below(remaining / 4 + 1);
            begin += spent;
            remaining -= spent + draw.below(remaining / 4 + 1).min(remaining - spent);
        }
    }
    spans.sort_by_key(|row| (row.trace, row.start, row.span));
    FlushBatch { names, spans, ..FlushBatch::default() }
}
