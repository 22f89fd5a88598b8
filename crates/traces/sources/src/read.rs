//! Reads windows of a server into a sink.

use crate::client::SourceClient;
use crate::document::TraceDocument;
use crate::error::SourceError;
use crate::row::{SliceAnswer, SliceQuery};
use crate::summary::SourceSummary;
use crate::time_slice::{TimeSlice, utc};
use crate::window_reader::WindowReader;
use laggard_formats::{NoProgress, Progress, ReaderOptions, find_format};
use laggard_model::{Nanos, Sink, Timestamp};

/// Receives the progress of reading from a server.
pub trait SourceProgress: Progress {
    /// So many of the slices of a window are read.
    fn slices(&self, read: u64, all: u64);
}

impl SourceProgress for NoProgress {
    fn slices(&self, _read: u64, _all: u64) {}
}

/// What is read from a server.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// The windows, not empty.
    pub windows: &'a [TimeSlice],
    /// Only traces with a span of this service.
    pub service: Option<&'a str>,
    /// About the most traces of a window; of more, evenly spread slices of it are read.
    pub traces_max: u64,
    /// How answers are read.
    pub reader: &'a ReaderOptions,
    /// The present time, where a search for traces ends that the error of a window without any names; `None` for no search.
    pub now: Option<Timestamp>,
}

/// Reads the traces of some windows, each trace once.
///
/// # Errors
/// See [`SourceError`]; a window without a trace is an error.
pub fn read_traces(
    client: &SourceClient,
    request: &ReadRequest<'_>,
    sink: &mut dyn Sink,
    progress: &dyn SourceProgress,
) -> Result<SourceSummary, SourceError> {
    let row = client.row();
    let format = find_format(row.format).expect("every row names a format");
    let Some(first) = request.windows.first() else {
        return Err(SourceError::Settings("no window was requested".to_owned()));
    };
    let services = services_to_query(client, request.service, *first)?;
    let mut reader = WindowReader::new(client, format, request, services, sink, progress);
    let mut windows = Vec::new();
    for &window in request.windows {
        let summary = reader.read(window)?;
        if summary.traces == 0 {
            return Err(nothing_in(client, request, window, &reader.services));
        }
        windows.push(summary);
    }
    Ok(SourceSummary {
        row,
        bytes: reader.bytes,
        queries: reader.queries,
        windows,
        unreturned: reader.unreturned,
    })
}

/// One query for each service, or one for all.
fn services_to_query(
    client: &SourceClient,
    service: Option<&str>,
    window: TimeSlice,
) -> Result<Vec<Option<String>>, SourceError> {
    let api = client.row().api;
    if !api.needs_service() {
        return Ok(vec![service.map(str::to_owned)]);
    }
    let known = api.services(client, window)?;
    match service {
        Some(name) if known.iter().any(|known| known == name) => Ok(vec![Some(name.to_owned())]),
        Some(name) => Err(unknown_service(client, name, known)),
        None if known.is_empty() => Err(SourceError::NoTrace(format!(
            "{} at {} knows no service: it has no trace.",
            client.row().title,
            client.base()
        ))),
        None => Ok(known.into_iter().map(Some).collect()),
    }
}

fn unknown_service(client: &SourceClient, name: &str, mut known: Vec<String>) -> SourceError {
    known.sort();
    SourceError::UnknownService { title: client.row().title, service: name.to_owned(), known }
}

/// How far back the latest trace is searched for.
const LATEST_WITHIN: Nanos = Nanos::from_secs(7 * 86_400);

/// Services whose latest trace is searched for.
const LATEST_SERVICES_MAX: usize = 10;

/// The error of a window without a trace: of an unknown service, or with what the server has instead.
fn nothing_in(
    client: &SourceClient,
    request: &ReadRequest<'_>,
    window: TimeSlice,
    services: &[Option<String>],
) -> SourceError {
    let row = client.row();
    let whose = request.service.map(|name| format!(" of service {name:?}")).unwrap_or_default();
    let mut text = format!("{} at {} has no trace{whose} from {window}", row.title, client.base());
    let Some(now) = request.now else { return SourceError::NoTrace(text) };
    let recent = TimeSlice { since: now.minus(LATEST_WITHIN), until: now };
    if let (Some(name), false) = (request.service, row.api.needs_service())
        && let Ok(known) = row.api.services(client, recent)
        && !known.is_empty()
        && !known.iter().any(|known| known == name)
    {
        return unknown_service(client, name, known);
    }
    let latest = services.iter().take(LATEST_SERVICES_MAX);
    // A help only: a server that does not answer this is no other error.
    match latest.filter_map(|service| latest_start(client, request, recent, service.as_deref())).max() {
        Some(start) => text.push_str(&format!("; one of its last 7 days starts at {}", utc(start))),
        None => text.push_str(&format!(", and none in the 7 days before {}", utc(now))),
    }
    text.push_str(". Choose the window with --since and --until; times without an offset are UTC.");
    SourceError::NoTrace(text)
}

fn latest_start(
    client: &SourceClient,
    request: &ReadRequest<'_>,
    recent: TimeSlice,
    service: Option<&str>,
) -> Option<Timestamp> {
    let row = client.row();
    match row.api.traces(client, &SliceQuery { service, slice: recent, limit: 1 }).ok()? {
        SliceAnswer::List(traces) => traces.iter().map(|trace| trace.start).max(),
        SliceAnswer::Document(answer) => {
            let document = TraceDocument::read(find_format(row.format)?, request.reader, &answer).ok()?;
            document.traces.iter().filter_map(|trace| trace.start(None)).max()
        }
    }
}
