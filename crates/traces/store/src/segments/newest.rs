//! The newest manifest of a store that other processes write.

use super::error::SegmentError;
use super::files::stray_files;
use super::layout;
use super::manifest::{self, Manifest, REPAIR};
use object_store::ObjectStore;
use std::time::Duration;

/// A manifest that cannot be read is looked for again this many times: it may just be replaced.
const ATTEMPTS_MAX: usize = 3;

/// … after so long.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);

/// The newest manifest. An earlier one does not do: what it lacks would be missing from the answer without a word.
pub(super) async fn newest(objects: &dyn ObjectStore) -> Result<Manifest, SegmentError> {
    let mut attempt = 1;
    loop {
        let found = match try_newest(objects).await {
            Err(SegmentError::Storage(_)) if attempt < ATTEMPTS_MAX => None,
            found => Some(found),
        };
        if let Some(found) = found {
            return found;
        }
        attempt += 1;
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
}

async fn try_newest(objects: &dyn ObjectStore) -> Result<Manifest, SegmentError> {
    let found = manifest::newest(objects).await?;
    let Some(&highest) = found.numbers.last() else {
        return match stray_files(objects, &found.manifest).await?.is_empty() {
            true => Ok(found.manifest),
            false => Err(SegmentError::Storage(format!(
                "there are files of segments, but no manifest that names them; {REPAIR}"
            ))),
        };
    };
    match found.unreadable.first() {
        Some((number, reason)) if found.manifest.number < highest => {
            let path = layout::manifest(*number);
            Err(SegmentError::Storage(format!("{path} {reason}, nor can its copy be read; {REPAIR}")))
        }
        _ => Ok(found.manifest),
    }
}
