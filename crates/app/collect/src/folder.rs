//! Into files of a folder.

use crate::{Chunk, ChunkPlacement, CollectError, Delivered, Destination};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Appends to one file a source, `NAME.GENERATION.ENDING`; a rotated log begins a new one.
///
/// What a file holds beyond the bytes that count was written when the program was killed, and is cut off.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Highest number in a file's name: readers take up to four digits for those of rotated files.
const GENERATION_MAX: u32 = 9_999;

impl Folder {
    /// A folder; made if it is not there.
    ///
    /// # Errors
    /// [`CollectError::Settings`] when it cannot be made.
    pub fn open(path: &Path) -> Result<Folder, CollectError> {
        let failed = |error| CollectError::Settings(format!("{}: {error}", path.display()));
        fs::create_dir_all(path).map_err(failed)?;
        // Relative paths are of this moment.
        Ok(Folder { path: fs::canonicalize(path).map_err(failed)? })
    }

    fn append(&self, file: &Path, piece: &Chunk<'_>) -> io::Result<Option<String>> {
        let is_new = !file.exists();
        let mut out = OpenOptions::new().create(true).truncate(false).write(true).open(file)?;
        let length = out.metadata()?.len();
        // Nobody else may have shortened it; then its end is where to go on.
        let caution = (length < piece.written)
            .then(|| format!("{} lost {} bytes since", file.display(), piece.written - length));
        out.set_len(piece.written.min(length))?;
        out.seek(SeekFrom::End(0))?;
        out.write_all(piece.bytes)?;
        out.sync_data()?;
        if is_new {
            sync_folder(&self.path)?;
        }
        Ok(caution)
    }

    fn put(&self, file: &Path, piece: &Chunk<'_>) -> io::Result<()> {
        let beside = self.path.join(format!(".{}.part", piece.name));
        let mut out = File::create(&beside)?;
        out.write_all(piece.bytes)?;
        out.sync_all()?;
        fs::rename(&beside, file)?;
        sync_folder(&self.path)
    }
}

impl Destination for Folder {
    fn take(&self, piece: &Chunk<'_>) -> Result<Delivered, CollectError> {
        if piece.generation > GENERATION_MAX {
            let reason = format!("it was rotated {GENERATION_MAX} times: collect into another folder");
            return Err(CollectError::destination(reason));
        }
        let file = self.path.join(format!("{}.{}.{}", piece.name, piece.generation, piece.ending));
        let taken = match piece.place {
            ChunkPlacement::Append => self.append(&file, piece),
            ChunkPlacement::Alone => self.put(&file, piece).map(|()| None),
        };
        let failed = |error| CollectError::destination(format!("{}: {error}", file.display()));
        Ok(Delivered { losses: Vec::new(), caution: taken.map_err(failed)? })
    }

    fn may_repeat(&self) -> bool {
        false
    }

    fn identity(&self) -> String {
        self.path.display().to_string()
    }
}

/// A name is safe when its folder is.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}
