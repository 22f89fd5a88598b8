//! Which traces are in a file of spans or events, and where: read before any row on a lookup.

use super::error::SegmentError;
use super::manifest::FileEntry;
use super::spans_file::TraceFilter;
use super::table::{self, FileRanges};
use laggard_model::TraceId;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::schema::types::ColumnPath;
use std::ops::Range;

/// The false-positive rate of the trace filters.
pub(super) const FALSE_POSITIVES: f64 = 1e-5;

/// Properties of a file with this index, whose rows are sorted by trace.
pub(crate) fn properties(
    traces: impl Iterator<Item = TraceId>,
    rows_per_group: usize,
) -> WriterPropertiesBuilder {
    let (mut most, mut distinct, mut before) = (1, 0, None);
    for (row, trace) in traces.enumerate() {
        let begins = row % rows_per_group == 0;
        distinct = if begins { 1 } else { distinct + u64::from(before != Some(trace)) };
        before = Some(trace);
        most = most.max(distinct);
    }
    let trace = || ColumnPath::from("trace");
    table::properties(rows_per_group)
        .set_column_bloom_filter_enabled(trace(), true)
        .set_column_bloom_filter_fpp(trace(), FALSE_POSITIVES)
        .set_column_bloom_filter_max_ndv(trace(), most)
}

/// The footer and filters of a file, which list its traces.
pub(crate) struct TraceIndex {
    pub(crate) metadata: ArrowReaderMetadata,
    groups: Vec<TraceGroup>,
}

struct TraceGroup {
    min: TraceId,
    max: TraceId,
    filter: Option<Sbbf>,
    /// Where its rows are in the file.
    bytes: Range<u64>,
    /// CRC-32C of those bytes.
    checksum: u32,
}

impl TraceIndex {
    /// Reads the index from the file's tail.
    pub(crate) fn read(entry: &FileEntry, tail: bytes::Bytes) -> Result<TraceIndex, SegmentError> {
        let mut ranges = FileRanges::with_length(entry.bytes);
        ranges.add(entry.tail, tail);
        let metadata = table::footer(&ranges)?;
        let checksums = table::checksums(&metadata)?;
        let groups: Result<_, SegmentError> = (metadata.metadata().row_groups().iter().zip(checksums))
            .map(|(group, checksum)| TraceGroup::read(group, checksum, &ranges))
            .collect();
        Ok(TraceIndex { groups: groups?, metadata })
    }

    /// Whether a trace may be there; a false yes is rare.
    pub(crate) fn may_hold(&self, trace: TraceId) -> bool {
        self.groups_of(trace).next().is_some()
    }

    fn groups_of(&self, trace: TraceId) -> impl Iterator<Item = usize> + '_ {
        let first = self.groups.partition_point(|group| group.max < trace);
        let nearby = self.groups[first..].iter().take_while(move |group| group.min <= trace);
        nearby
            .enumerate()
            .filter(move |(_, group)| group.may_hold(trace))
            .map(move |(index, _)| first + index)
    }

    /// Row groups that may hold traces that are wanted, in order.
    pub(crate) fn groups(&self, filter: TraceFilter<'_>) -> Vec<usize> {
        match filter {
            TraceFilter::All => (0..self.groups.len()).collect(),
            TraceFilter::Between(min, max) => (0..self.groups.len())
                .filter(|&index| self.groups[index].min <= max && self.groups[index].max >= min)
                .collect(),
            TraceFilter::These(traces) => {
                let mut found: Vec<usize> = traces.iter().flat_map(|&trace| self.groups_of(trace)).collect();
                found.sort_unstable();
                found.dedup();
                found
            }
        }
    }

    /// Bytes of the file that each of some row groups takes.
    pub(crate) fn ranges(&self, groups: &[usize]) -> Vec<Range<u64>> {
        groups.iter().map(|&group| self.groups[group].bytes.clone()).collect()
    }

    /// Whether bytes are those that were written for a row group.
    pub(crate) fn is_intact(&self, group: usize, bytes: &[u8]) -> bool {
        crc32c::crc32c(bytes) == self.groups[group].checksum
    }

    /// The lowest trace of each row group, and its rows: where a large file can be cut.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = (TraceId, u64)> + '_ {
        let rows = self.metadata.metadata().row_groups().iter().map(|group| group.num_rows() as u64);
        self.groups.iter().map(|group| group.min).zip(rows)
    }

    /// Bytes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let filters = self.groups.iter().filter_map(|group| group.filter.as_ref());
        filters.map(|filter| filter.num_blocks() * 32).sum::<usize>() + self.metadata.metadata().memory_size()
    }
}

impl TraceGroup {
    fn read(
        group: &RowGroupMetaData,
        checksum: u32,
        ranges: &FileRanges,
    ) -> Result<TraceGroup, SegmentError> {
        let column = group.column(0);
        let end = |bytes: Option<&[u8]>| {
            let bytes: Option<[u8; 16]> = bytes.and_then(|bytes| bytes.try_into().ok());
            bytes
                .map(TraceId::from_bytes)
                .ok_or_else(|| SegmentError::damaged("has no bounds of its trace ids"))
        };
        let statistics = column.statistics();
        Ok(TraceGroup {
            min: end(statistics.and_then(|known| known.min_bytes_opt()))?,
            max: end(statistics.and_then(|known| known.max_bytes_opt()))?,
            filter: Sbbf::read_from_column_chunk(column, ranges)?,
            bytes: table::rows_of(group),
            checksum,
        })
    }

    fn may_hold(&self, trace: TraceId) -> bool {
        let bytes = trace.value().to_be_bytes();
        self.filter.as_ref().is_none_or(|filter| filter.check(&bytes[..]))
    }
}
