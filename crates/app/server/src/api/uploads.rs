//! Uploaded files: in a folder of the data, bounded, and gone with the question they belong to.

use super::problem::{ApiError, ProblemKind};
use axum::extract::multipart::{Field, Multipart, MultipartError};
use http::StatusCode;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

// Limit: files of one upload | rejected
/// Most files of one request.
const FILES_MAX: usize = 64;

/// Most bytes of the part `settings`.
const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// How many uploads of the largest size there is quota for at a time.
const UPLOADS_AT_ONCE: u64 = 4;

/// The folder of uploads, with their total size.
pub(crate) struct UploadFolder {
    folder: PathBuf,
    bytes: Arc<AtomicU64>,
    /// Most bytes of one request.
    bytes_max: u64,
}

/// The role of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The data of the question.
    File,
    /// Normal executions.
    Normal,
    /// Executions in question.
    Sample,
}

/// One uploaded file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Upload {
    pub(crate) part: Part,
    /// The sender's name for it, sanitized.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// The files of one request; they are deleted when this is dropped.
pub(crate) struct Uploads {
    folder: TempDir,
    files: Vec<Upload>,
    quota: UploadQuota,
}

/// Bytes counted toward the limit of all uploads.
struct UploadQuota {
    all: Arc<AtomicU64>,
    own: u64,
}

impl UploadQuota {
    fn reserve(&mut self, bytes: u64, most: u64) -> Result<(), ApiError> {
        let before = self.all.fetch_add(bytes, Ordering::Relaxed);
        self.own += bytes;
        if before.saturating_add(bytes) > most {
            return Err(ApiError::new(ProblemKind::Busy, "other uploads use the whole quota"));
        }
        Ok(())
    }
}

impl Drop for UploadQuota {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

impl UploadFolder {
    /// A folder in the data folder; files of an earlier run are deleted.
    pub(crate) fn new(data: &Path, bytes_max: u64) -> UploadFolder {
        let folder = data.join("uploads");
        if let Err(error) = std::fs::remove_dir_all(&folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(folder = %folder.display(), %error, "uploads of an earlier run could not be deleted");
        }
        UploadFolder { folder, bytes: Arc::new(AtomicU64::new(0)), bytes_max }
    }

    /// Bytes of all current uploads.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Opens a folder for the files of a request.
    pub(crate) fn open(&self) -> Result<Uploads, ApiError> {
        let made = std::fs::create_dir_all(&self.folder).and_then(|()| TempDir::new_in(&self.folder));
        let folder = made.map_err(|error| failed(&error))?;
        let quota = UploadQuota { all: self.bytes.clone(), own: 0 };
        Ok(Uploads { folder, files: Vec::new(), quota })
    }
}

fn failed(error: &std::io::Error) -> ApiError {
    tracing::warn!(%error, "an upload could not be stored");
    ApiError::new(ProblemKind::Storage, format_args!("the upload could not be stored: {}", error.kind()))
}

/// A file that is being written.
pub(crate) struct Writing<'a> {
    uploads: &'a mut Uploads,
    limits: &'a UploadFolder,
    file: tokio::fs::File,
}

impl Uploads {
    pub(crate) fn files(&self) -> &[Upload] {
        &self.files
    }

    /// Paths of uploads without what lies before them.
    pub(crate) fn hide_paths(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for file in &self.files {
            out = out.replace(&file.path.display().to_string(), &file.name);
        }
        out.replace(&self.folder.path().display().to_string(), "")
    }

    /// Begins a file.
    pub(crate) async fn begin<'a>(
        &'a mut self,
        limits: &'a UploadFolder,
        part: Part,
        name: &str,
    ) -> Result<Writing<'a>, ApiError> {
        if self.files.len() == FILES_MAX {
            return Err(ApiError::new(
                ProblemKind::TooLarge,
                format_args!("at most {FILES_MAX} files are accepted"),
            ));
        }
        let name = sanitize(name);
        let folder = self.folder.path().join(self.files.len().to_string());
        let path = folder.join(&name);
        tokio::fs::create_dir(&folder).await.map_err(|error| failed(&error))?;
        let file = tokio::fs::File::create_new(&path).await.map_err(|error| failed(&error))?;
        self.files.push(Upload { part, name, path });
        Ok(Writing { uploads: self, limits, file })
    }
}

