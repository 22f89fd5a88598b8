//! Reads one window after the other: all of it, or a fair sample.
//!
//! ```text
//! whole window in one query ─ more than fit ─► halve where it is full, until a half fits: the depth of the grid
//!                                              └► one cell in 2^k of the grid, k smaller by one while the number of traces allows
//! ```

use crate::client::SourceClient;
use crate::document::{AnsweredTrace, TraceDocument};
use crate::error::SourceError;
use crate::grid::{DEPTH_MAX, Grid, preferred_half};
use crate::read::{ReadRequest, SourceProgress};
use crate::row::{ListedTrace, SliceAnswer, SliceQuery};
use crate::summary::WindowSummary;
use crate::time_slice::TimeSlice;
use laggard_formats::Format;
use laggard_model::{Losses, Nanos, Sink, TraceId};
use laggard_parallel::parallel_map_owned;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

// Limit: queries to a trace server for one report | rejected: choose a shorter window, one service, or fewer traces
/// Most queries.
const QUERIES_MAX: u64 = 200_000;

/// Traces that are fetched at a time, where a server returns them one by one.
const FETCHES_AT_ONCE: NonZeroUsize = NonZeroUsize::new(8).expect("not zero");

/// Cells of the smallest sample of a window: as many as there are of the size of one answer in the requested traces.
const CELLS_OF_SAMPLE: RangeInclusive<u64> = 8..=32;

/// One query requests at most one in so many of all requested traces, so that a sample has many cells …
const ANSWERS_MIN: u64 = 64;

/// … but at least so many.
const LIMIT_MIN: u64 = 10;

/// Most occurrences of one loss that are passed on; damage can state any number.
const COUNTED_MAX: u64 = 1 << 20;

/// What a slice has.
enum SliceContent {
    /// More traces than one answer holds.
    TooMany,
    /// All its traces.
    Traces(SliceTraces),
}

/// The traces of a slice.
#[derive(Default)]
struct SliceTraces {
    documents: Vec<TraceDocument>,
    listed: Vec<ListedTrace>,
    is_crowded: bool,
}

/// Reads windows into a sink.
pub(crate) struct WindowReader<'a> {
    client: &'a SourceClient,
    format: &'static Format,
    request: &'a ReadRequest<'a>,
    /// Each is queried.
    pub(crate) services: Vec<Option<String>>,
    sink: &'a mut dyn Sink,
    progress: &'a dyn SourceProgress,
    known: HashSet<TraceId>,
    /// Of the present window.
    cells_read: u64,
    /// Most traces of one query where the slice cannot be halved.
    finest_limit: u64,
    pub(crate) bytes: u64,
    pub(crate) queries: u64,
    pub(crate) unreturned: u64,
}

