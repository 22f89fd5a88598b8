//! From paths to records: folders, patterns, compression, archives, and errors.

use laggard_formats::{
    InputError, InputSettings, NoProgress, Outcome, Progress, ReaderOptions, Source, SourceOrigin, expand,
    find_format, read, read_all,
};
use laggard_model::{Collect, Loss};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A temporary folder for one test, removed at the end.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("laggard-formats-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder { path }
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A span table of `count` rows.
pub(crate) fn table(count: usize) -> Vec<u8> {
    let mut text =
        "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns\n".to_owned();
    for row in 1..=count {
        text +=
            &format!("{:032x},{row:x},,shop,shop-{},GET /items,{},{}\n", row / 7, row % 3, row * 1000, row);
    }
    text.into_bytes()
}

const LOG: &[u8] = b"time_us,request_id,mid,method,flag\n1,r,r,a.b,E\n2,r,r,a.b,X\n";

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// With a checksum, as the command-line tool writes it.
pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read_path(path: &Path) -> (Collect, Result<Outcome, InputError>) {
    read_paths(&[path], &InputSettings::default())
}

pub(crate) fn read_paths(
    paths: &[&Path],
    settings: &InputSettings,
) -> (Collect, Result<Outcome, InputError>) {
    let mut sink = Collect::default();
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    let outcome = expand(&paths).and_then(|sources| read_all(&sources, settings, &mut sink, &NoProgress));
    (sink, outcome)
}

#[test]
fn every_compression_gives_the_same_records() {
    let folder = Folder::new("compression");
    let bytes = table(20_000);
    let half = bytes.len() / 2;
    let (plain, _) = read_path(&folder.write("plain.csv", &bytes));
    assert_eq!(plain.spans.len(), 20_000);
    let skippable = b"\x53\x2A\x4D\x18\x04\x00\x00\x00skip";
    let variants = [
        gzip(&bytes),
        [gzip(&bytes[..half]), gzip(&bytes[half..])].concat(),
        zstd(&bytes),
        [zstd(&bytes[..half]), skippable.to_vec(), zstd(&bytes[half..])].concat(),
        [skippable.to_vec(), zstd(&bytes)].concat(),
    ];
    for (number, variant) in variants.iter().enumerate() {
        // The first bytes decide, not the name.
        let (sink, outcome) = read_path(&folder.write(&format!("{number}.bin"), variant));
        let outcome = outcome.unwrap();
        assert_eq!(sink, plain, "variant {number}");
        assert_eq!((outcome.bytes, outcome.decompressed), (variant.len() as u64, bytes.len() as u64));
        assert_eq!(outcome.format(), Some("span-csv"));
    }
}

#[test]
fn damaged_compression_is_a_loss_after_what_came_before() {
    let folder = Folder::new("damage");
    let bytes = table(50_000);
    for (name, packed) in [("gzip", gzip(&bytes)), ("zstd", zstd(&bytes))] {
        let cut = &packed[..packed.len() / 2];
        let mut spoilt = packed.clone();
        spoilt[packed.len() / 2..packed.len() / 2 + 64].fill(0xA5);
        for damaged in [cut, &spoilt] {
            let (sink, outcome) = read_path(&folder.write(name, damaged));
            assert_eq!(outcome.unwrap().format(), Some("span-csv"));
            assert!(sink.spans.len() > 1_000 && sink.spans.len() <= 50_000, "{name}: {}", sink.spans.len());
            assert_eq!(sink.losses.count(Loss::CorruptCompression), 1, "{name}");
            let (_, found) = sink.losses.iter().find(|(loss, _)| *loss == Loss::CorruptCompression).unwrap();
            assert!(found.example.contains(&*folder.path.to_string_lossy()) && found.example.contains(name));
        }
    }
}

#[test]
fn every_cut_of_a_small_compressed_file_is_noticed() {
    let folder = Folder::new("cuts");
    let bytes = table(5);
    for packed in [gzip(&bytes), zstd(&bytes)] {
        for cut in 4..packed.len() {
            let (sink, outcome) = read_path(&folder.write("cut", &packed[..cut]));
            let is_noticed = outcome.is_err() || sink.losses.count(Loss::CorruptCompression) == 1;
            assert!(is_noticed, "cut at {cut} of {}", packed.len());
        }
    }
}

#[test]
fn folders_are_read_in_order_without_hidden_files() {
    let folder = Folder::new("folder");
    folder.write("b.csv", &table(2));
    folder.write("a/z.csv.gz", &gzip(&table(3)));
    folder.write("c/node-1.log", LOG);
    folder.write(".hidden.csv", &table(5));
    folder.write(".git/x.csv", &table(5));
    folder.write("README.md", b"# Traces\nof last night\n");
    folder.write("empty", b"");
    let names: Vec<String> =
        expand(std::slice::from_ref(&folder.path)).unwrap().iter().map(Source::name).collect();
    assert!(names.is_sorted() && names.len() == 5, "{names:?}");
    let (sink, outcome) = read_path(&folder.path);
    let outcome = outcome.unwrap();
    assert_eq!((sink.spans.len(), sink.calls.len()), (5, 2));
    assert_eq!(sink.calls[0].host, "node-1");
    assert_eq!((outcome.documents(), outcome.format(), outcome.skipped_count), (3, None, 2));
    assert!(outcome.skipped[0].name.ends_with("README.md") && outcome.skipped[0].reason.contains("# Traces"));
}

#[test]
fn patterns_and_repeated_paths_name_each_file_once() {
    let folder = Folder::new("patterns");
    let first = folder.write("x/one.csv", &table(1));
    folder.write("x/two.csv", &table(2));
    folder.write("x/deep/three.csv", &table(4));
    folder.write("x/four.txt", &table(8));
    for (pattern, spans) in [("x/*.csv", 3), ("x/**/*.csv", 7), ("x/???.csv", 3), ("x", 15), ("*", 15)] {
        let (sink, _) = read_paths(&[&folder.path.join(pattern), &first], &InputSettings::default());
        assert_eq!(sink.spans.len(), spans, "{pattern}");
    }
    assert!(matches!(expand(&[folder.path.join("*.json")]), Err(InputError::NotFound { .. })));
    assert!(matches!(expand(&[folder.path.join("x[.csv")]), Err(InputError::NotFound { .. })));
}

#[test]
fn no_path_and_a_dash_are_standard_input() {
    assert_eq!(expand(&[]).unwrap(), [Source::Stdin]);
    assert_eq!(expand(&["-".into(), "-".into()]).unwrap(), [Source::Stdin]);
}

#[test]
fn unreadable_inputs_have_a_reason_and_a_hint() {
    let folder = Folder::new("errors");
    let message = |path: &Path| read_path(path).1.unwrap_err().to_string();
    assert!(message(&folder.path.join("absent.csv")).contains("there is no such file"));
    assert!(message(&folder.path).contains("no files"));
    let poem = folder.write("poem.txt", b"Shall I compare thee\n");
    let text = message(&poem);
    for part in ["poem.txt", "Shall I compare thee", "span-csv", "call-log", "--format"] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    assert!(message(&folder.write("empty", b"")).contains("it is empty"));
    assert!(message(&folder.write("gz", &gzip(&gzip(&table(2))))).contains("gzip inside"));
    let lacking = folder.write("lacking.csv", b"trace_id,span_id\n1,1\n");
    assert!(message(&lacking).contains("parent_span_id"));
    let only_poems = Folder::new("poems");
    only_poems.write("a.txt", b"Thou art more lovely\n");
    only_poems.write("b.csv", b"trace_id,span_id\n1,1\n");
    let text = message(&only_poems.path);
    assert!(
        text.starts_with("None of 2 files") && text.contains("lovely") && text.contains("lacks"),
        "{text}"
    );
}

#[test]
fn a_forced_format_and_a_mapping_need_no_recognition() {
    let folder = Folder::new("forced");
    let foreign = folder.write("foreign.csv", b"T,I,P,S,O,B,D\n1,2,,s,o,3,4\n");
    let pairs = [
        "trace_id=T",
        "span_id=I",
        "parent_span_id=P",
        "service=S",
        "operation=O",
        "start_s=B",
        "duration_s=D",
    ];
    let columns = pairs.iter().map(|pair| laggard_formats::parse_column_option(pair).unwrap()).collect();
    let reader = ReaderOptions { columns, ..ReaderOptions::default() };
    let mapped = InputSettings { reader: reader.clone(), ..InputSettings::default() };
    let forced = InputSettings { format: find_format("span-csv"), reader, threads: None };
    for settings in [mapped, forced] {
        let (sink, outcome) = read_paths(&[&foreign], &settings);
        assert_eq!(outcome.unwrap().format(), Some("span-csv"));
        assert_eq!(sink.spans[0].inclusive.ns(), 4_000_000_000);
    }
    let wrong = InputSettings { format: find_format("call-log"), ..InputSettings::default() };
    assert!(matches!(read_paths(&[&foreign], &wrong).1, Err(InputError::Format { .. })));
}

#[test]
fn losses_name_the_file_and_progress_adds_up() {
    struct Sum(AtomicU64);
    impl Progress for Sum {
        fn bytes(&self, compressed_bytes: u64) {
            self.0.fetch_add(compressed_bytes, Ordering::Relaxed);
        }
    }
    let folder = Folder::new("losses");
    let mut bytes = table(30_000);
    bytes.extend_from_slice(b"oops\n");
    let path = folder.write("spans.csv", &bytes);
    let source = Source::File { path: path.clone(), size: None, origin: SourceOrigin::Named };
    let (mut sink, sum) = (Collect::default(), Sum(AtomicU64::new(0)));
    read(&source, &InputSettings::default(), &mut sink, &sum).unwrap();
    assert_eq!(sum.0.into_inner(), bytes.len() as u64);
    let (_, found) = sink.losses.iter().next().unwrap();
    assert_eq!(found.example, format!("{}: line 30002: fewer fields than columns", path.display()));
}

/// One member of a tar archive, written by hand after the ustar description.
fn member(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 512];
    block[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    block[156] = kind;
    block[257..263].copy_from_slice(b"ustar\0");
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [&block[..], content, &padding].concat()
}

fn archive() -> Vec<u8> {
    let long = format!("deep/{}/node-9.log", "n".repeat(120));
    let pax = format!("{} path={long}\n", long.len() + 10);
    [
        member("traces/", b'5', b""),
        member("traces/a.csv", b'0', &table(400)),
        member("traces/._a.csv", b'0', b"\0\x05\x16\x07junk"),
        member("traces/b.csv.gz", b'0', &gzip(&table(3))),
        member("notes.txt", b'0', b"nothing to see\n"),
        member("pax", b'x', pax.as_bytes()),
        member("short", b'0', LOG),
        member("././@LongLink", b'L', format!("{long}\0").as_bytes()),
        member("short", b'0', LOG),
        vec![0; 1024],
    ]
    .concat()
}

#[test]
fn members_of_archives_are_inputs() {
    let folder = Folder::new("tar");
    for packed in [archive(), gzip(&archive()), zstd(&archive())] {
        let (sink, outcome) = read_path(&folder.write("traces.tar", &packed));
        let outcome = outcome.unwrap();
        assert_eq!((sink.spans.len(), sink.calls.len()), (403, 4));
        assert!(sink.calls.iter().all(|call| call.host == "node-9"));
        assert_eq!((outcome.documents(), outcome.skipped_count), (4, 1));
        assert!(outcome.skipped[0].name.ends_with("traces.tar:notes.txt"), "{:?}", outcome.skipped);
        assert!(sink.losses.is_empty(), "{:?}", sink.losses);
    }
}

#[test]
fn archives_may_be_cut_anywhere() {
    let folder = Folder::new("tar-cut");
    let whole = archive();
    let mut fewest = 0;
    for cut in (512..whole.len() - 1024).step_by(97) {
        let (sink, outcome) = read_path(&folder.write("cut.tar", &whole[..cut]));
        let lost = sink.losses.count(Loss::CorruptCompression);
        assert!(outcome.is_ok() || sink.spans.is_empty());
        assert!(lost <= 1, "cut at {cut}: {lost} losses for one cut");
        assert!(lost == 1 || cut % 512 == 0 || outcome.is_err(), "cut at {cut} went unnoticed");
        assert!(sink.spans.len() >= fewest, "cut at {cut}");
        fewest = sink.spans.len().min(400);
    }
}
