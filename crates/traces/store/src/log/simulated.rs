//! An in-memory file system with injected failures and power losses.

use super::files::{LogFile, LogFiles};
use crate::random_batches::TestRng;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// A fault injected at a step. Steps are the calls that write, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// This call and all later ones fail: the power fails during it.
    PowerLoss,
    /// This call writes half of its bytes, if any, and fails with "disk full"; so does this number of following calls.
    OutOfSpace(u64),
}

#[derive(Clone, Default)]
pub(crate) struct Simulated {
    disk: Arc<Mutex<SimulatedDisk>>,
}

#[derive(Default)]
struct SimulatedDisk {
    files: BTreeMap<String, ByteReader>,
    /// The files that exist after a power loss if the folder is not synced any more.
    durable: BTreeMap<String, ByteReader>,
    steps: u64,
    fault: Option<(u64, Fault)>,
}

/// A file's bytes; shared between its names, as an inode is.
type ByteReader = Arc<Mutex<FileContents>>;

#[derive(Clone, Default)]
struct FileContents {
    now: Vec<u8>,
    durable: Vec<u8>,
}

impl Simulated {
    /// Lets a step fail, counted from now on.
    pub(crate) fn fail(&self, step: u64, fault: Fault) {
        let mut disk = self.disk.lock().unwrap();
        disk.fault = Some((disk.steps + step, fault));
    }

    /// Steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.disk.lock().unwrap().steps
    }

    /// The file system after the power came back: what was made durable, and some of what was not.
    pub(crate) fn after_power_loss(&self, dice: &mut TestRng) -> Simulated {
        let disk = self.disk.lock().unwrap();
        let mut surviving: BTreeMap<String, ByteReader> = disk.durable.clone();
        for (name, file) in &disk.files {
            if dice.below(2) == 0 {
                surviving.insert(name.clone(), file.clone());
            }
        }
        let survive = |file: &ByteReader, dice: &mut TestRng| survivor(&file.lock().unwrap(), dice);
        let files: BTreeMap<String, ByteReader> = surviving
            .into_iter()
            .map(|(name, file)| (name, Arc::new(Mutex::new(survive(&file, dice)))))
            .collect();
        let disk = SimulatedDisk { durable: files.clone(), files, ..SimulatedDisk::default() };
        Simulated { disk: Arc::new(Mutex::new(disk)) }
    }

    /// A step outside the log.
    pub(crate) fn tick(&self) -> io::Result<()> {
        first_error(self.step(0))
    }

    /// Bytes of a file, to damage them.
    pub(crate) fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let disk = self.disk.lock().unwrap();
        let mut file = disk.files[name].lock().unwrap();
        change(&mut file.now);
        file.durable = file.now.clone();
    }

    /// How many of `bytes` a step may still write, or why it fails.
    fn step(&self, bytes: usize) -> Result<(), (usize, io::Error)> {
        let mut disk = self.disk.lock().unwrap();
        let step = disk.steps;
        disk.steps += 1;
        match disk.fault {
            Some((fail_at, Fault::PowerLoss)) if step >= fail_at => {
                let written = if step == fail_at { bytes / 2 } else { 0 };
                Err((written, io::Error::other("no power")))
            }
            Some((fail_at, Fault::OutOfSpace(times))) if (fail_at..fail_at + times).contains(&step) => {
                Err((bytes / 2, io::Error::from(io::ErrorKind::StorageFull)))
            }
            _ => Ok(()),
        }
    }
}

/// What is left of a file: its durable bytes, then some of those that were written behind them, the last of
/// which may be anything.
fn survivor(file: &FileContents, dice: &mut TestRng) -> FileContents {
    let Some(unsynced) = file.now.strip_prefix(&file.durable[..]) else {
        let retained = if dice.below(2) == 0 { &file.now } else { &file.durable };
        return FileContents { now: retained.clone(), durable: retained.clone() };
    };
    let retained = dice.below(unsynced.len() as u64 + 1) as usize;
    let mut now = file.durable.clone();
    now.extend_from_slice(&unsynced[..retained]);
    if retained > 0 && dice.below(2) == 0 {
        let torn = file.durable.len() + dice.below(retained as u64) as usize;
        now[torn..].fill(0);
    }
    FileContents { durable: now.clone(), now }
}

fn first_error(stepped: Result<(), (usize, io::Error)>) -> io::Result<()> {
    stepped.map_err(|(_, error)| error)
}

impl LogFiles for Simulated {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.disk.lock().unwrap().files.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let disk = self.disk.lock().unwrap();
        let file = disk.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(file.lock().unwrap().now.clone())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>> {
        first_error(self.step(0))?;
        let mut disk = self.disk.lock().unwrap();
        let file = disk.files.entry(name.to_owned()).or_default().clone();
        file.lock().unwrap().now.clear();
        Ok(Box::new(SimulatedFile { all: self.clone(), file }))
    }

    fn cut(&self, name: &str, bytes: u64) -> io::Result<()> {
        first_error(self.step(0))?;
        let disk = self.disk.lock().unwrap();
        let mut file = disk.files[name].lock().unwrap();
        file.now.truncate(bytes as usize);
        file.durable = file.now.clone();
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        first_error(self.step(0))?;
        let removed = self.disk.lock().unwrap().files.remove(name);
        removed.map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&self) -> io::Result<()> {
        first_error(self.step(0))?;
        let mut disk = self.disk.lock().unwrap();
        disk.durable = disk.files.clone();
        Ok(())
    }
}

struct SimulatedFile {
    all: Simulated,
    file: ByteReader,
}

impl LogFile for SimulatedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (written, outcome) = match self.all.step(bytes.len()) {
            Ok(()) => (bytes.len(), Ok(())),
            Err((written, error)) => (written, Err(error)),
        };
        self.file.lock().unwrap().now.extend_from_slice(&bytes[..written]);
        outcome
    }

    fn sync(&mut self) -> io::Result<()> {
        first_error(self.all.step(0))?;
        let mut file = self.file.lock().unwrap();
        file.durable = file.now.clone();
        Ok(())
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        first_error(self.all.step(0))?;
        self.file.lock().unwrap().now.truncate(bytes as usize);
        Ok(())
    }
}
