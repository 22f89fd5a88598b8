//! One line of an access log.

use super::LogTimeUnit;
use crate::time_text::TimeFormat;
use laggard_model::Timestamp;

/// A line cut into its parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LineParts<'a> {
    /// Address of the client.
    client: &'a str,
    time: &'a str,
    request: &'a str,
    status: u16,
    /// The rest of the line after the number of bytes.
    rest: &'a str,
}

/// The relevant fields of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LogRecord<'a> {
    pub(super) client: &'a str,
    /// The user agent; empty if not in the log.
    pub(super) agent: &'a str,
    pub(super) time: Timestamp,
    /// `GET`; empty when the request is none, which only errors are.
    pub(super) method: &'a str,
    /// Path without host, query and fragment.
    pub(super) path: &'a str,
    pub(super) status: u16,
    /// Path of the referring page; empty if not in the log.
    pub(super) referrer_path: &'a str,
    pub(super) response_s: Option<f64>,
}

/// Cuts a line; `None` for one that is no request's.
pub(super) fn split(line: &str) -> Option<LineParts<'_>> {
    let (head, rest) = line.split_once(" [")?;
    let (time, rest) = rest.split_once(']')?;
    let (request, rest) = quoted(rest.trim_start())?;
    let (status, rest) = token(rest.trim_start());
    let (bytes, rest) = token(rest.trim_start());
    let is_size = bytes == "-" || (!bytes.is_empty() && bytes.bytes().all(|byte| byte.is_ascii_digit()));
    let status = status.parse().ok().filter(|status| (100..1000).contains(status))?;
    let mut words = head.split_ascii_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let third = words.next()?;
    // A virtual host before the address; a user's name may have a space in it, an identity is a dash.
    let client = if words.next().is_some() && second != "-" && third == "-" { second } else { first };
    is_size.then_some(LineParts { client, time, request, status, rest })
}

/// The text in quotes at the start, escapes as they are, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut is_escaped = false;
    for (position, byte) in inner.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some((&inner[..position], &inner[position + 1..])),
            _ => {}
        }
    }
    None
}

/// The text up to the first space, and what follows.
fn token(text: &str) -> (&str, &str) {
    text.find(' ').map_or((text, ""), |end| text.split_at(end))
}

impl<'a> LogRecord<'a> {
    /// Reads a line.
    pub(super) fn read(
        line: &'a str,
        times: &mut LineTimes,
        unit: Option<LogTimeUnit>,
    ) -> Result<LogRecord<'a>, &'static str> {
        let parts = split(line).ok_or("not a line of an access log")?;
        let time = times.parse(parts.time).ok_or("its time is none")?;
        let target = RequestTarget::parse(parts.request);
        if target.is_none() && parts.status < 400 {
            return Err("its request is none");
        }
        let target = target.unwrap_or_default();
        let tail = ExtraFields::parse(parts.rest);
        Ok(LogRecord {
            client: parts.client,
            agent: tail.agent,
            time,
            method: target.method,
            path: target.path,
            status: parts.status,
            referrer_path: if tail.referrer.contains("://") { path_of(tail.referrer) } else { "" },
            response_s: tail.response.seconds(unit),
        })
    }
}

#[derive(Default)]
struct RequestTarget<'a> {
    method: &'a str,
    path: &'a str,
}

impl<'a> RequestTarget<'a> {
    /// Splits `GET /cart?id=1 HTTP/1.1`.
    fn parse(request: &'a str) -> Option<RequestTarget<'a>> {
        let (method, rest) = request.split_once(' ')?;
        let is_method =
            (1..=20).contains(&method.len()) && method.bytes().all(|byte| byte.is_ascii_uppercase());
        let target = rest.rsplit_once(" HTTP/").map_or(rest, |(target, _)| target);
        (is_method && !target.is_empty()).then(|| RequestTarget { method, path: path_of(target) })
    }
}

/// The path of a target or an address: without scheme, host, query, fragment and parameters.
fn path_of(target: &str) -> &str {
    let local = match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    };
    &local[..local.find(['?', '#', ';']).unwrap_or(local.len())]
}

