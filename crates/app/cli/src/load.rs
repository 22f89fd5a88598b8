//! Reads all inputs into the span table, several at a time, in the order given.

use crate::exit::Failure;
use crate::progress::Meter;
use laggard_engine::{Ingest, IngestSettings};
use laggard_formats::{InputError, InputSettings, Outcome, Source, read};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SpanRecord};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex};

/// The span table of what was read.
pub(crate) struct Loaded {
    pub(crate) ingest: Ingest,
    pub(crate) outcome: Outcome,
}

/// What several readers can fill in parallel.
pub(crate) trait Gather: Sink + Send {
    /// Adds what a later input held.
    fn merge(&mut self, later: Self);
}

impl Gather for Ingest {
    fn merge(&mut self, later: Ingest) {
        Ingest::merge(self, later);
    }
}

/// What was read, in tables of any kind.
pub(crate) struct Gathered<G> {
    pub(crate) tables: G,
    pub(crate) outcome: Outcome,
}

/// Reads sources into the span table with up to `threads` at a time.
pub(crate) fn load(
    sources: &[Source],
    settings: &InputSettings,
    limits: IngestSettings,
    threads: NonZeroUsize,
    meter: &Meter,
) -> Result<Loaded, Failure> {
    let share = memory_shares(sources, threads);
    let limits = IngestSettings { memory_bytes: limits.memory_bytes / share, ..limits };
    let gathered = gather(sources, settings, &|| Ingest::new(limits), threads, meter)?;
    Ok(Loaded { ingest: gathered.tables, outcome: gathered.outcome })
}

/// In how many parts memory is shared: what is being read and what is merged exist at the same time.
pub(crate) fn memory_shares(sources: &[Source], threads: NonZeroUsize) -> usize {
    if sources.len() == 1 { 1 } else { threads.get().min(sources.len()) + 1 }
}

/// Reads sources with up to `threads` at a time. Tables are merged in the order of the sources, so the result
/// does not depend on timing; a thread waits when it is too far ahead of the merged part.
pub(crate) fn gather<G: Gather>(
    sources: &[Source],
    settings: &InputSettings,
    empty: &(dyn Fn() -> G + Sync),
    threads: NonZeroUsize,
    meter: &Meter,
) -> Result<Gathered<G>, Failure> {
    let readers = threads.get().min(sources.len());
    let line = Line::new(empty(), sources.len(), 2 * readers);
    std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                while let Some(at) = line.next() {
                    let mut sink = Counted { tables: empty(), meter, uncounted: 0 };
                    let outcome = read(&sources[at], settings, &mut sink, meter);
                    meter.spans(sink.uncounted);
                    line.hand_in(at, outcome.map(|outcome| Gathered { tables: sink.tables, outcome }));
                }
            });
        }
    });
    let gathered = line.into_gathered().map_err(Failure::unreadable)?;
    gathered.outcome.check().map_err(Failure::unreadable)?;
    Ok(gathered)
}

/// Counts records on their way into the table.
struct Counted<'a, G> {
    tables: G,
    meter: &'a Meter,
    uncounted: u64,
}

impl<G> Counted<'_, G> {
    fn count(&mut self) {
        self.uncounted += 1;
        if self.uncounted == 1 << 14 {
            self.meter.spans(self.uncounted);
            self.uncounted = 0;
        }
    }
}

impl<G: Gather> Sink for Counted<'_, G> {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.tables.span(span);
        self.count();
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.tables.call(call);
        self.count();
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.tables.sample(sample);
        self.count();
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.tables.lose(loss, example);
    }
}

/// Hands out sources and takes tables back in order.
struct Line<G> {
    state: Mutex<State<G>>,
    moved: Condvar,
    sources: usize,
    ahead_max: usize,
}

struct State<G> {
    next: usize,
    merged: usize,
    waiting: BTreeMap<usize, Gathered<G>>,
    whole: Gathered<G>,
    error: Option<(usize, InputError)>,
}

impl<G: Gather> Line<G> {
    fn new(empty: G, sources: usize, ahead_max: usize) -> Line<G> {
        let whole = Gathered { tables: empty, outcome: Outcome::default() };
        let state = State { next: 0, merged: 0, waiting: BTreeMap::new(), whole, error: None };
        Line { state: Mutex::new(state), moved: Condvar::new(), sources, ahead_max }
    }

    /// The next source to read; `None` when all are taken or one failed.
    fn next(&self) -> Option<usize> {
        let state = self.state.lock().expect("no thread panics while it holds the lock");
        let too_far = |state: &mut State<G>| {
            state.error.is_none() && state.next < self.sources && state.next > state.merged + self.ahead_max
        };
        let mut state =
            self.moved.wait_while(state, too_far).expect("no thread panics while it holds the lock");
        if state.error.is_some() || state.next == self.sources {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    fn hand_in(&self, at: usize, read: Result<Gathered<G>, InputError>) {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        match read {
            Ok(gathered) => {
                state.waiting.insert(at, gathered);
            }
            // Of several failures the first in the order of the sources is told.
            Err(error) if state.error.as_ref().is_none_or(|&(known, _)| at < known) => {
                state.error = Some((at, error));
            }
            Err(_) => {}
        }
        let state = &mut *state;
        while let Some(gathered) = state.waiting.remove(&state.merged) {
            match state.merged {
                0 => state.whole = gathered,
                _ => {
                    state.whole.tables.merge(gathered.tables);
                    state.whole.outcome.merge(gathered.outcome);
                }
            }
            state.merged += 1;
        }
        self.moved.notify_all();
    }

    fn into_gathered(self) -> Result<Gathered<G>, InputError> {
        let state = self.state.into_inner().expect("no thread panics while it holds the lock");
        match state.error {
            Some((_, error)) => Err(error),
            None => Ok(state.whole),
        }
    }
}

/// Reads `4GiB`, `500MB`, `1g` or a number of bytes.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let scale = match unit.trim() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => 1024.0 * 1024.0,
        "mb" => 1e6,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "gb" => 1e9,
        _ => return Err(format!("{text:?} is not a size; write 4GiB, 500MB or a number of bytes")),
    };
    match number.parse::<f64>() {
        Ok(number) if number * scale >= 1024.0 * 1024.0 => Ok((number * scale) as usize),
        Ok(_) => Err(format!("{text:?} is too small; at least 1MiB is needed")),
        Err(_) => Err(format!("{text:?} is not a size; write 4GiB, 500MB or a number of bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size("500MB"), Ok(500_000_000));
        assert_eq!(parse_size("1.5g"), Ok(3 << 29));
        assert!(parse_size("10").unwrap_err().contains("too small"));
        assert!(parse_size("many").unwrap_err().contains("not a size"));
    }
}
