//! The objects that say who owns a prefix.

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, Result};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// The folder they are in.
pub(super) const FOLDER: &str = "owner";

/// Earlier owners that stay listed, for people.
const OWNERS_RETAINED: u64 = 4;

/// Who made a claim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Owner {
    /// The number of the claim.
    pub(super) number: u64,
    /// What only the owner and its data folder know.
    pub(super) token: String,
    pub(super) host: String,
    pub(super) process: u32,
    /// How long it must have given no sign of life before another server may take over, milliseconds.
    pub(super) takeover_after_ms: u64,
}

/// Signs of life of an owner.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Life {
    /// It runs; the number changes.
    Beat(u64),
    /// It ended, and everything that it acknowledged is in segments.
    Ended,
}

impl Owner {
    /// The owner that this process becomes with a claim of this number.
    pub(super) fn this_process(number: u64, takeover_after: Duration) -> Owner {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let host = name.map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned());
        let takeover_after_ms = u64::try_from(takeover_after.as_millis()).unwrap_or(u64::MAX);
        Owner { number, token: random_token(), host, process: std::process::id(), takeover_after_ms }
    }

    /// How long it must give no sign of life before another server may take over.
    pub(super) fn takeover_after(&self) -> Duration {
        Duration::from_millis(self.takeover_after_ms)
    }

    /// Makes its claim; whether it is its own now. Another process may have made one of the same number.
    pub(super) async fn create(&self, objects: &dyn ObjectStore) -> Result<bool> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match objects.put_opts(&path_of(self.number), json(self).into(), options).await {
            Ok(_) => Ok(true),
            // It may be there because an attempt whose answer was lost has put it.
            Err(Error::AlreadyExists { .. }) => Ok(read(objects, self.number).await?.as_ref() == Some(self)),
            Err(error) => Err(error),
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} on {}", self.process, self.host)
    }
}

/// A text that no other claim has: from the random keys of hash maps, which the operating system provides.
pub(super) fn random_token() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// The owner of the highest number; `None` if nobody has claimed the prefix.
pub(super) async fn newest(objects: &dyn ObjectStore) -> Result<Option<Owner>> {
    let Some(highest) = numbers(objects).await?.into_iter().max() else { return Ok(None) };
    read(objects, highest).await
}

/// Whether a claim is the newest: nobody has made the next one, nor any that this one was forgotten for.
pub(super) async fn is_newest(objects: &dyn ObjectStore, number: u64) -> Result<bool> {
    Ok(!is_claimed(objects, number + 1).await? && is_claimed(objects, number).await?)
}

async fn is_claimed(objects: &dyn ObjectStore, number: u64) -> Result<bool> {
    match objects.head(&path_of(number)).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The last sign of life of an owner; `None` if it has given none.
pub(super) async fn life(objects: &dyn ObjectStore, number: u64) -> Result<Option<Life>> {
    Ok(get(objects, &life_path(number)).await?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// Gives a sign of life.
pub(super) async fn put_life(objects: &dyn ObjectStore, number: u64, life: &Life) -> Result<()> {
    objects.put(&life_path(number), json(life).into()).await.map(drop)
}

/// Deletes what earlier owners have left but for the last few, as far as it can.
pub(super) async fn forget_earlier(objects: &dyn ObjectStore, number: u64) {
    let Ok(all) = numbers(objects).await else { return };
    let earlier = all.into_iter().filter(|&earlier| earlier + OWNERS_RETAINED < number);
    let files = earlier.flat_map(|earlier| [path_of(earlier), life_path(earlier)]);
    crate::segments::delete(objects, files.collect()).await;
}

async fn numbers(objects: &dyn ObjectStore) -> Result<Vec<u64>> {
    let found: Vec<_> = objects.list(Some(&Path::from(FOLDER))).try_collect().await?;
    let number = |path: &Path| path.filename()?.strip_suffix(".json")?.parse().ok();
    Ok(found.iter().filter_map(|object| number(&object.location)).collect())
}

async fn read(objects: &dyn ObjectStore, number: u64) -> Result<Option<Owner>> {
    let path = path_of(number);
    let Some(bytes) = get(objects, &path).await? else { return Ok(None) };
    let owner = serde_json::from_slice(&bytes);
    owner
        .map(Some)
        .map_err(|error| Error::Generic { store: "claims", source: format!("{path}: {error}").into() })
}

async fn get(objects: &dyn ObjectStore, path: &Path) -> Result<Option<Bytes>> {
    match objects.get(path).await {
        Ok(found) => Ok(Some(found.bytes().await?)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("it has no map whose keys are not texts")
}

fn path_of(number: u64) -> Path {
    Path::from(format!("{FOLDER}/{number:012}.json"))
}

fn life_path(number: u64) -> Path {
    Path::from(format!("{FOLDER}/{number:012}.alive"))
}
