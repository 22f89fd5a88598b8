//! Parses and formats delimiters, for the command line and the API.

use super::delimiter::{
    Delimiter, DelimiterError, DelimiterKind, EventPattern, FieldPattern, MarkerRule, Pairing, Scope,
    SyscallName,
};
use super::glob::Glob;
use super::template::Template;
use crate::path::Window;
use laggard_model::{KernelTime, Tid};
use std::fmt;

/// Syntax summary for error messages.
const KINDS: &str = "auto, marker[:NAME], marker:BEGIN,END, process[:NAME], events:BEGIN[key=FIELD],END[key=FIELD], \
                     syscall:NAME, between:NAME, thread:NAME or tid:NUMBER[,FROM..TO]";
/// Maximum length of a delimiter, in bytes.
const TEXT_MAX: usize = 4096;

impl Delimiter {
    /// Parses `auto`, `marker[:GLOB]`, `marker:BEGIN,END`, `process[:GLOB]`, `events:BEGIN[…],END[…]`, `syscall:NAME`,
    /// `between:NAME`, `thread:GLOB` or `tid:NUMBER[,FROM..TO]` (seconds of the trace's clock), each optionally
    /// followed by `@thread`, `@process`, or `@container`, with an optional `=GLOB`.
    ///
    /// # Errors
    /// If the text is none of these; the error states the valid syntax.
    pub fn parse(text: &str) -> Result<Delimiter, DelimiterError> {
        parse(text.trim()).map_err(|reason| DelimiterError { text: shortened(text), reason })
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

fn parse(text: &str) -> Result<Delimiter, String> {
    if text.len() > TEXT_MAX {
        return Err(format!("a delimiter has at most {TEXT_MAX} bytes"));
    }
    let (kind, scope) = match text.rsplit_once('@').map(|(kind, scope)| (kind, parse_scope(scope))) {
        Some((kind, Some(scope))) => (kind, scope),
        _ => (text, Scope::default()),
    };
    Ok(Delimiter { kind: parse_kind(kind)?, scope })
}

/// Parses the part after `@`; `None` if it is part of a name.
fn parse_scope(text: &str) -> Option<Scope> {
    let (level, only) = match text.split_once('=') {
        Some((level, only)) => (level, Some(Glob::new(only))),
        None => (text, None),
    };
    let pairing = match level {
        "thread" => Pairing::Thread,
        "process" => Pairing::Process,
        "container" => Pairing::Container,
        _ => return None,
    };
    Some(Scope { pairing, only })
}

fn parse_kind(text: &str) -> Result<DelimiterKind, String> {
    let (kind, rest) = match text.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (text, None),
    };
    let named = || rest.filter(|rest| !rest.is_empty());
    let name = || named().ok_or(format!("`{kind}:` needs a name after the colon"));
    match kind {
        "auto" if rest.is_none() => Ok(DelimiterKind::Auto),
        "marker" | "markers" => Ok(DelimiterKind::Markers(parse_markers(named())?)),
        "process" => Ok(DelimiterKind::Process { name: named().map(Glob::new) }),
        "events" => parse_events(name()?),
        "syscall" => Ok(DelimiterKind::Syscall { name: SyscallName::checked(name()?)? }),
        "between" => Ok(DelimiterKind::Between { name: SyscallName::checked(name()?)? }),
        "thread" => Ok(DelimiterKind::Thread { name: Glob::new(name()?) }),
        "tid" => parse_tid(name()?),
        _ => Err(format!("not a valid delimiter; expected {KINDS}")),
    }
}

fn parse_markers(rest: Option<&str>) -> Result<MarkerRule, String> {
    let Some(rest) = rest else { return Ok(MarkerRule::Usual { name: None }) };
    let Some((begin, end)) = rest.split_once(',') else {
        return Ok(MarkerRule::Usual { name: Some(Glob::new(rest)) });
    };
    let (begin, end) = (Template::parse(begin)?, Template::parse(end)?);
    if begin == end {
        return Err("the beginning and the end have the same template".to_owned());
    }
    if begin.has_name() != end.has_name() || begin.has_key() != end.has_key() {
        return Err(
            "{name} and {key} must be in both templates or in neither, otherwise ends match no beginnings"
                .to_owned(),
        );
    }
    Ok(MarkerRule::Templates { begin, end })
}

fn parse_events(rest: &str) -> Result<DelimiterKind, String> {
    let mut depth = 0_usize;
    let comma = rest.char_indices().find(|&(_, symbol)| {
        match symbol {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        symbol == ',' && depth == 0
    });
    let Some((comma, _)) = comma else {
        return Err("expected two events separated by a comma: events:BEGIN,END".to_owned());
    };
    let (begin, end) = (parse_event(&rest[..comma])?, parse_event(&rest[comma + 1..])?);
    if begin.key.is_some() != end.key.is_some() {
        return Err("`key=` must be set for both events or for neither".to_owned());
    }
    Ok(DelimiterKind::Events { begin, end })
}

fn parse_event(text: &str) -> Result<EventPattern, String> {
    let (name, conditions) = match text.split_once('[') {
        Some((name, rest)) => {
            (name, rest.strip_suffix(']').ok_or(format!("`{text}` has an unclosed bracket"))?)
        }
        None => (text, ""),
    };
    if name.is_empty() {
        return Err("an event needs a name".to_owned());
    }
    if name.contains(['*', '?']) {
        return Err(format!("`{name}`: event names must be complete, without * and ?"));
    }
    let (system, name) = match name.split_once(':') {
        Some((system, name)) => (Some(system.to_owned()), name),
        None => (None, name),
    };
    let mut pattern = EventPattern { system, ..EventPattern::named(name) };
    for condition in conditions.split(',').filter(|condition| !condition.is_empty()) {
        let (field, value) =
            condition.split_once('=').ok_or(format!("`{condition}` should be key=FIELD or FIELD=VALUE"))?;
        match field {
            "key" => pattern.key = Some(value.to_owned()),
            _ => pattern.fields.push(FieldPattern { name: field.to_owned(), value: Glob::new(value) }),
        }
    }
    Ok(pattern)
}

fn parse_tid(rest: &str) -> Result<DelimiterKind, String> {
    let (tid, window) = match rest.split_once(',') {
        Some((tid, window)) => (tid, Some(parse_window(window)?)),
        None => (rest, None),
    };
    let tid = tid.parse().map_err(|_| format!("`{tid}` is not a thread id (a number)"))?;
    Ok(DelimiterKind::Tid { tid: Tid(tid), window })
}

fn parse_window(text: &str) -> Result<Window, String> {
    let expected =
        || format!("`{text}` should be FROM..TO in seconds of the trace's clock, such as 8578.07..8578.1");
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let (from, to) = (parse_seconds(from).ok_or_else(expected)?, parse_seconds(to).ok_or_else(expected)?);
    if from >= to {
        return Err(format!("`{text}` ends before it begins"));
    }
    Ok(Window { from, to })
}

/// Parses seconds with at most nine decimals, without rounding.
fn parse_seconds(text: &str) -> Option<KernelTime> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 9 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: u64 = format!("{decimals:0<9}").parse().ok()?;
    let seconds: u64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction).map(KernelTime::from_ns)
}

