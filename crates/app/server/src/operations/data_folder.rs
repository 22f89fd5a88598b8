//! What is done to a data folder beside serving it: check, repair, backup.

use super::data_lock::DataLock;
use crate::tenants::folders;
use laggard_store::{CopiedFolder, FolderCheck, StoreError, StoreFolder, WRITER_MARK, WriterPrefix};
use std::fs;
use std::path::{Path, PathBuf};

/// The data folder of a server.
#[derive(Clone, Debug)]
pub struct DataFolder {
    path: PathBuf,
}

/// Entries that belong to a running server.
const NOT_COPIED: [&str; 3] = ["lock", "uploads", WRITER_MARK];
/// Folders of a tenant that are copied as a store.
const STORE: [&str; 2] = ["segments", "log"];

impl DataFolder {
    /// The folder at a path.
    ///
    /// # Errors
    /// When it has no store of any tenant, or its segments are elsewhere.
    pub fn open(path: &Path) -> Result<DataFolder, String> {
        let folder = DataFolder { path: path.to_owned() };
        if let Some(prefix) = WriterPrefix::named_in(path).map_err(|error| error.to_string())? {
            return Err(format!(
                "{}: its segments are not in this folder, but below {prefix}",
                path.display()
            ));
        }
        match folder.tenants().is_empty() {
            true => Err(format!(
                "{}: this is no data folder of laggard serve: it has no folder in tenants/",
                path.display()
            )),
            false => Ok(folder),
        }
    }

    /// Reads everything of every tenant, and changes nothing, also while a server runs.
    ///
    /// # Errors
    /// When a store is of a later version, or cannot be read.
    pub fn check(&self) -> Result<Vec<(String, FolderCheck)>, String> {
        self.each(async |_, store| store.check().await)
    }

    /// The process of a server that has it open; `None` if there is none, or it is unknown.
    pub fn server(&self) -> Option<u32> {
        DataLock::owner(&self.path)
    }

    /// Repairs the store of every tenant; what was done, in sentences.
    ///
    /// # Errors
    /// When a server has it open; when a store is of a later version, or cannot be read or written.
    pub fn repair(&self) -> Result<Vec<(String, Vec<String>)>, String> {
        let _alone = DataLock::acquire(&self.path)?;
        self.each(async |_, store| store.repair().await)
    }

    /// Copies everything into a new folder, also while a server runs.
    ///
    /// # Errors
    /// When the folder is there and not empty; when something cannot be read or written.
    pub fn copy_to(&self, destination: &Path) -> Result<Vec<(String, CopiedFolder)>, String> {
        let failed = |error| format!("{}: {error}", destination.display());
        fs::create_dir_all(destination).map_err(failed)?;
        if fs::read_dir(destination).map_err(failed)?.next().is_some() {
            return Err(format!("{} is not empty; a backup needs a new folder", destination.display()));
        }
        let tenants = destination.join("tenants");
        let copies =
            self.each(async |name, store| store.copy_to(&StoreFolder::new(tenants.join(name))).await)?;
        copy_others(&self.path, destination, &is_left_out)?;
        Ok(copies)
    }

    fn tenants(&self) -> Vec<String> {
        folders(&self.path.join("tenants"))
    }

    fn each<T>(
        &self,
        work: impl AsyncFn(&str, &StoreFolder) -> Result<T, StoreError>,
    ) -> Result<Vec<(String, T)>, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no threads: {error}"))?;
        runtime.block_on(async {
            let mut all = Vec::new();
            for name in self.tenants() {
                let store = StoreFolder::new(self.path.join("tenants").join(&name));
                let done = work(&name, &store).await.map_err(|error| format!("{name}: {error}"))?;
                all.push((name, done));
            }
            Ok(all)
        })
    }
}

fn is_left_out(relative: &Path) -> bool {
    let mut parts = relative.iter().filter_map(|part| part.to_str());
    match (parts.next(), parts.next(), parts.next()) {
        (Some(first), None, _) => NOT_COPIED.contains(&first),
        (Some("tenants"), Some(_), Some(part)) => STORE.contains(&part),
        _ => false,
    }
}

/// Copies the files below a folder, but for paths that are left out. A server writes them anew and renames them, so each copy is whole.
fn copy_others(from: &Path, to: &Path, is_left_out: &dyn Fn(&Path) -> bool) -> Result<(), String> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let source = from.join(&folder);
        let unreadable = |error| format!("{}: {error}", source.display());
        for entry in fs::read_dir(&source).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let relative = folder.join(entry.file_name());
            if is_left_out(&relative) {
                continue;
            }
            let target = to.join(&relative);
            let copied = match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    folders.push(relative);
                    fs::create_dir_all(&target)
                }
                Ok(_) => fs::copy(entry.path(), &target).map(|_| ()),
                Err(error) => Err(error),
            };
            match copied {
                // It was removed meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => copied.map_err(|error| format!("{}: {error}", target.display()))?,
            }
        }
    }
    Ok(())
}
