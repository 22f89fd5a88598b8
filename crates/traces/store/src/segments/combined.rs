//! The stores of several writers, read as if they were one.
//!
//! Segments keep their files; their numbers, of which every writer has its own, get the number of the writer above them.

use super::error::SegmentError;
use super::manifest::{Manifest, Quarantined, Segment};
use super::newest::newest;
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::sync::Arc;

/// Bits of a segment's own number: a trillion, of which each claim of a prefix leaves out a million.
const NUMBER_BITS: u32 = 40;

/// The files of all writers, by numbers of segments. Nothing can be written or listed.
#[derive(Debug)]
pub(crate) struct CombinedObjects {
    writers: Vec<Arc<dyn ObjectStore>>,
}

impl CombinedObjects {
    /// The stores of some writers, in an order that stays.
    pub(crate) fn new(writers: Vec<Arc<dyn ObjectStore>>) -> CombinedObjects {
        CombinedObjects { writers }
    }

    /// The newest manifests as one.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub(crate) async fn manifest(&self) -> Result<Manifest, SegmentError> {
        let mut all = Manifest::empty();
        let mut next_segments = Vec::with_capacity(self.writers.len());
        for (writer, objects) in self.writers.iter().enumerate() {
            let one = newest(&**objects).await?;
            // Grows with each of them.
            all.number += one.number;
            next_segments.push(one.next_segment);
            all.unplaced.merge(&one.unplaced);
            let segments = one.segments.iter().map(|segment| {
                Arc::new(Segment {
                    number: above(writer, segment.number),
                    order: above(writer, segment.order),
                    ..Segment::clone(segment)
                })
            });
            all.segments.extend(segments);
            let aside = one.quarantined.into_iter();
            all.quarantined
                .extend(aside.map(|one| Quarantined { segment: above(writer, one.segment), ..one }));
        }
        Ok(Manifest { next_by_writer: Some(next_segments), ..all })
    }

    /// The store and the path of a file.
    fn locate(&self, path: &Path) -> Result<(&Arc<dyn ObjectStore>, Path)> {
        let missing = || Error::NotFound { path: path.to_string(), source: "no such writer".into() };
        let (folder, name) = path.as_ref().rsplit_once('/').ok_or_else(missing)?;
        let number: u64 =
            name.strip_suffix(".parquet").and_then(|number| number.parse().ok()).ok_or_else(missing)?;
        let (writer, own) = writer_and_number(number);
        let writer = self.writers.get(writer).ok_or_else(missing)?;
        Ok((writer, Path::from(format!("{folder}/{own:012}.parquet"))))
    }

    fn read_only<T>(&self, operation: &str) -> Result<T> {
        Err(Error::NotImplemented { operation: operation.to_owned(), implementer: self.to_string() })
    }
}

fn above(writer: usize, number: u64) -> u64 {
    ((writer as u64) << NUMBER_BITS) | number
}

/// The index of the writer of a segment, and the number it gave it; index 0 in the store of one writer.
pub(crate) fn writer_and_number(number: u64) -> (usize, u64) {
    ((number >> NUMBER_BITS) as usize, number & ((1 << NUMBER_BITS) - 1))
}

impl fmt::Display for CombinedObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stores of {} writers", self.writers.len())
    }
}

#[async_trait]
impl ObjectStore for CombinedObjects {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        self.read_only("put")
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.read_only("put")
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let (objects, path) = self.locate(path)?;
        objects.get_opts(&path, options).await
    }

    async fn get_ranges(&self, path: &Path, ranges: &[std::ops::Range<u64>]) -> Result<Vec<bytes::Bytes>> {
        let (objects, path) = self.locate(path)?;
        objects.get_ranges(&path, ranges).await
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        futures::stream::iter([self.read_only("delete")]).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::iter([self.read_only("list")]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        self.read_only("list")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        self.read_only("copy")
    }
}