impl Writing<'_> {
    /// Adds bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        let limits = self.limits;
        let quota = &mut self.uploads.quota;
        if quota.own.saturating_add(bytes.len() as u64) > limits.bytes_max {
            return Err(ApiError::new(
                ProblemKind::TooLarge,
                format_args!("at most {} bytes are accepted in one request", limits.bytes_max),
            ));
        }
        quota.reserve(bytes.len() as u64, limits.bytes_max.saturating_mul(UPLOADS_AT_ONCE))?;
        self.file.write_all(bytes).await.map_err(|error| failed(&error))
    }

    pub(crate) async fn end(mut self) -> Result<(), ApiError> {
        self.file.flush().await.map_err(|error| failed(&error))
    }
}

/// A name that stays inside its folder, with the extensions that readers recognize.
fn sanitize(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let allowed =
        last.chars().map(|c| if c.is_ascii_alphanumeric() || "._-+=@".contains(c) { c } else { '_' });
    let name: String = allowed.take(100).collect();
    match name.trim_start_matches('.') {
        "" => "upload".to_owned(),
        name => name.to_owned(),
    }
}

/// The content of a form: settings as JSON text, and files.
pub(crate) struct FormData {
    pub(crate) settings: Option<Vec<u8>>,
    pub(crate) uploads: Uploads,
}

/// Reads a form to its end.
pub(crate) async fn read_form(mut form: Multipart, folder: &UploadFolder) -> Result<FormData, ApiError> {
    let mut settings = None;
    let mut uploads = folder.open()?;
    while let Some(field) = form.next_field().await.map_err(|error| refused(&error))? {
        let part = match field.name() {
            Some("settings") => {
                settings = Some(small(field).await?);
                continue;
            }
            Some("file") => Part::File,
            Some("normal") => Part::Normal,
            Some("sample") => Part::Sample,
            other => {
                let other = other.unwrap_or_default();
                return Err(ApiError::invalid(format_args!(
                    "there is no part {other:?}; there is settings, file, normal, sample"
                )));
            }
        };
        write_file(field, part, &mut uploads, folder).await?;
    }
    Ok(FormData { settings, uploads })
}

async fn write_file(
    mut field: Field<'_>,
    part: Part,
    uploads: &mut Uploads,
    folder: &UploadFolder,
) -> Result<(), ApiError> {
    let name = field.file_name().unwrap_or_default().to_owned();
    let mut writing = uploads.begin(folder, part, &name).await?;
    while let Some(bytes) = field.chunk().await.map_err(|error| refused(&error))? {
        writing.write(&bytes).await?;
    }
    writing.end().await
}

async fn small(mut field: Field<'_>) -> Result<Vec<u8>, ApiError> {
    let mut text = Vec::new();
    while let Some(bytes) = field.chunk().await.map_err(|error| refused(&error))? {
        if text.len() + bytes.len() > SETTINGS_BYTES_MAX {
            return Err(ApiError::new(ProblemKind::TooLarge, "settings are at most 1 MiB"));
        }
        text.extend_from_slice(&bytes);
    }
    Ok(text)
}

fn refused(error: &MultipartError) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(ProblemKind::TooLarge, error.body_text()),
        _ => ApiError::invalid(error.body_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_folder() {
        for (name, sanitized) in [
            ("trace.dat", "trace.dat"),
            ("../../etc/passwd", "passwd"),
            ("..", "upload"),
            ("C:\\x\\perf.data", "perf.data"),
            ("a b\0c", "a_b_c"),
            ("", "upload"),
            (".hidden", "hidden"),
        ] {
            assert_eq!(sanitize(name), sanitized, "{name:?}");
        }
        assert_eq!(sanitize(&"x".repeat(500)).len(), 100);
    }

    #[tokio::test]
    async fn uploads_are_limited_and_deleted() {
        let data = tempfile::tempdir().unwrap();
        let folder = UploadFolder::new(data.path(), 10);
        let mut uploads = folder.open().unwrap();
        let mut writing = uploads.begin(&folder, Part::File, "../x").await.unwrap();
        writing.write(b"12345678").await.unwrap();
        let error = writing.write(b"901").await.unwrap_err();
        assert_eq!(error.kind(), ProblemKind::TooLarge);
        writing.end().await.unwrap();
        let path = uploads.files()[0].path.clone();
        assert!(path.starts_with(data.path()) && std::fs::read(&path).unwrap() == b"12345678");
        assert_eq!(uploads.hide_paths(&format!("cannot read {}: no", path.display())), "cannot read x: no");
        assert_eq!(folder.bytes(), 8);
        drop(uploads);
        assert_eq!((folder.bytes(), path.exists()), (0, false));
    }

    #[tokio::test]
    async fn uploads_of_an_earlier_run_are_deleted() {
        let data = tempfile::tempdir().unwrap();
        let leftover = data.path().join("uploads/old");
        std::fs::create_dir_all(&leftover).unwrap();
        UploadFolder::new(data.path(), 10);
        assert!(!leftover.exists());
    }
}
