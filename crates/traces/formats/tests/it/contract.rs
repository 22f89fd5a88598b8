//! The contract's own tests: broken readers must be caught. And a small run of hostile inputs.

use crate::samples;
use laggard_formats::contract::{
    HostileCases, check_all, check_blocks, check_hostile, check_splits, check_truncations,
};
use laggard_formats::{FORMATS, Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Sniff};
use laggard_model::{
    Loss, Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord, Status,
    Timestamp, TraceId,
};
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

/// How a toy reader of lines misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    LosesLinesAcrossChunks,
    DropsTheCutLine,
    InventsARecord,
    Panics,
}

struct Lines {
    fault: Fault,
    pending: Vec<u8>,
}

fn span(sink: &mut dyn Sink, text: &str) {
    sink.span(&SpanRecord {
        trace_id: TraceId::from_value(1),
        trace_text: None,
        span_id: SpanId::parse_text(text).unwrap_or(SpanId::ZERO_TEXT),
        parent: None,
        service: "lines",
        replica: "",
        replica_source: ReplicaSource::Unknown,
        operation: text,
        kind: SpanKind::Unspecified,
        status: Status::Unset,
        start: Timestamp::default(),
        inclusive: Nanos::ZERO,
        sampling: Sampling::default(),
        attributes: SpanAttributes::default(),
    });
}

impl Reader for Lines {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        for &byte in chunk {
            if byte != b'\n' {
                self.pending.push(byte);
                continue;
            }
            let line = String::from_utf8_lossy(&self.pending).into_owned();
            span(sink, &line);
            self.pending.clear();
        }
        if self.fault == Fault::LosesLinesAcrossChunks {
            self.pending.clear();
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError> {
        match self.fault {
            Fault::InventsARecord => span(sink, "surprise"),
            Fault::Panics => assert!(self.pending.is_empty(), "a bug"),
            _ => {}
        }
        if !self.pending.is_empty() && self.fault != Fault::DropsTheCutLine {
            sink.lose(Loss::TruncatedInput, &String::new);
        }
        Ok(())
    }
}

fn lines(fault: Fault) -> Format {
    fn open<const FAULT: u8>(_: &ReaderOptions) -> Box<dyn Reader> {
        const FAULTS: [Fault; 5] = [
            Fault::None,
            Fault::LosesLinesAcrossChunks,
            Fault::DropsTheCutLine,
            Fault::InventsARecord,
            Fault::Panics,
        ];
        Box::new(Lines { fault: FAULTS[usize::from(FAULT)], pending: Vec::new() })
    }
    let open = match fault {
        Fault::None => open::<0>,
        Fault::LosesLinesAcrossChunks => open::<1>,
        Fault::DropsTheCutLine => open::<2>,
        Fault::InventsARecord => open::<3>,
        Fault::Panics => open::<4>,
    };
    Format {
        name: "lines",
        title: "",
        manual: "",
        fills: GroundTable::Spans,
        recognizer: Recognizer::Start(|_| Sniff::No),
        open,
    }
}

const TEXT: &[u8] = b"one\ntwo\nthree\n";

fn obeys_contract(fault: Fault, bytes: &[u8]) -> bool {
    let format = lines(fault);
    let options = ReaderOptions::default();
    let check = || {
        check_splits(&format, &options, bytes, &[1]);
        check_truncations(&format, &options, bytes);
        check_hostile(&format, &options, bytes);
    };
    catch_unwind(std::panic::AssertUnwindSafe(check)).is_ok()
}

#[test]
fn broken_readers_are_caught() {
    assert!(obeys_contract(Fault::None, TEXT));
    assert!(!obeys_contract(Fault::LosesLinesAcrossChunks, TEXT));
    assert!(!obeys_contract(Fault::DropsTheCutLine, TEXT));
    assert!(!obeys_contract(Fault::InventsARecord, TEXT));
    assert!(!obeys_contract(Fault::Panics, TEXT));
}

/// Every file of the samples folder, in any format.
fn all_samples(folder: &Path, samples: &mut Vec<Vec<u8>>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            all_samples(&path, samples);
        } else if path.extension().is_none_or(|ending| ending != "expected") {
            samples.push(fs::read(path).unwrap());
        }
    }
}

/// About a megabyte for every format; the `hostile` example runs any amount.
#[test]
fn no_format_panics_on_hostile_inputs() {
    let mut samples = Vec::new();
    all_samples(&samples::folder(), &mut samples);
    for sample in &mut samples {
        sample.truncate(8 << 10);
    }
    for format in FORMATS {
        let mut bytes = 0;
        for case in HostileCases::new(format, samples.clone(), 1, 24 << 10) {
            check_hostile(format, &ReaderOptions::default(), &case.bytes);
            bytes += case.bytes.len();
            if case.bytes.len() < 2_000 {
                check_all(format, &case.bytes);
                check_blocks(format, &ReaderOptions::default(), &case.bytes);
            }
            if bytes > 1_500_000 {
                break;
            }
        }
    }
}
