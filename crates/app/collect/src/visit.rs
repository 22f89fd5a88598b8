//! One source in one round: fetch, cut, deliver, write down.

use crate::fetch::{FetchResult, Fetcher, More};
use crate::known::{Known, Tail};
use crate::lines::{cut, header, is_packed};
use crate::state::State;
use crate::{Chunk, ChunkPlacement, CollectError, CollectSettings, Destination, Source, SourceStatus};
use std::sync::Mutex;

/// What all visits share.
pub(crate) struct Tools<'a, D> {
    pub(crate) settings: &'a CollectSettings,
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) destination: &'a D,
    pub(crate) state: &'a Mutex<State>,
    /// Whoever takes a file as a whole holds it.
    pub(crate) whole_turn: &'a Mutex<()>,
}

/// Takes what a source has, up to the limit of a round.
pub(crate) fn visit<D: Destination>(tools: &Tools<'_, D>, source: &Source, known: Known) -> SourceStatus {
    let status = SourceStatus { name: source.name.clone(), ..SourceStatus::default() };
    let mut visit = Visit { tools, source, known, status };
    while visit.status.bytes < tools.settings.round_bytes_max {
        match visit.step() {
            Ok(Step::GoOn) => {}
            Ok(Step::Done) => break,
            Err(failure) => {
                visit.status.failure = Some(failure);
                break;
            }
        }
    }
    visit.status
}

/// Whether there may be more.
enum Step {
    GoOn,
    Done,
}

/// Whether a file may go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum File {
    Growing,
    /// Its last line is whole, also without an end.
    Finished,
}

/// What became of the rest of a file that was rotated away.
enum Rest {
    Taken,
    Lost,
    /// There is more of it than a round may take.
    Unfinished,
}

struct Visit<'a, D> {
    tools: &'a Tools<'a, D>,
    source: &'a Source,
    /// What holds: it is in the state file, but for a file that is not begun.
    known: Known,
    status: SourceStatus,
}

