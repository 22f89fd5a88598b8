//! One source in one round: fetch, cut, deliver, save the position.

use crate::fetch::{FetchResult, Fetcher, More};
use crate::lines::{cut, header, is_packed};
use crate::position::{FilePosition, Tail};
use crate::state::State;
use crate::{Chunk, ChunkPlacement, CollectError, CollectSettings, Destination, Source, SourceStatus};
use std::sync::Mutex;

/// State shared by all visits.
pub(crate) struct VisitContext<'a, D> {
    pub(crate) settings: &'a CollectSettings,
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) destination: &'a D,
    pub(crate) state: &'a Mutex<State>,
    /// Held while a complete file is in memory.
    pub(crate) whole_file_lock: &'a Mutex<()>,
}

/// Collects the new bytes of a source, up to the limit of a round.
pub(crate) fn visit<D: Destination>(
    context: &VisitContext<'_, D>,
    source: &Source,
    known: FilePosition,
) -> SourceStatus {
    let status = SourceStatus { name: source.name.clone(), ..SourceStatus::default() };
    let mut visit = Visit { context, source, known, status };
    while visit.status.bytes < context.settings.round_bytes_max {
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

/// Whether a file may still grow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum File {
    Growing,
    /// Its last line is complete, even without a line end.
    Finished,
}

/// Outcome of collecting the unread end of a rotated file.
enum RotatedEnd {
    Collected,
    Lost,
    /// It has more bytes than a round may collect.
    Unfinished,
}

struct Visit<'a, D> {
    context: &'a VisitContext<'a, D>,
    source: &'a Source,
    /// The saved position.
    known: FilePosition,
    status: SourceStatus,
}

impl<D: Destination> Visit<'_, D> {
    /// Sends one request and delivers its bytes.
    fn step(&mut self) -> Result<Step, CollectError> {
        if self.context.settings.whole || self.known.whole.is_some() {
            // Several large files at a time would need too much memory.
            let _lock = self.context.whole_file_lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            return match self.context.fetcher.whole(&self.known)? {
                FetchResult::More(more) => self.deliver_whole_file(&more).map(|()| Step::Done),
                FetchResult::Missing => Err(CollectError::host("the file does not exist: status 404")),
                FetchResult::Nothing | FetchResult::Another => Ok(Step::Done),
            };
        }
        match self.context.fetcher.more(&self.known)? {
            FetchResult::Nothing => Ok(Step::Done),
            FetchResult::Another if self.status.rotations > 0 => {
                Err(CollectError::host("it changes faster than it can be read"))
            }
            FetchResult::Another => self.rotate(),
            FetchResult::Missing => Err(CollectError::host("the file does not exist: status 404")),
            FetchResult::More(more) if self.known.offset == 0 && is_packed(&more.bytes) => {
                self.known.whole = Some(Tail::default());
                Ok(Step::GoOn)
            }
            FetchResult::More(more) => self.deliver_lines(more, File::Growing),
        }
    }

    /// Collects the unread end of a file that was rotated away, if it is still available, and begins the new file.
    fn rotate(&mut self) -> Result<Step, CollectError> {
        match self.collect_rotated_end()? {
            RotatedEnd::Unfinished => return Ok(Step::Done),
            RotatedEnd::Lost => self.status.remainders_lost += 1,
            RotatedEnd::Collected => {}
        }
        self.status.rotations += 1;
        self.save(self.known.rotated()).map(|()| Step::GoOn)
    }

    fn collect_rotated_end(&mut self) -> Result<RotatedEnd, CollectError> {
        let Some(suffix) = &self.context.settings.rotated else { return Ok(RotatedEnd::Lost) };
        let (path, query) = match self.known.url.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (self.known.url.as_str(), String::new()),
        };
        let url = format!("{path}{suffix}{query}");
        while self.status.bytes < self.context.settings.round_bytes_max {
            let old = FilePosition { url: url.clone(), etag: None, ..self.known.clone() };
            let FetchResult::More(more) = self.context.fetcher.more(&old)? else {
                return Ok(RotatedEnd::Lost);
            };
            if let Step::Done = self.deliver_lines(more, File::Finished)? {
                return Ok(RotatedEnd::Collected);
            }
        }
        Ok(RotatedEnd::Unfinished)
    }

    fn deliver_lines(&mut self, mut more: More, file: File) -> Result<Step, CollectError> {
        let ends_in_a_line = more.bytes.len() == more.new_from || more.bytes.ends_with(b"\n");
        let lacks_line_end = file == File::Finished && more.is_end && !ends_in_a_line;
        if lacks_line_end {
            more.bytes.push(b'\n');
        }
        let new = &more.bytes[more.new_from..];
        let cut = cut(new, self.known.in_long_line, self.context.settings.chunk_bytes_max);
        let lines = &new[cut.skipped..cut.end];
        let mut next = self.known.clone();
        next.offset += cut.end as u64 - u64::from(lacks_line_end);
        next.in_long_line = cut.in_long_line;
        next.written += lines.len() as u64;
        next.tail = Tail::from_end(&more.bytes[..more.new_from + cut.end - usize::from(lacks_line_end)]);
        let mut repeated = self.context.settings.header.clone().or_else(|| self.known.header.clone());
        if self.known.offset == 0 && self.context.settings.header.is_none() {
            (next.header, repeated) = (header(lines), None);
        }
        // The rest is the beginning of a line; the entity tag would hide that it was completed.
        let is_caught_up = more.is_end && cut.end == new.len();
        next.etag = more.etag.filter(|_| is_caught_up);
        self.deliver(next, ChunkPlacement::Append, repeated.as_deref(), lines)?;
        self.status.skipped += cut.skipped as u64;
        match more.cut_off {
            Some(failure) => Err(failure),
            None if more.is_end => Ok(Step::Done),
            None => Ok(Step::GoOn),
        }
    }

    fn deliver_whole_file(&mut self, more: &More) -> Result<(), CollectError> {
        let is_first =
            self.known.whole.is_none_or(|whole| whole == Tail::default()) && self.known.written == 0;
        let mut next = if is_first { self.known.clone() } else { self.known.rotated() };
        next.whole = Some(Tail::from_bytes(&more.bytes));
        next.etag = more.etag.clone();
        next.written = more.bytes.len() as u64;
        self.status.rotations += u32::from(!is_first);
        self.deliver(next, ChunkPlacement::Alone, None, &more.bytes)
    }

    /// Delivers bytes, then saves the new position.
    fn deliver(
        &mut self,
        next: FilePosition,
        placement: ChunkPlacement,
        header: Option<&str>,
        bytes: &[u8],
    ) -> Result<(), CollectError> {
        if bytes.is_empty() {
            return self.save(next);
        }
        self.status.repeated |= self.known.in_doubt;
        if self.context.destination.may_repeat() && !self.known.in_doubt {
            self.save(FilePosition { in_doubt: true, ..self.known.clone() })?;
        }
        let written = if next.generation == self.known.generation { self.known.written } else { 0 };
        let delivered = self.context.destination.deliver(&Chunk {
            name: &self.source.name,
            ending: &self.source.ending,
            generation: next.generation,
            header,
            bytes,
            written,
            placement,
        })?;
        self.save(FilePosition { in_doubt: false, ..next })?;
        self.status.bytes += bytes.len() as u64;
        self.status.add(delivered);
        Ok(())
    }

    fn save(&mut self, next: FilePosition) -> Result<(), CollectError> {
        if next != self.known {
            let mut state = self.context.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            state.set(&self.source.name, &next)?;
            self.known = next;
        }
        Ok(())
    }
}
