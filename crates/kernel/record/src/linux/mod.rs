//! Recording itself: from settings to a file.

mod buffer;
mod facts;
mod flight;
mod groups;
mod guardian;
mod programs;
mod reader;
mod stale;
mod stop;
mod symbols;
mod tracefs;
mod undo;
mod uprobes;
mod watch;

pub use flight::FlightRecorder;
pub use guardian::guard;
pub use stop::StopSignals;

use crate::dat::{self, CpuPages};
use crate::error::RecordError;
use crate::events::{EventName, Need, PATH_EVENTS, WantedEvent};
use crate::settings::{DatForm, MarkerMode, RecordMode, RecordSettings};
use crate::summary::{CpuSummary, RecordSummary, Recording};
use buffer::Buffer;
use laggard_model::{HostSnapshot, ProbedFunction};
use reader::{CpuFile, Readers};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tracefs::Tracefs;
use undo::{Restorer, UndoAction};
use watch::{Signals, WatchOutcome};

/// Note where stacks end at the kernel.
const NO_PROGRAM_STACKS: &str = "Call stacks have no functions of programs: this kernel does not record them (CONFIG_USER_STACKTRACE_SUPPORT).";

/// Records as the settings say, and writes the file. Everything that was changed in the kernel's tracing is put back,
/// whatever happens.
///
/// # Errors
/// When something is missing (its text says what, and how to get it), or the command cannot be run or the file cannot be written.
pub fn record(settings: &RecordSettings) -> Result<Recording, RecordError> {
    // Before anything is changed: a signal that comes meanwhile ends the recording as soon as it begins.
    let signals = Signals::catch().map_err(|source| buffer::refused("signals cannot be caught", source))?;
    let mut session = Session::prepare(settings)?;
    let ran = session.run(settings, signals);
    let failures = session.restorer.restore();
    let mut ran = ran?;
    let bytes = write(settings.form, session.out, &mut ran)?;
    let end = ran.watched.end(&mut ran.signals);
    let notes = [session.notes, failures].concat();
    let summary = RecordSummary {
        file: settings.output.clone(),
        bytes,
        duration: ran.duration,
        cpus: ran.cpus,
        flight_recorder: settings.mode == RecordMode::FlightRecorder,
        has_calls: !settings.uprobes.is_empty(),
        notes,
    };
    Ok(Recording { summary, end })
}

/// A prepared recording.
struct Session {
    buffer: Buffer,
    events: Vec<EventName>,
    functions: Vec<ProbedFunction>,
    restorer: Restorer,
    out: Output,
    notes: Vec<String>,
}

/// The recording, read but not yet written.
struct RunOutcome {
    head: dat::TraceHead,
    files: Vec<CpuFile>,
    cpus: Vec<CpuSummary>,
    duration: Duration,
    watched: WatchOutcome,
    signals: Signals,
}

impl Session {
    fn prepare(settings: &RecordSettings) -> Result<Session, RecordError> {
        let guardian = guardian::Guardian::start(&settings.guardian)?;
        let tracefs = Rc::new(Tracefs::open()?);
        let mut restorer = Restorer::new(tracefs.clone(), guardian);
        if settings.markers == MarkerMode::Required && !tracefs.is_public() {
            restorer.before(UndoAction::Unmount(tracefs::PUBLIC.into()))?;
            tracefs::mount_publicly()?;
        }
        let mut notes = Vec::new();
        match stale::remove(&tracefs) {
            0 => {}
            1 => notes.push("Removed a trace buffer or probe of a recorder that was killed.".to_owned()),
            removed => {
                notes.push(format!(
                    "Removed {removed} trace buffers and probes of recorders that were killed."
                ));
            }
        }
        let mut events = fixed_events(&tracefs, settings, &mut notes)?;
        let out = Output::open(&settings.output)?;
        if out.is_new {
            // The guardian has another working directory.
            let path = std::path::absolute(&out.path)
                .map_err(|source| RecordError::Output { path: out.path.clone(), source })?;
            restorer.if_killed(&UndoAction::RemoveEmptyFile(path))?;
        }
        let probes = uprobes::create(&tracefs, &mut restorer, &settings.uprobes)?;
        events.extend(probes.events);
        let buffer = Buffer::prepare(&tracefs, &mut restorer, settings)?;
        for event in &events {
            buffer.enable(&mut restorer, event)?;
        }
        if settings.stacks {
            buffer.record_stacks(&mut restorer, &events)?;
            if !buffer.record_program_stacks(&mut restorer)? {
                notes.push(NO_PROGRAM_STACKS.to_owned());
            }
        }
        notes.extend(remarks(&buffer));
        Ok(Session { buffer, events, functions: probes.functions, restorer, out, notes })
    }

