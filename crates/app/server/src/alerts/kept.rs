//! What survives a restart: one small file a tenant, replaced as a whole.

use super::book::AlertBook;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file of a tenant, beside its data.
pub(super) fn file_of(data: &Path, tenant: &str) -> PathBuf {
    data.join("tenants").join(tenant).join("alerts.json")
}

/// Two thousand alerts with all their names are less.
const FILE_BYTES_MAX: u64 = 64 << 20;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Kept<B> {
    version: u32,
    book: B,
}

/// Reads what was kept. A file that cannot be read is set aside, so that nobody loses it and nothing is held up by it;
/// what was told is told again then.
pub(super) fn load(file: &Path) -> AlertBook {
    match read(file) {
        Ok(book) => book,
        Err(error) if error.kind() == io::ErrorKind::NotFound => AlertBook::default(),
        Err(error) => {
            let aside = file.with_extension("json.unreadable");
            tracing::error!(file = %file.display(), %error, aside = %aside.display(), "alerts begin anew: what was kept cannot be read");
            // It may be the disk that does not answer; then it stays.
            let _ = std::fs::rename(file, aside);
            AlertBook::default()
        }
    }
}

fn read(file: &Path) -> io::Result<AlertBook> {
    let length = std::fs::metadata(file)?.len();
    if length > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("{length} bytes; at most {FILE_BYTES_MAX}")));
    }
    let bytes = std::fs::read(file)?;
    let kept: Kept<AlertBook> = serde_json::from_slice(&bytes)?;
    match kept.version {
        VERSION => Ok(kept.book),
        other => Err(io::Error::other(format!("it has version {other}; this program knows {VERSION}"))),
    }
}

/// Replaces what was kept: at any instant the old file is there as a whole, or the new one.
///
/// # Errors
/// When it cannot be written.
pub(super) fn save(file: &Path, book: &AlertBook) -> io::Result<()> {
    let folder = file.parent().ok_or_else(|| io::Error::other("it is in no folder"))?;
    let mut fresh = tempfile::Builder::new().prefix("alerts.").suffix(".new").tempfile_in(folder)?;
    let bytes = serde_json::to_vec(&Kept { version: VERSION, book })?;
    fresh.write_all(&bytes)?;
    fresh.as_file().sync_all()?;
    fresh.persist(file)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::book::tests::{judged, rules, time};
    use super::*;

    #[test]
    fn what_was_saved_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        assert_eq!(load(&file), AlertBook::default());
        let mut book = AlertBook::default();
        for minute in 0..3 {
            book.take(&judged(&["read"], minute), rules(), time(minute));
        }
        save(&file, &book).unwrap();
        save(&file, &book).unwrap();
        assert_eq!(load(&file), book);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        for bad in ["", "{", "[]", "{\"version\":2,\"book\":{}}", "{\"version\":1,\"book\":{\"active\":3}}"] {
            std::fs::write(&file, bad).unwrap();
            assert_eq!(load(&file), AlertBook::default(), "{bad}");
            assert!(!file.exists());
            assert_eq!(std::fs::read_to_string(folder.path().join("alerts.json.unreadable")).unwrap(), bad);
        }
    }
}
