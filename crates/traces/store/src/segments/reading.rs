//! Reading segments: bytes from the object store, decoded on threads that may be busy.

use super::calls_file;
use super::failure::Failure;
use super::manifest::{FileEntry, FileKind, Segment};
use super::requests_file;
use super::shared::{Shared, SliceKey};
use super::spans_file::{self, SpanTable, Wanted};
use super::table::Pieces;
use super::trace_index::TraceIndex;
use bytes::Bytes;
use laggard_engine::RequestSlice;
use laggard_model::{Names, Nanos, ReplicaId, TraceId};
use object_store::ObjectStoreExt;
use std::collections::HashSet;
use std::sync::Arc;

/// Which traces, owned.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    All,
    Between(TraceId, TraceId),
    These(Arc<HashSet<TraceId>>),
}

impl Selection {
    fn wanted(&self) -> Wanted<'_> {
        match self {
            Selection::All => Wanted::All,
            &Selection::Between(min, max) => Wanted::Between(min, max),
            Selection::These(traces) => Wanted::These(traces),
        }
    }
}

/// Runs what takes long on a thread that may be busy.
pub(crate) async fn busy<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Failure::Storage("the program is being ended".to_owned())),
    }
}

impl Segment {
    /// What is known of one of its files.
    fn entry(&self, kind: FileKind) -> Result<FileEntry, Failure> {
        let missing = || Failure::damaged(format!("has no file of {}", kind.folder()));
        self.files.get(&kind).copied().ok_or_else(missing)
    }
}

impl Shared {
    /// All bytes of a file; they may be damaged.
    async fn bytes(&self, segment: &Segment, kind: FileKind) -> Result<Bytes, Failure> {
        Ok(self.objects.get(&segment.path(kind)).await?.bytes().await?)
    }

    /// Some bytes of a file; they may be damaged.
    async fn ranges(
        &self,
        segment: &Segment,
        ranges: &[std::ops::Range<u64>],
    ) -> Result<Vec<Bytes>, Failure> {
        match self.objects.get_ranges(&segment.path(FileKind::Spans), ranges).await {
            Ok(bytes) => Ok(bytes),
            Err(object_store::Error::NotFound { .. }) => Err(Failure::damaged("is missing")),
            Err(error) => {
                // A file that was cut short fails like a device that does not answer: its length tells.
                let length = self.objects.head(&segment.path(FileKind::Spans)).await?.size;
                match length == segment.entry(FileKind::Spans)?.bytes {
                    true => Err(error.into()),
                    false => Err(Failure::damaged("has another length than was written")),
                }
            }
        }
    }

    /// What tells which traces a segment has spans of.
    pub(crate) async fn index(&self, segment: &Segment) -> Result<Arc<TraceIndex>, Failure> {
        if let Some(known) = self.indexes.get(&segment.number) {
            return Ok(known);
        }
        let entry = segment.entry(FileKind::Spans)?;
        let tail = self.ranges(segment, std::slice::from_ref(&(entry.tail..entry.bytes))).await?.remove(0);
        let read = move || {
            check(&tail, entry.bytes - entry.tail, entry.tail_crc32c)?;
            TraceIndex::read(&entry, tail)
        };
        let index = Arc::new(busy(read).await?);
        self.indexes.put(segment.number, Arc::clone(&index), index.bytes());
        Ok(index)
    }

    /// Spans of a segment.
    pub(crate) async fn spans(&self, segment: &Segment, selection: Selection) -> Result<SpanTable, Failure> {
        let index = self.index(segment).await?;
        let groups = index.groups(selection.wanted());
        if groups.is_empty() {
            return Ok(SpanTable::default());
        }
        let ranges = index.ranges(&groups);
        let bytes = self.ranges(segment, &ranges).await?;
        let length = segment.entry(FileKind::Spans)?.bytes;
        let read = move || {
            let mut pieces = Pieces::of_length(length);
            for ((range, bytes), &group) in ranges.into_iter().zip(bytes).zip(&groups) {
                if !index.is_intact(group, &bytes) {
                    return Err(Failure::damaged("has other spans than were written"));
                }
                pieces.add(range.start, bytes);
            }
            spans_file::decode(pieces, &index, groups, selection.wanted())
        };
        busy(read).await
    }

