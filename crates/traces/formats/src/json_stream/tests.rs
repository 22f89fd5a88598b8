//! The scanner alone, with a visitor that records its calls.

use super::*;
use laggard_model::Collect;
use std::fmt::Write;

/// Descends into containers under `d` and into arrays, captures what is under `c`, skips the rest.
#[derive(Default)]
struct Recorder {
    log: String,
}

impl Visitor<u8> for Recorder {
    const TOP: u8 = 0;

    fn enter(&mut self, level: u8, key: &[u8], shape: Shape, _: &mut dyn Sink) -> ValueAction<u8> {
        match (key, shape) {
            (b"d", _) | (b"", Shape::Array) => ValueAction::Descend(level + 1),
            (b"", Shape::Object) if level == 0 => ValueAction::Descend(1),
            (b"c", _) | (b"", _) => ValueAction::Capture(level),
            _ => ValueAction::Skip,
        }
    }

    fn captured(&mut self, level: u8, value: &[u8], _: &mut dyn Sink) {
        write!(self.log, "{level}={} ", String::from_utf8_lossy(value)).unwrap();
    }

    fn leave(&mut self, level: u8, _: &mut dyn Sink) {
        write!(self.log, "/{level} ").unwrap();
    }

    fn abandon(&mut self, cause: Loss, _: &mut dyn Sink) {
        write!(self.log, "!{} ", cause.name()).unwrap();
    }
}

fn scan(input: &[u8], chunk: usize) -> (String, Collect) {
    let mut recorder = Recorder::default();
    let mut sink = Collect::default();
    let mut scanner = Scanner::new();
    for part in input.chunks(chunk) {
        scanner.push(part, &mut recorder, &mut sink);
    }
    scanner.finish(&mut recorder, &mut sink);
    (recorder.log.trim_end().to_owned(), sink)
}

/// Scans in chunks of every size and checks that they agree; returns the log and the losses by name.
#[track_caller]
fn check(input: &str, log: &str, losses: &[(Loss, u64)]) {
    for chunk in 1..=input.len().max(1) {
        let (found, sink) = scan(input.as_bytes(), chunk);
        assert_eq!(found, log, "in chunks of {chunk}");
        let counts: Vec<_> = sink.losses.iter().map(|(loss, found)| (loss, found.count)).collect();
        assert_eq!(counts, losses, "in chunks of {chunk}");
    }
}

#[test]
fn values_are_complete_for_any_split_into_chunks() {
    let input = r#"{"c":{"a":[1,"}\"]",{}]},"x":[{"c":1}],"d":{"c": -1.5e3 ,"c":"t\\"},"c":null}"#;
    check(input, r#"1={"a":[1,"}\"]",{}]} 2=-1.5e3 2="t\\" /2 1=null /1"#, &[]);
}

#[test]
fn documents_follow_each_other() {
    check("\u{feff}[1]\n{\"c\":2}{\"c\":3} [[4]]\r\n\u{1e}[]", "1=1 /1 1=2 /1 1=3 /1 2=4 /2 /1 /1", &[]);
}

#[test]
fn damage_loses_only_its_line() {
    let malformed = |count| (Loss::MalformedRecord, count);
    check("{\"c\":1}\n{\"c\":2,}\n{\"c\":3}", "1=1 /1 1=2 !malformed_record 1=3 /1", &[malformed(1)]);
    check("no\n\n{\"c\":1}\nmore\nwords\n[2]", "1=1 /1 1=2 /1", &[malformed(3)]);
    // Lines cut off in a string, in a captured value, in a name, after a value.
    for cut in ["{\"c\":\"ab", "{\"c\":[1", "{\"c", "{\"x\":{\"y\":1"] {
        check(&format!("{cut}\n{{\"c\":2}}\n"), "!malformed_record 1=2 /1", &[malformed(1)]);
    }
    check("{\"c\":1\n{\"c\":2}\n", "1=1 !malformed_record 1=2 /1", &[malformed(1)]);
}

#[test]
fn the_rest_of_an_indented_document_is_not_read_as_documents() {
    let input = "{\n  \"d\": [\n    {\"c\":1},;\n    {\"c\":2}\n  ]\n}\n{\"c\":3}";
    check(input, "2={\"c\":1} !malformed_record 1=3 /1", &[(Loss::MalformedRecord, 1)]);
}

#[test]
fn brackets_must_match() {
    check("{\"d\":[1}}\n[2]", "2=1 !malformed_record 1=2 /1", &[(Loss::MalformedRecord, 1)]);
    check("]\n[2]", "1=2 /1", &[(Loss::MalformedRecord, 1)]);
    check("5 6\n[2]", "1=2 /1", &[(Loss::MalformedRecord, 1)]);
}

#[test]
fn truncation_is_noticed_except_between_documents() {
    let input = "{\"c\":[1,\"x\"],\"d\":[2]} ";
    for cut in 0..=input.len() {
        let (_, sink) = scan(&input.as_bytes()[..cut], 3);
        let expected = u64::from(cut != 0 && cut < input.len() - 1);
        assert_eq!(sink.losses.count(Loss::TruncatedInput), expected, "cut at {cut}");
    }
}

#[test]
fn names_with_escapes_and_endless_names_are_unknown() {
    let long = "c".repeat(200);
    check(&format!("{{\"\\u0063\":1,\"{long}\":2,\"c\\\\\":3,\"c\":4}}"), "1=4 /1", &[]);
}

#[test]
fn oversized_values_are_skipped_and_counted_once() {
    let big = "x".repeat(CAPTURE_BYTES_MAX);
    let input = format!("{{\"c\":\"{big}\",\"c\":1}}\n{{\"c\":\"{}\"}}", &big[2..]);
    for chunk in [input.len(), 1 << 16] {
        let (log, sink) = scan(input.as_bytes(), chunk);
        assert!(log.starts_with("1=1 /1 1=\"xxx"), "{}", &log[..20]);
        assert_eq!(log.len(), "1=1 /1 1= /1".len() + CAPTURE_BYTES_MAX);
        assert_eq!(sink.losses.count(Loss::OversizedRecord), 1);
    }
}

#[test]
fn nesting_depth_is_bounded() {
    let open = "[".repeat(100_000);
    let (_, sink) = scan(open.as_bytes(), 4096);
    assert_eq!(sink.losses.count(Loss::TruncatedInput), 1);
    let (log, sink) = scan(format!("{open}{}[5]", "]".repeat(100_000)).as_bytes(), 4096);
    assert!(log.ends_with("/1 1=5 /1"), "{log}");
    assert_eq!(sink.losses.count(Loss::MalformedRecord), 1);
}
