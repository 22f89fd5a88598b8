//! One thread per CPU that copies complete pages from the kernel to an unnamed file.

use super::buffer::{Buffer, refused};
use crate::error::RecordError;
use crate::settings::RecordMode;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Pages that are collected before they are written to the file.
const PAGES_TOGETHER: usize = 64;

/// The pages of one CPU as they were read.
pub(super) struct CpuFile {
    pub(super) cpu: u32,
    pub(super) bytes: u64,
    pub(super) file: File,
}

/// The running threads. When this is dropped they end by themselves.
pub(super) struct Readers {
    stop: UnixStream,
    threads: Vec<JoinHandle<io::Result<CpuFile>>>,
}

impl Readers {
    /// Opens every CPU's pages and starts reading them, by [`RecordMode`].
    pub(super) fn start(
        buffer: &Buffer,
        cpus: u32,
        page_bytes: u32,
        mode: RecordMode,
        folder: &Path,
    ) -> Result<Readers, RecordError> {
        let pair = UnixStream::pair().map_err(|source| refused("no descriptor is left", source))?;
        let (stop, stopped) = (pair.0, Arc::new(pair.1));
        let mut threads = Vec::new();
        for cpu in 0..cpus {
            let Some(pages) = open_pages(buffer, cpu)? else { continue };
            let file =
                nameless(folder).map_err(|source| RecordError::Output { path: folder.to_owned(), source })?;
            let reader = CpuReader {
                pages,
                stopped: stopped.clone(),
                page: page_bytes as usize,
                mode,
                collected: Vec::with_capacity(PAGES_TOGETHER * page_bytes as usize),
                out: CpuFile { cpu, bytes: 0, file },
            };
            let thread = std::thread::Builder::new().name(format!("laggard-cpu{cpu}"));
            let thread = thread
                .spawn(|| reader.run())
                .map_err(|source| refused("no thread can be started", source))?;
            threads.push(thread);
        }
        Ok(Readers { stop, threads })
    }

    /// Lets the threads read what is left, and waits for them. Recording must have been switched off.
    pub(super) fn finish(self) -> io::Result<Vec<CpuFile>> {
        drop(self.stop);
        let finished = self.threads.into_iter().map(|thread| match thread.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        finished.collect()
    }
}

/// The pages of one CPU, to be read without waiting; `None` for a number without a CPU.
pub(super) fn open_pages(buffer: &Buffer, cpu: u32) -> Result<Option<File>, RecordError> {
    let pipe = buffer.tracefs.path(&buffer.file(&format!("per_cpu/cpu{cpu}/trace_pipe_raw")));
    match File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&pipe) {
        Ok(pages) => Ok(Some(pages)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused("the trace buffer cannot be read", error)),
    }
}

/// Reads one page; false when there is none.
pub(super) fn read_page(pages: &mut File, page: &mut [u8]) -> io::Result<bool> {
    let read = loop {
        match pages.read(page) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break 0,
            read => break read?,
        }
    };
    match read {
        0 => Ok(false),
        read if read == page.len() => Ok(true),
        _ => Err(io::Error::other(format!("the kernel gave {read} bytes of a page of {}", page.len()))),
    }
}

/// A temporary file that is deleted on close.
pub(super) fn nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // Some file systems cannot: a name for a moment, then.
    let path = folder.join(format!(".laggard-{}.pages", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

struct CpuReader {
    pages: File,
    /// Hangs up when recording is over.
    stopped: Arc<UnixStream>,
    page: usize,
    mode: RecordMode,
    collected: Vec<u8>,
    out: CpuFile,
}

impl CpuReader {
    fn run(mut self) -> io::Result<CpuFile> {
        while self.wait()? {
            self.read_full()?;
        }
        while self.read_page()? {}
        self.flush()?;
        self.out.file.rewind()?;
        Ok(self.out)
    }

    /// Sleeps until the kernel says that the buffer is half full; false when recording is over.
    fn wait(&self) -> io::Result<bool> {
        let stop = PollFd::new(&*self.stopped, PollFlags::IN);
        let pages = PollFd::new(&self.pages, PollFlags::IN);
        let mut descriptors = [stop, pages];
        let watched = match self.mode {
            RecordMode::Stream => &mut descriptors[..],
            RecordMode::FlightRecorder => &mut descriptors[..1],
        };
        match poll(watched, None) {
            Ok(_) => Ok(descriptors[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads full pages, and at most one that is not: the thread that is traced writes that one.
    fn read_full(&mut self) -> io::Result<()> {
        while self.read_page()? {
            let page = &self.collected[self.collected.len() - self.page..];
            if committed(page) < self.page / 2 {
                break;
            }
        }
        self.flush()
    }

    /// Reads one page, which is the last of those collected; false when there is none.
    fn read_page(&mut self) -> io::Result<bool> {
        if self.collected.len() >= PAGES_TOGETHER * self.page {
            self.flush()?;
        }
        let begin = self.collected.len();
        self.collected.resize(begin + self.page, 0);
        let read = read_page(&mut self.pages, &mut self.collected[begin..]);
        if !matches!(read, Ok(true)) {
            self.collected.truncate(begin);
        }
        read
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.file.write_all(&self.collected)?;
        self.out.bytes += self.collected.len() as u64;
        self.collected.clear();
        Ok(())
    }
}

/// Bytes of data of a page: the low 20 bits of the word after its time.
fn committed(page: &[u8]) -> usize {
    let word = page.get(8..16).and_then(|word| word.try_into().ok()).map_or(0, u64::from_ne_bytes);
    (word & 0xf_ffff) as usize
}