/// What may follow the number of bytes.
#[derive(Default)]
struct ExtraFields<'a> {
    referrer: &'a str,
    agent: &'a str,
    response: LoggedNumbers,
}

impl<'a> ExtraFields<'a> {
    fn parse(mut rest: &'a str) -> ExtraFields<'a> {
        let mut tail = ExtraFields::default();
        let mut quotes = 0;
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return tail;
            }
            let (field, after, is_quoted) = match quoted(rest) {
                Some((field, after)) => (field, after, true),
                None => {
                    let (field, after) = token(rest);
                    (field, after, false)
                }
            };
            rest = after;
            quotes += u32::from(is_quoted);
            match (is_quoted, quotes) {
                (true, 1) => tail.referrer = field,
                (true, 2) => tail.agent = field,
                _ => tail.response.add(field),
            }
        }
    }
}

/// The numbers among the fields that loggers add.
#[derive(Default)]
struct LoggedNumbers {
    /// The first with a decimal point.
    decimal: Option<f64>,
    integers: [Option<f64>; 3],
    integer_count: usize,
}

impl LoggedNumbers {
    fn add(&mut self, field: &str) {
        const NAMES: [&str; 7] = ["rt", "request_time", "time", "duration", "d", "taken", "response_time"];
        let text = match field.split_once('=') {
            Some((name, value)) if NAMES.contains(&name.to_ascii_lowercase().as_str()) => {
                value.trim_matches('"')
            }
            Some(_) => return,
            None => field,
        };
        // Apache's %T/%D: seconds and, again, microseconds.
        let text = text.split_once('/').map_or(text, |(_, micros)| micros);
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let Some(value) = text.parse::<f64>().ok().filter(|_| is_number) else { return };
        if text.contains('.') {
            self.decimal = self.decimal.or(Some(value));
            return;
        }
        if let Some(place) = self.integers.get_mut(self.integer_count) {
            *place = Some(value);
        }
        self.integer_count += 1;
    }

    /// A number with a decimal point is a time. Of integers, a single one is; two are the bytes in and out of
    /// `combinedio`, and a third is the time again.
    fn seconds(&self, unit: Option<LogTimeUnit>) -> Option<f64> {
        if let Some(value) = self.decimal {
            return Some(value * unit.map_or(1.0, LogTimeUnit::seconds));
        }
        let integers = match self.integer_count {
            1 => self.integers[0],
            2 => None,
            _ => self.integers[2],
        };
        integers.map(|value| value * unit.unwrap_or(LogTimeUnit::Microseconds).seconds())
    }
}

/// Reads times, the same second only once.
#[derive(Debug, Default)]
pub(super) struct LineTimes {
    text: String,
    time: Option<Timestamp>,
}

impl LineTimes {
    fn parse(&mut self, text: &str) -> Option<Timestamp> {
        if text != self.text || self.time.is_none() {
            self.time =
                clf_ns(text).or_else(|| TimeFormat::Rfc3339.parse_ns(text)).map(Timestamp::from_unix_ns);
            self.text.clear();
            self.text.push_str(text);
        }
        self.time
    }
}

