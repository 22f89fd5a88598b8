//! Measures how fast files are read: `cargo run --release -p laggard-formats --example throughput -- FILE...`
//!
//! Two figures for each file: the reader alone on bytes in memory (one thread), and the whole road from the
//! path, with decompression in its own thread.
#![allow(clippy::print_stdout, reason = "a command-line program")]

use laggard_formats::{FORMATS, Format, InputSettings, NoProgress, ReaderOptions, Sniff, expand, read};
use laggard_model::{CallRecord, Loss, Sink, SpanRecord};
use std::path::PathBuf;
use std::time::Instant;

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

    fn lose(&mut self, _loss: Loss, _example: &dyn Fn() -> String) {
        self.losses += 1;
    }
}

fn print_rate(what: &str, tally: &Tally, bytes: usize, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{what}: {} records, {} losses in {seconds:.3} s: {:.2} M records/s, {:.0} MB/s (checksum {:x})",
        tally.records,
        tally.losses,
        tally.records as f64 / seconds / 1e6,
        bytes as f64 / seconds / 1e6,
        tally.checksum
    );
}

fn measure_reader(format: &Format, bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    let options = ReaderOptions { source_name: Some("host".to_owned()), ..ReaderOptions::default() };
    let started = Instant::now();
    let mut tally = Tally::default();
    let mut reader = (format.open)(&options);
    for chunk in bytes.chunks(256 << 10) {
        reader.push(chunk, &mut tally)?;
    }
    reader.finish(&mut tally)?;
    print_rate(&format!("  {} reader, one thread", format.name), &tally, bytes.len(), started);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for source in expand(&paths)? {
        println!("{}", source.name());
        let started = Instant::now();
        let mut tally = Tally::default();
        let outcome = read(&source, &InputSettings::default(), &mut tally, &NoProgress)?;
        print_rate("  from the path", &tally, outcome.decompressed as usize, started);
        let Ok(bytes) = std::fs::read(source.name()) else { continue };
        let Some(format) = FORMATS.iter().find(|format| (format.sniff)(&bytes) == Sniff::Yes) else {
            continue;
        };
        for _ in 0..3 {
            measure_reader(format, &bytes)?;
        }
    }
    Ok(())
}
