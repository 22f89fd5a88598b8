//! The contract of the readers, as functions that tests, fuzz targets and the hostile-input driver call. They panic with
//! a message when the contract is broken.
//!
//! | function | property |
//! |---|---|
//! | [`check_hostile`] | no panic, events in time order, no more events than bytes, messages of bounded size |
//! | [`check_bytes`] | the same, for any bytes as an input of one format |
//! | [`check_truncated`] | the same, and no event is invented for the truncated part |

use crate::format::open;
use crate::interface::{KernelFormat, SampleShape};
use crate::trace::ReadTrace;
use laggard_model::{EventKind, KernelEvent, KernelTexts};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Maximum length of a message that quotes input, in characters.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// The result of reading a path.
#[derive(Debug)]
pub struct Transcript {
    /// Time, CPU, and description of an event, with strings instead of handles.
    pub events: Vec<String>,
    /// The end of the reading, with losses.
    pub read: ReadTrace,
}

/// Reads a path, if it is a trace.
///
/// # Panics
/// When events are not in time order, there are more than the input could hold, or a message is too long.
pub fn transcript(path: &Path, bytes: u64) -> Option<Transcript> {
    let trace = match open(path) {
        Ok(trace) => trace,
        Err(error) => {
            assert!(error.to_string().len() <= MESSAGE_BYTES_MAX, "the message is too long");
            return None;
        }
    };
    let mut events = Vec::new();
    let mut last = None;
    let read = trace.read(|event, texts| {
        assert!(last <= Some(event.time), "{event:?} lies before {last:?}");
        last = Some(event.time);
        events.push(describe(event, texts));
    });
    assert!(events.len() as u64 <= bytes.max(1) * 4, "{} events from {bytes} bytes", events.len());
    for (loss, entry) in read.losses.iter() {
        assert!(entry.example.len() <= MESSAGE_BYTES_MAX, "{}: the example is too long", loss.name());
    }
    Some(Transcript { events, read })
}

fn describe(event: &KernelEvent, texts: &KernelTexts) -> String {
    let text = match event.kind {
        EventKind::Switch { prev_name: one, next_name: two, .. }
        | EventKind::Other { name: one, fields: two } => [texts.text(one), texts.text(two)].concat(),
        EventKind::Marker { text } => texts.text(text).to_owned(),
        _ => String::new(),
    };
    format!("{} {} {text}", event.time.ns(), event.cpu.0)
}

/// Checks the properties of every reader on any bytes.
///
/// # Panics
/// When one is broken.
pub fn check_hostile(path: &Path, bytes: u64) {
    let _ = transcript(path, bytes);
}

/// Checks any bytes, written to `folder` in the layout of a format.
///
/// # Panics
/// When a property does not hold, or the files cannot be written.
pub fn check_bytes(format: &KernelFormat, bytes: &[u8], folder: &Path) {
    let path = match format.sample {
        SampleShape::File(magic) => write(folder.join("trace"), &[magic, bytes].concat()),
        SampleShape::Folder(names) => {
            let cut = bytes.windows(4).position(|window| window == [0; 4]).unwrap_or(bytes.len());
            let parts = [&bytes[..cut], bytes.get(cut + 4..).unwrap_or_default()];
            std::iter::zip(names, parts).for_each(|(name, part)| drop(write(folder.join(name), part)));
            folder.to_owned()
        }
    };
    check_hostile(&path, bytes.len() as u64 + 64);
}

fn write(path: PathBuf, bytes: &[u8]) -> PathBuf {
    std::fs::write(&path, bytes).expect("the file is written");
    path
}

/// Checks a truncated copy of a trace: its events are events of the complete trace, except for the one at the
/// cut. `complete` is the transcript of the trace before the cut.
///
/// # Panics
/// When a promise is broken.
pub fn check_truncated(complete: &Transcript, path: &Path, bytes: u64) {
    let Some(cut) = transcript(path, bytes) else { return };
    let known: HashSet<&str> = complete.events.iter().map(String::as_str).collect();
    let invented = cut.events.iter().filter(|event| !known.contains(event.as_str())).count();
    assert!(invented <= 1, "{invented} events are not in the complete trace");
    assert!(cut.events.len() <= complete.events.len() + 1, "more events than the complete trace has");
}