impl<'a> WindowReader<'a> {
    pub(crate) fn new(
        client: &'a SourceClient,
        format: &'static Format,
        request: &'a ReadRequest<'a>,
        services: Vec<Option<String>>,
        sink: &'a mut dyn Sink,
        progress: &'a dyn SourceProgress,
    ) -> WindowReader<'a> {
        WindowReader {
            client,
            format,
            request,
            services,
            sink,
            progress,
            known: HashSet::new(),
            cells_read: 0,
            finest_limit: request.traces_max,
            bytes: 0,
            queries: 0,
            unreturned: 0,
        }
    }

    /// Reads a window: at most about the requested number of traces.
    pub(crate) fn read(&mut self, window: TimeSlice) -> Result<WindowSummary, SourceError> {
        (self.finest_limit, self.cells_read) = (self.request.traces_max, 0);
        let mut summary = WindowSummary { window, traces: 0, slices: 1, one_in: 1, crowded: 0 };
        if let SliceContent::Traces(traces) = self.query(window)? {
            self.accept(window, traces, &mut summary)?;
            return Ok(summary);
        }
        let grid = Grid { window, depth: self.depth(window)? };
        summary.slices = grid.cells();
        self.finest_limit =
            self.limit().max(self.request.traces_max / grid.cells().min(*CELLS_OF_SAMPLE.end()));
        let cells =
            (self.request.traces_max / self.limit()).clamp(*CELLS_OF_SAMPLE.start(), *CELLS_OF_SAMPLE.end());
        let mut share = grid.depth.saturating_sub(cells.ilog2());
        self.read_cells(grid, |rank| rank >= share, &mut summary)?;
        while share > 0 && 2 * summary.traces <= self.request.traces_max {
            share -= 1;
            self.read_cells(grid, |rank| rank == share, &mut summary)?;
        }
        summary.one_in = 1 << share;
        Ok(summary)
    }

    /// Reads the cells of some ranks in the order of time.
    fn read_cells(
        &mut self,
        grid: Grid,
        is_selected: impl Fn(u32) -> bool,
        summary: &mut WindowSummary,
    ) -> Result<(), SourceError> {
        for index in (0..grid.cells()).filter(|&index| is_selected(grid.rank(index))) {
            self.read_cell(grid.cell(index), summary)?;
            self.cells_read += 1;
            self.progress.slices(self.cells_read, grid.cells());
        }
        Ok(())
    }

    /// How often a full window is halved until a part of it where it is dense fits into one answer.
    fn depth(&mut self, window: TimeSlice) -> Result<u32, SourceError> {
        let (mut dense, mut part, mut depth) = (window, 0, 0);
        while depth < DEPTH_MAX && self.can_halve(dense) {
            let halves = dense.halves();
            let preferred = preferred_half(u64::from(depth), part);
            depth += 1;
            let mut next = None;
            for half in [preferred, 1 - preferred] {
                if matches!(self.query(halves[half as usize])?, SliceContent::TooMany) {
                    next = Some(half);
                    break;
                }
            }
            let Some(half) = next else { break };
            (dense, part) = (halves[half as usize], 2 * part + half);
        }
        Ok(depth)
    }

    fn can_halve(&self, slice: TimeSlice) -> bool {
        slice.length() >= Nanos::from_ns(2 * self.client.row().finest.ns())
    }

    /// Reads all of a cell, in parts where one answer does not hold it.
    fn read_cell(&mut self, cell: TimeSlice, summary: &mut WindowSummary) -> Result<(), SourceError> {
        let mut pending = vec![cell];
        while let Some(slice) = pending.pop() {
            match self.query(slice)? {
                SliceContent::TooMany => pending.extend(slice.halves().into_iter().rev()),
                SliceContent::Traces(traces) => self.accept(slice, traces, summary)?,
            }
        }
        Ok(())
    }

    /// Most traces of one query.
    fn limit(&self) -> u64 {
        let most = self.client.row().traces_per_answer;
        (self.request.traces_max / ANSWERS_MIN).clamp(LIMIT_MIN.min(most), most)
    }

    /// The traces of a slice of all services, or that there are too many; a slice that cannot be halved has what is returned.
    fn query(&mut self, slice: TimeSlice) -> Result<SliceContent, SourceError> {
        let mut content = SliceTraces::default();
        let limit = if self.can_halve(slice) { self.limit() } else { self.finest_limit };
        for service in self.services.clone() {
            self.queries += 1;
            if self.queries > QUERIES_MAX {
                return Err(SourceError::TooManyQueries { limit: QUERIES_MAX });
            }
            let query = SliceQuery { service: service.as_deref(), slice, limit };
            let answer = match self.client.row().api.traces(self.client, &query) {
                Err(error) if error.is_too_much() && self.can_halve(slice) => {
                    return Ok(SliceContent::TooMany);
                }
                answer => answer?,
            };
            let count = self.collect(answer, &mut content)?;
            if count >= limit {
                if self.can_halve(slice) {
                    return Ok(SliceContent::TooMany);
                }
                content.is_crowded = true;
            }
        }
        Ok(SliceContent::Traces(content))
    }

    /// Adds an answer; returns how many traces it has.
    fn collect(&mut self, answer: SliceAnswer, content: &mut SliceTraces) -> Result<u64, SourceError> {
        match answer {
            SliceAnswer::List(traces) => {
                let count = traces.len() as u64;
                content.listed.extend(traces);
                Ok(count)
            }
            SliceAnswer::Document(answer) => {
                let document = self.document(&answer)?;
                let count = document.traces.len() as u64;
                content.documents.push(document);
                Ok(count)
            }
        }
    }

    fn document(&mut self, answer: &[u8]) -> Result<TraceDocument, SourceError> {
        self.bytes += answer.len() as u64;
        self.progress.bytes(answer.len() as u64);
        TraceDocument::read(self.format, self.request.reader, answer).map_err(|error| {
            let reason = format!("the answer is not {}: {error}", self.format.title);
            SourceError::Unexpected {
                title: self.client.row().title,
                url: self.client.base().to_owned(),
                reason,
            }
        })
    }

    /// Passes on the traces that start in a slice. A search also returns some that start in another one: there they are accepted.
    fn accept(
        &mut self,
        slice: TimeSlice,
        content: SliceTraces,
        summary: &mut WindowSummary,
    ) -> Result<(), SourceError> {
        summary.crowded += u64::from(content.is_crowded);
        for document in content.documents {
            let starts_here = |trace: &AnsweredTrace| {
                trace.start(self.request.service).is_some_and(|start| slice.contains(start))
            };
            let TraceDocument { traces, losses, .. } = document;
            let is_empty = traces.is_empty();
            let new = self.pass_on(traces.into_iter().filter(starts_here));
            // An answer of known traces has been counted before.
            if new > 0 || is_empty {
                self.pass_on_losses(&losses);
            }
            summary.traces += new;
        }
        let is_new = |trace: &ListedTrace| slice.contains(trace.start) && !self.known.contains(&trace.id);
        let listed: Vec<ListedTrace> = content.listed.into_iter().filter(is_new).collect();
        self.queries += listed.len() as u64;
        let (client, api) = (self.client, self.client.row().api);
        let fetched = parallel_map_owned(listed, FETCHES_AT_ONCE, |trace| api.trace(client, &trace));
        for answer in fetched {
            let Some(answer) = answer? else {
                self.unreturned += 1;
                continue;
            };
            let document = self.document(&answer)?;
            summary.traces += self.pass_on(document.traces.into_iter());
            self.pass_on_losses(&document.losses);
        }
        Ok(())
    }

    /// Passes on traces that are new; returns how many.
    fn pass_on(&mut self, traces: impl Iterator<Item = AnsweredTrace>) -> u64 {
        let mut new = 0;
        for trace in traces {
            if !self.known.insert(trace.id) {
                continue;
            }
            new += 1;
            for span in &trace.spans {
                self.sink.span(&span.record());
            }
        }
        new
    }

    fn pass_on_losses(&mut self, losses: &Losses) {
        let title = self.client.row().title;
        for (loss, counted) in losses.iter() {
            for _ in 0..counted.count.min(COUNTED_MAX) {
                self.sink.lose(loss, &|| format!("{title}: {}", counted.example));
            }
        }
    }
}