/// `10/Oct/2000:13:55:36 -0700`.
fn clf_ns(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (clock, offset) = text.split_once(' ')?;
    let mut parts = clock.splitn(4, ['/', ':']);
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? + 1;
    let (hours, minutes) = (offset.get(..3)?, offset.get(3..)?);
    let is_offset = minutes.len() == 2 && offset.starts_with(['+', '-']);
    let integers = format!("{year}-{month:02}-{day}T{}{hours}:{minutes}", parts.next()?);
    if is_offset { TimeFormat::Rfc3339.parse_ns(&integers) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<LogRecord<'_>, &'static str> {
        LogRecord::read(line, &mut LineTimes::default(), None)
    }

    /// The line that Apache's manual explains.
    #[test]
    fn the_example_of_the_manual() {
        let line = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)""#;
        let record = read(line).unwrap();
        assert_eq!(record.time.unix_ns(), 971_211_336_000_000_000);
        assert_eq!((record.client, record.method, record.path), ("127.0.0.1", "GET", "/apache_pb.gif"));
        assert_eq!((record.status, record.referrer_path), (200, "/start.html"));
        assert_eq!((record.agent, record.response_s), ("Mozilla/4.08 [en] (Win98; I ;Nav)", None));
    }

    #[test]
    fn record_prefixes_of_all_kinds() {
        let client = |head: &str| {
            let line = format!("{head} [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 -");
            read(&line).map(|record| record.client.to_owned())
        };
        assert_eq!(client("2001:db8::1 - -").as_deref(), Ok("2001:db8::1"));
        assert_eq!(client("shop.example:443 10.0.0.7 - -").as_deref(), Ok("10.0.0.7"));
        assert_eq!(client("10.0.0.7 - John Doe").as_deref(), Ok("10.0.0.7"));
        assert!(client("10.0.0.7").is_err());
    }

    #[test]
    fn response_times_are_distinguished_from_other_fields() {
        let response = |tail: &str| {
            let line = format!("h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 5 {tail}");
            read(&line).unwrap().response_s
        };
        for (tail, expected) in [
            ("", None),
            ("31005", Some(0.031_005)),
            ("\"-\" \"agent\" 31005", Some(0.031_005)),
            ("\"-\" \"agent\" 0.031", Some(0.031)),
            ("\"-\" \"agent\" \"10.0.0.1, 10.0.0.2\" 0.031 0.030", Some(0.031)),
            ("\"-\" \"agent\" rt=0.031 uct=\"0.001\" urt=\"0.030\"", Some(0.031)),
            ("\"-\" \"agent\" \"0.031\"", Some(0.031)),
            ("\"-\" \"agent\" 0/31005", Some(0.031_005)),
            ("\"-\" \"agent\" 512 2048", None),
            ("\"-\" \"agent\" 512 2048 31005", Some(0.031_005)),
            ("\"-\" \"agent\" -", None),
            ("\"-\" \"an \\\"agent\\\" 7\" 31005", Some(0.031_005)),
        ] {
            let found = response(tail);
            let same = found.zip(expected).is_some_and(|(one, two)| (one - two).abs() < 1e-12);
            assert!(same || found == expected, "{tail}: {found:?}");
        }
        let line = "h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 5 3";
        let record = LogRecord::read(line, &mut LineTimes::default(), Some(LogTimeUnit::Seconds));
        assert_eq!(record.unwrap().response_s, Some(3.0));
    }

    #[test]
    fn paths_are_targets_without_host_and_query() {
        for (target, expected) in [
            ("/a/b?c=d", "/a/b"),
            ("/a;jsessionid=1F?x", "/a"),
            ("http://shop.example/a#b", "/a"),
            ("https://shop.example", "/"),
            ("*", "*"),
            ("/r?to=http://x/y", "/r"),
        ] {
            assert_eq!(path_of(target), expected);
        }
    }

    #[test]
    fn invalid_lines() {
        for line in [
            "",
            "hello",
            "h - - [10/Oct/2000:13:55:36 -0700] GET / 200 5",
            "h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" ok 5",
            "h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 many",
            "h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0 200 5",
            "h - - [10/Okt/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 5",
            "h - - [10/Oct/2000:13:55:36 0700é] \"GET / HTTP/1.0\" 200 5",
            "h - - [32/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 5",
            "h - - [10/Oct/2000:13:55:36 -0700] \"\\x16\\x03\" 200 5",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
        assert!(read("h - - [10/Oct/2000:13:55:36 -0700] \"\\x16\\x03\" 400 5").is_ok());
        assert!(read("h - - [10/Oct/2000:13:55:36 -0700] \"-\" 408 -").is_ok());
    }
}
