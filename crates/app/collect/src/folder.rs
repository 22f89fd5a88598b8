//! Collecting into files of a folder.

use crate::{Chunk, ChunkPlacement, CollectError, Delivered, Destination};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Appends to one file per source, `NAME.GENERATION.ENDING`; a rotated log begins a new one.
///
/// Bytes beyond the valid length were written when the program was killed; they are truncated.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Highest generation: readers recognize rotated files by up to four digits.
const GENERATION_MAX: u32 = 9_999;

impl Folder {
    /// Opens a folder; creates it if it does not exist.
    ///
    /// # Errors
    /// [`CollectError::Settings`] when it cannot be created.
    pub fn open(path: &Path) -> Result<Folder, CollectError> {
        let failed = |error| CollectError::Settings(format!("{}: {error}", path.display()));
        fs::create_dir_all(path).map_err(failed)?;
        // The working directory may change later.
        Ok(Folder { path: fs::canonicalize(path).map_err(failed)? })
    }

    fn append(&self, file: &Path, chunk: &Chunk<'_>) -> io::Result<Option<String>> {
        let is_new = !file.exists();
        let mut out = OpenOptions::new().create(true).truncate(false).write(true).open(file)?;
        let length = out.metadata()?.len();
        // If another program truncated it, new bytes follow its end.
        let caution = (length < chunk.written)
            .then(|| format!("{} lost {} bytes since", file.display(), chunk.written - length));
        out.set_len(chunk.written.min(length))?;
        out.seek(SeekFrom::End(0))?;
        out.write_all(chunk.bytes)?;
        out.sync_data()?;
        if is_new {
            sync_folder(&self.path)?;
        }
        Ok(caution)
    }

    fn put(&self, file: &Path, chunk: &Chunk<'_>) -> io::Result<()> {
        let partial = self.path.join(format!(".{}.part", chunk.name));
        let mut out = File::create(&partial)?;
        out.write_all(chunk.bytes)?;
        out.sync_all()?;
        fs::rename(&partial, file)?;
        sync_folder(&self.path)
    }
}

impl Destination for Folder {
    fn deliver(&self, chunk: &Chunk<'_>) -> Result<Delivered, CollectError> {
        if chunk.generation > GENERATION_MAX {
            let reason = format!("the log was rotated {GENERATION_MAX} times; collect into another folder");
            return Err(CollectError::destination(reason));
        }
        let file = self.path.join(format!("{}.{}.{}", chunk.name, chunk.generation, chunk.ending));
        let stored = match chunk.placement {
            ChunkPlacement::Append => self.append(&file, chunk),
            ChunkPlacement::Alone => self.put(&file, chunk).map(|()| None),
        };
        let failed = |error| CollectError::destination(format!("{}: {error}", file.display()));
        Ok(Delivered { losses: Vec::new(), caution: stored.map_err(failed)? })
    }

    fn may_repeat(&self) -> bool {
        false
    }

    fn identity(&self) -> String {
        self.path.display().to_string()
    }
}

/// Makes names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}
