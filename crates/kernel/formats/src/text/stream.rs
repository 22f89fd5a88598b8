//! The lines of a text trace as one stream.

use super::{events, line};
use crate::options::OpenOptions;
use crate::trace::{EventBatch, EventStream, StreamState};
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTime, Loss, Tid};
use std::io::{BufRead, Read};
use std::path::PathBuf;

// Limit: bytes of a line of kernel text | `oversized_record`
/// Lines longer than this are skipped.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Lines read at a time.
const LINES_A_BATCH: usize = 4096;

pub(super) struct TextStream<R> {
    path: PathBuf,
    input: R,
    options: OpenOptions,
    line: Vec<u8>,
    number: u64,
    last: KernelTime,
    told_coarse: bool,
}

impl<R: BufRead> TextStream<R> {
    pub(super) fn new(path: PathBuf, input: R, options: OpenOptions) -> TextStream<R> {
        let last = KernelTime::default();
        TextStream { path, input, options, line: Vec::new(), number: 0, last, told_coarse: false }
    }

    /// Reads one line into `self.line`; whether there was one.
    fn next_line(&mut self) -> std::io::Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line)?;
        Ok(read > 0)
    }

    /// Throws away the rest of a line that is too long.
    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let ahead = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', ahead);
            let (used, ended) =
                (end.map_or(ahead.len(), |position| position + 1), end.is_some() || ahead.is_empty());
            self.input.consume(used);
            if ended {
                return Ok(());
            }
        }
    }

    fn position(&self) -> String {
        format!("{} line {}", self.path.display(), self.number)
    }

    fn take_line(&mut self, batch: &mut EventBatch) {
        let is_complete = self.line.ends_with(b"\n");
        let text = String::from_utf8_lossy(&self.line);
        let text = text.trim_end();
        if let Some(lost) = lost_events(text) {
            let time = self.last;
            batch.losses.add_many(Loss::LostEvents, lost.count, || self.position());
            let kind = EventKind::Lost { count: Some(lost.count) };
            batch.events.push(KernelEvent { time, cpu: lost.cpu, flags: None, recorded: None, kind });
            return;
        }
        let Some(line) = line::parse(text) else {
            if !is_remark(text) {
                let loss = if is_complete { Loss::MalformedRecord } else { Loss::TruncatedInput };
                batch.losses.add(loss, || self.position());
            }
            return;
        };
        let time = KernelTime::from_ns(line.time_ns);
        if line.coarse && !self.told_coarse {
            self.told_coarse = true;
            batch.losses.add(Loss::CoarseTime, || self.position());
        }
        let kind = match events::read(line.event, line.fields, batch) {
            events::TextEvent::Event(kind) => kind,
            events::TextEvent::Unwanted if self.options.wants_name(line.event) => other(&line, batch),
            events::TextEvent::Unwanted => return,
            events::TextEvent::Malformed => {
                batch.losses.add(Loss::MalformedRecord, || self.position());
                return;
            }
        };
        self.last = time;
        let recorded = Some(recorded(line.tid, line.task));
        batch.events.push(KernelEvent { time, cpu: line.cpu, flags: line.flags, recorded, kind });
    }
}

fn other(line: &line::EventLine<'_>, batch: &mut EventBatch) -> EventKind {
    let name = batch.texts.intern(line.event);
    EventKind::Other { name, fields: batch.texts.intern(line.fields) }
}

/// perf gives the idle task its name and 0; tracefs writes `<idle>-0`.
fn recorded(tid: Tid, task: &str) -> Tid {
    if task == "<idle>" { Tid::IDLE } else { tid }
}

struct LostEvents {
    cpu: Cpu,
    count: u64,
}

/// `CPU:0 [68 EVENTS DROPPED]` (trace-cmd) and `CPU:0 [LOST 68 EVENTS]` (tracefs).
fn lost_events(line: &str) -> Option<LostEvents> {
    let (cpu, rest) = line.trim_start().strip_prefix("CPU:")?.split_once(" [")?;
    let rest = rest.strip_suffix(']')?;
    let count = rest.strip_prefix("LOST ").and_then(|rest| rest.strip_suffix(" EVENTS"));
    let count = count.or_else(|| rest.strip_suffix(" EVENTS DROPPED"))?;
    Some(LostEvents { cpu: Cpu(cpu.parse().ok()?), count: count.parse().ok()? })
}

/// Lines that are no events and no damage: comments, heads, stack traces, empty lines.
fn is_remark(line: &str) -> bool {
    let text = line.trim_start();
    let stack_frame = || {
        let address = text.strip_prefix("=> ").unwrap_or(text);
        let digits = address.bytes().take_while(u8::is_ascii_hexdigit).count();
        text.starts_with("=> ") || (digits >= 8 && line.starts_with(['\t', ' ']))
    };
    text.is_empty()
        || text.starts_with('#')
        || text.starts_with("cpus=")
        || text.starts_with("version = ")
        || text.starts_with("CPU ") && text.ends_with("is empty")
        || text.starts_with("tracer: ")
        || stack_frame()
}

impl<R: BufRead + Send> EventStream for TextStream<R> {
    fn read(&mut self, batch: &mut EventBatch) -> StreamState {
        for _ in 0..LINES_A_BATCH {
            match self.next_line() {
                Ok(true) => {}
                Ok(false) => return StreamState::Ended,
                Err(error) => {
                    batch.losses.add(Loss::TruncatedInput, || format!("{}: {error}", self.position()));
                    return StreamState::Ended;
                }
            }
            let too_long = self.line.len() as u64 == LINE_BYTES_MAX && !self.line.ends_with(b"\n");
            if !too_long {
                self.take_line(batch);
                continue;
            }
            batch.losses.add(Loss::OversizedRecord, || self.position());
            if self.skip_line().is_err() {
                return StreamState::Ended;
            }
        }
        StreamState::More
    }
}
