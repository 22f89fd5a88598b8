//! The trace buffer that is recorded to: one of our own, or the machine's with its settings noted.

use super::tracefs::{COPY_MARKERS, Tracefs};
use super::undo::{Restorer, UndoAction};
use crate::error::RecordError;
use crate::events::EventName;
use crate::settings::{BufferLocation, MarkerMode, RecordSettings};
use std::io;
use std::rc::Rc;

/// A buffer that is recorded to.
pub(super) struct Buffer {
    pub(super) tracefs: Rc<Tracefs>,
    /// Prefix of its files' names: a folder of `instances`, or nothing.
    prefix: String,
    /// Whether markers come in.
    pub(super) markers: bool,
}

/// Least buffer of each CPU of a flight recorder, in KiB: a few pages.
const LEAST_FLIGHT_KB: u64 = 32;

/// Percent of the buffer that are filled before a reader is woken.
const WAKE_PERCENT: u32 = 50;

impl Buffer {
    /// Makes or takes a buffer and prepares it: stopped, empty, its clock `mono`.
    pub(super) fn prepare(
        tracefs: &Rc<Tracefs>,
        restorer: &mut Restorer,
        settings: &RecordSettings,
    ) -> Result<Buffer, RecordError> {
        let copies = tracefs.exists(COPY_MARKERS);
        let top = settings.location == BufferLocation::TopLevel
            || (settings.markers == MarkerMode::Required && !copies)
            || !tracefs.exists("instances");
        let buffer = match top {
            true => Buffer::top_level(tracefs)?,
            false => Buffer::instance(tracefs, restorer)?,
        };
        let kilobytes = buffer_kilobytes(settings.buffer_bytes, super::facts::cpu_count());
        buffer.configure(restorer, kilobytes)?;
        if buffer.markers && !buffer.is_top_level() {
            buffer.enable_markers(restorer, settings.markers)?;
        }
        Ok(buffer)
    }

    /// Creates an instance without markers and with a total buffer size in bytes.
    pub(super) fn prepare_without_markers(
        tracefs: &Rc<Tracefs>,
        restorer: &mut Restorer,
        bytes: u64,
    ) -> Result<Buffer, RecordError> {
        if !tracefs.exists("instances") {
            let reason = "the kernel has one trace buffer only, and that is not ours to take".to_owned();
            return Err(RecordError::Impossible { reason });
        }
        let buffer = Buffer { markers: false, ..Buffer::instance(tracefs, restorer)? };
        let each = bytes / 1024 / u64::from(super::facts::online_cpus());
        buffer.configure(restorer, each.max(LEAST_FLIGHT_KB))?;
        Ok(buffer)
    }

    fn instance(tracefs: &Rc<Tracefs>, restorer: &mut Restorer) -> Result<Buffer, RecordError> {
        let name = super::stale::instance_name();
        restorer.before(UndoAction::RemoveInstance(name.clone()))?;
        let prefix = format!("instances/{name}/");
        std::fs::create_dir(tracefs.path(&prefix))
            .map_err(|source| refused("a trace buffer cannot be made", source))?;
        let markers = tracefs.exists(COPY_MARKERS);
        Ok(Buffer { tracefs: tracefs.clone(), prefix, markers })
    }

    fn top_level(tracefs: &Rc<Tracefs>) -> Result<Buffer, RecordError> {
        let tracer = tracefs.text("current_tracer");
        if !["nop", ""].contains(&tracer.as_str()) {
            return Err(RecordError::Busy { what: format!("the {tracer} tracer is active") });
        }
        if let Some(event) = tracefs.text("set_event").lines().next() {
            return Err(RecordError::Busy { what: format!("{event} is enabled") });
        }
        Ok(Buffer { tracefs: tracefs.clone(), prefix: String::new(), markers: true })
    }

    pub(super) fn is_top_level(&self) -> bool {
        self.prefix.is_empty()
    }

    /// The name of one of the buffer's files below tracefs.
    pub(super) fn file(&self, file: &str) -> String {
        format!("{}{file}", self.prefix)
    }

    /// Changes a setting; of the machine's buffer, its value is noted first.
    fn set(&self, restorer: &mut Restorer, file: &str, value: &str) -> Result<(), RecordError> {
        let path = self.file(file);
        if self.is_top_level() {
            let old = present_value(&self.tracefs.text(&path));
            restorer.before(UndoAction::Write { file: path.clone(), value: old })?;
        }
        self.tracefs
            .write(&path, value)
            .map_err(|source| refused(&format!("{file} cannot be set to {value}"), source))
    }

    fn configure(&self, restorer: &mut Restorer, kilobytes: u64) -> Result<(), RecordError> {
        self.set(restorer, "tracing_on", "0")?;
        self.set(restorer, "trace_clock", "mono")?;
        // Only a buffer that overwrites flags the pages before which events were lost.
        self.set(restorer, "options/overwrite", "1")?;
        self.set(restorer, "buffer_size_kb", &kilobytes.to_string())?;
        if self.tracefs.exists(&self.file("buffer_percent")) {
            self.set(restorer, "buffer_percent", &WAKE_PERCENT.to_string())?;
        }
        if self.is_top_level() {
            // Empties it: what was there has another clock's instants.
            let truncated =
                std::fs::OpenOptions::new().write(true).truncate(true).open(self.tracefs.path("trace"));
            truncated.map_err(|source| refused("the trace buffer cannot be emptied", source))?;
        }
        Ok(())
    }

