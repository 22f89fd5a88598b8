//! Parquet files as rows of columns: what the files of every kind have in common.

use super::error::SegmentError;
use super::manifest::{FORMAT, FileEntry};
use crate::steps::step;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::{
    BloomFilterPosition, EnabledStatistics, WriterProperties, WriterPropertiesBuilder,
};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnPath;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are encoded and decoded at a time.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Key of the stored version in every file's metadata.
const FORMAT_KEY: &str = "laggard.format";

/// Key of the CRC-32C of every row group's bytes.
const CHECKSUMS_KEY: &str = "laggard.crc32c";

/// A file in memory and its manifest entry.
#[derive(Clone, Debug)]
pub(crate) struct EncodedFile {
    pub(crate) bytes: Bytes,
    pub(crate) entry: FileEntry,
}

/// A column of the files of a kind.
pub(crate) struct Column {
    field: Field,
    encoding: ColumnEncoding,
    read: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnEncoding {
    Plain,
    /// For few distinct values.
    Dictionary,
    /// For times and counters: packed differences take half the bytes of plain numbers, and half the time.
    Delta,
}

impl Column {
    /// A column of any values, encoded plainly.
    pub(crate) fn plain(name: &str, data: DataType) -> Column {
        Column { field: Field::new(name, data, false), encoding: ColumnEncoding::Plain, read: true }
    }

    /// A column of trace ids: 16 bytes, most significant first.
    pub(crate) fn trace() -> Column {
        Column::plain("trace", DataType::FixedSizeBinary(16))
    }

    /// A column of few distinct texts.
    pub(crate) fn text(name: &str) -> Column {
        let data = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        Column::plain(name, data).dictionary()
    }

    /// A column of times or counters.
    pub(crate) fn number(name: &str, data: DataType) -> Column {
        Column { encoding: ColumnEncoding::Delta, ..Column::plain(name, data) }
    }

    pub(crate) fn dictionary(self) -> Column {
        Column { encoding: ColumnEncoding::Dictionary, ..self }
    }

    /// Values may be absent.
    pub(crate) fn optional(self) -> Column {
        Column { field: self.field.with_nullable(true), ..self }
    }

    /// Follows from other columns: it is written for other programs and not read.
    pub(crate) fn derived(self) -> Column {
        Column { read: false, ..self }
    }

    fn add_encoding(&self, properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
        let path = ColumnPath::from(self.field.name().as_str());
        match self.encoding {
            ColumnEncoding::Plain => properties,
            ColumnEncoding::Dictionary => properties.set_column_dictionary_enabled(path, true),
            ColumnEncoding::Delta => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        }
    }
}

/// The name that a column had in format 1, where it was another.
pub(crate) fn name_in_format_1(name: &str) -> &str {
    if name == "structure" { "form" } else { name }
}

/// Parquet properties of every file; callers add those of their own columns.
pub(crate) fn properties(rows_per_group: usize) -> WriterPropertiesBuilder {
    let level = ZstdLevel::try_new(1).expect("1 is a level of zstd");
    WriterProperties::builder()
        .set_created_by(concat!("laggard ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(rows_per_group))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_bloom_filter_position(BloomFilterPosition::End)
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(vec![KeyValue::new(FORMAT_KEY.to_owned(), FORMAT.to_string())]))
}

/// Writes batches one after the other into a file in memory.
pub(crate) struct TableWriter {
    writer: ArrowWriter<Vec<u8>>,
    schema: SchemaRef,
}

impl TableWriter {
    pub(crate) fn new(
        columns: &[Column],
        properties: WriterPropertiesBuilder,
    ) -> Result<TableWriter, SegmentError> {
        let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties =
            columns.iter().fold(properties, |properties, column| column.add_encoding(properties));
        let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties.build()))?;
        Ok(TableWriter { writer, schema })
    }

    /// Writes a batch; columns in the order of the schema.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), SegmentError> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        Ok(self.writer.write(&batch)?)
    }

    /// Adds a text to the file's metadata.
    pub(crate) fn add_metadata(&mut self, key: &str, text: String) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), text));
    }

    /// Writes what is left and the footer.
    pub(crate) fn finish(mut self) -> Result<EncodedFile, SegmentError> {
        self.writer.flush()?;
        self.writer.sync().map_err(ParquetError::from)?;
        let tail = self.writer.bytes_written() as u64;
        let checksum = |group: &RowGroupMetaData| {
            let range = rows_of(group);
            crc32c::crc32c(&self.writer.inner()[range.start as usize..range.end as usize])
        };
        let checksums: Vec<u32> = self.writer.flushed_row_groups().iter().map(checksum).collect();
        let checksums = serde_json::to_string(&checksums).expect("numbers are JSON");
        self.add_metadata(CHECKSUMS_KEY, checksums);
        let bytes = Bytes::from(self.writer.into_inner()?);
        let entry = FileEntry {
            bytes: bytes.len() as u64,
            crc32c: crc32c::crc32c(&bytes),
            tail,
            tail_crc32c: crc32c::crc32c(&bytes[tail as usize..]),
        };
        Ok(EncodedFile { bytes, entry })
    }
}

