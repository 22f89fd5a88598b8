//! A local folder as an object store whose objects survive a loss of power once they are put.

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{
    CopyOptions, Error, Extensions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Folder in which objects are written before they are renamed.
const STAGING: &str = "staging";

/// Objects in a folder of this machine. It writes a file, syncs it, renames it, and syncs the folder before it confirms
/// that an object is put. The object store's own local backend can sync too, but what it was writing at a loss of power
/// stays beside the objects for good.
#[derive(Debug)]
pub struct DurableFolder {
    folder: Arc<PathBuf>,
    plain: LocalFileSystem,
    /// What names of files being written begin with, where other processes may write some, too.
    own: String,
    next: AtomicU64,
}

impl DurableFolder {
    /// Opens a folder, or creates it. Partial writes of an earlier process are deleted.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path) -> Result<DurableFolder> {
        let opened = DurableFolder::open_as(folder, String::new())?;
        opened.discard_of_others()?;
        Ok(opened)
    }

    /// Deletes what other processes have been writing.
    pub(crate) fn discard_of_others(&self) -> Result<()> {
        let staging = self.folder.join(STAGING);
        empty_of_others(&staging, &self.own).map_err(|error| failed(&staging, error))
    }

    /// Opens a folder in which other processes may be writing objects, or creates it.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn open_shared(folder: &Path) -> Result<DurableFolder> {
        DurableFolder::open_as(folder, format!("{:016x}-", RandomState::new().build_hasher().finish()))
    }

    fn open_as(folder: &Path, own: String) -> Result<DurableFolder> {
        let staging = folder.join(STAGING);
        let failed = |error| failed(&staging, error);
        std::fs::create_dir_all(&staging).map_err(failed)?;
        sync_folder(folder).map_err(failed)?;
        let plain = LocalFileSystem::new_with_prefix(folder)?;
        Ok(DurableFolder { folder: Arc::new(folder.to_owned()), plain, own, next: AtomicU64::new(0) })
    }
}

impl fmt::Display for DurableFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.folder.display())
    }
}

#[async_trait]
impl ObjectStore for DurableFolder {
    async fn put_opts(
        &self,
        location: &ObjectPath,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let end = self.plain.path_to_filesystem(location)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let staged = self.folder.join(STAGING).join(format!("{}{number}", self.own));
        let folder = Arc::clone(&self.folder);
        let put = move || {
            let done =
                write_synced(&staged, &payload).and_then(|()| name(&staged, &end, &folder, &options.mode));
            if done.is_err() {
                // It may not even exist; what is left over is deleted at the next start.
                let _ = std::fs::remove_file(&staged);
            }
            done.map_err(|error| failed(&end, error))
        };
        tokio::task::spawn_blocking(put)
            .await
            .map_err(|source| Error::JoinError { source })?
            .map(|()| PutResult { e_tag: None, version: None, extensions: Extensions::default() })
    }

    async fn put_multipart_opts(
        &self,
        _location: &ObjectPath,
        _options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let operation = "uploads in parts".to_owned();
        Err(Error::NotImplemented { operation, implementer: self.to_string() })
    }

    async fn get_opts(&self, location: &ObjectPath, options: GetOptions) -> Result<GetResult> {
        self.plain.get_opts(location, options).await
    }

    async fn get_ranges(
        &self,
        location: &ObjectPath,
        ranges: &[std::ops::Range<u64>],
    ) -> Result<Vec<bytes::Bytes>> {
        self.plain.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<ObjectPath>>,
    ) -> BoxStream<'static, Result<ObjectPath>> {
        self.plain.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&ObjectPath>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.plain.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&ObjectPath>) -> Result<ListResult> {
        self.plain.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &ObjectPath, to: &ObjectPath, options: CopyOptions) -> Result<()> {
        self.plain.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &ObjectPath, to: &ObjectPath, options: RenameOptions) -> Result<()> {
        self.plain.rename_opts(from, to, options).await
    }
}

/// Deletes the contents of a folder, but for files of these first letters if there are any, and not the folder: on a full disk it could
/// not be created again.
fn empty_of_others(folder: &Path, own: &str) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if own.is_empty() || !entry.file_name().to_string_lossy().starts_with(own) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn write_synced(path: &Path, payload: &PutPayload) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    payload.iter().try_for_each(|range| file.write_all(range))?;
    file.sync_all()
}

/// Renames a synced file and makes the new name durable.
fn name(staged: &Path, end: &Path, root: &Path, mode: &PutMode) -> std::io::Result<()> {
    let folder = end.parent().expect("an object's path has a folder");
    std::fs::create_dir_all(folder)?;
    match mode {
        PutMode::Overwrite => std::fs::rename(staged, end)?,
        PutMode::Create => {
            std::fs::hard_link(staged, end)?;
            std::fs::remove_file(staged)?;
        }
        PutMode::Update(_) => return Err(ErrorKind::Unsupported.into()),
    }
    // Folders between may be new, too. Syncing one that is not costs little beside the file's own.
    let below_root = folder.ancestors().take_while(|above| above.starts_with(root));
    below_root.into_iter().try_for_each(sync_folder)
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    let path = path.display().to_string();
    match error.kind() {
        ErrorKind::AlreadyExists => Error::AlreadyExists { path, source: error.into() },
        _ => Error::Generic { store: "folder", source: format!("{path}: {error}").into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::ObjectStoreExt;

    fn create() -> PutOptions {
        PutOptions { mode: PutMode::Create, ..PutOptions::default() }
    }

    #[tokio::test]
    async fn an_object_is_written_exactly_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(STAGING)).unwrap();
        std::fs::write(folder.path().join(STAGING).join("7"), "half").unwrap();
        let objects = DurableFolder::open(folder.path()).unwrap();
        let path = ObjectPath::from("deep/er/a");
        objects.put_opts(&path, "one".into(), create()).await.unwrap();
        let again = objects.put_opts(&path, "two".into(), create()).await;
        assert!(matches!(again, Err(Error::AlreadyExists { .. })), "{again:?}");
        assert_eq!(objects.get(&path).await.unwrap().bytes().await.unwrap(), "one");
        objects.put(&path, "three".into()).await.unwrap();
        assert_eq!(objects.get(&path).await.unwrap().bytes().await.unwrap(), "three");
        assert_eq!(std::fs::read_dir(folder.path().join(STAGING)).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn two_processes_may_write_objects_in_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let staging = folder.path().join(STAGING);
        let [one, two] = [(); 2].map(|()| DurableFolder::open_shared(folder.path()).unwrap());
        let staged = |objects: &DurableFolder| staging.join(format!("{}7", objects.own));
        std::fs::write(staged(&one), "half").unwrap();
        std::fs::write(staged(&two), "half").unwrap();
        two.discard_of_others().unwrap();
        assert_eq!((staged(&one).exists(), staged(&two).exists()), (false, true));
        let path = ObjectPath::from("a");
        one.put_opts(&path, "one".into(), create()).await.unwrap();
        two.put_opts(&path, "two".into(), create()).await.unwrap_err();
        assert_eq!(two.get(&path).await.unwrap().bytes().await.unwrap(), "one");
    }
}
