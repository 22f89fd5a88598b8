//! The few calls the log makes to a file system, so that tests can fail each of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder of log files.
pub(crate) trait LogFiles: Send + Sync {
    /// Names of the files there are.
    fn list(&self) -> io::Result<Vec<String>>;
    /// All bytes of a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// An empty file of this name; one that was there is emptied.
    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>>;
    /// Shortens a file, durably.
    fn cut(&self, name: &str, bytes: u64) -> io::Result<()>;
    /// Deletes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes durable which files there are.
    fn sync_folder(&self) -> io::Result<()>;
}

/// A file that is written at its end.
pub(crate) trait LogFile: Send {
    /// Adds bytes. After an error some of them may have been added.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes appended data durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Shortens the file.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;
}

/// A folder of the operating system.
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Makes the folder, and those it is in, when they are not there; durably.
    pub(crate) fn open(folder: &Path) -> io::Result<Disk> {
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let made: Vec<&Path> = folder.ancestors().take_while(missing).collect();
        std::fs::create_dir_all(folder)?;
        for path in made {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(Disk { folder: folder.to_owned() })
    }
}

impl LogFiles for Disk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            // A name that is not UTF-8 is not a file of the log.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.folder.join(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>> {
        let path = self.folder.join(name);
        // Opened for appending, so that writing continues at the end after truncation.
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        file.set_len(0)?;
        Ok(Box::new(DiskFile { file }))
    }

    fn cut(&self, name: &str, bytes: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.folder.join(name))?;
        file.set_len(bytes)?;
        file.sync_all()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.folder.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

/// Files that are only read: replay would remove those that are not needed any longer.
pub(crate) struct ReadOnly(pub(crate) Disk);

impl LogFiles for ReadOnly {
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.0.read(name)
    }

    fn create(&self, _name: &str) -> io::Result<Box<dyn LogFile>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn cut(&self, _name: &str, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}

struct DiskFile {
    file: File,
}

impl LogFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_folder_behaves_like_the_simulated_one() {
        let outer = tempfile::tempdir().unwrap();
        let disk = Disk::open(&outer.path().join("a/b/log")).unwrap();
        let mut file = disk.create("1").unwrap();
        file.append(b"one").unwrap();
        file.append(b"two").unwrap();
        file.cut(4).unwrap();
        file.append(b"!").unwrap();
        file.sync().unwrap();
        disk.sync_folder().unwrap();
        assert_eq!(disk.read("1").unwrap(), b"onet!");
        disk.cut("1", 2).unwrap();
        assert_eq!((disk.read("1").unwrap(), disk.list().unwrap()), (b"on".to_vec(), vec!["1".to_owned()]));
        disk.create("1").unwrap();
        assert_eq!(disk.read("1").unwrap(), b"");
        disk.remove("1").unwrap();
        assert_eq!(disk.remove("1").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
