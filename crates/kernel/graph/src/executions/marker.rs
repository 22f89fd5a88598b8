//! Parses the usual formats of trace markers.

use super::execution::TraceContext;
use super::marks::MarkPhase;
use super::traceparent;

/// A parsed marker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MarkerText {
    pub(crate) phase: MarkPhase,
    /// If empty, the marker ends the last beginning on its thread.
    pub(crate) name: String,
    pub(crate) key: Option<String>,
    /// Further words of a beginning, blank-separated.
    pub(crate) further: String,
    pub(crate) context: Option<TraceContext>,
}

const BEGINNINGS: &[&str] = &["begin", "start", "enter"];
const ENDS: &[&str] = &["end", "stop", "finish", "done", "exit"];
/// Fields whose value distinguishes executions of one name.
const KEYS: &[&str] = &["id", "key", "cookie", "request", "request_id", "req", "req_id", "span_id", "seq"];
/// Separators between a name and `begin` in one word.
const JOINTS: &[char] = &['_', '-', ':', '.', '/'];

/// Parses a marker; `None` if it neither begins nor ends an execution.
pub(crate) fn parse(text: &str) -> Option<MarkerText> {
    let text = text.trim();
    if text == "E" || text.as_bytes().get(1) == Some(&b'|') {
        return android(text);
    }
    words(text)
}

/// Android's `B|PID|NAME` and `E|PID` (nested on a thread), `S|PID|NAME|COOKIE` and `F|…` (overlapping),
/// `G|PID|TRACK|NAME|COOKIE` and `H|PID|TRACK|COOKIE` (on a track).
fn android(text: &str) -> Option<MarkerText> {
    let (symbol, rest) = text.split_once('|').unwrap_or((text, ""));
    let (pid, rest) = rest.split_once('|').unwrap_or((rest, ""));
    let plain = |phase, name: &str, key, further: &str| {
        Some(MarkerText { phase, name: name.to_owned(), key, further: further.to_owned(), context: None })
    };
    match symbol {
        "B" if !rest.is_empty() => plain(MarkPhase::Begin, rest, None, ""),
        "E" => plain(MarkPhase::End, "", None, ""),
        "S" | "F" => {
            let phase = if symbol == "S" { MarkPhase::Begin } else { MarkPhase::End };
            let (name, cookie) = rest.rsplit_once('|')?;
            plain(phase, name, Some(format!("{pid}:{cookie}")), "")
        }
        "G" | "H" => {
            let phase = if symbol == "G" { MarkPhase::Begin } else { MarkPhase::End };
            let (track, rest) = rest.split_once('|')?;
            let (name, cookie) = rest.rsplit_once('|').unwrap_or(("", rest));
            plain(phase, track, Some(format!("{pid}:{cookie}")), name)
        }
        _ => None,
    }
}

/// Parses words of which one contains `begin` or `end`: the first without `=`, the second, or the last.
fn words(text: &str) -> Option<MarkerText> {
    let mut bare = Vec::new();
    let (mut key, mut context, mut further) = (None, None, Vec::new());
    for word in text.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()) {
        if let Some(found) = traceparent::parse(word.strip_prefix("traceparent=").unwrap_or(word)) {
            context = Some(found);
            continue;
        }
        match word.split_once('=') {
            Some((field, value)) if is_one_of(KEYS, field) && key.is_none() => key = Some(value.to_owned()),
            Some((field, _)) if !field.is_empty() => further.push(word),
            _ => bare.push(word),
        }
    }
    let (index, phase, stem) = phase_word(&bare)?;
    match stem {
        "" => drop(bare.remove(index)),
        stem => bare[index] = stem,
    }
    let names_first = if stem.is_empty() { 0 } else { index };
    let name = if bare.is_empty() { String::new() } else { bare.remove(names_first).to_owned() };
    let key = key.or_else(|| (!bare.is_empty()).then(|| bare.join(" ")));
    let key = key.or_else(|| {
        context.map(|TraceContext { trace, span }| format!("{:032x}-{:016x}", trace.value(), span.value()))
    });
    Some(MarkerText { phase, name, key, further: further.join(" "), context })
}

