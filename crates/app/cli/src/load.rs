//! Reads all inputs into the span table, several at a time, in the order of the command line.

use crate::exit::CommandError;
use crate::probed_spans::read_input;
use crate::progress::Meter;
use clap::{Args, ValueEnum};
use laggard_engine::{Ingest, IngestSettings, Requests, SpillFile};
use laggard_formats::{InputError, InputSettings, Outcome, Source};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SinkPart, SpanRecord};
use laggard_parallel::{SpareThreads, parallel_map};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Memory of commands that hold spans.
#[derive(Args, Debug)]
pub(crate) struct SpanMemory {
    /// Memory for spans of all sets while they are read; further ones are written to a temporary file
    #[arg(id = "memory", long, value_name = "SIZE", default_value = "4GiB", value_parser = parse_size)]
    pub(crate) bytes: usize,
    #[command(flatten)]
    pub(crate) beyond: BeyondMemory,
}

/// What becomes of spans that do not fit in memory.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct BeyondMemory {
    /// What becomes of spans beyond --memory
    #[arg(long, value_name = "WHAT", default_value = "spill", hide = true)]
    beyond_memory: SpansBeyondMemory,
    /// Folder for the temporary file, which has no name and disappears with the program [default: TMPDIR, or /tmp]
    #[arg(long, value_name = "FOLDER", hide = true)]
    spill_folder: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum SpansBeyondMemory {
    /// They are written to a temporary file; the report is the same
    #[default]
    Spill,
    /// Traces are dropped evenly, and the report says so
    Thin,
}

impl BeyondMemory {
    /// How the sets of one question are stored while they are read.
    pub(crate) fn storage(&self) -> SpanStorage {
        let folder = || self.spill_folder.clone().unwrap_or_else(std::env::temp_dir);
        let spills = self.beyond_memory == SpansBeyondMemory::Spill;
        SpanStorage { spill: spills.then(|| Arc::new(SpillFile::new(folder()))) }
    }
}

/// Where the spans of a question are while they are read: in memory, and in a file for what does not fit.
#[derive(Clone, Debug)]
pub(crate) struct SpanStorage {
    spill: Option<Arc<SpillFile>>,
}

impl SpanStorage {
    /// An empty table.
    pub(crate) fn table(&self, limits: IngestSettings) -> Ingest {
        match &self.spill {
            Some(file) => Ingest::with_spill(limits, Arc::clone(file)),
            None => Ingest::new(limits),
        }
    }
}

/// The requests of a table that was filled.
///
/// # Errors
/// When the temporary file could not be used.
pub(crate) fn assembled(table: Ingest, threads: NonZeroUsize) -> Result<Requests, CommandError> {
    Requests::from_ingest(table, threads).map_err(|error| {
        CommandError::unreadable(format!(
            "the spans do not fit in --memory, and {error}; name a folder with more space (--spill-folder), raise --memory, or read a \
             sample of the traces (--beyond-memory thin)"
        ))
    })
}

/// The span table, and the outcome of reading.
pub(crate) struct Loaded {
    pub(crate) ingest: Ingest,
    pub(crate) outcome: Outcome,
}

impl Loaded {
    /// Bytes that were written to the temporary file.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.ingest.spilled_bytes()
    }
}

/// Tables that several readers fill in parallel.
pub(crate) trait ParallelLoad: Sink + Send {
    /// Adds the tables of a later input.
    fn merge(&mut self, later: Self);
}

impl ParallelLoad for Ingest {
    fn merge(&mut self, later: Ingest) {
        Ingest::merge(self, later);
    }
}

/// Tables of any kind, and the outcome of reading.
pub(crate) struct LoadedTables<G> {
    pub(crate) tables: G,
    pub(crate) outcome: Outcome,
}

