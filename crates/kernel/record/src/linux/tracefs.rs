//! The kernel's tracing file system, wherever it is.

use crate::error::RecordError;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The option of a buffer that takes what programs write to the machine's own `trace_marker`; only recent kernels have it.
pub(super) const COPY_MARKERS: &str = "options/copy_trace_marker";

/// Usual mount points of tracefs, the newer first.
const USUAL: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Where tracefs is mounted for programs that write markers.
pub(super) const PUBLIC: &str = USUAL[0];

/// Bytes per read; the longest text that is read at once has a few thousand.
const READ_BYTES: usize = 256 << 10;

/// tracefs, opened.
pub(super) struct Tracefs {
    root: PathBuf,
    /// A private mount that ends with the last descriptor.
    private: Option<OwnedFd>,
}

impl Tracefs {
    /// Opens the one that is mounted, else mounts one that only this process sees.
    pub(super) fn open() -> Result<Tracefs, RecordError> {
        let Some(root) = mounted() else { return Tracefs::mount_privately() };
        let tracefs = Tracefs { root, private: None };
        match tracefs.read("events/header_page") {
            // Otherwise every event would seem to be missing.
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Err(RecordError::Permission { what: "tracefs cannot be read".to_owned(), source })
            }
            _ => Ok(tracefs),
        }
    }

    fn mount_privately() -> Result<Tracefs, RecordError> {
        let mount = private_mount().map_err(|source| mount_error(source.into()))?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Ok(Tracefs { root, private: Some(mount) })
    }

    /// Whether it is mounted where programs expect it.
    pub(super) fn is_public(&self) -> bool {
        self.private.is_none() && USUAL.iter().any(|mount_point| self.root == Path::new(mount_point))
    }

    /// The path of one of its files.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    pub(super) fn exists(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    /// A file's bytes. Some files return their entire content at the first read, so the buffer must be large.
    pub(super) fn read(&self, file: &str) -> io::Result<Vec<u8>> {
        let mut opened = fs::File::open(self.path(file))?;
        let mut bytes = Vec::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match opened.read(&mut buffer) {
                Ok(0) => return Ok(bytes),
                Ok(read) => bytes.extend(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A file's text without its line end; empty when it cannot be read.
    pub(super) fn text(&self, file: &str) -> String {
        let bytes = self.read(file).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }

    /// Writes a setting. The file is not truncated: that alone clears some of them.
    pub(super) fn write(&self, file: &str, value: &str) -> io::Result<()> {
        fs::OpenOptions::new().write(true).open(self.path(file))?.write_all(value.as_bytes())
    }

    pub(super) fn append(&self, file: &str, value: &str) -> io::Result<()> {
        fs::OpenOptions::new().append(true).open(self.path(file))?.write_all(value.as_bytes())
    }

    /// Names in a folder, sorted.
    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// The mount point of tracefs; usual ones first.
fn mounted() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mount_points: Vec<&str> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let mount_point = words.next()?;
            (words.next()? == "tracefs").then_some(mount_point)
        })
        .collect();
    let usual = USUAL.into_iter().find(|mount_point| mount_points.contains(mount_point));
    // Blanks of a path are written as \040 there; such a mount point is skipped.
    usual
        .or_else(|| mount_points.into_iter().find(|mount_point| !mount_point.contains('\\')))
        .map(PathBuf::from)
}

fn private_mount() -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

/// Mounts tracefs where programs look for it.
pub(super) fn mount_publicly() -> Result<(), RecordError> {
    rustix::mount::mount("tracefs", PUBLIC, "tracefs", MountFlags::empty(), None)
        .map_err(|source| mount_error(source.into()))
}

/// Unmounts what [`mount_publicly`] mounted, unless it is in use.
pub(super) fn unmount(mount_point: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(mount_point, rustix::mount::UnmountFlags::empty())?)
}

fn mount_error(source: io::Error) -> RecordError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => RecordError::Permission {
            what: "tracefs is not mounted, and mounting it failed".to_owned(),
            source,
        },
        _ => RecordError::NoTracefs { source },
    }
}
