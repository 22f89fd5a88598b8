//! Tenants: a store for each, opened at its first request.

use crate::events::{ObservedVersions, TenantEvents, VersionWatch};
use crate::operations::ProcessMemory;
use crate::recordings::TenantRecordings;
use crate::settings::{RecordingSettings, ServeSettings, TENANT_NAMES, TENANTS, is_tenant_name};
use crate::signatures::TenantSignatures;
use laggard_engine::Batch;
use laggard_formats::{MessageReader, ReaderOptions, SelectedAttributes};
use laggard_model::Nanos;
use laggard_store::{
    AppendError, ClaimError, ClaimRequest, SharedMemory, Store, StoreError, StoreFolder, StoreSettings,
    WRITER_MARK, WriterPrefix,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use tokio::sync::Mutex;

/// Longest name of a tenant.
pub(crate) const TENANT_LENGTH_MAX: usize = 64;

/// The tenant of a server without tenants.
pub(crate) const ONLY: &str = "default";

/// The state of one tenant; without tenants there is one, called `default`. Handlers receive it as an extension of
/// every admitted request.
pub(crate) struct Tenant {
    pub(crate) name: Box<str>,
    pub(crate) store: Store,
    /// Reads received messages; remembers series of metrics between them.
    pub(crate) messages: MessageReader,
    /// Deployments and other changes of the observed system.
    pub(crate) events: Arc<TenantEvents>,
    /// Versions of services on received spans.
    pub(crate) versions: VersionWatch,
    /// Kernel recordings of hosts.
    pub(crate) recordings: Arc<TenantRecordings>,
    /// Signatures of releases and days.
    pub(crate) signatures: TenantSignatures,
}

impl Tenant {
    /// Stores the records of a message, and watches the versions that they report.
    ///
    /// # Errors
    /// As of [`Store::append`].
    pub(crate) async fn append(&self, batch: Batch) -> Result<(), AppendError> {
        let versions = ObservedVersions::of(&batch);
        self.store.append(batch).await?;
        self.versions.add(versions);
        Ok(())
    }
}

/// All tenants that were opened; at most as many as the settings say.
pub(crate) struct Tenants {
    folder: PathBuf,
    /// Where segments are, unless in the folder.
    prefix: Option<WriterPrefix>,
    store: StoreSettings,
    most: usize,
    reader: ReaderOptions,
    recordings: RecordingSettings,
    open: RwLock<BTreeMap<Box<str>, Arc<Tenant>>>,
    /// Held while a store is opened, so that none is opened twice.
    opening: Mutex<()>,
}

/// Why there is no such tenant.
#[derive(Debug)]
pub(crate) enum TenantError {
    /// The name cannot be one.
    Name,
    /// There are as many as there can be.
    TooMany,
    /// Its store cannot be opened.
    Store(StoreError),
    /// The place of all stores cannot be used.
    Prefix(ClaimError),
}

impl std::fmt::Display for TenantError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TenantError::Name => write!(f, "invalid tenant name; allowed: {TENANT_NAMES}"),
            TenantError::TooMany => f.write_str("there are as many tenants as tenants.most allows"),
            TenantError::Store(error) => write!(f, "its store cannot be opened: {error}"),
            TenantError::Prefix(error) => error.fmt(f),
        }
    }
}

impl Tenants {
    /// Opens those whose folders exist, or the only one of a server without tenants.
    ///
    /// # Errors
    /// When a store cannot be opened.
    pub(crate) async fn open(
        settings: &ServeSettings,
        memory: &ProcessMemory,
    ) -> Result<Tenants, TenantError> {
        let folder = settings.data.join(TENANTS);
        let tenants = Tenants {
            prefix: prefix(settings, &folder).await.map_err(TenantError::Prefix)?,
            folder,
            store: store_settings(settings, memory),
            most: settings.tenants.most as usize,
            reader: ReaderOptions {
                attributes: SelectedAttributes::parse(&settings.attributes),
                ..ReaderOptions::default()
            },
            recordings: settings.recordings.clone(),
            open: RwLock::default(),
            opening: Mutex::new(()),
        };
        if !settings.tenants.enabled {
            tenants.get(ONLY).await?;
            return Ok(tenants);
        }
        let mut names = folders(&tenants.folder);
        if let Some(prefix) = &tenants.prefix {
            let stored = prefix.location().within(TENANTS).folders().await.map_err(TenantError::Store)?;
            names.extend(stored.into_iter().filter(|name| is_tenant_name(name)));
        }
        for name in names {
            tenants.get(&name).await?;
        }
        Ok(tenants)
    }

    /// Lets another server have the place of the segments: all stores are closed.
    pub(crate) async fn release(&self) {
        if let Some(prefix) = &self.prefix {
            prefix.release().await;
        }
    }

    /// How data of all tenants are read.
    pub(crate) fn reader(&self) -> &ReaderOptions {
        &self.reader
    }