    /// While the machine's own buffer is switched off, the kernel refuses markers (`EBADF`), and copies none.
    fn enable_markers(&self, restorer: &mut Restorer, mode: MarkerMode) -> Result<(), RecordError> {
        if mode == MarkerMode::IfPossible || self.tracefs.text("tracing_on") != "0" {
            return Ok(());
        }
        restorer.before(UndoAction::Write { file: "tracing_on".to_owned(), value: "0".to_owned() })?;
        let switched = self.tracefs.write("tracing_on", "1");
        switched
            .map_err(|source| refused("the machine's own buffer cannot be switched on for markers", source))
    }

    /// Switches an event on.
    pub(super) fn enable(&self, restorer: &mut Restorer, event: &EventName) -> Result<(), RecordError> {
        self.set(restorer, &format!("events/{}/{}/enable", event.system, event.name), "1")
    }

    /// Records the call stack with each switch that begins a wait and with each wake-up.
    pub(super) fn record_stacks(
        &self,
        restorer: &mut Restorer,
        events: &[EventName],
    ) -> Result<(), RecordError> {
        for event in events {
            let trigger = match (event.system.as_str(), event.name.as_str()) {
                // Without those of threads that stay runnable: they do not wait.
                ("sched", "sched_switch") => "stacktrace if prev_state & 255",
                ("sched", "sched_waking") => "stacktrace",
                _ => continue,
            };
            let file = self.file(&format!("events/{}/{}/trigger", event.system, event.name));
            // They go with a buffer of our own.
            if self.is_top_level() {
                restorer
                    .before(UndoAction::Append { file: file.clone(), value: "!stacktrace".to_owned() })?;
            }
            let written = self.tracefs.append(&file, trigger);
            written
                .map_err(|source| refused("the kernel records no call stacks (CONFIG_STACKTRACE)", source))?;
        }
        Ok(())
    }

    /// Records the program's part of the call stack with each event; whether the kernel can. It has no way to record it with some
    /// events only.
    pub(super) fn record_program_stacks(&self, restorer: &mut Restorer) -> Result<bool, RecordError> {
        let option = "options/userstacktrace";
        let is_there = self.tracefs.exists(&self.file(option));
        if is_there {
            self.set(restorer, option, "1")?;
        }
        Ok(is_there)
    }

    /// Starts recording. Markers are copied only while it runs: a buffer that takes copies and is switched off makes
    /// the kernel refuse the markers of all programs (`EBADF`).
    pub(super) fn start(&self) -> Result<(), RecordError> {
        self.switch("tracing_on", "1")?;
        if self.markers && !self.is_top_level() {
            self.switch(COPY_MARKERS, "1")?;
        }
        Ok(())
    }

    pub(super) fn stop(&self) -> Result<(), RecordError> {
        if self.markers && !self.is_top_level() {
            self.switch(COPY_MARKERS, "0")?;
        }
        self.switch("tracing_on", "0")
    }

    fn switch(&self, file: &str, value: &str) -> Result<(), RecordError> {
        let written = self.tracefs.write(&self.file(file), value);
        written.map_err(|source| refused(&format!("{file} cannot be set to {value}"), source))
    }
}

/// The text that restores a setting: `0` of `0*`, `1408` of `7 (expanded: 1408)`, `local` of `[local] mono`.
fn present_value(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside);
    let expanded = text.split_once("(expanded: ").map(|(_, rest)| rest.trim_end_matches(')'));
    bracketed.or(expanded).unwrap_or(text).trim_end_matches('*').to_owned()
}

/// Buffer of each CPU in KiB: by default 16 MiB, but all of them at most a sixteenth of the free memory.
fn buffer_kilobytes(requested: Option<u64>, cpus: u32) -> u64 {
    const DEFAULT_KB: u64 = 16 << 10;
    const LEAST_KB: u64 = 64;
    let by_memory = super::facts::free_memory_kb() / 16 / u64::from(cpus.max(1));
    match requested {
        Some(bytes) => (bytes / 1024).max(8),
        None => DEFAULT_KB.min(by_memory).max(LEAST_KB),
    }
}

/// A refusal of the kernel, as a missing right where it is one.
pub(super) fn refused(what: &str, source: io::Error) -> RecordError {
    let what = what.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            RecordError::Permission { what, source }
        }
        _ => RecordError::Kernel { what, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_setting_is_restored() {
        assert_eq!(present_value("[local] global mono"), "local");
        assert_eq!(present_value("local global [x86-tsc]"), "x86-tsc");
        assert_eq!(present_value("7 (expanded: 1408)"), "1408");
        assert_eq!(present_value("0*"), "0");
        assert_eq!(present_value("50"), "50");
    }

    #[test]
    fn the_buffer_size_is_written_in_kilobytes() {
        assert_eq!(buffer_kilobytes(Some(1 << 20), 2), 1024);
        assert_eq!(buffer_kilobytes(Some(1), 2), 8);
        assert!(buffer_kilobytes(None, 2) <= 16 << 10);
        assert_eq!(buffer_kilobytes(None, u32::MAX), 64);
    }
}
