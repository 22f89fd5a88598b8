//! One request for what is new in a file.

use crate::CollectError;
use crate::client::{ClientSettings, retry_after};
use crate::known::{Known, Tail};
use std::io::Read;
use ureq::http::{Response, StatusCode, header};
use ureq::{Agent, Body};

/// Asks hosts.
pub(crate) struct Fetcher {
    agent: Agent,
    authorization: Option<String>,
    /// Most bytes of a piece.
    pub(crate) piece_bytes_max: usize,
    /// Most bytes of a file that is taken as a whole, or that must be read from its start.
    pub(crate) whole_bytes_max: u64,
}

/// What a host has.
#[derive(Debug)]
pub(crate) enum FetchResult {
    /// Nothing new.
    Nothing,
    /// There is no such file.
    Missing,
    /// It is another file than the one that was read, or was cut short.
    Another,
    /// What comes after what was taken.
    More(More),
}

/// New bytes of a file.
#[derive(Debug)]
pub(crate) struct More {
    /// What was taken last, and what is new behind it.
    pub(crate) bytes: Vec<u8>,
    /// Where the new bytes begin.
    pub(crate) new_from: usize,
    /// Whether they go on until the end of the file.
    pub(crate) is_end: bool,
    /// The host's mark for the file as it is.
    pub(crate) etag: Option<String>,
    /// Why it came no further, if it should have.
    pub(crate) cut_off: Option<CollectError>,
}

/// Where the body of an answer stands in the file.
struct BodyRange {
    start: u64,
    /// Length of the file, where it is told.
    length: Option<u64>,
}

impl Fetcher {
    pub(crate) fn new(
        client: &ClientSettings,
        piece_bytes_max: usize,
        whole_bytes_max: u64,
    ) -> Result<Fetcher, CollectError> {
        let (agent, authorization) = (client.agent()?, client.authorization());
        Ok(Fetcher { agent, authorization, piece_bytes_max, whole_bytes_max })
    }

    /// A piece of a file that grows.
    pub(crate) fn more(&self, known: &Known) -> Result<FetchResult, CollectError> {
        let start = known.start();
        let last = known.offset + self.piece_bytes_max as u64 - 1;
        let mut response = self.get(known, Some(format!("bytes={start}-{last}")))?;
        let stretch = match response.status() {
            StatusCode::NOT_MODIFIED => return Ok(FetchResult::Nothing),
            StatusCode::PARTIAL_CONTENT => partial(&response, start)?,
            StatusCode::OK => BodyRange { start: 0, length: None },
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(FetchResult::Missing),
            // An empty file has no range. One that is shorter than what was read was cut.
            StatusCode::RANGE_NOT_SATISFIABLE if known.offset == 0 => return Ok(FetchResult::Nothing),
            StatusCode::RANGE_NOT_SATISFIABLE => return Ok(FetchResult::Another),
            _ => return Err(refusal(&response)),
        };
        if stretch.length.is_some_and(|length| length < known.offset) {
            return Ok(FetchResult::Another);
        }
        self.body(&mut response, known, &stretch)
    }

