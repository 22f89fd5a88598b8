//! Files that other projects measured or test with: counts against a reading by another program.
//!
//! The expected numbers were computed by a Python script that reads the files with its own `json` module. The
//! files are not part of the repository; without them the test prints a note and passes.

use crate::FORMATS;
use crate::contract::SeededRng;
use crate::format::{Format, Sniff};
use crate::sample_checks::{Open, check_contract, read};
use laggard_model::{Collect, Loss, SpanKind, Status};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Counts of a file.
#[derive(PartialEq, Eq, Debug)]
struct Counts {
    spans: usize,
    roots: usize,
    inclusive_ns: u64,
    services: usize,
    replicas: usize,
    errors: usize,
    servers: usize,
    malformed: u64,
    without_length: u64,
}

/// A file's counts, in the order of the fields.
const fn row(file: &'static str, n: [u64; 9]) -> (&'static str, Counts) {
    let [spans, roots, inclusive_ns, services, replicas, errors, servers, malformed, without_length] = n;
    let counts = Counts {
        spans: spans as usize,
        roots: roots as usize,
        inclusive_ns,
        services: services as usize,
        replicas: replicas as usize,
        errors: errors as usize,
        servers: servers as usize,
        malformed,
        without_length,
    };
    (file, counts)
}

#[rustfmt::skip]
const FILES: &[(&str, Counts)] = &[
    row("jaeger-crisp/1.json", [1, 1, 100_000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-crisp/10.json", [4, 1, 1_600_000, 4, 4, 0, 0, 0, 0]),
    row("jaeger-crisp/11.json", [2, 1, 130_000, 2, 2, 1, 0, 0, 0]),
    row("jaeger-crisp/12.json", [4, 1, 200_000, 4, 4, 0, 0, 0, 0]),
    row("jaeger-crisp/13.json", [4, 1, 200_000, 4, 4, 1, 0, 0, 0]),
    row("jaeger-crisp/14.json", [4, 1, 150_000, 4, 4, 1, 0, 0, 0]),
    row("jaeger-crisp/15.json", [7, 1, 165_000, 7, 7, 2, 0, 0, 0]),
    row("jaeger-crisp/16.json", [7, 1, 200_000, 7, 7, 1, 0, 0, 0]),
    row("jaeger-crisp/17.json", [4, 1, 180_000, 4, 4, 3, 0, 0, 0]),
    row("jaeger-crisp/18.json", [9, 1, 570_000, 9, 9, 5, 0, 0, 0]),
    row("jaeger-crisp/19.json", [4, 1, 1_200_000, 4, 4, 0, 0, 0, 0]),
    row("jaeger-crisp/2.json", [2, 1, 150_000, 2, 2, 0, 0, 0, 0]),
    row("jaeger-crisp/20.json", [4, 1, 1_200_000, 4, 4, 0, 0, 0, 0]),
    row("jaeger-crisp/21.json", [4, 1, 1_200_000, 4, 4, 0, 0, 0, 0]),
    row("jaeger-crisp/22.json", [4, 1, 450_000, 2, 2, 0, 0, 0, 0]),
    row("jaeger-crisp/23.json", [9, 1, 1_600_000, 3, 3, 0, 0, 0, 0]),
    row("jaeger-crisp/24.json", [9, 1, 1_600_000, 3, 3, 0, 0, 0, 0]),
    row("jaeger-crisp/25.json", [9, 1, 1_600_000, 3, 3, 0, 0, 0, 0]),
    row("jaeger-crisp/3.json", [2, 1, 200_000, 2, 2, 0, 0, 0, 0]),
    row("jaeger-crisp/4.json", [3, 1, 160_000, 3, 3, 0, 0, 0, 0]),
    row("jaeger-crisp/5.json", [4, 1, 160_000, 2, 2, 0, 0, 0, 0]),
    row("jaeger-crisp/6.json", [4, 1, 160_000, 4, 4, 0, 0, 0, 0]),
    row("jaeger-crisp/7.json", [3, 1, 210_000, 3, 3, 0, 0, 0, 0]),
    row("jaeger-crisp/8.json", [3, 1, 260_000, 3, 3, 0, 0, 0, 0]),
    row("jaeger-crisp/9.json", [4, 1, 210_000, 4, 4, 0, 0, 0, 0]),
    row("jaeger-crisp/err_pattern1/err1.json", [2, 1, 130_000, 2, 2, 2, 0, 0, 0]),
    row("jaeger-crisp/err_pattern1/err2.json", [2, 1, 130_000, 2, 2, 2, 0, 0, 0]),
    row("jaeger-crisp/err_pattern2/err1.json", [2, 1, 130_000, 2, 2, 1, 0, 0, 0]),
    row("jaeger-crisp/err_pattern2/err2.json", [2, 1, 130_000, 2, 2, 1, 0, 0, 0]),
    row("jaeger-crisp/err_pattern3/err1.json", [3, 1, 230_000, 3, 3, 2, 0, 0, 0]),
    row("jaeger-crisp/err_pattern3/err2.json", [3, 1, 230_000, 3, 3, 2, 0, 0, 0]),
    row("jaeger-crisp/err_pattern4/err1.json", [3, 1, 230_000, 3, 3, 1, 0, 0, 0]),
    row("jaeger-crisp/err_pattern4/err2.json", [3, 1, 230_000, 3, 3, 2, 0, 0, 0]),
    row("jaeger-otlp/default.json", [1, 1, 100_000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/dur_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/example_trace.json", [5, 5, 500_000, 3, 3, 0, 1, 0, 0]),
    row("jaeger-otlp/link_attributes_trace.json", [1, 1, 2000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/log_tags_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/max_dur_trace.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multi_index_trace.json", [2, 2, 10000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multi_spot_tags_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multiple1_trace.json", [1, 1, 100_000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multiple2_trace.json", [1, 1, 100_000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multiple3_trace.json", [1, 1, 100_000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multispottag_dur_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multispottag_maxdur_trace.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multispottag_opname_dur_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multispottag_opname_maxdur_trace.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/multispottag_opname_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/opname_dur_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/opname_maxdur_trace.json", [2, 1, 3000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/opname_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/process_tags_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/scope_attributes_trace.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/scope_name_version_trace.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/span_tags_trace.json", [1, 1, 7000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_dur_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_escaped_operator_trace_1.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_escaped_operator_trace_2.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_maxdur_trace.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_opname_dur_trace.json", [1, 1, 5000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_opname_maxdur_trace.json", [1, 1, 1000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_opname_trace.json", [1, 1, 2000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_wildcard_regex_1.json", [1, 1, 2000, 1, 1, 0, 0, 0, 0]),
    row("jaeger-otlp/tags_wildcard_regex_2.json", [1, 1, 2000, 1, 1, 0, 0, 0, 0]),
    row("zipkin/ascend.json", [8, 1, 104_367_000, 3, 3, 0, 3, 0, 0]),
    row("zipkin/envoy.json", [1, 1, 127_115_000, 1, 1, 0, 1, 0, 0]),
    row("zipkin/messaging-kafka.json", [28, 1, 763_953_000, 2, 2, 3, 0, 0, 0]),
    row("zipkin/messaging.json", [4, 1, 3_237_000, 2, 2, 0, 1, 0, 0]),
    row("zipkin/messaging2.json", [11, 1, 3_619_363_000, 4, 5, 0, 2, 0, 0]),
    row("zipkin/simple-db-p6.json", [5, 1, 263_632_000, 1, 1, 0, 1, 0, 0]),
    row("zipkin/skew.json", [4, 1, 352_527_000, 2, 2, 0, 2, 0, 0]),
    row("zipkin/smartthings-mobile-web-install.json", [957, 1, 61_405_619_000, 16, 136, 2, 326, 84, 91]),
    row("zipkin/smartthings-oauth-authorization.json", [175, 1, 7_238_090_000, 8, 41, 2, 77, 0, 19]),
    row("zipkin/yelp.json", [16, 1, 471_102_000, 6, 6, 0, 4, 0, 0]),
];

fn count(found: &Collect) -> Counts {
    let spans = &found.spans;
    let replica = |span: &laggard_model::OwnedSpan| (span.service.clone(), span.replica.clone());
    Counts {
        spans: spans.len(),
        roots: spans.iter().filter(|span| span.parent.is_none()).count(),
        inclusive_ns: spans.iter().map(|span| span.inclusive.ns()).sum(),
        services: spans.iter().map(|span| &span.service).collect::<BTreeSet<_>>().len(),
        replicas: spans.iter().map(replica).collect::<BTreeSet<_>>().len(),
        errors: spans.iter().filter(|span| span.status == Status::Error).count(),
        servers: spans.iter().filter(|span| span.kind == SpanKind::Server).count(),
        malformed: found.losses.count(Loss::MalformedRecord),
        without_length: found.losses.count(Loss::NegativeTime),
    }
}

/// The folder of measured data, if it is there.
fn data() -> Option<PathBuf> {
    laggard_testkit::data_folder("")
}

/// The constructor of the one format that an input is of.
#[track_caller]
fn sniffed(input: &[u8], expected: &str) -> Open {
    let is = |format: &&Format| format.sniff(&input[..input.len().min(4096)]) == Sniff::Yes;
    let found: Vec<_> = FORMATS.iter().filter(is).map(|format| format.name).collect();
    assert_eq!(found, [expected]);
    FORMATS.iter().find(|format| format.name == expected).unwrap().open
}

#[test]
fn files_of_other_projects_match_an_independent_reader() {
    let Some(data) = data() else { return };
    for (file, expected) in FILES {
        let input = std::fs::read(data.join("formats").join(file)).unwrap();
        let format = match file.split('/').next() {
            Some("jaeger-crisp") => "jaeger",
            Some("jaeger-otlp") => "otlp-json",
            _ => "zipkin",
        };
        let open = sniffed(&input, format);
        let found = read(open, &input);
        assert_eq!(&count(&found), expected, "{file}: {:?}", found.losses);
        let others = found
            .losses
            .iter()
            .filter(|&(loss, _)| !matches!(loss, Loss::MalformedRecord | Loss::NegativeTime));
        assert_eq!(others.count(), 0, "{file}: {:?}", found.losses);
        check_contract(open, &input);
    }
    assert_eq!(FILES.len(), LISTED);
    let listed: BTreeSet<_> = FILES.iter().map(|(file, _)| *file).collect();
    let mut present = Vec::new();
    list_json(&data.join("formats"), "", &mut present);
    assert_eq!(
        present.iter().filter(|file| !listed.contains(file.as_str())).count(),
        0,
        "every file is listed"
    );
}

const LISTED: usize = 75;

fn list_json(folder: &Path, prefix: &str, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        match path.extension() {
            _ if path.is_dir() => list_json(&path, &format!("{name}/"), out),
            Some(extension) if extension == "json" => out.push(name),
            _ => {}
        }
    }
}

/// The regular files of a tar archive (POSIX ustar: a header block of 512 bytes, then the contents, padded).
fn untar(archive: &[u8]) -> Vec<&[u8]> {
    let mut files = Vec::new();
    let mut position = 0;
    while position + 512 <= archive.len() && archive[position] != 0 {
        let size = std::str::from_utf8(&archive[position + 124..position + 135]).unwrap();
        let size = usize::from_str_radix(size.trim_matches(['\0', ' ']), 8).unwrap();
        if matches!(archive[position + 156], b'0' | 0) {
            files.push(&archive[position + 512..position + 512 + size]);
        }
        position += 512 + size.next_multiple_of(512);
    }
    files
}

#[test]
fn eight_hundred_traces_of_hotel_reservations() {
    let Some(data) = data() else { return };
    let packed = std::fs::read(data.join("jaeger-deathstar/hotel.tar.zst")).unwrap();
    let archive = zstd::stream::decode_all(packed.as_slice()).unwrap();
    let files = untar(&archive);
    assert_eq!(files.len(), 800);
    let open = sniffed(files[0], "jaeger");
    let found = read(open, &files.concat());
    let expected = row("hotel", [8800, 800, 95_078_082_000, 6, 6, 0, 4800, 0, 0]).1;
    assert_eq!(count(&found), expected);
    assert!(found.losses.is_empty(), "{:?}", found.losses);
    let traces: BTreeSet<_> = found.spans.iter().map(|span| span.trace_id).collect();
    assert_eq!(traces.len(), 800);
    let services: BTreeSet<_> = found.spans.iter().map(|span| span.service.as_str()).collect();
    let services: Vec<_> = services.into_iter().collect();
    assert_eq!(services, ["frontend", "geo", "profile", "rate", "reservation", "search"]);
    // Jaeger's clients record the sampler on the root span: here it sampled three traces in ten.
    let weights = |is_root: bool| {
        let selected = found.spans.iter().filter(move |span| span.parent.is_none() == is_root);
        let counts = selected.map(|span| span.sampling.adjusted_count.map(|count| count.get()));
        counts.collect::<Vec<_>>()
    };
    assert_eq!(weights(true), [Some(1.0 / 0.3); 800]);
    assert!(weights(false).iter().all(Option::is_none));
    let mut random = SeededRng::new(7);
    for _ in 0..5 {
        check_contract(open, files[random.below(files.len())]);
    }
}
