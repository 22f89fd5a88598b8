//! Measures how fast kernel traces are read: `cargo run --release -p laggard-experiments --example kernel_throughput
//! -- TRACE...`
//!
//! Each trace is read from its path to its end, in one thread. Every event is read and none is stored.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_kernel_formats::open;
use laggard_model::EventKind;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let start = Instant::now();
        let trace = open(&path)?;
        let opened = start.elapsed().as_secs_f64();
        let (mut events, mut switches, mut checksum) = (0_u64, 0_u64, 0_u64);
        let read = trace.read(|event, _| {
            events += 1;
            switches += u64::from(matches!(event.kind, EventKind::Switch { .. }));
            checksum ^= event.time.ns().rotate_left(u32::from(event.cpu.0));
        });
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}: {}, clock {:?}: {events} events ({switches} switches) in {seconds:.3} s (head {opened:.3} s): {:.2} M/s, \
             {:.0} MB/s (checksum {checksum:x})",
            path.display(),
            read.facts.format,
            read.facts.clock,
            events as f64 / seconds / 1e6,
            read.facts.bytes as f64 / seconds / 1e6,
        );
        for (loss, count) in read.losses.iter() {
            println!("  {} {}: {}", count.count, loss.phrase(), count.example);
        }
    }
    Ok(())
}
