//! BlockCounts of objectives on disk: one file per tenant, replaced atomically.

use super::block::{Block, BlockCounts};
use super::count::Definition;
use laggard_store::KnownSegments;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file of a tenant, in its data folder.
pub(super) fn file_of(data: &Path, tenant: &str) -> PathBuf {
    data.join("tenants").join(tenant).join("objectives.json")
}

/// More than fifty objectives of ninety days need.
const FILE_BYTES_MAX: u64 = 256 << 20;

const VERSION: u32 = 1;

/// Stored counts of one objective.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Definition of the counted requests.
    pub(super) definition: Definition,
    /// Segments that were looked at.
    #[serde(rename = "next_segment")]
    pub(super) seen: KnownSegments,
    /// Blocks that are to be counted, again or for the first time.
    pub(super) pending: BTreeSet<Block>,
    /// The counts.
    pub(super) counts: BlockCounts,
}

impl Measured {
    /// Nothing was counted.
    pub(super) fn new(definition: Definition) -> Measured {
        Measured {
            definition,
            seen: KnownSegments::default(),
            pending: BTreeSet::new(),
            counts: BlockCounts::new(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct ObjectiveFile<M> {
    version: u32,
    objectives: M,
}

/// Stored counts by the name of the objective.
pub(super) type MeasuredByName = BTreeMap<String, Measured>;

/// Reads stored counts. A file that cannot be read is renamed, so that it neither gets lost nor blocks the start; what is
/// stored of requests is counted again then.
pub(super) fn load(file: &Path) -> MeasuredByName {
    match read(file) {
        Ok(measured) => measured,
        Err(error) if error.kind() == io::ErrorKind::NotFound => MeasuredByName::new(),
        Err(error) => {
            let aside = file.with_extension("json.unreadable");
            tracing::error!(file = %file.display(), %error, aside = %aside.display(), "stored counts of objectives cannot be read; stored requests are counted again");
            // Renaming fails if the disk does; then the file stays.
            let _ = std::fs::rename(file, aside);
            MeasuredByName::new()
        }
    }
}

fn read(file: &Path) -> io::Result<MeasuredByName> {
    let length = std::fs::metadata(file)?.len();
    if length > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("{length} bytes; at most {FILE_BYTES_MAX}")));
    }
    let stored: ObjectiveFile<MeasuredByName> = serde_json::from_slice(&std::fs::read(file)?)?;
    match stored.version {
        VERSION => Ok(stored.objectives),
        other => Err(io::Error::other(format!("unknown version {other}; this program reads {VERSION}"))),
    }
}

/// Replaces the file atomically: at any instant it is completely the old one or the new one.
///
/// # Errors
/// When it cannot be written.
pub(super) fn save(file: &Path, measured: &MeasuredByName) -> io::Result<()> {
    let folder = file.parent().ok_or_else(|| io::Error::other("it is in no folder"))?;
    let mut fresh = tempfile::Builder::new().prefix("objectives.").suffix(".new").tempfile_in(folder)?;
    fresh.write_all(&serde_json::to_vec(&ObjectiveFile { version: VERSION, objectives: measured })?)?;
    fresh.as_file().sync_all()?;
    fresh.persist(file)?;
    File::open(folder)?.sync_all()
}
