//! Where cases come from.

mod cpu_demands;
mod executions;
mod lingering;
mod matrices;
mod minutes;
mod online_boutique;
mod shop;
mod simulator;
mod slow_periods;
mod tpcw;
mod tracebench;

pub use minutes::{Alarm, detection};
pub use tracebench::{FileTruth, tracebench_truth};

use crate::run::Runner;
use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_formats::{InputSettings, NoProgress, expand, read_all};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A kind of data, recognized by layout and file names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SetKind {
    /// Files `slowdn-…` and `slowhdfs-…`.
    Tracebench,
    /// `faults.json` beside `spans.…`.
    OnlineBoutique,
    /// Tables with the header `Latency,…,anomaly`.
    Delag,
    /// No data: simulated in the process.
    Simulator,
    /// No data: a shop simulated in the process, window by window.
    Tpcw,
    /// No data: simulated executions.
    Executions,
    /// `demands.csv` beside folders `…-exp…`.
    CpuDemands,
}

impl SetKind {
    /// All of them, in the order of the scorecard.
    pub const ALL: [SetKind; 7] = [
        SetKind::Tracebench,
        SetKind::OnlineBoutique,
        SetKind::Delag,
        SetKind::Simulator,
        SetKind::Tpcw,
        SetKind::CpuDemands,
        SetKind::Executions,
    ];

    /// The word for `--only`.
    pub const fn name(self) -> &'static str {
        match self {
            SetKind::Tracebench => "tracebench",
            SetKind::OnlineBoutique => "online-boutique",
            SetKind::Delag => "delag",
            SetKind::Simulator => "simulator",
            SetKind::Tpcw => "tpcw",
            SetKind::CpuDemands => "cpu-demands",
            SetKind::Executions => "executions",
        }
    }
}

/// Cases that are scored together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Group {
    /// The set.
    pub set: SetKind,
    /// What its cases have in common.
    pub name: String,
}

impl Group {
    pub(crate) fn new(set: SetKind, name: &str) -> Group {
        Group { set, name: name.to_owned() }
    }

    /// `set/name`, which `--only` is looked for in.
    pub fn path(&self) -> String {
        format!("{}/{}", self.set.name(), self.name)
    }
}

/// Runs every selected set whose data exist. A set is searched for in the folder itself and in its subfolders.
pub(crate) fn visit(data: Option<&Path>, runner: &mut Runner<'_>) -> Result<(), String> {
    for folder in data.map(folders).transpose()?.unwrap_or_default() {
        tracebench::visit(&folder, runner)?;
        online_boutique::visit(&folder, runner)?;
        matrices::visit(&folder, runner)?;
        cpu_demands::visit(&folder, runner)?;
    }
    simulator::visit(runner)?;
    executions::visit(runner);
    tpcw::visit(runner)
}

fn folders(data: &Path) -> Result<Vec<PathBuf>, String> {
    let mut out = vec![data.to_owned()];
    out.extend(entries(data)?.into_iter().filter(|path| path.is_dir()));
    Ok(out)
}

/// What is in a folder, by name.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let at = |error: std::io::Error| format!("{}: {error}", folder.display());
    let listed: Result<Vec<PathBuf>, std::io::Error> =
        std::fs::read_dir(folder).map_err(at)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut listed = listed.map_err(at)?;
    listed.sort();
    Ok(listed)
}

/// A file's name.
pub(crate) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Reads spans of any format the product reads.
pub(crate) fn read_traces(path: &Path, threads: NonZeroUsize) -> Result<Traces, String> {
    let mut ingest = Ingest::new(IngestSettings::default());
    let sources = expand(&[path.to_owned()]).map_err(|error| error.to_string())?;
    read_all(&sources, &InputSettings::default(), &mut ingest, &NoProgress)
        .map_err(|error| error.to_string())?;
    Ok(ingest.finish(threads))
}
