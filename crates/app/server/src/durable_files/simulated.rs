//! A folder whose power can be lost at any call.

use super::{FileCalls, disk};
use laggard_model::mix64;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Calls go to a real folder, from which files are read, and to a model of what a disk would have after a loss of power.
#[derive(Default)]
pub(crate) struct LosingPower {
    model: Mutex<Model>,
}

#[derive(Default)]
struct Model {
    names: BTreeMap<OsString, Inode>,
    /// The names after a loss of power if the folder is not synced any more.
    durable_names: BTreeMap<OsString, Inode>,
    calls: u64,
    fails_at: Option<u64>,
}

type Inode = Arc<Mutex<Contents>>;

#[derive(Default)]
struct Contents {
    now: Vec<u8>,
    durable: Vec<u8>,
}

/// Reproducible random numbers (SplitMix64, Steele et al. 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix64(self.0) % limit
    }
}

impl LosingPower {
    /// Power is lost during the call of this number, counted from 0.
    pub(crate) fn during(call: u64) -> LosingPower {
        LosingPower { model: Mutex::new(Model { fails_at: Some(call), ..Model::default() }) }
    }

    /// Whether power was lost.
    pub(crate) fn is_lost(&self) -> bool {
        let model = self.model.lock().unwrap();
        model.fails_at.is_some_and(|call| model.calls > call)
    }

    /// Writes into a folder what is there after power has come back: what was made durable, and some of what was not.
    pub(crate) fn write_survivors(&self, folder: &Path, random: &mut Random) {
        let model = self.model.lock().unwrap();
        let mut surviving = model.durable_names.clone();
        for (name, inode) in &model.names {
            if random.below(2) == 0 {
                surviving.insert(name.clone(), inode.clone());
            }
        }
        for (name, inode) in surviving {
            let bytes = survivor(&inode.lock().unwrap(), random);
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }

    /// Counts a call; how many of its bytes are written, and whether it succeeds.
    fn call(&self, bytes: usize) -> (usize, io::Result<()>) {
        let mut model = self.model.lock().unwrap();
        let call = model.calls;
        model.calls += 1;
        match model.fails_at {
            Some(fails_at) if call >= fails_at => {
                let written = if call == fails_at { bytes / 2 } else { 0 };
                (written, Err(io::Error::other("no power")))
            }
            _ => (bytes, Ok(())),
        }
    }

    fn inode(&self, path: &Path) -> Inode {
        self.model.lock().unwrap().names[path.file_name().unwrap()].clone()
    }
}

/// Durable bytes, then some of those that were written behind them, the last of which may be anything.
fn survivor(contents: &Contents, random: &mut Random) -> Vec<u8> {
    let Some(unsynced) = contents.now.strip_prefix(&contents.durable[..]) else {
        return if random.below(2) == 0 { contents.now.clone() } else { contents.durable.clone() };
    };
    let retained = random.below(unsynced.len() as u64 + 1) as usize;
    let mut bytes = [&contents.durable[..], &unsynced[..retained]].concat();
    if retained > 0 && random.below(2) == 0 {
        let torn = contents.durable.len() + random.below(retained as u64) as usize;
        bytes[torn..].fill(0);
    }
    bytes
}

impl FileCalls for LosingPower {
    fn create(&self, path: &Path) -> io::Result<()> {
        self.call(0).1?;
        let mut model = self.model.lock().unwrap();
        let inode = model.names.entry(path.file_name().unwrap().to_owned()).or_default();
        inode.lock().unwrap().now.clear();
        disk().create(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let (written, outcome) = self.call(bytes.len());
        if written > 0 {
            self.inode(path).lock().unwrap().now.extend_from_slice(&bytes[..written]);
            disk().append(path, &bytes[..written])?;
        }
        outcome
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.call(0).1?;
        let inode = self.inode(path);
        let mut contents = inode.lock().unwrap();
        contents.durable = contents.now.clone();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(0).1?;
        let mut model = self.model.lock().unwrap();
        let inode = model.names.remove(from.file_name().unwrap()).unwrap();
        model.names.insert(to.file_name().unwrap().to_owned(), inode);
        disk().rename(from, to)
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        self.call(0).1?;
        let mut model = self.model.lock().unwrap();
        model.durable_names = model.names.clone();
        Ok(())
    }
}
