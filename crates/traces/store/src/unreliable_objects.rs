//! Objects in memory whose puts do not do what they report.

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::sync::Mutex;

/// What happens when an object is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Creation {
    /// It is refused when the object is there.
    Honored,
    /// It replaces an object that is there.
    Replaces,
    /// The object is put, and the answer is lost.
    LosesAnswers,
    /// The object is put, the answer is lost, and a second attempt finds the object there.
    RepeatsLost,
}

/// Objects in memory.
#[derive(Debug)]
pub(crate) struct UnreliableObjects {
    all: InMemory,
    creation: Mutex<Creation>,
}

impl UnreliableObjects {
    pub(crate) fn new(creation: Creation) -> UnreliableObjects {
        UnreliableObjects { all: InMemory::new(), creation: Mutex::new(creation) }
    }

    pub(crate) fn set(&self, creation: Creation) {
        *self.creation.lock().unwrap() = creation;
    }
}

impl fmt::Display for UnreliableObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unreliable objects")
    }
}

#[async_trait]
impl ObjectStore for UnreliableObjects {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let creation = *self.creation.lock().unwrap();
        if options.mode != PutMode::Create {
            return self.all.put_opts(path, payload, options).await;
        }
        let mode = if creation == Creation::Replaces { PutMode::Overwrite } else { PutMode::Create };
        let put = self.all.put_opts(path, payload, PutOptions { mode, ..options }).await?;
        match creation {
            Creation::Honored | Creation::Replaces => Ok(put),
            Creation::LosesAnswers => Err(Error::Generic { store: "test", source: "no answer".into() }),
            Creation::RepeatsLost => {
                Err(Error::AlreadyExists { path: path.to_string(), source: "second attempt".into() })
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.all.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.all.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.all.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.all.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.all.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.all.copy_opts(from, to, options).await
    }
}
