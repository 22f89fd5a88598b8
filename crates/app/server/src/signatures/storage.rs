//! Signatures on disk: a file each in a folder of the tenant, and what they are of in memory.

use super::periods::SignaturePeriod;
use laggard_model::{Nanos, Timestamp};
use laggard_report::{Signature, read_signature};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use utoipa::ToSchema;

const VERSION: u32 = 1;

// Limit: stored signatures of releases and days, per tenant | the oldest are deleted
/// Most signatures of a tenant: those of more than a year with a release a day.
const SIGNATURES_MAX: usize = 1_000;

/// A year, and a month to compare with it.
const KEEP_FOR: Nanos = Nanos::from_secs(400 * 86_400);

/// No file that this program wrote is larger.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What a stored signature is of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct StoredSignature {
    /// Its id.
    pub(crate) id: String,
    /// The service that was deployed; empty for a day of the whole system.
    pub(crate) service: String,
    /// The version of the service; empty for a day.
    pub(crate) version: String,
    /// The first sample, in nanoseconds since the Unix epoch.
    pub(crate) since_ns: i64,
    /// The end of the last window.
    pub(crate) until_ns: i64,
    /// Whether the release or day was over: until then, the signature is replaced once more.
    pub(crate) complete: bool,
    /// Transaction types with a service time, of all servers.
    pub(crate) transactions: u64,
}

/// A file.
#[derive(Serialize, Deserialize)]
struct SignatureFile<S> {
    version: u32,
    about: StoredSignature,
    signature: S,
}

/// The head of a file, without its signature.
#[derive(Deserialize)]
struct SignatureHead {
    version: u32,
    about: StoredSignature,
}

/// The signatures of one tenant.
pub(crate) struct TenantSignatures {
    folder: PathBuf,
    /// By the beginning of their time.
    stored: Mutex<Vec<StoredSignature>>,
}

impl TenantSignatures {
    /// Opens those in a tenant's folder. A file that cannot be read is left alone, and logged.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn open(tenant: &Path) -> io::Result<TenantSignatures> {
        let folder = tenant.join("signatures");
        let mut stored = Vec::new();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            entries => Some(entries?),
        };
        for entry in entries.into_iter().flatten() {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match read_head(&path) {
                Ok(about) => stored.push(about),
                Err(error) => {
                    tracing::error!(file = %path.display(), %error, "a stored signature cannot be read");
                }
            }
        }
        stored.sort_by_key(order);
        Ok(TenantSignatures { folder, stored: Mutex::new(stored) })
    }

    /// All, by the beginning of their time.
    pub(crate) fn list(&self) -> Vec<StoredSignature> {
        self.stored().clone()
    }

    /// One by its id, or the latest one of a release as `SERVICE@VERSION`.
    pub(crate) fn find(&self, name: &str) -> Option<StoredSignature> {
        let stored = self.stored();
        let by_id = stored.iter().find(|about| about.id == name);
        let by_release = || {
            let (service, version) = name.rsplit_once('@')?;
            stored.iter().rev().find(|about| about.service == service && about.version == version)
        };
        by_id.or_else(by_release).cloned()
    }

    /// Reads one that is listed. Blocks.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub(crate) fn read(&self, about: &StoredSignature) -> io::Result<Signature> {
        let bytes = bounded(&self.path(&about.id))?;
        let file: SignatureFile<&RawValue> = serde_json::from_slice(&bytes)?;
        read_signature(file.signature.get()).map_err(|error| io::Error::other(error.to_string()))
    }

    /// Whether the signature of a period has to be computed: there is none, or it was computed before the period was over.
    pub(super) fn is_due(&self, period: &SignaturePeriod, now: Timestamp) -> bool {
        match self.find(&period.id()) {
            None => true,
            Some(known) => !known.complete && period.is_over(now),
        }
    }

    /// Stores the signature of a period in place of an earlier one. Blocks; when this returns, it survives a loss of power.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn store(
        &self,
        period: &SignaturePeriod,
        signature: &Signature,
        now: Timestamp,
    ) -> io::Result<()> {
        let passed = period.clone().so_far(now);
        let types = signature.servers.iter().flat_map(|server| &server.transactions);
        let about = StoredSignature {
            id: period.id(),
            service: period.service.clone(),
            version: period.version.clone(),
            since_ns: passed.since.unix_ns(),
            until_ns: passed.until.unix_ns(),
            complete: period.is_over(now),
            transactions: types.filter(|transaction| transaction.service_time_s.is_some()).count() as u64,
        };
        let file = SignatureFile { version: VERSION, about: about.clone(), signature };
        fs::create_dir_all(&self.folder)?;
        let mut fresh = tempfile::Builder::new().suffix(".new").tempfile_in(&self.folder)?;
        fresh.write_all(&serde_json::to_vec(&file)?)?;
        fresh.as_file().sync_all()?;
        fresh.persist(self.path(&about.id))?;
        File::open(&self.folder)?.sync_all()?;
        let mut stored = self.stored();
        stored.retain(|known| known.id != about.id);
        stored.push(about);
        stored.sort_by_key(order);
        self.expire(&mut stored, now);
        Ok(())
    }

    fn expire(&self, stored: &mut Vec<StoredSignature>, now: Timestamp) {
        let oldest = now.minus(KEEP_FOR).unix_ns();
        let old = stored.iter().take_while(|about| about.until_ns < oldest).count();
        let expired = old.max(stored.len().saturating_sub(SIGNATURES_MAX));
        for about in stored.drain(..expired) {
            if let Err(error) = fs::remove_file(self.path(&about.id)) {
                tracing::error!(id = about.id, %error, "an expired signature could not be deleted");
            }
        }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn stored(&self) -> MutexGuard<'_, Vec<StoredSignature>> {
        self.stored.lock().expect("no thread panics while it holds the lock")
    }
}

fn order(about: &StoredSignature) -> (i64, String) {
    (about.since_ns, about.id.clone())
}

fn read_head(path: &Path) -> io::Result<StoredSignature> {
    let head: SignatureHead = serde_json::from_slice(&bounded(path)?)?;
    let is_named = path.file_stem().is_some_and(|stem| stem == head.about.id.as_str());
    match head.version {
        VERSION if is_named => Ok(head.about),
        VERSION => Err(io::Error::other("it has the id of another signature")),
        other => Err(io::Error::other(format!("unknown version {other}; this program reads {VERSION}"))),
    }
}

fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let length = fs::metadata(path)?.len();
    match length <= FILE_BYTES_MAX {
        true => fs::read(path),
        false => Err(io::Error::other(format!("{length} bytes; at most {FILE_BYTES_MAX}"))),
    }
}
