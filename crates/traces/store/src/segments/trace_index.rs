//! Which traces are in a file of spans, and where: what a look-up reads before any row.

use super::failure::Failure;
use super::manifest::FileEntry;
use super::spans_file::Wanted;
use super::table::{self, Pieces};
use laggard_model::TraceId;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::RowGroupMetaData;
use std::ops::Range;

/// What of a file tells which traces are in it: the footer and the filters.
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
    pub(crate) fn read(entry: &FileEntry, tail: bytes::Bytes) -> Result<TraceIndex, Failure> {
        let mut pieces = Pieces::of_length(entry.bytes);
        pieces.add(entry.tail, tail);
        let metadata = table::footer(&pieces)?;
        let checksums = table::checksums(&metadata)?;
        let groups: Result<_, Failure> = (metadata.metadata().row_groups().iter().zip(checksums))
            .map(|(group, checksum)| TraceGroup::read(group, checksum, &pieces))
            .collect();
        Ok(TraceIndex { groups: groups?, metadata })
    }

    /// Whether a trace may be there; a false yes is rare.
    pub(crate) fn may_hold(&self, trace: TraceId) -> bool {
        self.groups_of(trace).next().is_some()
    }

    fn groups_of(&self, trace: TraceId) -> impl Iterator<Item = usize> + '_ {
        let first = self.groups.partition_point(|group| group.max < trace);
        let near = self.groups[first..].iter().take_while(move |group| group.min <= trace);
        near.enumerate().filter(move |(_, group)| group.may_hold(trace)).map(move |(at, _)| first + at)
    }

    /// Row groups that may hold traces that are wanted, in order.
    pub(crate) fn groups(&self, wanted: Wanted<'_>) -> Vec<usize> {
        match wanted {
            Wanted::All => (0..self.groups.len()).collect(),
            Wanted::Between(min, max) => (0..self.groups.len())
                .filter(|&at| self.groups[at].min <= max && self.groups[at].max >= min)
                .collect(),
            Wanted::These(traces) => {
                let mut found: Vec<usize> = traces.iter().flat_map(|&trace| self.groups_of(trace)).collect();
                found.sort_unstable();
                found.dedup();
                found
            }
        }
    }

    /// Bytes of the file that each of some row groups takes.
    pub(crate) fn ranges(&self, groups: &[usize]) -> Vec<Range<u64>> {
        groups.iter().map(|&at| self.groups[at].bytes.clone()).collect()
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
    fn read(group: &RowGroupMetaData, checksum: u32, pieces: &Pieces) -> Result<TraceGroup, Failure> {
        let column = group.column(0);
        let end = |bytes: Option<&[u8]>| {
            let bytes: Option<[u8; 16]> = bytes.and_then(|bytes| bytes.try_into().ok());
            bytes.map(TraceId::from_bytes).ok_or_else(|| Failure::damaged("has no bounds of its trace ids"))
        };
        let statistics = column.statistics();
        Ok(TraceGroup {
            min: end(statistics.and_then(|known| known.min_bytes_opt()))?,
            max: end(statistics.and_then(|known| known.max_bytes_opt()))?,
            filter: Sbbf::read_from_column_chunk(column, pieces)?,
            bytes: table::rows_of(group),
            checksum,
        })
    }

    fn may_hold(&self, trace: TraceId) -> bool {
        let bytes = trace.value().to_be_bytes();
        self.filter.as_ref().is_none_or(|filter| filter.check(&bytes[..]))
    }
}
