//! One request for the new bytes of a file.

use crate::CollectError;
use crate::client::{ClientSettings, retry_after};
use crate::position::{FilePosition, Tail};
use std::io::Read;
use ureq::http::{Response, StatusCode, header};
use ureq::{Agent, Body};

/// Sends requests to hosts.
pub(crate) struct Fetcher {
    agent: Agent,
    authorization: Option<String>,
    /// Most bytes of a chunk.
    pub(crate) chunk_bytes_max: usize,
    /// Most bytes of a file that is read completely or from its start.
    pub(crate) whole_bytes_max: u64,
}

/// The response of a host.
#[derive(Debug)]
pub(crate) enum FetchResult {
    /// Nothing new.
    Nothing,
    /// There is no such file.
    Missing,
    /// It is another file than the one that was read, or was truncated.
    Another,
    /// Bytes after those read before.
    More(More),
}

/// New bytes of a file.
#[derive(Debug)]
pub(crate) struct More {
    /// The tail of the bytes read before, then the new ones.
    pub(crate) bytes: Vec<u8>,
    /// Index of the first new byte.
    pub(crate) new_from: usize,
    /// Whether they reach the end of the file.
    pub(crate) is_end: bool,
    /// The host's entity tag of the file.
    pub(crate) etag: Option<String>,
    /// Why the body ended early, if it did.
    pub(crate) cut_off: Option<CollectError>,
}

/// The range of the file that a body contains.
struct BodyRange {
    start: u64,
    /// Length of the file, if the host reports it.
    length: Option<u64>,
}

impl Fetcher {
    pub(crate) fn new(
        client: &ClientSettings,
        chunk_bytes_max: usize,
        whole_bytes_max: u64,
    ) -> Result<Fetcher, CollectError> {
        let (agent, authorization) = (client.agent()?, client.authorization());
        Ok(Fetcher { agent, authorization, chunk_bytes_max, whole_bytes_max })
    }

    /// The next chunk of a growing file.
    pub(crate) fn more(&self, known: &FilePosition) -> Result<FetchResult, CollectError> {
        let start = known.start();
        let last = known.offset + self.chunk_bytes_max as u64 - 1;
        let mut response = self.get(known, Some(format!("bytes={start}-{last}")))?;
        let range = match response.status() {
            StatusCode::NOT_MODIFIED => return Ok(FetchResult::Nothing),
            StatusCode::PARTIAL_CONTENT => partial(&response, start)?,
            StatusCode::OK => BodyRange { start: 0, length: None },
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(FetchResult::Missing),
            // An empty file has no range. One that is shorter than what was read was truncated.
            StatusCode::RANGE_NOT_SATISFIABLE if known.offset == 0 => return Ok(FetchResult::Nothing),
            StatusCode::RANGE_NOT_SATISFIABLE => return Ok(FetchResult::Another),
            _ => return Err(status_error(&response)),
        };
        if range.length.is_some_and(|length| length < known.offset) {
            return Ok(FetchResult::Another);
        }
        self.body(&mut response, known, &range)
    }

    /// A complete file, unless it is unchanged.
    pub(crate) fn whole(&self, known: &FilePosition) -> Result<FetchResult, CollectError> {
        let mut response = self.get(known, None)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED => return Ok(FetchResult::Nothing),
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(FetchResult::Missing),
            _ => return Err(status_error(&response)),
        }
        let limit = self.whole_bytes_max;
        let bytes = read(&mut response, limit + 1)?;
        if bytes.len() as u64 > limit {
            return Err(CollectError::host(format!("files read completely have at most {limit} bytes")));
        }
        if known.whole == Some(Tail::from_bytes(&bytes)) {
            return Ok(FetchResult::Nothing);
        }
        Ok(FetchResult::More(More { bytes, new_from: 0, is_end: true, etag: etag(&response), cut_off: None }))
    }

    fn get(&self, known: &FilePosition, range: Option<String>) -> Result<Response<Body>, CollectError> {
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
            return Err(CollectError::host("the response is compressed although the request forbids it"));
        }
        Ok(response)
    }

    /// Reads the bytes after those read before, if the file still has those.
    fn body(
        &self,
        response: &mut Response<Body>,
        known: &FilePosition,
        range: &BodyRange,
    ) -> Result<FetchResult, CollectError> {
        let repeated = known.start() - range.start;
        if repeated > self.whole_bytes_max {
            let reason = format!("the host ignores ranges, and {repeated} bytes would have to be read again");
            return Err(CollectError::host(reason));
        }
        let etag = etag(response);
        let mut reader = response.body_mut().as_reader();
        let skipped = std::io::copy(&mut reader.by_ref().take(repeated), &mut std::io::sink());
        if skipped.map_err(CollectError::host)? < repeated {
            return Ok(FetchResult::Another);
        }
        let overlap = (known.offset - known.start()) as usize;
        let most = overlap + self.chunk_bytes_max;
        let mut bytes = Vec::new();
        // One more byte shows whether that was the end.
        let ended = reader.take(most as u64 + 1).read_to_end(&mut bytes);
        if bytes.len() < overlap || Tail::from_bytes(&bytes[..overlap]) != known.tail {
            // A body that broke off before the overlap does not show whether the file is another one.
            let is_conclusive = bytes.len() >= overlap || ended.is_ok();
            return if is_conclusive { Ok(FetchResult::Another) } else { Err(cut_off(ended)) };
        }
        let read_to = range.start + repeated + bytes.len() as u64;
        let is_end =
            ended.is_ok() && bytes.len() <= most && range.length.is_none_or(|length| length <= read_to);
        bytes.truncate(most);
        let cut_off = ended.is_err().then(|| cut_off(ended));
        Ok(FetchResult::More(More { bytes, new_from: overlap, is_end, etag, cut_off }))
    }
}

fn cut_off(ended: std::io::Result<usize>) -> CollectError {
    CollectError::host(
        ended.err().map_or_else(|| "the response ended early".to_owned(), |error| error.to_string()),
    )
}

/// Parses `Content-Range: bytes FIRST-LAST/LENGTH`; the first byte must be the requested one.
fn partial(response: &Response<Body>, requested: u64) -> Result<BodyRange, CollectError> {
    let header = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let parse = |header: &str| {
        let (range, length) = header.trim().strip_prefix("bytes ")?.split_once('/')?;
        let start = range.split_once('-')?.0.trim().parse().ok()?;
        Some(BodyRange { start, length: length.trim().parse().ok() })
    };
    match header.and_then(parse) {
        Some(range) if range.start == requested => Ok(range),
        _ => Err(CollectError::host(format!(
            "bytes from {requested} on were requested, the response has {header:?}"
        ))),
    }
}

/// A strong entity tag; weak ones may stay the same while bytes change.
fn etag(response: &Response<Body>) -> Option<String> {
    let etag = response.headers().get(header::ETAG)?.to_str().ok()?;
    (etag.starts_with('"') && etag.len() <= 256).then(|| etag.to_owned())
}

fn status_error(response: &Response<Body>) -> CollectError {
    let status = response.status();
    let location = response.headers().get(header::LOCATION);
    let reason = match location {
        Some(location) if status.is_redirection() => {
            let location = String::from_utf8_lossy(location.as_bytes());
            format!("it redirects to {location}, and redirects are not followed; use that URL if it is right")
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
