//! Where the data of a server is: in a folder, or under a prefix in a bucket.

use crate::buckets;
use crate::{DurableFolder, OWNER_FOLDER, StoreError, StoreReader, StoreSettings};
use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of this machine, or a prefix in a bucket.
#[derive(Clone)]
pub struct DataLocation {
    /// As it was named, with what is below it.
    name: String,
    root: Root,
}

#[derive(Clone)]
enum Root {
    Folder(PathBuf),
    Bucket { objects: Arc<dyn ObjectStore>, prefix: ObjectPath },
}

/// A location whose objects are durable once they are put.
pub(crate) struct WritableLocation {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The same of a folder, where objects are staged before they get their names.
    pub(crate) staging: Option<Arc<DurableFolder>>,
}

/// No file beside the segments is larger.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The part of a store that is read.
pub(crate) const SEGMENTS: &str = "segments";

/// What folders are named by beside their paths.
const FILE: &str = "file://";

impl fmt::Display for DataLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl DataLocation {
    /// The location that a path or a URL names: `/var/lib/laggard`, `file:///var/lib/laggard`, `s3://bucket/prefix`, `gs://bucket/prefix`,
    /// `az://container/prefix`. Credentials and the address of a bucket come from the environment (`AWS_…`, `GOOGLE_…`, `AZURE_…`).
    ///
    /// # Errors
    /// When it is a URL of a kind that this program does not read, or the environment does not suffice.
    pub fn parse(text: &str) -> Result<DataLocation, StoreError> {
        let name = text.trim_end_matches('/').to_owned();
        let root = match text.split_once("://") {
            None => Root::Folder(PathBuf::from(text)),
            Some(("file", path)) if path.starts_with('/') && !path.contains('%') => {
                Root::Folder(PathBuf::from(path))
            }
            Some(("file", _)) => {
                return Err(StoreError::new(format!(
                    "{text}: after {FILE} there must be an absolute path without %; or name the folder itself"
                )));
            }
            Some((scheme, rest)) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                Root::Bucket {
                    objects: buckets::open(text, scheme, bucket)?,
                    prefix: ObjectPath::from(prefix),
                }
            }
        };
        Ok(DataLocation { name, root })
    }

    /// A prefix of objects that are no bucket.
    #[cfg(test)]
    pub(crate) fn from_objects(objects: Arc<dyn ObjectStore>, prefix: &str) -> DataLocation {
        let root = Root::Bucket { objects, prefix: ObjectPath::from(prefix) };
        DataLocation { name: format!("objects://{prefix}"), root }
    }

    /// What is below it, by the names of folders.
    pub fn within(&self, path: &str) -> DataLocation {
        let root = match &self.root {
            Root::Folder(folder) => Root::Folder(folder.join(path)),
            Root::Bucket { objects, prefix } => {
                let below = path.split('/').fold(prefix.clone(), |prefix, part| prefix.join(part));
                Root::Bucket { objects: Arc::clone(objects), prefix: below }
            }
        };
        DataLocation { name: format!("{}/{path}", self.name), root }
    }

    /// The folder of this machine, if it is one.
    pub fn folder(&self) -> Option<&Path> {
        match &self.root {
            Root::Folder(folder) => Some(folder),
            Root::Bucket { .. } => None,
        }
    }

    /// Names of the folders directly in it, sorted; none if there is nothing.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub async fn folders(&self) -> Result<Vec<String>, StoreError> {
        let Root::Bucket { objects, prefix } = &self.root else {
            return Ok(self.folder().map(folders_in).unwrap_or_default());
        };
        let listed = objects.list_with_delimiter(Some(prefix)).await.map_err(|error| self.failed(error))?;
        let names = listed.common_prefixes.iter().filter_map(|path| path.filename().map(str::to_owned));
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Names of the servers that have claimed a prefix below it with `store.url`, sorted.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub async fn writer_names(&self) -> Result<Vec<String>, StoreError> {
        self.writer_names_with(&[]).await
    }

    /// The same, where some are known from before, sorted: what was claimed stays claimed, so that only folders with other names are
    /// looked into. Of a bucket that is one request, and one for each of these.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub async fn writer_names_with(&self, known: &[String]) -> Result<Vec<String>, StoreError> {
        let mut writers = Vec::new();
        // Names with a dot are those of other claims.
        for folder in self.folders().await?.into_iter().filter(|name| !name.starts_with('.')) {
            let is_writer = known.binary_search(&folder).is_ok()
                || self.within(&folder).folders().await?.iter().any(|name| name == OWNER_FOLDER);
            if is_writer {
                writers.push(folder);
            }
        }
        Ok(writers)
    }

    /// The contents of a file in it; `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn file(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let path = ObjectPath::from(name);
        let found = match async { self.objects()?.get(&path).await }.await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        if found.meta.size > FILE_BYTES_MAX {
            let bytes = found.meta.size;
            return Err(self.failed(format_args!("{name}: {bytes} bytes; at most {FILE_BYTES_MAX}")));
        }
        Ok(Some(found.bytes().await.map_err(|error| self.failed(error))?))
    }

    /// Opens the store in it for reading, also while another process writes it. Nothing is changed.
    ///
    /// # Errors
    /// As of [`StoreReader::open`].
    pub async fn read_store(&self, settings: &StoreSettings) -> Result<StoreReader, StoreError> {
        self.check_is_store().await?;
        let segments = self.within(SEGMENTS);
        let objects = segments.objects().map_err(|error| segments.failed(error))?;
        StoreReader::open(objects, settings).await.map_err(|error| self.failed(error))
    }

    /// Checks that there is a store in it; one without any segment is none.
    ///
    /// # Errors
    /// When there is none, or it cannot be listed.
    pub async fn check_is_store(&self) -> Result<(), StoreError> {
        match self.folders().await?.iter().any(|folder| folder == SEGMENTS) {
            true => Ok(()),
            false => Err(self.failed("this is no store: it has no segments")),
        }
    }

    /// Opens the stores in some folders below it as one, for reading ([`StoreReader::open_all`]). A folder that does not exist is an
    /// empty store, as of a server that has stored nothing of a tenant; where it must exist, [`DataLocation::check_is_store`] is called
    /// before.
    ///
    /// # Errors
    /// As of [`StoreReader::open`], for any of them; when the location itself does not exist.
    pub async fn read_stores(
        &self,
        folders: &[String],
        settings: &StoreSettings,
    ) -> Result<StoreReader, StoreError> {
        let root = self.objects().map_err(|error| self.failed(error))?;
        let objects = folders.iter().map(|folder| -> Arc<dyn ObjectStore> {
            let below = ObjectPath::from(format!("{folder}/{SEGMENTS}"));
            Arc::new(PrefixStore::new(Arc::clone(&root), below))
        });
        StoreReader::open_all(objects.collect(), settings).await
    }

    /// Its objects, to be written by this process among others.
    pub(crate) fn writable(&self) -> Result<WritableLocation, StoreError> {
        let failed = |error| self.failed(error);
        let Some(folder) = self.folder() else {
            return Ok(WritableLocation { objects: self.objects().map_err(failed)?, staging: None });
        };
        let durable = Arc::new(DurableFolder::open_shared(folder).map_err(failed)?);
        Ok(WritableLocation { objects: Arc::clone(&durable) as _, staging: Some(durable) })
    }

    fn objects(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        Ok(match &self.root {
            Root::Folder(folder) => Arc::new(LocalFileSystem::new_with_prefix(folder)?),
            Root::Bucket { objects, prefix } => {
                Arc::new(PrefixStore::new(Arc::clone(objects), prefix.clone()))
            }
        })
    }

    fn failed(&self, error: impl fmt::Display) -> StoreError {
        StoreError::new(format!("{}: {error}", self.name))
    }
}

