//! Length-prefixed files.

use super::*;
use crate::sample_checks::{check_contract, losses, read};

// Written by Google's protobuf library for Python and by python-zstandard, framed as the exporter does it: two
// requests of eight spans, in `FRAMES` with an empty one between them.
const FRAMES: &[u8] = include_bytes!("../../tests/samples/otlp/frames.binpb");
const FRAMES_ZSTD: &[u8] = include_bytes!("../../tests/samples/otlp/frames-zstd.binpb");
const FRAMES_ZSTD_JSON: &[u8] = include_bytes!("../../tests/samples/otlp/frames-zstd.json.bin");
const REQUEST: &[u8] = include_bytes!("../../tests/samples/otlp/request.binpb");
const STREAM: &[u8] = include_bytes!("../../tests/samples/otlp/stream.jsonl");

fn frame(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

#[test]
fn all_encodings_of_a_message_are_equal() {
    let plain = read(open_protobuf, FRAMES);
    assert_eq!((plain.spans.len(), losses(&plain)), (16, vec![]));
    assert_eq!(read(open_protobuf, FRAMES_ZSTD), plain);
    assert_eq!(read(open_protobuf, FRAMES_ZSTD_JSON), plain);
    assert_eq!(read(open_json, FRAMES_ZSTD_JSON), plain);
}

#[test]
fn the_samples_satisfy_the_contract() {
    for input in [FRAMES, FRAMES_ZSTD, FRAMES_ZSTD_JSON, &frame(&STREAM[..STREAM.len() - 1])] {
        check_contract(open_protobuf, input);
    }
}

#[test]
fn truncation_is_counted_unless_between_messages() {
    let first = 4 + u32::from_be_bytes(*FRAMES_ZSTD.first_chunk().unwrap()) as usize;
    for cut in 0..FRAMES_ZSTD.len() {
        let found = read(open_protobuf, &FRAMES_ZSTD[..cut]);
        assert_eq!(found.spans.len(), if cut < first { 0 } else { 8 });
        let expected = u64::from(cut != 0 && cut != first);
        assert_eq!(found.losses.count(Loss::TruncatedInput), expected, "cut at {cut}");
    }
}

#[test]
fn a_damaged_message_loses_only_itself() {
    let first = 4 + u32::from_be_bytes(*FRAMES_ZSTD.first_chunk().unwrap()) as usize;
    let mut damaged = FRAMES_ZSTD.to_vec();
    damaged[first / 2..first].fill(0xFF);
    let found = read(open_protobuf, &damaged);
    assert_eq!((found.spans.len(), losses(&found)), (8, vec![(Loss::CorruptCompression, 1)]));
    let cut = frame(&FRAMES_ZSTD[4..first / 2]);
    let found = read(open_protobuf, &[&cut, FRAMES].concat());
    assert_eq!((found.spans.len(), losses(&found)), (16, vec![(Loss::CorruptCompression, 1)]));
    let found = read(open_protobuf, &[FRAMES, &frame(b"what?"), FRAMES].concat());
    assert_eq!((found.spans.len(), losses(&found)), (16, vec![(Loss::MalformedRecord, 1)]));
}

#[test]
fn overlong_contents_do_not_affect_the_next_message() {
    // The last of four resources is longer than what is left.
    let cut = frame(&REQUEST[..REQUEST.len() - 5]);
    let found = read(open_protobuf, &[&cut, FRAMES].concat());
    assert_eq!(found.spans.len(), 18 + 16);
    assert_eq!(found.losses.count(Loss::MalformedRecord) + found.losses.count(Loss::TruncatedInput), 1);
}

#[test]
fn decompression_is_limited() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    std::io::Write::write_all(&mut encoder, b"{\"x\":").unwrap();
    let chunk = vec![b' '; 1 << 20];
    for _ in 0..=UNPACKED_BYTES_MAX >> 20 {
        std::io::Write::write_all(&mut encoder, &chunk).unwrap();
    }
    let bomb = frame(&encoder.finish().unwrap());
    let found = read(open_protobuf, &[&bomb, FRAMES].concat());
    assert_eq!(found.spans.len(), 16);
    assert_eq!(found.losses.count(Loss::OversizedRecord), 1);
}

#[test]
fn frames_are_recognized_among_binary_files() {
    for input in [FRAMES, FRAMES_ZSTD, FRAMES_ZSTD_JSON, REQUEST] {
        assert_eq!(sniff(input), Sniff::Yes);
        for cut in 0..input.len().min(200) {
            assert_ne!(sniff(&input[..cut]), Sniff::No, "{cut}");
        }
    }
    for input in
        [&b"PAR1\x15\x04"[..], b"\0\0\0\x18ftypmp42", b"trace_id,span_id", b"\x1F\x8B\x08\0\0\0\0", STREAM]
    {
        assert_ne!(sniff(input), Sniff::Yes, "{input:?}");
    }
}
