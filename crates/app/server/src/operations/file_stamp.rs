//! Whether a file changed since it was read.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file with another stamp has changed; a file that is not there has one, too. Symbolic links are followed, so that a
/// link that is pointed elsewhere, as Kubernetes does for secrets, is a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileStamp {
    /// Device, inode, length in bytes, and the times of the last change of contents and of metadata.
    metadata: Option<[i128; 5]>,
}

impl FileStamp {
    /// The stamp of a file as it is now.
    pub(crate) fn read(file: &Path) -> FileStamp {
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let metadata = std::fs::metadata(file).ok().map(|metadata| {
            [
                metadata.dev().into(),
                metadata.ino().into(),
                metadata.size().into(),
                nanos(metadata.mtime(), metadata.mtime_nsec()),
                nanos(metadata.ctime(), metadata.ctime_nsec()),
            ]
        });
        FileStamp { metadata }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("token"), folder.path().join("new"));
        let absent = FileStamp::read(&file);
        std::fs::write(&file, "0123456789abcdef").unwrap();
        let first = FileStamp::read(&file);
        assert_ne!(first, absent);
        assert_eq!(first, FileStamp::read(&file));
        // Of the same length, and perhaps within one tick of the file system's clock.
        std::fs::write(&other, "fedcba9876543210").unwrap();
        std::fs::rename(&other, &file).unwrap();
        assert_ne!(first, FileStamp::read(&file));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(absent, FileStamp::read(&file));
    }
}