/// Byte ranges of a file that are in memory.
#[derive(Clone, Debug)]
pub(crate) struct FileRanges {
    length: u64,
    ranges: Vec<(u64, Bytes)>,
}

impl FileRanges {
    /// All of a file.
    pub(crate) fn from_bytes(bytes: Bytes) -> FileRanges {
        FileRanges { length: bytes.len() as u64, ranges: vec![(0, bytes)] }
    }

    /// Nothing yet of a file of this length.
    pub(crate) fn with_length(length: u64) -> FileRanges {
        FileRanges { length, ranges: Vec::new() }
    }

    /// Adds a part.
    pub(crate) fn add(&mut self, offset: u64, bytes: Bytes) {
        self.ranges.push((offset, bytes));
    }

    fn find(&self, start: u64, length: Option<usize>) -> parquet::errors::Result<Bytes> {
        let within = |(offset, bytes): &(u64, Bytes)| {
            let from = usize::try_from(start.checked_sub(*offset)?).ok()?;
            let end = length.map_or(Some(bytes.len()), |length| from.checked_add(length))?;
            (from < bytes.len() && from <= end && end <= bytes.len()).then(|| bytes.slice(from..end))
        };
        let missing = || ParquetError::EOF(format!("no bytes at {start}"));
        self.ranges.iter().find_map(within).ok_or_else(missing)
    }
}

impl Length for FileRanges {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for FileRanges {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        self.find(start, None).map(bytes::Buf::reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.find(start, Some(length))
    }
}

/// Reads a footer and checks that this program knows its version.
pub(crate) fn footer(ranges: &FileRanges) -> Result<ArrowReaderMetadata, SegmentError> {
    let metadata = ArrowReaderMetadata::load(ranges, ArrowReaderOptions::new())?;
    let version = metadata_text(&metadata, FORMAT_KEY).and_then(|text| text.parse().ok());
    match version {
        Some(version) if (1..=FORMAT).contains(&version) => Ok(metadata),
        Some(version) => Err(SegmentError::ManifestVersion(version)),
        None => Err(SegmentError::damaged("has no version")),
    }
}

/// A text of a file's metadata.
pub(crate) fn metadata_text<'a>(metadata: &'a ArrowReaderMetadata, key: &str) -> Option<&'a str> {
    let pairs = metadata.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
}

/// Where the rows of a row group are in its file.
pub(crate) fn rows_of(group: &RowGroupMetaData) -> Range<u64> {
    let ranges = group.columns().iter().map(|column| column.byte_range());
    let start = ranges.clone().map(|(start, _)| start).min().unwrap_or(0);
    start..ranges.map(|(start, length)| start.saturating_add(length)).max().unwrap_or(start)
}

/// The CRC-32C of every row group's bytes.
pub(crate) fn checksums(metadata: &ArrowReaderMetadata) -> Result<Vec<u32>, SegmentError> {
    let found = metadata_text(metadata, CHECKSUMS_KEY).and_then(|text| serde_json::from_str(text).ok());
    let groups = metadata.metadata().num_row_groups();
    let found: Option<Vec<u32>> = found.filter(|found: &Vec<u32>| found.len() == groups);
    found.ok_or_else(|| SegmentError::damaged("has no checksums of its row groups"))
}

/// Batches of the columns that are read of some row groups (`None` for all) of a file.
pub(crate) fn batches(
    ranges: FileRanges,
    metadata: ArrowReaderMetadata,
    columns: &[Column],
    row_groups: Option<Vec<usize>>,
) -> Result<impl Iterator<Item = Result<RecordBatch, ArrowError>> + use<>, SegmentError> {
    let read = columns.iter().filter(|column| column.read).map(|column| column.field.name().as_str());
    let names = read.flat_map(|name| [name, name_in_format_1(name)]);
    let mask = ProjectionMask::columns(metadata.parquet_schema(), names);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(ranges, metadata)
        .with_projection(mask)
        .with_batch_size(BATCH_ROWS);
    let builder = match row_groups {
        Some(groups) => builder.with_row_groups(groups),
        None => builder,
    };
    Ok(builder.build()?.inspect(|_| step()))
}
