//! Web access logs, common and combined: lines of requests become client transactions.
//!
//! ```text
//! 10.0.0.7 - - [10/Oct/2000:13:55:36 -0700] "GET /cart/4711?x=1 HTTP/1.1" 200 2326 "https://shop/" "Mozilla/5.0" 31005
//! └ client       └ time                       └ transaction /cart/{id}    └ status  └ page before   └ client      └ µs
//! ```
//!
//! References: Apache HTTP Server, `mod_log_config`; nginx, `ngx_http_log_module`.

mod lines;
mod names;
mod pages;
mod record;

use crate::columns::shorten;
use crate::first_line::sniff_line;
use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Sniff};
use laggard_model::{Loss, Measure, Nanos, SampleRecord, Sink};
use lines::{LineCutter, LineEvent};
use pages::{Pages, RequestRole};
use record::{LineTimes, LogRecord};

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "access-log",
    title: "web access logs, common and combined, with or without response times",
    manual: "docs/manual/formats/access-log.md",
    fills: GroundTable::Samples,
    recognizer: Recognizer::Start(sniff),
    open,
};

/// Unit of a response time that an access log writes as an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogTimeUnit {
    /// Apache's `%T`, and what nginx writes with a decimal point.
    Seconds,
    /// Apache's `%{ms}T`.
    Milliseconds,
    /// Apache's `%D`.
    Microseconds,
}

impl LogTimeUnit {
    const fn seconds(self) -> f64 {
        match self {
            LogTimeUnit::Seconds => 1.0,
            LogTimeUnit::Milliseconds => 1e-3,
            LogTimeUnit::Microseconds => 1e-6,
        }
    }
}

/// How access logs are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessLogSettings {
    /// Objects a client requests within this time after a page belong to the page. 5 s: a browser requests what
    /// a page embeds at once, and people take longer to read (Cherkasova et al. 2009 leave the figure open).
    pub page_gap: Nanos,
    /// Unit of response times; `None` to infer it from the text: with a decimal point seconds, else microseconds.
    pub time_unit: Option<LogTimeUnit>,
}

impl Default for AccessLogSettings {
    fn default() -> AccessLogSettings {
        AccessLogSettings { page_gap: Nanos::from_secs(5), time_unit: None }
    }
}

fn open(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(AccessLog { cutter: LineCutter::default(), requests: AccessLogReader::new(options) })
}

/// A first line that is a request.
fn sniff(prefix: &[u8]) -> Sniff {
    sniff_line(prefix, |line| record::split(line).is_some())
}

struct AccessLog {
    cutter: LineCutter,
    requests: AccessLogReader,
}

impl Reader for AccessLog {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        let mut rest = chunk;
        while let Some(event) = self.cutter.next(&mut rest) {
            match event {
                LineEvent::Line { bytes, number } => self.requests.line(bytes, number, sink),
                LineEvent::Oversized { number } => {
                    sink.lose(Loss::OversizedRecord, &|| format!("line {number}"));
                }
            }
        }
        Ok(())
    }

    /// A line without its line break may be cut inside its last number, so it is not read.
    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError> {
        if let Some(number) = self.cutter.unterminated() {
            sink.lose(Loss::TruncatedInput, &|| format!("the input ends inside line {number}"));
        }
        Ok(())
    }
}

/// From lines to samples.
struct AccessLogReader {
    times: LineTimes,
    pages: Pages,
    settings: AccessLogSettings,
}

impl AccessLogReader {
    fn new(options: &ReaderOptions) -> AccessLogReader {
        let settings: AccessLogSettings = options.get();
        AccessLogReader { times: LineTimes::default(), pages: Pages::new(settings), settings }
    }

    fn line(&mut self, bytes: &[u8], number: u64, sink: &mut dyn Sink) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches('\r').trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return;
        }
        match LogRecord::read(text, &mut self.times, self.settings.time_unit) {
            Ok(record) => self.record(&record, number, sink),
            Err(problem) => {
                sink.lose(Loss::MalformedRecord, &|| format!("line {number}: {problem}: {:?}", shorten(text)))
            }
        }
    }

    /// Emits a transaction, with the response time of its page; what pages embed is counted with them.
    fn record(&mut self, record: &LogRecord<'_>, number: u64, sink: &mut dyn Sink) {
        let placed = self.pages.assign(record);
        if placed.is_pooled {
            sink.lose(Loss::NameLimit, &|| format!("line {number}: {:?}", shorten(record.path)));
        }
        let RequestRole::Transaction(name) = placed.role else { return };
        sink.sample(&SampleRecord {
            time: record.time,
            measure: Measure::Completion,
            server: "",
            tier: "",
            transaction: name,
            callee: "",
            value: record.response_s.unwrap_or(f64::NAN),
        });
    }
}

#[cfg(test)]
mod tests;
