//! Claiming a writer's prefix in a bucket: who may write there, and how a server notices that it was replaced.
//!
//! ```text
//! owner/N.json    who claimed it; created only if it is absent, so that each number has one owner; the highest counts
//! owner/N.alive   changes while the owner runs, and says when it ended cleanly
//! tenants/…       the stores; their manifests name the claim they were written under
//! ```
//!
//! A claim does not need the owner before to know of it: the new owner's first manifest takes the number that the other's next one
//! would have, and that one is refused.

mod error;
mod mark;
mod owner;
mod prefix;
mod probe;
#[cfg(test)]
mod tests;

pub use error::ClaimError;
pub use prefix::{ClaimRequest, WriterPrefix};

/// The file in a data folder that says which prefix its logs belong to.
pub const WRITER_MARK: &str = mark::FILE;
/// The folder below a writer's prefix that says who owns it.
pub const OWNER_FOLDER: &str = owner::FOLDER;

use crate::StoreIssue;
use crate::clock::wall_clock;
use crate::segments::SegmentError;
use laggard_model::Timestamp;
use std::sync::{Arc, OnceLock};

/// The right to write below a prefix, which another server may take over. A handle: clones are the same claim.
#[derive(Clone, Debug)]
pub struct Claim {
    state: Arc<ClaimState>,
}

#[derive(Debug)]
struct ClaimState {
    number: u64,
    /// Since when another server has it, and what was noticed.
    lost: OnceLock<(Timestamp, String)>,
    /// What may be missing since the log of the owner before is not in this server's folder.
    log_elsewhere: Option<String>,
}

impl Claim {
    pub(crate) fn new(number: u64, log_elsewhere: Option<String>) -> Claim {
        Claim { state: Arc::new(ClaimState { number, lost: OnceLock::new(), log_elsewhere }) }
    }

    /// Its number: the highest one counts.
    pub(crate) fn number(&self) -> u64 {
        self.state.number
    }

    /// Records that another server has the prefix now.
    pub(crate) fn lose(&self, noticed: &str) {
        let text = format!(
            "another server has taken over this writer's prefix ({noticed}): nothing is written there any more, and data are \
             rejected; what was acknowledged and is not in segments is in the log of this server's data folder"
        );
        if self.state.lost.set((wall_clock(), text.clone())).is_ok() {
            tracing::error!(claim = self.number(), "{text}");
        }
    }

    /// What happened, if another server has the prefix.
    pub(crate) fn lost(&self) -> Option<StoreIssue> {
        let (since, text) = self.state.lost.get()?;
        Some(StoreIssue { name: "writer_taken_over", text: text.clone(), since: *since, blocks: true })
    }

    /// Whether no other server has the prefix, as far as this one knows.
    pub fn is_valid(&self) -> bool {
        self.lost().is_none()
    }

    /// Whether this server may still write, as far as it knows.
    ///
    /// # Errors
    /// When another server has the prefix.
    pub(crate) fn check(&self) -> Result<(), SegmentError> {
        match self.lost() {
            None => Ok(()),
            Some(lost) => Err(SegmentError::Storage(lost.text)),
        }
    }

    /// What may be missing since the log of the owner before is elsewhere.
    pub(crate) fn log_elsewhere(&self) -> Option<&str> {
        self.state.log_elsewhere.as_deref()
    }
}