    /// Records until the target has ended, and reads what is left in the buffer.
    fn run(&mut self, settings: &RecordSettings, mut signals: Signals) -> Result<RunOutcome, RecordError> {
        let offset_ns = facts::calendar_offset_ns();
        let cpus = facts::cpu_count();
        let page_bytes = facts::ring_page_bytes(&self.buffer)?;
        let folder = match settings.output.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let readers = Readers::start(&self.buffer, cpus, page_bytes, settings.mode, folder)?;
        let groups = groups::GroupWatch::begin();
        let programs = settings.stacks.then(programs::ProgramWatch::start).transpose();
        let programs = programs.map_err(|source| buffer::refused("a thread cannot be started", source))?;
        self.buffer.start()?;
        let begin = Instant::now();
        let mut watched = WatchOutcome::start(&settings.target)?;
        let targets = watched.processes();
        watched.wait(&mut signals, settings.duration.and_then(|duration| begin.checked_add(duration)));
        let duration = begin.elapsed();
        self.buffer.stop()?;
        self.notes.extend(uprobes::uncalled(&self.buffer.tracefs, &self.functions));
        let probes = std::mem::take(&mut self.functions);
        let snapshot = HostSnapshot { probes, targets, ..groups.end() };
        let files = readers.finish().map_err(|source| RecordError::Kernel {
            what: "reading the trace buffer failed".to_owned(),
            source,
        })?;
        let mut head = facts::head(&self.buffer, &self.events, offset_ns, &snapshot)?;
        if let Some(programs) = programs {
            let unreadable = |source| RecordError::Output { path: settings.output.clone(), source };
            head.symbols = symbols::of_stacks(&files).map_err(unreadable)?;
            head.programs = programs.functions(&files).map_err(unreadable)?.to_text();
        }
        let cpus = files.iter().map(|file| facts::cpu_summary(&self.buffer, file.cpu)).collect();
        Ok(RunOutcome { head, files, cpus, duration, watched, signals })
    }
}

/// The available default events, and the requested ones.
fn fixed_events(
    tracefs: &Tracefs,
    settings: &RecordSettings,
    notes: &mut Vec<String>,
) -> Result<Vec<EventName>, RecordError> {
    let requested =
        settings.groups.iter().fold(PATH_EVENTS.to_vec(), |all, group| [&all, group.events()].concat());
    if let Some(event) = settings.events.iter().find(|event| !has_event(tracefs, event)) {
        let reason = format!(
            "the kernel has no event {event}; those it has are listed in available_events of tracefs"
        );
        return Err(RecordError::Impossible { reason });
    }
    let mut events = available_events(tracefs, requested, notes)?;
    events
        .extend(settings.events.iter().filter(|event| !events.contains(event)).cloned().collect::<Vec<_>>());
    Ok(events)
}

fn has_event(tracefs: &Tracefs, event: &EventName) -> bool {
    tracefs.exists(&format!("events/{}/{}/enable", event.system, event.name))
}

/// Those of the events that the kernel has.
fn available_events(
    tracefs: &Tracefs,
    requested: Vec<WantedEvent>,
    notes: &mut Vec<String>,
) -> Result<Vec<EventName>, RecordError> {
    let (present, absent): (Vec<_>, Vec<_>) =
        requested.into_iter().partition(|event| has_event(tracefs, &event.event()));
    let required = absent.iter().filter(|event| event.need == Need::Required);
    let mut missing: Vec<String> = required.map(|event| event.event().to_string()).collect();
    if !present.iter().any(|event| event.need == Need::OneWakeup) {
        missing.push("sched:sched_waking or sched:sched_wakeup".to_owned());
    }
    if !missing.is_empty() {
        return Err(RecordError::NoEvents { missing });
    }
    for event in absent.iter().filter(|event| event.need != Need::Optional) {
        notes.push(format!("The kernel has no {}, which records {}.", event.event(), event.without));
    }
    Ok(present.iter().map(WantedEvent::event).collect())
}

/// Notes for the user on the trace buffer in use.
fn remarks(buffer: &Buffer) -> Vec<String> {
    let mut remarks = Vec::new();
    if buffer.is_top_level() {
        remarks.push("Recorded in the top-level buffer, whose earlier content is lost.".to_owned());
        return remarks;
    }
    if !buffer.markers {
        remarks.push(
            "Markers are not recorded: this kernel cannot copy them; --marker records them.".to_owned(),
        );
    }
    let tracer = buffer.tracefs.text("current_tracer");
    let others = buffer.tracefs.text("set_event").lines().count();
    if others > 0 || !["nop", ""].contains(&tracer.as_str()) {
        remarks.push(format!(
            "Something else traces this machine too ({others} events, tracer {tracer}), which slows it."
        ));
    }
    remarks
}

/// The file to be written. It is opened before anything is recorded, and touched only after.
struct Output {
    path: PathBuf,
    file: File,
    /// Whether the recorder must delete the file if nothing is recorded.
    is_new: bool,
}

impl Output {
    fn open(path: &Path) -> Result<Output, RecordError> {
        let is_new = !path.exists();
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let failed = |source| RecordError::Output { path: path.to_owned(), source };
        Ok(Output { path: path.to_owned(), file: file.map_err(failed)?, is_new })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_new {
            // Without it nothing is lost.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn write(form: DatForm, mut out: Output, ran: &mut RunOutcome) -> Result<u64, RecordError> {
    let mut pages: Vec<CpuPages<'_>> = ran
        .files
        .iter_mut()
        .map(|file| CpuPages { cpu: file.cpu, bytes: file.bytes, pages: &mut file.file })
        .collect();
    let emptied = out.file.set_len(0);
    let written = emptied.and_then(|()| dat::write(form, &mut out.file, &ran.head, &mut pages));
    let bytes = written.map_err(|source| RecordError::Output { path: out.path.clone(), source })?;
    out.is_new = false;
    Ok(bytes)
}
