//! Objects in memory that count what is requested of them.

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Objects in memory.
#[derive(Debug, Default)]
pub(crate) struct CountedObjects {
    all: InMemory,
    lists: AtomicU64,
    gets: AtomicU64,
}

impl CountedObjects {
    /// Lists and gets since the last call.
    pub(crate) fn take(&self) -> (u64, u64) {
        (self.lists.swap(0, Ordering::Relaxed), self.gets.swap(0, Ordering::Relaxed))
    }
}

impl fmt::Display for CountedObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counted objects")
    }
}

#[async_trait]
impl ObjectStore for CountedObjects {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.all.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.all.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.all.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.all.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.all.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.all.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.all.copy_opts(from, to, options).await
    }
}
