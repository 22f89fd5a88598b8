//! Why the columns of times are encoded as they are: size and speed of several ways to write ten million of them.
//! `cargo run --release -p laggard-experiments --example encodings_speed`

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

const ROWS: u64 = 10_000_000;

fn main() {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a level"));
    let encodings = [
        ("plain", Encoding::PLAIN, Compression::UNCOMPRESSED),
        ("plain, zstd", Encoding::PLAIN, zstd),
        ("delta", Encoding::DELTA_BINARY_PACKED, Compression::UNCOMPRESSED),
        ("delta, zstd", Encoding::DELTA_BINARY_PACKED, zstd),
        ("split, zstd", Encoding::BYTE_STREAM_SPLIT, zstd),
    ];
    for (what, values) in [("log-uniform times", times()), ("half zeros", half_zeros())] {
        for (name, encoding, compression) in encodings {
            measure(&format!("{what}: {name}"), &values, encoding, compression);
        }
    }
}

/// Times from a microsecond to a minute, in nanoseconds.
fn times() -> Vec<u64> {
    let mut state = 7_u64;
    (0..ROWS)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = 10 + (state >> 33) % 16;
            (1 << bits) + (state >> 20) % (1 << bits)
        })
        .collect()
}

/// Times on critical paths: what is not on one is 0.
fn half_zeros() -> Vec<u64> {
    times().into_iter().map(|ns| if ns % 2 == 0 { 0 } else { ns }).collect()
}

fn measure(name: &str, values: &[u64], encoding: Encoding, compression: Compression) {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(encoding)
        .set_compression(compression)
        .build();
    let schema = Arc::new(Schema::new(vec![Field::new("ns", DataType::UInt64, false)]));
    let start = Instant::now();
    let mut writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties))
        .expect("the properties fit the schema");
    for values in values.chunks(1 << 16) {
        let column: ArrayRef = Arc::new(UInt64Array::from(values.to_vec()));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).expect("one column");
        writer.write(&batch).expect("writing to memory does not fail");
    }
    let file = Bytes::from(writer.into_inner().expect("writing to memory does not fail"));
    let (written, start) = (start.elapsed(), Instant::now());
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).expect("it was just written");
    let reader = reader.with_batch_size(1 << 16).build().expect("it was just written");
    let rows: usize = reader.map(|batch| batch.expect("it was just written").num_rows()).sum();
    let _ = writeln!(
        std::io::stdout(),
        "{name:<32} {:5.2} bytes/value, written in {written:8.1?}, {rows} read in {:8.1?}",
        file.len() as f64 / rows as f64,
        start.elapsed()
    );
}