    /// Requests of a segment as they were written.
    pub(crate) async fn slice(&self, segment: &Segment) -> Result<Arc<RequestSlice>, Failure> {
        let key = SliceKey::Segment(segment.number);
        if let Some(known) = self.slices.get(&key) {
            return Ok(known);
        }
        let (requests, calls, forms) = futures::try_join!(
            self.bytes(segment, FileKind::Requests),
            self.bytes(segment, FileKind::Calls),
            self.bytes(segment, FileKind::Forms)
        )?;
        let files = [
            (requests, segment.entry(FileKind::Requests)?),
            (calls, segment.entry(FileKind::Calls)?),
            (forms, segment.entry(FileKind::Forms)?),
        ];
        let told = segment.told.clone();
        let read = move || {
            let [requests, calls, forms] = files.map(|(bytes, entry)| {
                check(&bytes, entry.bytes, entry.crc32c).map(|()| Pieces::whole(bytes))
            });
            let mut slice = decode(requests?, calls?, forms?)?;
            let mut losses = told.losses();
            losses.merge(&slice.facts.losses);
            slice.facts.losses = losses;
            slice.facts.origins.merge(&told.origins());
            Ok(slice)
        };
        let slice = Arc::new(busy(read).await?);
        self.slices.put(key, Arc::clone(&slice), bytes_of(&slice));
        Ok(slice)
    }

    /// Samples of a segment.
    pub(crate) async fn samples(&self, segment: &Segment) -> Result<laggard_engine::Samples, Failure> {
        let bytes = self.bytes(segment, FileKind::Samples).await?;
        let entry = segment.entry(FileKind::Samples)?;
        busy(move || {
            check(&bytes, entry.bytes, entry.crc32c)?;
            super::samples_file::decode(Pieces::whole(bytes))
        })
        .await
    }
}

fn check(bytes: &[u8], length: u64, checksum: u32) -> Result<(), Failure> {
    if bytes.len() as u64 != length {
        return Err(Failure::damaged("has another length than was written"));
    }
    match crc32c::crc32c(bytes) == checksum {
        true => Ok(()),
        false => Err(Failure::damaged("has another checksum than was written")),
    }
}

fn decode(requests: Pieces, calls: Pieces, forms: Pieces) -> Result<RequestSlice, Failure> {
    let mut names = Names::new();
    let forms = calls_file::decode_forms(forms, &mut names)?;
    let calls = calls_file::decode_calls(calls, &mut names)?;
    let table = requests_file::decode(requests, &mut names)?;
    for request in &table.requests {
        let form = forms.get(request.form as usize).filter(|form| !form.is_empty());
        let end = form.map(|form| request.first_call as usize + form.len());
        if end.is_none_or(|end| end > calls.replica.len()) {
            return Err(Failure::damaged("has a request without its calls"));
        }
    }
    Ok(RequestSlice { names, forms, requests: table.requests, calls, facts: table.facts })
}

/// Bytes of a slice in memory, about.
pub(crate) fn bytes_of(slice: &RequestSlice) -> usize {
    let call = size_of::<ReplicaId>() + 3 * size_of::<Nanos>();
    let nodes: usize = slice.forms.iter().map(|form| form.len() * 16 + 72).sum();
    let texts: usize = slice.facts.texts.iter().map(|(_, text)| text.len() + 48).sum();
    let names = (slice.names.operations() + slice.names.replicas()) * 128;
    size_of_val(&slice.requests[..]) + slice.calls.replica.len() * call + nodes + texts + names + 1024
}
