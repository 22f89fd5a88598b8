//! Measures how fast files are read: `cargo run --release -p laggard-experiments --example throughput -- FILE...`
//!
//! Two figures for each file: the reader alone on bytes in memory (one thread), and the whole pipeline from the
//! path, with decompression in its own thread. Rates are by the clock and, on Linux, by the processor time of
//! the parsing thread, which other programs disturb less.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_formats::{FORMATS, Format, InputSettings, NoProgress, ReaderOptions, Sniff, expand, read};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SpanRecord};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Touches every record, as any sink must, and keeps nothing.
#[derive(Default)]
struct Tally {
    records: u64,
    losses: u64,
    checksum: u64,
}

impl Sink for Tally {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.records += 1;
        self.checksum ^= span.span_id.value() ^ span.inclusive.ns() ^ span.operation.len() as u64;
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.records += 1;
        self.checksum ^= call.time.unix_ns() as u64 ^ call.operation.len() as u64;
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.records += 1;
        self.checksum ^=
            sample.time.unix_ns() as u64 ^ sample.value.to_bits() ^ sample.transaction.len() as u64;
    }

    fn lose(&mut self, _loss: Loss, _example: &dyn Fn() -> String) {
        self.losses += 1;
    }
}

/// A start on the clock and in processor time.
struct Stopwatch {
    clock: Instant,
    processor: Option<Duration>,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { clock: Instant::now(), processor: processor_time() }
    }

    fn print(&self, what: &str, tally: &Tally, bytes: usize) {
        let millions = tally.records as f64 / 1e6;
        let seconds = self.clock.elapsed().as_secs_f64();
        let used = processor_time().zip(self.processor).map(|(now, then)| (now - then).as_secs_f64());
        let by_processor =
            used.map(|used| format!(", {:.2} M per CPU second", millions / used)).unwrap_or_default();
        println!(
            "{what}: {} records, {} losses in {seconds:.3} s: {:.2} M/s, {:.0} MB/s{by_processor} (checksum {:x})",
            tally.records,
            tally.losses,
            millions / seconds,
            bytes as f64 / seconds / 1e6,
            tally.checksum
        );
    }
}

/// Processor time of this thread so far, if the system provides it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn measure_reader(format: &Format, bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    let options = ReaderOptions { source_name: Some("host".to_owned()), ..ReaderOptions::default() };
    let stopwatch = Stopwatch::start();
    let mut tally = Tally::default();
    let mut reader = (format.open)(&options);
    for chunk in bytes.chunks(256 << 10) {
        reader.push(chunk, &mut tally)?;
    }
    reader.finish(&mut tally)?;
    stopwatch.print(&format!("  {} reader, one thread", format.name), &tally, bytes.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for source in expand(&paths)? {
        println!("{}", source.name());
        let stopwatch = Stopwatch::start();
        let mut tally = Tally::default();
        let outcome = read(&source, &InputSettings::default(), &mut tally, &NoProgress)?;
        stopwatch.print("  from the path", &tally, outcome.decompressed as usize);
        let Ok(bytes) = std::fs::read(source.name()) else { continue };
        let Some(format) = FORMATS.iter().find(|format| format.sniff(&bytes) == Sniff::Yes) else {
            continue;
        };
        for _ in 0..3 {
            measure_reader(format, &bytes)?;
        }
    }
    Ok(())
}
