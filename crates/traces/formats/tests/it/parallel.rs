//! Large inputs read by several threads against the same inputs read by one.

use crate::input::{Folder, gzip, read_paths, table, zstd};
use laggard_formats::{InputSettings, NoProgress, Progress, Source, SourceOrigin, read};
use laggard_model::{Collect, Loss};
use laggard_parallel::{CancelReason, Cancellation, SpareThreads};
use std::path::Path;

/// Reads with one thread, then with several; both must give the same, and that is returned.
fn read_both(path: &Path) -> Collect {
    let (single, outcome) = read_paths(&[path], &InputSettings::default());
    for spare in [0, 1, 5] {
        let threads = Some(SpareThreads::new(spare));
        let (several, others) = read_paths(&[path], &InputSettings { threads, ..InputSettings::default() });
        assert!(single == several, "{}: {spare} more threads give something else", path.display());
        assert_eq!(outcome, others, "{}", path.display());
    }
    single
}

/// A span table of about 7 MB: many blocks.
fn large() -> Vec<u8> {
    let mut bytes = table(100_000);
    let line = bytes.len() / 2 + bytes[bytes.len() / 2..].iter().position(|&byte| byte == b'\n').unwrap();
    bytes.splice(line..line, b"\noops\n\"quoted\nagain\",1".iter().copied());
    bytes.extend_from_slice(b"oops\n");
    bytes
}

#[test]
fn a_large_table_is_the_same_plain_compressed_cut_and_damaged() {
    let folder = Folder::new("parallel-table");
    let bytes = large();
    let found = read_both(&folder.write("plain.csv", &bytes));
    assert_eq!((found.spans.len(), found.losses.count(Loss::MalformedRecord)), (100_000, 3));
    let (_, malformed) = found.losses.iter().next().unwrap();
    assert!(malformed.example.contains("plain.csv: line 5"), "{}", malformed.example);
    for (name, packed) in [("gzip", gzip(&bytes)), ("zstd", zstd(&bytes))] {
        assert_eq!(read_both(&folder.write(name, &packed)).spans.len(), 100_000);
        let mut spoilt = packed.clone();
        spoilt[packed.len() / 2..packed.len() / 2 + 64].fill(0xA5);
        for damaged in [&packed[..packed.len() * 2 / 3], &spoilt] {
            let found = read_both(&folder.write(name, damaged));
            assert_eq!(found.losses.count(Loss::CorruptCompression), 1, "{name}");
        }
    }
    let cut = read_both(&folder.write("cut.csv", &bytes[..bytes.len() / 3]));
    assert_eq!(cut.losses.count(Loss::TruncatedInput), 1);
}

/// Lines over the limit begin in one block and end in another, or never.
#[test]
fn lines_over_the_limit_are_lost_alone() {
    let folder = Folder::new("parallel-lines");
    let (start, rest) = (table(9_000), table(9_000));
    let rest = &rest[rest.iter().position(|&byte| byte == b'\n').unwrap() + 1..];
    let long = [&b"a,"[..], &vec![b'x'; 3 << 20]].concat();
    let quoted = [&b"\"a\n"[..], &vec![b'\n'; 2 << 20], b"\","].concat();
    for (name, middle, oversized) in
        [("long", &long, 1), ("quoted", &quoted, 1), ("toggled", &b"\"a\n".repeat(1 << 19), 0)]
    {
        let bytes = [&start, middle, &b"\n"[..], rest].concat();
        let found = read_both(&folder.write(name, &bytes));
        assert!(found.spans.len() >= 9_000, "{name}: {}", found.spans.len());
        assert!(found.losses.count(Loss::OversizedRecord) >= oversized, "{name}");
        read_both(&folder.write(name, &bytes[..start.len() + middle.len()]));
    }
}

