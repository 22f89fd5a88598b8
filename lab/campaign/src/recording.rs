//! The folder of a run: all that is judged, and all that is needed to replay it.
//!
//! ```text
//! run.json          which fault, when, and under what conditions
//! truth.json        what is true about it
//! incidents.jsonl   /api/v1/incidents, whenever it changed
//! answers.csv       every answer as the user saw it
//! history/*.binpb   OTLP of the normal operation before, by the recorder of the bookstore
//! fault/*.binpb     OTLP of the last minute before the fault, and of the fault
//! kernel/HOST.dat   kernel recordings that the server requested
//! ```

use crate::shift::{Kind, messages, moved};
use crate::{CampaignError, in_file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `run.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Conditions {
    /// The fault's name.
    pub(crate) fault: String,
    /// When it was switched on, nanoseconds since the Unix epoch.
    pub(crate) began_ns: i64,
    /// When it was switched off.
    pub(crate) ended_ns: i64,
    /// Clients of the shop.
    pub(crate) clients: u32,
    /// Runnable processes of the machine just before (the load average of a minute).
    pub(crate) load_before: f64,
    /// The same at the end.
    pub(crate) load_after: f64,
    /// The priority that the shop and the server ran at (`nice`); below 0 is before other work of the machine.
    pub(crate) nice: i32,
    /// The machine: processors, memory, kernel.
    pub(crate) machine: String,
    /// Whether agents recorded the kernel.
    pub(crate) agents: bool,
    /// How much later than when it was recorded it was sent; 0 for a live run.
    pub(crate) moved_ns: i64,
}

/// A folder with a run.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    folder: PathBuf,
    /// Facts about the run: fault, times, load.
    pub(crate) conditions: Conditions,
}

impl Recording {
    /// Reads what a run left.
    ///
    /// # Errors
    /// When `run.json` is missing or damaged.
    pub(crate) fn open(folder: &Path) -> Result<Recording, CampaignError> {
        let conditions = read_json(&folder.join("run.json"))?;
        Ok(Recording { folder: folder.to_owned(), conditions })
    }

    /// Completes the folder of a run.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub(crate) fn save(folder: &Path, conditions: Conditions) -> Result<Recording, CampaignError> {
        let path = folder.join("run.json");
        let text = serde_json::to_string_pretty(&conditions).map_err(|error| in_file(&path, &error))?;
        std::fs::write(&path, text).map_err(|error| in_file(&path, &error))?;
        Ok(Recording { folder: folder.to_owned(), conditions })
    }

    /// The name of the run: that of its folder.
    pub(crate) fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// A file or folder of it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Files of OTLP in a part of it (`history`, `fault`), in order of time.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn messages(&self, part: &str, kind: Kind) -> Result<Vec<PathBuf>, CampaignError> {
        Recording::files(&self.folder.join(part), kind)
    }

    /// Files of OTLP in a folder, in order of time.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn files(folder: &Path, kind: Kind) -> Result<Vec<PathBuf>, CampaignError> {
        let listed = std::fs::read_dir(folder).map_err(|error| in_file(folder, &error))?;
        let end = format!("{}.binpb", kind.name());
        let mut paths: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(&end));
        paths.sort();
        Ok(paths)
    }

    /// When its normal operation was recorded, in seconds since the epoch: an interval for each file of the history, and the time
    /// just before the fault.
    ///
    /// # Errors
    /// When the spans cannot be read.
    pub(crate) fn normal(&self) -> Result<Vec<(f64, f64)>, CampaignError> {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let began_ns = self.conditions.began_ns - self.conditions.moved_ns;
        let mut out = Vec::new();
        for path in
            self.messages("history", Kind::Traces)?.iter().chain(&self.messages("fault", Kind::Traces)?)
        {
            let interval = spans_interval(path)?.filter(|(first_ns, _)| *first_ns < began_ns);
            out.extend(
                interval.map(|(first_ns, last_ns)| (seconds(first_ns), seconds(last_ns.min(began_ns)))),
            );
        }
        Ok(out)
    }

    /// Reads a JSON file of it.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, CampaignError> {
        read_json(&self.folder.join(name))
    }

    /// The lines of a text of it.
    ///
    /// # Errors
    /// When it is missing.
    pub(crate) fn lines(&self, name: &str) -> Result<Vec<String>, CampaignError> {
        let path = self.folder.join(name);
        let text = std::fs::read_to_string(&path).map_err(|error| in_file(&path, &error))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, CampaignError> {
    let text = std::fs::read_to_string(path).map_err(|error| in_file(path, &error))?;
    serde_json::from_str(&text).map_err(|error| in_file(path, &error))
}

/// From when to when the messages of a file are, by the latest span of each; `None` without spans.
///
/// # Errors
/// When it cannot be read, or is damaged.
pub(crate) fn spans_interval(path: &Path) -> Result<Option<(i64, i64)>, CampaignError> {
    let file = std::fs::read(path).map_err(|error| in_file(path, &error))?;
    let mut out: Option<(i64, i64)> = None;
    for message in messages(&file) {
        if let Some(at_ns) = moved(Kind::Traces, message, 0)?.latest_ns {
            let (first_ns, last_ns) = out.unwrap_or((at_ns, at_ns));
            out = Some((first_ns.min(at_ns), last_ns.max(at_ns)));
        }
    }
    Ok(out)
}
