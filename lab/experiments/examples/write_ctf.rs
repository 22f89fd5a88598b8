//! Writes a made-up kernel trace as CTF, for measuring: `cargo run --release -p laggard-experiments --example write_ctf --
//! FOLDER EVENTS [2]`
//!
//! Eight CPUs; threads switch, wake each other, call the system, and are interrupted. CTF 1.8 as LTTng writes it on
//! x86-64, or CTF 2.
#![expect(clippy::print_stdout, reason = "a command-line program")]

#[expect(dead_code, reason = "tests use more of it")]
#[path = "../../../crates/kernel/formats/tests/it/encode_ctf/mod.rs"]
mod encode_ctf;

use encode_ctf::{Layout, Version, write};
use laggard_model::{
    Cpu, EventKind, ExpiredTimer, KernelEvent, KernelTexts, KernelTime, PrevState, TextId, Tid,
};
use std::path::PathBuf;

/// Threads of the made-up system.
const THREADS: u64 = 300;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("FOLDER EVENTS [2]")?);
    let count: u64 = arguments.next().ok_or("how many events?")?.parse()?;
    let version = if arguments.next().as_deref() == Some("2") { Version::Two } else { Version::One };
    let mut texts = KernelTexts::default();
    let names: Vec<TextId> = (0..THREADS).map(|thread| texts.intern(&format!("thread-{thread}"))).collect();
    let device = texts.intern("nvme0q1");
    let call = texts.intern("read");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut events = Vec::new();
    for index in 0..count {
        // xorshift64 (Marsaglia 2003): any stream of numbers does.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (thread, other) = (random % THREADS, (random >> 20) % THREADS);
        let (tid, name) = (Tid(1000 + thread as u32), names[thread as usize]);
        let kind = match random >> 40 & 15 {
            0..=3 => EventKind::Switch {
                prev: tid,
                prev_name: name,
                prev_state: PrevState((random >> 50 & 1) as u32),
                next: Tid(1000 + other as u32),
                next_name: names[other as usize],
            },
            4..=5 => EventKind::Waking { tid, name, target: Some(Cpu((random >> 45 & 7) as u16)) },
            6..=7 => EventKind::Wakeup { tid, name, target: Some(Cpu((random >> 45 & 7) as u16)) },
            8 => EventKind::IrqEntry { irq: 40, name: device },
            9 => EventKind::IrqExit { irq: 40 },
            10 => EventKind::SoftirqEntry { vector: 4 },
            11 => EventKind::SoftirqExit { vector: 4 },
            12 => EventKind::HrtimerEntry(ExpiredTimer::default()),
            13 => EventKind::HrtimerExit,
            14 => EventKind::SyscallEntry { number: u32::MAX, name: call },
            _ => EventKind::SyscallExit { number: u32::MAX, name: call, returned: 512 },
        };
        let time = KernelTime::from_ns(1_000_000_000 + 500 * index);
        events.push(KernelEvent {
            time,
            cpu: Cpu((random >> 60 & 7) as u16),
            flags: None,
            recorded: None,
            kind,
        });
    }
    write(&folder, &events, &texts, Layout { packet_bytes: 1 << 20, ..Layout::new(version) })?;
    println!("{count} events in {}", folder.display());
    Ok(())
}