/// Reads sources into the span table with up to `threads` at a time.
pub(crate) fn load(
    sources: &[Source],
    settings: &InputSettings,
    limits: IngestSettings,
    storage: &SpanStorage,
    threads: NonZeroUsize,
    meter: &Meter,
) -> Result<Loaded, CommandError> {
    let share = memory_shares(sources, threads);
    let limits = IngestSettings { memory_bytes: limits.memory_bytes / share, ..limits };
    let loaded = load_tables(sources, settings, &|| storage.table(limits), threads, meter)?;
    Ok(Loaded { ingest: loaded.tables, outcome: loaded.outcome })
}

/// Tables that exist at the same time and share the memory: those being read, and the merged ones.
pub(crate) fn memory_shares(sources: &[Source], threads: NonZeroUsize) -> usize {
    if sources.len() == 1 { 1 } else { threads.get().min(sources.len()) + 1 }
}

/// Reads sources with up to `threads` at a time, one source with those that have none of their own. Tables are merged in the order of the sources, so the result
/// does not depend on timing; a thread waits when it is too far ahead of the merged part.
pub(crate) fn load_tables<G: ParallelLoad>(
    sources: &[Source],
    settings: &InputSettings,
    empty: &(dyn Fn() -> G + Sync),
    threads: NonZeroUsize,
    meter: &Meter,
) -> Result<LoadedTables<G>, CommandError> {
    let readers = threads.get().min(sources.len());
    let spare = SpareThreads::new(threads.get() - readers);
    let settings = &InputSettings { threads: (threads.get() > 1).then(|| spare.clone()), ..settings.clone() };
    let merge = OrderedMerge::new(empty(), sources.len(), 2 * readers);
    let read = || {
        let _abandoned = AbandonOnUnwind(&merge);
        while let Some(index) = merge.next() {
            let mut sink = CountingSink::new(empty(), meter);
            let outcome = read_input(&sources[index], settings, &mut sink, meter);
            let tables = sink.finish();
            merge.add(index, outcome.map(|outcome| LoadedTables { tables, outcome }));
        }
        // The others may use this thread for their blocks.
        spare.give(1);
    };
    // Threads that belong to the work of this one, so that it can be canceled.
    let all_readers: Vec<()> = vec![(); readers];
    parallel_map(&all_readers, threads, |()| read());
    let loaded = merge.into_loaded().map_err(CommandError::unreadable)?;
    loaded.outcome.check().map_err(CommandError::unreadable)?;
    Ok(loaded)
}

/// Counts records for the progress bar.
pub(crate) struct CountingSink<'a, G> {
    tables: G,
    meter: &'a Meter,
    uncounted: u64,
}

impl<G> CountingSink<'_, G> {
    pub(crate) fn new(tables: G, meter: &Meter) -> CountingSink<'_, G> {
        CountingSink { tables, meter, uncounted: 0 }
    }

    /// The tables, once everything is in them.
    pub(crate) fn finish(self) -> G {
        self.meter.spans(self.uncounted);
        self.tables
    }

    fn count(&mut self, records: u64) {
        self.uncounted += records;
        if self.uncounted >= 1 << 14 {
            self.meter.spans(self.uncounted);
            self.uncounted = 0;
        }
    }
}

impl<G: ParallelLoad> Sink for CountingSink<'_, G> {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.tables.span(span);
        self.count(1);
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.tables.call(call);
        self.count(1);
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.tables.sample(sample);
        self.count(1);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.tables.lose(loss, example);
    }

    fn part(&self) -> Option<Box<dyn SinkPart>> {
        self.tables.part()
    }

    fn add_part(&mut self, part: &mut dyn SinkPart) {
        self.count(part.records());
        self.tables.add_part(part);
    }
}

/// Distributes sources to readers, and merges their tables in the order of the sources.
struct OrderedMerge<G> {
    state: Mutex<State<G>>,
    moved: Condvar,
    sources: usize,
    ahead_max: usize,
}

