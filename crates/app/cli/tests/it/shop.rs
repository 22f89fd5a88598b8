//! Excerpts of the recording of a shop, since reading all of it would take too long for a test.

use laggard_testkit::data_folder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bounds in seconds since 1970, both in gaps of the recording, so that no trace is truncated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Part {
    since: u64,
    until: u64,
}

/// With a network delay at the cart from 1661142423 on, and an exception before it.
pub(crate) const CART: Part = Part { since: 1_661_141_940, until: 1_661_142_780 };
/// With a fault of the checkout from 1661143455 on.
pub(crate) const CHECKOUT: Part = Part { since: 1_661_143_080, until: 1_661_143_920 };

/// A file with the spans of an excerpt, written by the first test that needs it; `None` without the recording.
pub(crate) fn spans(part: Part) -> Option<PathBuf> {
    static WRITTEN: Mutex<BTreeMap<Part, PathBuf>> = Mutex::new(BTreeMap::new());
    let whole = data_folder("online-boutique")?.join("spans.csv.zst");
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    Some(written.entry(part).or_insert_with(|| write(&whole, part)).clone())
}

fn write(whole: &Path, part: Part) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shop-{}.csv", part.since));
    let mut lines = BufReader::new(zstd::Decoder::new(File::open(whole).unwrap()).unwrap());
    let mut out = BufWriter::new(File::create(&path).unwrap());
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line).unwrap();
    loop {
        out.write_all(&line).unwrap();
        if !next_of(part, &mut lines, &mut line) {
            break;
        }
    }
    out.flush().unwrap();
    path
}

/// Reads up to the next line of an excerpt; returns whether there is one.
fn next_of(part: Part, lines: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    loop {
        line.clear();
        if lines.read_until(b'\n', line).unwrap() == 0 {
            return false;
        }
        // The last columns are start_ns and duration_ns.
        let start = line.rsplit(|&byte| byte == b',').nth(1).unwrap();
        let start: u64 = std::str::from_utf8(start).unwrap().parse().unwrap();
        if (part.since..part.until).contains(&(start / 1_000_000_000)) {
            return true;
        }
    }
}
