//! Where cases come from.

mod cpu_demands;
mod days;
mod executions;
mod lingering;
mod matrices;
mod minutes;
mod online_boutique;
mod requests_hit;
mod shop;
mod simulator;
mod slow_periods;
mod tpcw;
mod tracebench;

pub use crate::group::{Group, SetKind};
pub use minutes::{Alarm, detection};
pub use shop::Shop;
pub use tracebench::{FileTruth, tracebench_truth};

use crate::run::Runner;
use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_formats::{InputSettings, NoProgress, expand, read_all};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Runs every selected set whose data exist. A set is searched for in the folder itself and in its subfolders.
pub(crate) fn visit(data: Option<&Path>, runner: &mut Runner<'_>) -> Result<(), String> {
    for folder in data.map(folders).transpose()?.unwrap_or_default() {
        tracebench::visit(&folder, runner)?;
        online_boutique::visit(&folder, runner)?;
        matrices::visit(&folder, runner)?;
        cpu_demands::visit(&folder, runner)?;
    }
    simulator::visit(runner)?;
    days::visit(runner)?;
    requests_hit::visit(runner)?;
    executions::visit(runner);
    tpcw::visit(runner)
}

fn folders(data: &Path) -> Result<Vec<PathBuf>, String> {
    let mut out = vec![data.to_owned()];
    out.extend(entries(data)?.into_iter().filter(|path| path.is_dir()));
    Ok(out)
}

/// Files and folders in a folder, sorted by name.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let index = |error: std::io::Error| format!("{}: {error}", folder.display());
    let listed: Result<Vec<PathBuf>, std::io::Error> =
        std::fs::read_dir(folder).map_err(index)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut listed = listed.map_err(index)?;
    listed.sort();
    Ok(listed)
}

/// A file's name.
pub(crate) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Reads spans of any format the product reads.
///
/// # Errors
/// When an input cannot be read, or is of no known format.
pub fn read_traces(paths: &[PathBuf], threads: NonZeroUsize) -> Result<Traces, String> {
    let mut ingest = Ingest::new(IngestSettings::default());
    let sources = expand(paths).map_err(|error| error.to_string())?;
    read_all(&sources, &InputSettings::default(), &mut ingest, &NoProgress)
        .map_err(|error| error.to_string())?;
    Ok(ingest.finish(threads))
}