struct FormattedSeconds(KernelTime);

impl fmt::Display for FormattedSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0.ns() / 1_000_000_000, self.0.ns() % 1_000_000_000)
    }
}

impl SyscallName {
    fn checked(text: &str) -> Result<SyscallName, String> {
        let name = SyscallName::new(text.trim_start_matches("sys_"));
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !plain {
            return Err(format!("`{text}` is not the name or number of a system call"));
        }
        Ok(name)
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            DelimiterKind::Auto => f.write_str("auto")?,
            DelimiterKind::Markers(MarkerRule::Usual { name: None }) => f.write_str("marker")?,
            DelimiterKind::Markers(MarkerRule::Usual { name: Some(name) }) => write!(f, "marker:{name}")?,
            DelimiterKind::Markers(MarkerRule::Templates { begin, end }) => {
                write!(f, "marker:{begin},{end}")?
            }
            DelimiterKind::Events { begin, end } => write!(f, "events:{begin},{end}")?,
            DelimiterKind::Process { name: None } => f.write_str("process")?,
            DelimiterKind::Process { name: Some(name) } => write!(f, "process:{name}")?,
            DelimiterKind::Syscall { name } => write!(f, "syscall:{name}")?,
            DelimiterKind::Between { name } => write!(f, "between:{name}")?,
            DelimiterKind::Thread { name } => write!(f, "thread:{name}")?,
            DelimiterKind::Tid { tid, window: None } => write!(f, "tid:{}", tid.0)?,
            DelimiterKind::Tid { tid, window: Some(window) } => {
                write!(
                    f,
                    "tid:{},{}..{}",
                    tid.0,
                    FormattedSeconds(window.from),
                    FormattedSeconds(window.to)
                )?;
            }
        }
        self.scope.fmt(f)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pairing {
            Pairing::Nearest => return Ok(()),
            Pairing::Thread => f.write_str("@thread")?,
            Pairing::Process => f.write_str("@process")?,
            Pairing::Container => f.write_str("@container")?,
        }
        match &self.only {
            Some(only) => write!(f, "={only}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for EventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.iter().map(|key| format!("key={key}"));
        let fields = self.fields.iter().map(|field| format!("{}={}", field.name, field.value));
        let conditions: Vec<String> = key.chain(fields).collect();
        match conditions.is_empty() {
            true => f.write_str(&self.full_name()),
            false => write!(f, "{}[{}]", self.full_name(), conditions.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_parsed_and_formatted() {
        for text in [
            "auto",
            "marker",
            "marker:order*",
            "marker:request {key} started,request {key} done",
            "process",
            "process:job.sh",
            "events:order_begin,order_end",
            "events:order_begin[key=id,kind=buy*],order_end[key=id]",
            "events:uprobes:f_in,uprobes:f_out",
            "syscall:pread64",
            "between:epoll_wait",
            "thread:worker-*",
            "tid:812",
            "tid:812,8578.070000000..8578.100000001",
            "marker@process",
            "marker:order*@process=redis*",
            "between:accept4@container=/docker/*",
            "marker:a@b",
        ] {
            let delimiter = Delimiter::parse(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(delimiter.to_string(), text);
            assert_eq!(Delimiter::parse(&delimiter.to_string()), Ok(delimiter));
        }
    }

    #[test]
    fn other_events_are_those_of_the_delimiter() {
        let delimiter = Delimiter::parse("events:uprobes:f_in,f_out@thread").unwrap();
        assert_eq!(delimiter.other_events(), ["uprobes:f_in", "f_out"]);
        assert!(Delimiter::auto().other_events().contains(&"task_newtask".to_owned()));
    }

    #[test]
    fn errors_state_the_valid_syntax() {
        for (text, hint) in [
            ("", "auto, marker"),
            ("markr:x", "auto, marker"),
            ("auto:x", "auto, marker"),
            ("syscall:", "needs a name"),
            ("syscall:read file", "system call"),
            ("events:a", "events:BEGIN,END"),
            ("events:a[key=x],b", "both events"),
            ("events:a[key=x,b", "comma"),
            ("events:a,b[x", "bracket"),
            ("events:a[x],b", "FIELD=VALUE"),
            ("events:,b", "name"),
            ("events:a*,b", "complete"),
            ("marker:{id} on,{id} off", "{key}"),
            ("marker:{key} on,off", "both templates"),
            ("marker:x,x", "same template"),
            ("tid:x", "number"),
            ("tid:1,5", "FROM..TO"),
            ("tid:1,5..4", "before it begins"),
            ("tid:1,5..99999999999999999", "FROM..TO"),
        ] {
            let error = Delimiter::parse(text).unwrap_err();
            assert!(error.to_string().contains(hint), "{text}: {error}");
        }
    }
}
