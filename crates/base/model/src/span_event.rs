//! Events of spans: what a program logged while one ran.

use crate::{Loss, Losses, SpanId, Timestamp, TraceId};

// Limit: bytes of one logged text, and of the attributes of one event | cut between characters, or left out; counted (`long_log`)
/// Most bytes of an event's text, of its name, and of its attributes.
pub const EVENT_TEXT_BYTES_MAX: usize = 4_096;

// Limit: logged events of one span | the latest are left out, counted (`event_limit`)
/// Most events of one span that are stored.
pub const EVENTS_PER_SPAN_MAX: usize = 128;

/// Severity of a log record, by OpenTelemetry's numbers: 1 to 24, and 0 if it is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Severity(u8);

impl Severity {
    /// The severity of a number; one beyond 24 is not known.
    pub const fn from_number(number: u64) -> Severity {
        Severity(if number <= 24 { number as u8 } else { 0 })
    }

    /// Its number, 0 to 24.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its short name without the digit, such as `WARN`; empty if it is not known.
    pub const fn name(self) -> &'static str {
        match self.0 {
            1..=4 => "TRACE",
            5..=8 => "DEBUG",
            9..=12 => "INFO",
            13..=16 => "WARN",
            17..=20 => "ERROR",
            21..=24 => "FATAL",
            _ => "",
        }
    }
}

/// One event of a span. The order is that of traces, spans, and times.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SpanEvent {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// On the clock of the host that logged it.
    pub time: Timestamp,
    /// How severe it is.
    pub severity: Severity,
    /// The event's name; mostly empty.
    pub name: Box<str>,
    /// What was logged, as text.
    pub body: Box<str>,
    /// Its attributes, as a JSON object; empty without any.
    pub attributes: Box<str>,
}

impl SpanEvent {
    /// Memory it uses, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<SpanEvent>() * 3 / 2 + self.name.len() + self.body.len() + self.attributes.len()
    }
}

/// Sorts events by trace, span, and time, and removes copies, as a sender makes that repeats a message, and those beyond the
/// limit of a span, which are counted.
pub fn tidy_events(events: &mut Vec<SpanEvent>, losses: &mut Losses) {
    events.sort_unstable();
    events.dedup();
    let (mut before, mut count) = (None, 0);
    events.retain(|event| {
        let span = Some((event.trace, event.span));
        count = if span == before { count + 1 } else { 1 };
        before = span;
        if count > EVENTS_PER_SPAN_MAX {
            losses.add(Loss::EventLimit, || format!("span {} of trace {}", event.span, event.trace));
        }
        count <= EVENTS_PER_SPAN_MAX
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(span: u64, ns: i64) -> SpanEvent {
        SpanEvent {
            trace: TraceId::from_value(1),
            span: SpanId::new(span).unwrap(),
            time: Timestamp::from_unix_ns(ns),
            severity: Severity::from_number(9),
            name: "".into(),
            body: "text".into(),
            attributes: "".into(),
        }
    }

    #[test]
    fn copies_and_the_latest_beyond_the_limit_are_removed() {
        let mut events: Vec<SpanEvent> =
            (0..EVENTS_PER_SPAN_MAX as i64 + 3).rev().map(|ns| event(1, ns)).collect();
        events.extend([event(2, 5), event(2, 5)]);
        let mut losses = Losses::none();
        tidy_events(&mut events, &mut losses);
        assert_eq!(events.len(), EVENTS_PER_SPAN_MAX + 1);
        assert_eq!(losses.count(Loss::EventLimit), 3);
        assert_eq!(
            (events[0].time.unix_ns(), events[127].time.unix_ns(), events[128].span.value()),
            (0, 127, 2)
        );
    }

    #[test]
    fn severities_have_the_names_of_opentelemetry() {
        let names = [0, 1, 5, 9, 12, 13, 17, 24, 25].map(|number| Severity::from_number(number).name());
        assert_eq!(names, ["", "TRACE", "DEBUG", "INFO", "INFO", "WARN", "ERROR", "FATAL", ""]);
    }
}