/// Also with what no one expects in the middle of a document.
#[test]
fn large_documents_of_json_are_the_same_whole_and_damaged() {
    let folder = Folder::new("parallel-json");
    for (name, document) in documents(20_000) {
        let path = folder.write(name, document.as_bytes());
        let found = read_both(&path);
        assert_eq!((found.spans.len(), found.losses.is_empty()), (20_000, true), "{name}");
        let middle = document.len() / 2;
        for damage in ["}}}\n", "\"", "\n", "\\", "{", "\u{0}", "]\n[", ",\"a\":[", "\n{\"x\":1}\n"] {
            let mut damaged = document.clone();
            damaged.insert_str(middle, damage);
            read_both(&folder.write(name, damaged.as_bytes()));
        }
        for cut in [middle, middle + 41, document.len() - 1] {
            read_both(&folder.write(name, &document.as_bytes()[..cut]));
        }
    }
}

/// Documents of `count` spans, several megabytes each.
fn documents(count: usize) -> Vec<(&'static str, String)> {
    let list = |separator: &str, item: &dyn Fn(usize) -> String| {
        (1..=count).map(item).collect::<Vec<_>>().join(separator)
    };
    let zipkin = |row: usize| {
        format!(
            r#"{{"traceId":"{:016x}","id":"{row:016x}","kind":"SERVER","name":"get /\"}},{{[x","timestamp":{row},"duration":5,"localEndpoint":{{"serviceName":"s","ipv4":"10.0.0.{}"}},"tags":{{"http.route":"/a\\"}}}}"#,
            row / 7 + 1,
            row % 9
        )
    };
    let otlp = |row: usize| {
        let spans = (1..=50).map(|span| {
            format!(
                r#"{{"traceId":"{:032x}","spanId":"{:016x}","name":"get }}]}}","kind":2,"startTimeUnixNano":"{row}","endTimeUnixNano":"{}"}}"#,
                row / 3 + 1,
                row * 50 + span,
                row + span
            )
        });
        let spans = spans.collect::<Vec<_>>().join(",");
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"s{row}"}}}}]}},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#
        )
    };
    let otlp_lines = (1..=count / 50).map(otlp).collect::<Vec<_>>().join("\n") + "\n";
    let jaeger = |row: usize| {
        let spans = (1..=40).map(|span| {
            format!(
                r#"{{"traceID":"{row:016x}","spanID":"{:016x}","operationName":"a\"}}]}}","references":[],"startTime":{row},"duration":{span},"tags":[],"logs":[],"processID":"p1"}}"#,
                row * 50 + span
            )
        });
        let spans = spans.collect::<Vec<_>>().join(",");
        format!(
            r#"{{"traceID":"{row:016x}","spans":[{spans}],"processes":{{"p1":{{"serviceName":"s{row}","tags":[]}}}},"warnings":null}}"#
        )
    };
    let jaeger = (1..=count / 40).map(jaeger).collect::<Vec<_>>().join(",");
    vec![
        ("otlp.jsonl", otlp_lines),
        ("jaeger.json", format!(r#"{{"data":[{jaeger}],"total":0,"limit":0,"offset":0,"errors":null}}"#)),
        ("zipkin.json", format!("[{}]", list(",", &zipkin))),
        ("zipkin-traces.json", format!("[[{}]]\n", list("], [", &zipkin))),
        ("zipkin-lines.json", list("\n", &zipkin) + "\n"),
    ]
}

/// The progress of a person who loses patience.
struct Impatient(Cancellation);

impl Progress for Impatient {
    fn bytes(&self, _: u64) {
        self.0.cancel(CancelReason::Unwanted);
    }
}

#[test]
fn reading_by_several_threads_is_canceled() {
    let folder = Folder::new("parallel-cancel");
    let path = folder.write("plain.csv", &large());
    let source = Source::File { path, size: None, origin: SourceOrigin::Named };
    let settings = InputSettings { threads: Some(SpareThreads::new(2)), ..InputSettings::default() };
    let cancellation = Cancellation::default();
    let mut sink = Collect::default();
    let read_once = |progress: &dyn Progress, sink: &mut Collect| {
        cancellation.run(|| read(&source, &settings, sink, progress).unwrap())
    };
    let impatient = Impatient(cancellation.clone());
    assert!(read_once(&impatient, &mut sink).is_err());
    assert!(sink.spans.len() < 50_000, "{}", sink.spans.len());
    assert!(read_once(&NoProgress, &mut sink).is_err(), "it remains canceled");
}