struct State<G> {
    next: usize,
    merged: usize,
    waiting: BTreeMap<usize, LoadedTables<G>>,
    merged_tables: LoadedTables<G>,
    error: Option<(usize, InputError)>,
    /// A reader will not add what it took.
    is_abandoned: bool,
}

/// Ends the other readers when one unwinds: they would wait for what it does not add.
struct AbandonOnUnwind<'a, G>(&'a OrderedMerge<G>);

impl<G> Drop for AbandonOnUnwind<'_, G> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state.lock().unwrap_or_else(PoisonError::into_inner).is_abandoned = true;
            self.0.moved.notify_all();
        }
    }
}

impl<G> State<G> {
    /// Whether no further source is read.
    fn has_ended(&self) -> bool {
        self.error.is_some() || self.is_abandoned
    }
}

impl<G: ParallelLoad> OrderedMerge<G> {
    fn new(empty: G, sources: usize, ahead_max: usize) -> OrderedMerge<G> {
        let merged_tables = LoadedTables { tables: empty, outcome: Outcome::default() };
        let state = State {
            next: 0,
            merged: 0,
            waiting: BTreeMap::new(),
            merged_tables,
            error: None,
            is_abandoned: false,
        };
        OrderedMerge { state: Mutex::new(state), moved: Condvar::new(), sources, ahead_max }
    }

    /// The next source to read; `None` when none is left or one failed.
    fn next(&self) -> Option<usize> {
        let state = self.state.lock().expect("no thread panics while it holds the lock");
        let too_far = |state: &mut State<G>| {
            !state.has_ended() && state.next < self.sources && state.next > state.merged + self.ahead_max
        };
        let mut state =
            self.moved.wait_while(state, too_far).expect("no thread panics while it holds the lock");
        if state.has_ended() || state.next == self.sources {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    fn add(&self, index: usize, read: Result<LoadedTables<G>, InputError>) {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        match read {
            Ok(loaded) => {
                state.waiting.insert(index, loaded);
            }
            // Of several errors, the first in the order of the sources is reported.
            Err(error) if state.error.as_ref().is_none_or(|&(known, _)| index < known) => {
                state.error = Some((index, error));
            }
            Err(_) => {}
        }
        let state = &mut *state;
        while let Some(loaded) = state.waiting.remove(&state.merged) {
            match state.merged {
                0 => state.merged_tables = loaded,
                _ => {
                    state.merged_tables.tables.merge(loaded.tables);
                    state.merged_tables.outcome.merge(loaded.outcome);
                }
            }
            state.merged += 1;
        }
        self.moved.notify_all();
    }

    fn into_loaded(self) -> Result<LoadedTables<G>, InputError> {
        let state = self.state.into_inner().expect("no thread panics while it holds the lock");
        match state.error {
            Some((_, error)) => Err(error),
            None => Ok(state.merged_tables),
        }
    }
}

/// Reads `4GiB`, `500MB`, `1g` or a number of bytes; at least 1 MiB.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    parse_size_from(text, 1 << 20, "1MiB")
}

/// Reads the size of a CPU's trace buffer; at least 64 KiB.
pub(crate) fn parse_buffer_size(text: &str) -> Result<usize, String> {
    parse_size_from(text, 64 << 10, "64KiB")
}

fn parse_size_from(text: &str, min_bytes: u64, min: &str) -> Result<usize, String> {
    match laggard_settings::parse_size(text)? {
        bytes if bytes >= min_bytes => usize::try_from(bytes).map_err(|error| error.to_string()),
        _ => Err(format!("{text:?} is too small; at least {min} is needed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_at_least_a_mebibyte() {
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert!(parse_size("10").unwrap_err().contains("too small"));
        assert_eq!(parse_buffer_size("64KiB"), Ok(64 << 10));
        assert!(parse_buffer_size("63KiB").unwrap_err().contains("at least 64KiB"));
        assert!(parse_size("many").unwrap_err().contains("not a size"));
    }
}