fn folders_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_batches::batch;
    use crate::{FlushBatch, Segments};
    use laggard_engine::Batch;
    use laggard_model::Timestamp;

    #[tokio::test]
    async fn a_part_of_a_bucket_is_read_like_a_folder() {
        let objects: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
        let segments = PrefixStore::new(Arc::clone(&objects), "copies/1/tenants/a/segments");
        let settings = StoreSettings::default();
        let (segments, _) = Segments::open(Arc::new(segments), &settings).await.unwrap();
        let Batch { names, spans, .. } = batch(&[(1, 1), (2, 2)]);
        let (first, last) = (spans[0].start, spans[1].start);
        let batch = FlushBatch { names, spans, ..FlushBatch::default() };
        segments.commit(Arc::new(batch)).await.unwrap();
        let name = "s3://bucket/copies/1".to_owned();
        let bucket =
            DataLocation { name, root: Root::Bucket { objects, prefix: ObjectPath::from("copies/1") } };
        assert_eq!(bucket.folders().await.unwrap(), ["tenants"]);
        assert_eq!(bucket.within("tenants").folders().await.unwrap(), ["a"]);
        let tenant = bucket.within("tenants/a");
        assert_eq!(tenant.to_string(), "s3://bucket/copies/1/tenants/a");
        assert_eq!(tenant.file("events.log").await.unwrap(), None);
        assert!(tenant.file("segments/manifest/000000000001.json").await.unwrap().is_some());
        let view = tenant.read_store(&settings).await.unwrap().views().newest();
        assert_eq!(view.extent(), Some((first, last)));
        let slices = view.requests(Timestamp::MIN, Timestamp::MAX).await.unwrap();
        assert_eq!(slices.iter().map(|slice| slice.requests.len()).sum::<usize>(), 2);
        let error = bucket.read_store(&settings).await.err().unwrap().to_string();
        assert!(error.starts_with("s3://bucket/copies/1: this is no store"), "{error}");
    }

    #[test]
    fn paths_and_urls_name_folders() {
        let folder = |text: &str| DataLocation::parse(text).unwrap().folder().map(Path::to_owned);
        assert_eq!(folder("a/b"), Some(PathBuf::from("a/b")));
        assert_eq!(folder("file:///a/b"), Some(PathBuf::from("/a/b")));
        let below = DataLocation::parse("file:///a/b/").unwrap().within("tenants/x");
        assert_eq!(
            (below.to_string().as_str(), below.folder().unwrap()),
            ("file:///a/b/tenants/x", Path::new("/a/b/tenants/x"))
        );
        for refused in ["file://host/a", "file:///a%20b", "gcs://bucket/a", "http://host/a"] {
            let error = DataLocation::parse(refused).err().unwrap().to_string();
            assert!(error.starts_with(refused), "{error}");
        }
    }
}