/// The position of the word that contains `begin` or `end`, its phase, and the rest of the word (`exec` of
/// `exec_begin`).
fn phase_word<'a>(bare: &[&'a str]) -> Option<(usize, MarkPhase, &'a str)> {
    let candidates = [Some(0), Some(1), bare.len().checked_sub(1)];
    candidates.into_iter().flatten().find_map(|index| {
        let word = bare.get(index)?;
        let (phase, stem) = phase_of(word)?;
        Some((index, phase, stem))
    })
}

/// The phase that a word states (`begin` or `end`), and the rest of the word.
pub(crate) fn phase_of(word: &str) -> Option<(MarkPhase, &str)> {
    let word = word.trim_end_matches(':');
    let phase_of_part = |part: &str| {
        if is_one_of(BEGINNINGS, part) {
            return Some(MarkPhase::Begin);
        }
        is_one_of(ENDS, part).then_some(MarkPhase::End)
    };
    if let Some(phase) = phase_of_part(word) {
        return Some((phase, ""));
    }
    let suffix = word.rsplit_once(JOINTS).and_then(|(stem, last)| Some((phase_of_part(last)?, stem)));
    suffix.or_else(|| word.split_once(JOINTS).and_then(|(first, stem)| Some((phase_of_part(first)?, stem))))
}

fn is_one_of(list: &[&str], word: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (MarkPhase, String, Option<String>, String) {
        let marker = parse(text).unwrap_or_else(|| panic!("{text} is no marker"));
        (marker.phase, marker.name, marker.key, marker.further)
    }

    fn marker_text(
        phase: MarkPhase,
        name: &str,
        key: Option<&str>,
        further: &str,
    ) -> (MarkPhase, String, Option<String>, String) {
        (phase, name.to_owned(), key.map(str::to_owned), further.to_owned())
    }

    #[test]
    fn words_in_every_order() {
        use MarkPhase::{Begin, End};
        for (text, phase, name, key, further) in [
            ("checkout begin", Begin, "checkout", None, ""),
            ("checkout end", End, "checkout", None, ""),
            ("begin checkout 17", Begin, "checkout", Some("17"), ""),
            ("END checkout 17", End, "checkout", Some("17"), ""),
            ("checkout 17 end", End, "checkout", Some("17"), ""),
            ("checkout start 17", Begin, "checkout", Some("17"), ""),
            ("exec_begin id=0 type=poll ver=v1", Begin, "exec", Some("0"), "type=poll ver=v1"),
            ("exec_end id=0", End, "exec", Some("0"), ""),
            ("begin:order,7", Begin, "order", Some("7"), ""),
            ("http.request.start", Begin, "http.request", None, ""),
            ("end", End, "", None, ""),
        ] {
            assert_eq!(parsed(text), marker_text(phase, name, key, further), "{text}");
        }
    }

    #[test]
    fn android_formats() {
        use MarkPhase::{Begin, End};
        for (text, phase, name, key, further) in [
            ("B|812|draw frame", Begin, "draw frame", None, ""),
            ("B|812|a|b", Begin, "a|b", None, ""),
            ("E|812", End, "", None, ""),
            ("E", End, "", None, ""),
            ("S|812|load|77", Begin, "load", Some("812:77"), ""),
            ("F|812|load|77", End, "load", Some("812:77"), ""),
            ("G|812|net|GET /|9", Begin, "net", Some("812:9"), "GET /"),
            ("H|812|net|9", End, "net", Some("812:9"), ""),
        ] {
            assert_eq!(parsed(text), marker_text(phase, name, key, further), "{text}");
        }
    }

    #[test]
    fn trace_contexts_are_keys_when_there_is_no_other() {
        let context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let marker = parse(&format!("traceparent {context} begin")).unwrap();
        assert_eq!(marker.name, "traceparent");
        assert_eq!(marker.key.as_deref(), Some("0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"));
        assert!(marker.context.is_some());
        let marker = parse(&format!("begin checkout 5 traceparent={context}")).unwrap();
        assert_eq!((marker.name.as_str(), marker.key.as_deref()), ("checkout", Some("5")));
        assert!(marker.context.is_some());
    }

    #[test]
    fn other_texts_are_not_markers() {
        for text in
            ["", "C|812|queue|4", "I|812|vsync", "frame 17 of 20", "the beginning", "B|812|", "bender"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