    /// A file that is taken as a whole, unless it is what it was.
    pub(crate) fn whole(&self, known: &Known) -> Result<FetchResult, CollectError> {
        let mut response = self.get(known, None)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED => return Ok(FetchResult::Nothing),
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(FetchResult::Missing),
            _ => return Err(refusal(&response)),
        }
        let limit = self.whole_bytes_max;
        let bytes = read(&mut response, limit + 1)?;
        if bytes.len() as u64 > limit {
            return Err(CollectError::host(format!("files taken as a whole have at most {limit} bytes")));
        }
        if known.whole == Some(Tail::of(&bytes)) {
            return Ok(FetchResult::Nothing);
        }
        Ok(FetchResult::More(More { bytes, new_from: 0, is_end: true, etag: etag(&response), cut_off: None }))
    }

    fn get(&self, known: &Known, range: Option<String>) -> Result<Response<Body>, CollectError> {
        let mut request = self.agent.get(&known.url);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        if let Some(etag) = &known.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(range) = range {
            request = request.header(header::RANGE, range);
        }
        let response = request.call().map_err(|error| CollectError::host(&error))?;
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        if response.status().is_success() && encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(CollectError::host("it packs what it sends although asked not to"));
        }
        Ok(response)
    }

    /// Reads what follows what was taken, if it is still the file of which that was taken.
    fn body(
        &self,
        response: &mut Response<Body>,
        known: &Known,
        stretch: &BodyRange,
    ) -> Result<FetchResult, CollectError> {
        let again = known.start() - stretch.start;
        if again > self.whole_bytes_max {
            let reason = format!("it gives no ranges, and {again} bytes would have to be read again");
            return Err(CollectError::host(reason));
        }
        let etag = etag(response);
        let mut reader = response.body_mut().as_reader();
        let passed = std::io::copy(&mut reader.by_ref().take(again), &mut std::io::sink());
        if passed.map_err(CollectError::host)? < again {
            return Ok(FetchResult::Another);
        }
        let overlap = (known.offset - known.start()) as usize;
        let most = overlap + self.piece_bytes_max;
        let mut bytes = Vec::new();
        // One byte more tells whether that was the end.
        let ended = reader.take(most as u64 + 1).read_to_end(&mut bytes);
        if bytes.len() < overlap || Tail::of(&bytes[..overlap]) != known.tail {
            // What did not come at all tells nothing of the file.
            let whole = bytes.len() >= overlap || ended.is_ok();
            return if whole { Ok(FetchResult::Another) } else { Err(cut_off(ended)) };
        }
        let read_to = stretch.start + again + bytes.len() as u64;
        let is_end =
            ended.is_ok() && bytes.len() <= most && stretch.length.is_none_or(|length| length <= read_to);
        bytes.truncate(most);
        let cut_off = ended.is_err().then(|| cut_off(ended));
        Ok(FetchResult::More(More { bytes, new_from: overlap, is_end, etag, cut_off }))
    }
}

fn cut_off(ended: std::io::Result<usize>) -> CollectError {
    CollectError::host(
        ended.err().map_or_else(|| "the answer ended early".to_owned(), |error| error.to_string()),
    )
}

/// What `Content-Range: bytes FIRST-LAST/LENGTH` says; the first byte must be the one that was asked for.
fn partial(response: &Response<Body>, asked: u64) -> Result<BodyRange, CollectError> {
    let told = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let read = |told: &str| {
        let (range, length) = told.trim().strip_prefix("bytes ")?.split_once('/')?;
        let start = range.split_once('-')?.0.trim().parse().ok()?;
        Some(BodyRange { start, length: length.trim().parse().ok() })
    };
    match told.and_then(read) {
        Some(stretch) if stretch.start == asked => Ok(stretch),
        _ => Err(CollectError::host(format!("asked for bytes from {asked} on, it sends {told:?}"))),
    }
}

/// Only a strong mark says that not a byte has changed.
fn etag(response: &Response<Body>) -> Option<String> {
    let etag = response.headers().get(header::ETAG)?.to_str().ok()?;
    (etag.starts_with('"') && etag.len() <= 256).then(|| etag.to_owned())
}

fn refusal(response: &Response<Body>) -> CollectError {
    let status = response.status();
    let location = response.headers().get(header::LOCATION);
    let reason = match location {
        Some(place) if status.is_redirection() => {
            let place = String::from_utf8_lossy(place.as_bytes());
            format!("it redirects to {place}: redirects are not followed; give that address if it is right")
        }
        _ => format!("status {status}"),
    };
    match CollectError::host(reason) {
        CollectError::Host { reason, .. } => {
            CollectError::Host { reason, retry_after: retry_after(response.headers()) }
        }
        other => other,
    }
}

fn read(response: &mut Response<Body>, limit: u64) -> Result<Vec<u8>, CollectError> {
    let mut bytes = Vec::new();
    let read = response.body_mut().as_reader().take(limit).read_to_end(&mut bytes);
    read.map_err(CollectError::host)?;
    Ok(bytes)
}