    /// The tenant of this name; a new one unless there are too many.
    pub(crate) async fn get(&self, name: &str) -> Result<Arc<Tenant>, TenantError> {
        if let Some(tenant) = self.find(name) {
            return Ok(tenant);
        }
        if !is_tenant_name(name) {
            return Err(TenantError::Name);
        }
        let _alone = self.opening.lock().await;
        if let Some(tenant) = self.find(name) {
            return Ok(tenant);
        }
        if self.all().len() >= self.most {
            return Err(TenantError::TooMany);
        }
        let folder = StoreFolder::new(self.folder.join(name));
        let store = match &self.prefix {
            Some(prefix) => folder.open_below(prefix, &format!("{TENANTS}/{name}"), &self.store).await,
            None => folder.open(&self.store).await,
        };
        let store = store.map_err(TenantError::Store)?;
        let (events, versions) = self.open_events(name).await.map_err(TenantError::Store)?;
        let messages = MessageReader::new(&self.reader);
        let events = Arc::new(events);
        let recordings = Arc::new(self.open_recordings(name).await.map_err(TenantError::Store)?);
        let signatures = self.open_signatures(name).await.map_err(TenantError::Store)?;
        let name = name.into();
        let tenant = Arc::new(Tenant { name, store, messages, events, versions, recordings, signatures });
        let mut open = self.open.write().expect("no thread panics while it holds the lock");
        open.insert(tenant.name.clone(), tenant.clone());
        Ok(tenant)
    }

    async fn open_events(&self, name: &str) -> Result<(TenantEvents, VersionWatch), StoreError> {
        let (folder, keep_for) = (self.folder.join(name), self.store.keep_for);
        let opening = tokio::task::spawn_blocking(move || {
            let failed = |error| StoreError::new(format!("{}: events: {error}", folder.display()));
            let events = TenantEvents::open(&folder, keep_for).map_err(failed)?;
            Ok((events, VersionWatch::open(&folder)))
        });
        opening.await.unwrap_or_else(|error| Err(StoreError::new(error.to_string())))
    }

    async fn open_recordings(&self, name: &str) -> Result<TenantRecordings, StoreError> {
        let (folder, settings) = (self.folder.join(name), self.recordings.clone());
        let opening = tokio::task::spawn_blocking(move || {
            TenantRecordings::open(&folder, &settings)
                .map_err(|error| StoreError::new(format!("{}: recordings: {error}", folder.display())))
        });
        opening.await.unwrap_or_else(|error| Err(StoreError::new(error.to_string())))
    }

    async fn open_signatures(&self, name: &str) -> Result<TenantSignatures, StoreError> {
        let folder = self.folder.join(name);
        let opening = tokio::task::spawn_blocking(move || {
            TenantSignatures::open(&folder)
                .map_err(|error| StoreError::new(format!("{}: signatures: {error}", folder.display())))
        });
        opening.await.unwrap_or_else(|error| Err(StoreError::new(error.to_string())))
    }

    /// The only tenant of a server without tenants.
    pub(crate) async fn only(&self) -> Result<Arc<Tenant>, TenantError> {
        self.get(ONLY).await
    }

    /// All that are open, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Tenant>> {
        let open = self.open.read().expect("no thread panics while it holds the lock");
        open.values().cloned().collect()
    }

    /// What the stores of all tenants share.
    pub(crate) fn store_memory(&self) -> &SharedMemory {
        &self.store.shared
    }

    /// The tenant of this name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Tenant>> {
        self.open.read().expect("no thread panics while it holds the lock").get(name).cloned()
    }
}

fn store_settings(settings: &ServeSettings, memory: &ProcessMemory) -> StoreSettings {
    let store = &settings.store;
    StoreSettings {
        slice: store.slice.nanos(),
        idle: store.idle.nanos(),
        memory_bytes: memory.at_most_a_quarter(store.memory.bytes()),
        cache_bytes: memory.at_most_a_quarter(store.cache.bytes()),
        shared: SharedMemory::default(),
        upkeep: store.upkeep.nanos(),
        keep_for: store.keep_for.map(|length| length.nanos()),
        keep_bytes: store.keep_bytes.map(|size| size.0),
        delete_after: store.url.as_ref().map_or(Nanos::ZERO, |_| store.delete_after.nanos()),
        claim: None,
    }
}

/// Claims the place of the segments, if it is not the data folder.
async fn prefix(settings: &ServeSettings, tenants: &Path) -> Result<Option<WriterPrefix>, ClaimError> {
    let data = &settings.data;
    let refused = |text: String| ClaimError::Refused(StoreError::new(text));
    let Some(url) = &settings.store.url else {
        return match WriterPrefix::named_in(data)? {
            None => Ok(None),
            Some(prefix) => Err(refused(format!(
                "data: the write-ahead log in {} belongs to {prefix}: set store.url and store.writer as before, use another data \
                 folder, or remove {WRITER_MARK} from this one to store what the log has here",
                data.display()
            ))),
        };
    };
    let names = folders(tenants);
    let stores = || names.iter().map(|name| StoreFolder::new(tenants.join(name)));
    if stores().any(|store| store.has_segments()) {
        return Err(refused(format!(
            "data: {} has segments of its own, which are not read with store.url: use another data folder, or move each of its \
             tenants/NAME/segments to the same path below {url}/{}",
            data.display(),
            settings.store.writer
        )));
    }
    let request = ClaimRequest {
        url: url.clone(),
        writer: settings.store.writer.clone(),
        folder: data.clone(),
        logs: stores().map(|store| store.log()).collect(),
        takeover_after: settings.store.takeover_after.duration(),
    };
    WriterPrefix::claim(&request).await.map(Some)
}

/// Names of the tenants that have a folder already.
pub(crate) fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_tenant_name(name))
        .collect();
    names.sort_unstable();
    names
}
