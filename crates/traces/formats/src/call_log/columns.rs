//! The columns of a call log.

use crate::columns::{Column, Header, TimeColumn, comparable};
use crate::format::FormatError;
use crate::time_text::{TimeFormat, TimeUnit};
use laggard_model::CallFlag;

const HOST: Column = Column { name: "host", synonyms: &["hostname", "machine", "node"] };
const REQUEST: Column = Column { name: "request_id", synonyms: &["request", "traceid"] };
const FRAGMENT: Column = Column { name: "mid", synonyms: &["fragment", "fragmentid"] };
const METHOD: Column = Column { name: "method", synonyms: &["operation"] };
const FLAG: Column = Column { name: "flag", synonyms: &["event"] };
const CALLEE: Column = Column { name: "callee_mid", synonyms: &["callee", "calleefragment"] };
const SERVICE: Column = Column { name: "service", synonyms: &["component"] };

/// The fields of a log without a header, in order; the last may be absent.
pub(super) const BARE_TITLES: [&str; 7] =
    ["host", "time_us", "request_id", "mid", "method", "flag", "callee_mid"];

/// Positions of the columns.
#[derive(Clone)]
pub(super) struct CallColumns {
    pub(super) host: Option<usize>,
    pub(super) time: TimeColumn,
    pub(super) request: usize,
    pub(super) fragment: usize,
    pub(super) method: usize,
    pub(super) flag: usize,
    pub(super) callee: Option<usize>,
    pub(super) service: Option<usize>,
}

/// Reads a flag in any of the words in use.
#[inline]
pub(super) fn parse_flag(text: &str) -> Option<CallFlag> {
    const ENTER: [&str; 6] = ["s", "enter", "entry", "start", "begin", "call"];
    const EXIT: [&str; 6] = ["r", "exit", "return", "end", "leave", "x"];
    match text {
        "E" | "e" => Some(CallFlag::Enter),
        "X" | "x" => Some(CallFlag::Exit),
        _ if ENTER.iter().any(|word| word.eq_ignore_ascii_case(text)) => Some(CallFlag::Enter),
        _ if EXIT.iter().any(|word| word.eq_ignore_ascii_case(text)) => Some(CallFlag::Exit),
        _ => None,
    }
}

fn is(column: &Column, title: &str) -> bool {
    let title = comparable(title.trim().trim_matches('"'));
    title == comparable(column.name) || column.synonyms.contains(&title.as_str())
}

/// Whether a header has the mid and the flag, which no other table has together.
pub(super) fn names_call_log<'a>(titles: impl Iterator<Item = &'a str> + Clone) -> bool {
    let has = |column: &Column| titles.clone().any(|title| is(column, title));
    has(&FRAGMENT) && has(&FLAG) && has(&METHOD)
}

/// Whether a first line is already a record: six or seven fields, with a time and a flag in their columns.
pub(super) fn is_bare_record<'a>(fields: impl Iterator<Item = &'a str>) -> bool {
    let fields: Vec<&str> = fields.take(8).map(|field| field.trim().trim_matches('"')).collect();
    let [_, time, request, mid, method, flag, rest @ ..] = fields.as_slice() else { return false };
    let named = [request, mid, method].iter().all(|text| !text.is_empty());
    let is_time = TimeFormat::Decimal(TimeUnit::Microseconds).parse_ns(time).is_some();
    named && is_time && parse_flag(flag).is_some() && rest.len() <= 1
}

impl CallColumns {
    /// Those of a log without a header.
    pub(super) const fn bare() -> CallColumns {
        CallColumns {
            host: Some(0),
            time: TimeColumn { index: 1, format: TimeFormat::Decimal(TimeUnit::Microseconds) },
            request: 2,
            fragment: 3,
            method: 4,
            flag: 5,
            callee: Some(6),
            service: None,
        }
    }

    /// Finds the columns in a header; the host's may be absent when the file's name contains it.
    ///
    /// # Errors
    /// Columns that are needed are missing; the message lists all of them.
    pub(super) fn find(header: &Header, file_names_host: bool) -> Result<CallColumns, FormatError> {
        let mut missing = Vec::new();
        let mut require = |column| header.require(column, &mut missing);
        let (request, fragment) = (require(&REQUEST), require(&FRAGMENT));
        let (method, flag) = (require(&METHOD), require(&FLAG));
        let time = header.find_time("time", &[]);
        let host = header.find(&HOST);
        if time.is_none() {
            missing.push("time_us (or time_ns, time_ms, time_s, or time for RFC 3339 text)");
        }
        if host.is_none() && !file_names_host {
            missing.push("host (which may be absent only when each host has its own file, named after it)");
        }
        let (Some(time), []) = (time, missing.as_slice()) else {
            return Err(header.lacks(&missing, NEEDED));
        };
        let (callee, service) = (header.find(&CALLEE), header.find(&SERVICE));
        Ok(CallColumns { host, time, request, fragment, method, flag, callee, service })
    }

    /// Fewest fields of a row: the callee may be left off when its column is the last.
    pub(super) fn fields_min(&self, width: usize) -> usize {
        width - usize::from(self.callee.is_some_and(|index| index + 1 == width))
    }
}

const NEEDED: &str = "host, a time, request_id, mid, method and flag; callee_mid marks remote calls";