impl<D: Destination> Visit<'_, D> {
    /// Asks once, and delivers.
    fn step(&mut self) -> Result<Step, CollectError> {
        if self.tools.settings.whole || self.known.whole.is_some() {
            // Large ones at the same time would take too much memory.
            let _turn = self.tools.whole_turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            return match self.tools.fetcher.whole(&self.known)? {
                FetchResult::More(more) => self.take_whole(&more).map(|()| Step::Done),
                FetchResult::Missing => Err(CollectError::host("it is not there: status 404")),
                FetchResult::Nothing | FetchResult::Another => Ok(Step::Done),
            };
        }
        match self.tools.fetcher.more(&self.known)? {
            FetchResult::Nothing => Ok(Step::Done),
            FetchResult::Another if self.status.rotations > 0 => {
                Err(CollectError::host("it changes faster than it can be read"))
            }
            FetchResult::Another => self.rotate(),
            FetchResult::Missing => Err(CollectError::host("it is not there: status 404")),
            FetchResult::More(more) if self.known.offset == 0 && is_packed(&more.bytes) => {
                self.known.whole = Some(Tail::default());
                Ok(Step::GoOn)
            }
            FetchResult::More(more) => self.take_lines(more, File::Growing),
        }
    }

    /// Takes what was not read of a file that was rotated away, where that can still be had, and begins the new one.
    fn rotate(&mut self) -> Result<Step, CollectError> {
        match self.rest_of_rotated()? {
            Rest::Unfinished => return Ok(Step::Done),
            Rest::Lost => self.status.rests_lost += 1,
            Rest::Taken => {}
        }
        self.status.rotations += 1;
        self.write_down(self.known.rotated()).map(|()| Step::GoOn)
    }

    fn rest_of_rotated(&mut self) -> Result<Rest, CollectError> {
        let Some(suffix) = &self.tools.settings.rotated else { return Ok(Rest::Lost) };
        let (path, query) = match self.known.url.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (self.known.url.as_str(), String::new()),
        };
        let url = format!("{path}{suffix}{query}");
        while self.status.bytes < self.tools.settings.round_bytes_max {
            let old = Known { url: url.clone(), etag: None, ..self.known.clone() };
            let FetchResult::More(more) = self.tools.fetcher.more(&old)? else { return Ok(Rest::Lost) };
            if let Step::Done = self.take_lines(more, File::Finished)? {
                return Ok(Rest::Taken);
            }
        }
        Ok(Rest::Unfinished)
    }

    fn take_lines(&mut self, mut more: More, file: File) -> Result<Step, CollectError> {
        let ends_in_a_line = more.bytes.len() == more.new_from || more.bytes.ends_with(b"\n");
        let lacks_end = file == File::Finished && more.is_end && !ends_in_a_line;
        if lacks_end {
            more.bytes.push(b'\n');
        }
        let new = &more.bytes[more.new_from..];
        let cut = cut(new, self.known.in_long_line, self.tools.settings.piece_bytes_max);
        let lines = &new[cut.passed_over..cut.end];
        let mut next = self.known.clone();
        next.offset += cut.end as u64 - u64::from(lacks_end);
        next.in_long_line = cut.in_long_line;
        next.written += lines.len() as u64;
        next.tail = Tail::from_end(&more.bytes[..more.new_from + cut.end - usize::from(lacks_end)]);
        let mut repeated = self.tools.settings.header.clone().or_else(|| self.known.header.clone());
        if self.known.offset == 0 && self.tools.settings.header.is_none() {
            (next.header, repeated) = (header(lines), None);
        }
        // What is left is the begin of a line; the mark would hide that it was ended.
        let is_caught_up = more.is_end && cut.end == new.len();
        next.etag = more.etag.filter(|_| is_caught_up);
        self.deliver(next, ChunkPlacement::Append, repeated.as_deref(), lines)?;
        self.status.passed_over += cut.passed_over as u64;
        match more.cut_off {
            Some(failure) => Err(failure),
            None if more.is_end => Ok(Step::Done),
            None => Ok(Step::GoOn),
        }
    }

    fn take_whole(&mut self, more: &More) -> Result<(), CollectError> {
        let is_first =
            self.known.whole.is_none_or(|whole| whole == Tail::default()) && self.known.written == 0;
        let mut next = if is_first { self.known.clone() } else { self.known.rotated() };
        next.whole = Some(Tail::of(&more.bytes));
        next.etag = more.etag.clone();
        next.written = more.bytes.len() as u64;
        self.status.rotations += u32::from(!is_first);
        self.deliver(next, ChunkPlacement::Alone, None, &more.bytes)
    }

    /// Hands bytes over, then writes down what holds from then on.
    fn deliver(
        &mut self,
        next: Known,
        place: ChunkPlacement,
        header: Option<&str>,
        bytes: &[u8],
    ) -> Result<(), CollectError> {
        if bytes.is_empty() {
            return self.write_down(next);
        }
        self.status.repeated |= self.known.in_doubt;
        if self.tools.destination.may_repeat() && !self.known.in_doubt {
            self.write_down(Known { in_doubt: true, ..self.known.clone() })?;
        }
        let written = if next.generation == self.known.generation { self.known.written } else { 0 };
        let delivered = self.tools.destination.take(&Chunk {
            name: &self.source.name,
            ending: &self.source.ending,
            generation: next.generation,
            header,
            bytes,
            written,
            place,
        })?;
        self.write_down(Known { in_doubt: false, ..next })?;
        self.status.bytes += bytes.len() as u64;
        self.status.add(delivered);
        Ok(())
    }

    fn write_down(&mut self, next: Known) -> Result<(), CollectError> {
        if next != self.known {
            let mut state = self.tools.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            state.set(&self.source.name, &next)?;
            self.known = next;
        }
        Ok(())
    }
}
