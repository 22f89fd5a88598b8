//! One writer at a time below a claimed prefix: every manifest names the claim it was written under.

use super::error::SegmentError;
use super::files::stray_files;
use super::layout;
use super::manifest::{self, Manifest, ManifestSearch};
use crate::Claim;
use object_store::ObjectStore;

/// Numbers of segments that a new owner leaves out. The owner before may still write files until it notices that its manifest is refused: of
/// one flush batch and one compaction, which have fewer segments.
const NUMBERS_LEFT_OUT: u64 = 1_000_000;

/// Attempts to be the first to write the next manifest. An owner before that is still running loses the race at its next manifest at the
/// latest, since it does not read those of others.
const ATTEMPTS_MAX: usize = 20;

/// Writes the newest manifest again, under the next number and a claim: from now on no earlier owner can write one.
///
/// # Errors
/// When a later owner has, or the newest manifest cannot be read.
pub(super) async fn fence(
    objects: &dyn ObjectStore,
    claim: &Claim,
    found: ManifestSearch,
) -> Result<ManifestSearch, SegmentError> {
    let mut found = found;
    for _ in 0..ATTEMPTS_MAX {
        check_newest(objects, claim, &found).await?;
        let mut next = found.manifest.clone();
        next.number += 1;
        next.claim = Some(claim.number());
        // Nobody has written a segment before the first manifest.
        next.next_segment += if found.numbers.is_empty() { 0 } else { NUMBERS_LEFT_OUT };
        let is_written = match next.put(objects).await {
            Ok(()) => true,
            Err(object_store::Error::AlreadyExists { .. }) => {
                existing(objects, &next).await?.is_some_and(|it| it == next)
            }
            Err(error) => return Err(error.into()),
        };
        if is_written {
            found.numbers.push(next.number);
            return Ok(ManifestSearch { manifest: next, ..found });
        }
        found = manifest::newest(objects).await?;
    }
    Err(SegmentError::Storage("another process writes manifests all the time".to_owned()))
}

/// Readers elsewhere must find everything in the newest manifest, so an earlier one does not do.
async fn check_newest(
    objects: &dyn ObjectStore,
    claim: &Claim,
    found: &ManifestSearch,
) -> Result<(), SegmentError> {
    match found.numbers.last() {
        None if !stray_files(objects, &found.manifest).await?.is_empty() => {
            return Err(SegmentError::Storage(
                "there are files of segments, but no manifest that names them: copy it there as well, or delete them".to_owned(),
            ));
        }
        Some(&highest) if found.manifest.number < highest => {
            let path = layout::manifest(highest);
            return Err(SegmentError::Storage(format!(
                "{path} cannot be read, nor can its copy: put either of them back, or delete both, which forgets what the earlier \
                 manifest does not name"
            )));
        }
        _ => {}
    }
    match found.manifest.claim {
        Some(other) if other > claim.number() => {
            claim.lose(&format!("{} is of claim {other}", layout::manifest(found.manifest.number)));
            claim.check()
        }
        _ => Ok(()),
    }
}

/// What is there where a manifest could not be created.
pub(super) enum Occupied {
    /// The manifest itself: an answer was lost.
    ByItself,
    /// One that this owner tried to write before: the next number is free.
    ByEarlierAttempt,
}

/// Tells what is there from what another owner has written.
///
/// # Errors
/// When another owner has written there, or it cannot be read.
pub(super) async fn occupied(
    objects: &dyn ObjectStore,
    claim: &Claim,
    refused: &Manifest,
) -> Result<Occupied, SegmentError> {
    let path = layout::manifest(refused.number);
    match existing(objects, refused).await? {
        Some(there) if there == *refused => Ok(Occupied::ByItself),
        Some(there) if there.claim == refused.claim => Ok(Occupied::ByEarlierAttempt),
        Some(_) => {
            claim.lose(&format!("{path} is there"));
            Err(claim.check().err().unwrap_or_else(|| SegmentError::damaged("is there")))
        }
        None => Err(SegmentError::Storage(format!("{path} was refused, and is not there"))),
    }
}

/// The manifest that has the number of another one, if there is one.
async fn existing(objects: &dyn ObjectStore, refused: &Manifest) -> Result<Option<Manifest>, SegmentError> {
    match objects.get_opts(&layout::manifest(refused.number), Default::default()).await {
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(found) => Manifest::parse(&found.bytes().await?).map(Some),
    }
}
