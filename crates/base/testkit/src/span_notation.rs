//! A notation for traces, one span a line.

use laggard_model::{
    AdjustedCount, Names, Nanos, OperationKey, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId,
};

/// Rows written as text, with the names behind their handles.
#[derive(Clone, Debug, Default)]
pub struct ParsedSpans {
    /// Rows in the order of the lines.
    pub rows: Vec<SpanRow>,
    /// Their names.
    pub names: Names,
}

/// Reads lines of `ID PARENT OPERATION@REPLICA FROM..TO [KIND] [xWEIGHT]`, times in nanoseconds, `-` for no
/// parent, ids as text; empty lines and lines that start with `#` are skipped. All spans are of trace 1, or
/// of trace n after a line `trace n`.
///
/// ```
/// let spans = laggard_testkit::parse_spans("
///     a - list@h1 0..100
///     b a read@h1 10..30 client
/// ");
/// assert_eq!(spans.rows.len(), 2);
/// ```
///
/// # Panics
/// When a line is not of this form.
pub fn parse_spans(text: &str) -> ParsedSpans {
    let mut out = ParsedSpans::default();
    let mut trace = TraceId::from_value(1);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(number) = line.strip_prefix("trace ") {
            trace = TraceId::from_value(number.parse().expect("`trace` is followed by a number"));
            continue;
        }
        let row = row(line, trace, &mut out.names);
        out.rows.push(row);
    }
    out
}

/// `x10`: an adjusted count.
fn weight(word: &str) -> Option<AdjustedCount> {
    AdjustedCount::new(word.strip_prefix('x')?.parse().ok()?)
}

fn row(line: &str, trace: TraceId, names: &mut Names) -> SpanRow {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [id, parent, place, times, rest @ ..] = &words[..] else { panic!("not a span: {line}") };
    let (operation, replica) = place.split_once('@').expect("OPERATION@REPLICA");
    let (from, to) = times.split_once("..").expect("FROM..TO");
    let (from, to): (i64, i64) =
        (from.parse().expect("FROM is a number"), to.parse().expect("TO is a number"));
    let kind = rest.iter().find(|word| weight(word).is_none());
    let kind = kind.map_or(SpanKind::Unspecified, |kind| SpanKind::parse(kind).expect("a span kind"));
    SpanRow {
        trace,
        span: SpanId::parse_text(id).expect("an id is not empty"),
        parent: (*parent != "-").then(|| SpanId::parse_text(parent).expect("an id is not empty")),
        start: Timestamp::from_unix_ns(from),
        inclusive: Nanos::from_ns((to - from) as u64),
        operation: names.operation(OperationKey { service: "s", operation, kind: SpanKind::Unspecified }),
        replica: names.replica(replica),
        kind,
        status: Status::Unset,
        incomplete: false,
        adjusted_count: rest.iter().find_map(|word| weight(word)),
    }
}
