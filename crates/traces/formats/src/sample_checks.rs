//! Checks that every reader's own tests run on every sample: how the input is cut changes nothing, and no
//! damage makes it panic.

use crate::contract::SeededRng;
use crate::format::{Reader, ReaderOptions};
use laggard_model::{Collect, Loss, OwnedSpan};
use std::fmt::Write;

/// A format's constructor, as in its row.
pub(crate) type Open = fn(&ReaderOptions) -> Box<dyn Reader>;

/// Reads `input` in one chunk.
pub(crate) fn read(open: Open, input: &[u8]) -> Collect {
    read_chunks(open, [input])
}

/// Reads the chunks one by one.
pub(crate) fn read_chunks<'a>(open: Open, chunks: impl IntoIterator<Item = &'a [u8]>) -> Collect {
    let mut reader = open(&ReaderOptions::default());
    let mut sink = Collect::default();
    for chunk in chunks {
        reader.push(chunk, &mut sink).expect("a reader of these formats never gives up");
    }
    reader.finish(&mut sink).expect("a reader of these formats never gives up");
    sink
}

/// The losses, without their examples.
pub(crate) fn losses(found: &Collect) -> Vec<(Loss, u64)> {
    found.losses.iter().map(|(loss, found)| (loss, found.count)).collect()
}

/// One span in short: `service[replica] operation kind status start+inclusive trace/span<parent`.
pub(crate) fn short(span: &OwnedSpan) -> String {
    let mut out = format!("{}[{}] {} ", span.service, span.replica, span.operation);
    let trace = span.trace_text.clone().unwrap_or_else(|| span.trace_id.to_string());
    let _ = write!(out, "{} {:?} ", span.kind.name(), span.status);
    let _ =
        write!(out, "{}+{} {trace}/{:x}", span.start.unix_ns(), span.inclusive.ns(), span.span_id.value());
    if let Some(parent) = span.parent {
        let _ = write!(out, "<{:x}", parent.value());
    }
    out
}

/// Checks that chunks, cuts, and random damage are handled as the reader's contract requires.
#[track_caller]
pub(crate) fn check_contract(open: Open, input: &[u8]) {
    let complete = read(open, input);
    let sizes: &[usize] = if input.len() <= 20_000 { &[1, 2, 3, 7, 64, 1000, 4099] } else { &[1, 1000] };
    for &size in sizes {
        assert!(read_chunks(open, input.chunks(size)) == complete, "chunks of {size} bytes read otherwise");
    }
    let mut random = SeededRng::new(0x5EED);
    for round in 0..(200_000 / input.len().max(1)).clamp(3, 20) {
        assert!(
            read_chunks(open, random_chunks(&mut random, input)) == complete,
            "split {round} reads otherwise"
        );
    }
    check_cuts(open, input, &complete, &mut random);
    check_damage(open, input, &mut random);
}

/// Cuts short inputs everywhere, long ones at random positions.
#[track_caller]
fn check_cuts(open: Open, input: &[u8], complete: &Collect, random: &mut SeededRng) {
    let everywhere = input.len() <= 3000;
    let cuts = if everywhere { input.len() } else { (1_000_000 / input.len()).clamp(5, 100) };
    for round in 0..cuts {
        let cut = if everywhere { round } else { random.below(input.len()) };
        let part = read(open, &input[..cut]);
        assert!(complete.spans.starts_with(&part.spans), "cut at {cut}: other spans than a prefix");
        let is_complete = part.losses == complete.losses && part.spans.len() == complete.spans.len();
        let counted = part.losses.iter().map(|(_, found)| found.count).sum::<u64>();
        assert!(
            part.losses.count(Loss::TruncatedInput) == 1
                || is_complete
                || counted > 0
                || at_boundary(input, cut),
            "cut at {cut}: nothing was counted"
        );
    }
}

/// Whether a record may end before `cut`: at the ends of lines, documents and messages. Where messages end is
/// checked by the tests of the formats that have them.
fn at_boundary(input: &[u8], cut: usize) -> bool {
    let before = input[..cut].trim_ascii_end();
    before.is_empty() || matches!(before.last(), Some(b'}' | b']')) || !matches!(input[0], b'{' | b'[')
}

/// Changes, removes and repeats bytes; a panic is what must not happen, and chunks must not matter.
#[track_caller]
fn check_damage(open: Open, input: &[u8], random: &mut SeededRng) {
    let rounds = (500_000 / input.len()).clamp(3, 200);
    for round in 0..rounds {
        let mut damaged = input.to_vec();
        for _ in 0..=random.below(4) {
            let position = random.below(damaged.len());
            match random.below(4) {
                0 => damaged[position] = random.word() as u8,
                1 => damaged[position] ^= 1 << random.below(8),
                2 => drop(damaged.drain(position..damaged.len().min(position + random.below(50)))),
                _ => {
                    let copy = damaged[position..damaged.len().min(position + random.below(50))].to_vec();
                    damaged.splice(position..position, copy);
                }
            }
            if damaged.is_empty() {
                return;
            }
        }
        let complete = read(open, &damaged);
        let split = read_chunks(open, random_chunks(random, &damaged));
        assert!(split == complete, "damage {round}: the split reads otherwise");
    }
}

/// The input in chunks of random sizes.
fn random_chunks<'a>(random: &mut SeededRng, input: &'a [u8]) -> Vec<&'a [u8]> {
    let mut rest = input;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let size_max = [1, 5, 50, 2000][random.below(4)];
        let (chunk, after) = rest.split_at(rest.len().min(random.below(size_max + 1)));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}
