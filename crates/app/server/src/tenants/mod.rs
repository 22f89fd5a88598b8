//! Tenants: a store for each, opened at its first request.

mod adopted;
mod store;
mod watch_claim;

use crate::events::{ObservedVersions, TenantEvents, VersionWatch};
use crate::operations::ProcessMemory;
use crate::recordings::TenantRecordings;
use crate::settings::{RecordingSettings, ServeSettings, ServerRole, TENANT_NAMES, TENANTS, is_tenant_name};
use crate::signatures::TenantSignatures;
use adopted::{AdoptedStore, AdoptedWriter};
use laggard_engine::Batch;
use laggard_formats::{MessageReader, ReaderOptions, SelectedAttributes};
use laggard_model::Nanos;
use laggard_store::{
    AppendError, ClaimError, ClaimRequest, DataLocation, SharedMemory, StoreError, StoreFolder,
    StoreSettings, WRITER_MARK, WriterPrefix, WriterStores,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;
pub(crate) use store::TenantStore;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use watch_claim::WatchClaim;

/// Longest name of a tenant.
pub(crate) const TENANT_LENGTH_MAX: usize = 64;

/// The tenant of a server without tenants.
pub(crate) const ONLY: &str = "default";

/// Why a server takes no data.
pub(crate) const ONLY_ANSWERS: &str =
    "this server only answers questions (store.role); send data to one that receives";

/// The state of one tenant; without tenants there is one, called `default`. Handlers receive it as an extension of
/// every admitted request.
pub(crate) struct Tenant {
    pub(crate) name: Box<str>,
    pub(crate) store: TenantStore,
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
    /// As of [`TenantStore::append`].
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
    /// Those of servers that are gone.
    adopted: Vec<AdoptedWriter>,
    role: ServerRole,
    /// Whether data are of tenants; without them, all are of the only one.
    has_tenants: bool,
    /// The stores of other servers that are answered from.
    others: Option<OtherServers>,
    store: StoreSettings,
    most: usize,
    reader: ReaderOptions,
    recordings: RecordingSettings,
    open: RwLock<BTreeMap<Box<str>, Arc<Tenant>>>,
    /// Held while a store is opened, so that none is opened twice.
    opening: Mutex<()>,
}

/// What several servers store below one URL.
struct OtherServers {
    url: DataLocation,
    /// How often it is looked for what is new.
    refresh: Duration,
    watching: WatchClaim,
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
        let store = store_settings(settings, memory);
        let prefix = prefix(settings, &folder).await.map_err(TenantError::Prefix)?;
        let tenants = Tenants {
            adopted: adopted::adopt_all(settings, &store).await.map_err(TenantError::Prefix)?,
            others: OtherServers::of(settings).map_err(TenantError::Prefix)?,
            role: settings.store.role,
            has_tenants: settings.tenants.enabled,
            prefix,
            folder,
            store,
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
        let mut names = BTreeSet::from_iter(folders(&tenants.folder));
        if let Some(prefix) = &tenants.prefix {
            names.extend(tenants_in(prefix.location()).await.map_err(TenantError::Store)?);
        }
        if let Some(others) = &tenants.others {
            names.extend(others.tenants().await.map_err(TenantError::Store)?);
        }
        // Otherwise problems of their stores would appear nowhere.
        names.extend(tenants.adopted_stores().map(|store| store.tenant().to_owned()));
        for name in names {
            tenants.get(&name).await?;
        }
        Ok(tenants)
    }

    /// Follows what other servers store, and evaluates alerts if none of them does, until the server stops.
    pub(crate) async fn follow(self: Arc<Tenants>, tenants_enabled: bool, stopping: CancellationToken) {
        let Some(others) = &self.others else { return };
        let refreshing = async {
            loop {
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = tokio::time::sleep(others.refresh) => {}
                }
                if tenants_enabled {
                    self.open_new(others).await;
                }
                for tenant in self.all() {
                    tenant.store.refresh().await;
                }
            }
        };
        tokio::join!(refreshing, others.watching.seek(&stopping));
    }

    /// Opens tenants that other servers have since.
    async fn open_new(&self, others: &OtherServers) {
        // Stores that are open say that they cannot be read.
        let Ok(names) = others.tenants().await else { return };
        for name in names {
            if let Err(error) = self.get(&name).await {
                tracing::warn!(tenant = name, %error, "a tenant of another server is not answered");
            }
        }
    }

    /// Why this server does not evaluate alerts and objectives, unless it does.
    pub(crate) fn evaluated_elsewhere(&self) -> Option<&'static str> {
        match (&self.others, self.role) {
            (None, ServerRole::Receive) => Some("this server only receives data (store.role)"),
            (Some(others), _) if !others.watching.is_held() => {
                Some("another server with the same store.url evaluates them, as far as this one knows")
            }
            _ => None,
        }
    }

    /// Whether questions about the data are for other servers.
    pub(crate) fn only_receives(&self) -> bool {
        self.role == ServerRole::Receive
    }

    /// Lets other servers have what this one had claimed: all stores are closed.
    pub(crate) async fn release(&self) {
        if let Some(others) = &self.others {
            others.watching.release().await;
        }
        for adopted in &self.adopted {
            adopted.release().await;
        }
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
        let adopted = self.adopted_stores().filter(|store| !self.has_tenants || store.tenant() == name);
        let adopted = adopted.cloned().collect();
        let store = self.open_store(name).await.map_err(TenantError::Store)?.with_adopted(adopted);
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

    async fn open_store(&self, name: &str) -> Result<TenantStore, StoreError> {
        let (folder, path) = (self.folder.join(name), format!("{TENANTS}/{name}"));
        let own = match (&self.prefix, self.role) {
            (_, ServerRole::Query) => {
                let made = std::fs::create_dir_all(&folder);
                made.map_err(|error| StoreError::new(format!("{}: {error}", folder.display())))?;
                None
            }
            (Some(prefix), _) => Some(StoreFolder::new(folder).open_below(prefix, &path, &self.store).await?),
            (None, _) => Some(StoreFolder::new(folder).open(&self.store).await?),
        };
        match (&self.others, own) {
            (Some(others), own) => {
                let all = WriterStores::open(&others.url, &path, &self.store).await?;
                Ok(TenantStore::answered_from(all, own, self.store.keep_for))
            }
            (None, Some(own)) => Ok(TenantStore::own(own)),
            (None, None) => Err(StoreError::new("store.role: query needs store.url")),
        }
    }

    /// The stores of servers that are gone.
    fn adopted_stores(&self) -> impl Iterator<Item = &AdoptedStore> {
        self.adopted.iter().flat_map(AdoptedWriter::stores)
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

impl OtherServers {
    /// Those whose data are answered from, if the settings name any.
    fn of(settings: &ServeSettings) -> Result<Option<OtherServers>, ClaimError> {
        let store = &settings.store;
        let (Some(url), true) = (&store.url, store.role != ServerRole::Receive) else { return Ok(None) };
        Ok(Some(OtherServers {
            url: DataLocation::parse(url).map_err(ClaimError::Settings)?,
            refresh: store.refresh.duration(),
            watching: WatchClaim::new(url, &settings.data, store.takeover_after.duration())?,
        }))
    }

    /// The tenants that any of them has.
    async fn tenants(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut names = BTreeSet::new();
        for writer in self.url.writer_names().await? {
            names.extend(tenants_in(&self.url.within(&writer)).await?);
        }
        Ok(names)
    }
}

/// The tenants that a server has below its prefix.
async fn tenants_in(prefix: &DataLocation) -> Result<impl Iterator<Item = String> + use<>, StoreError> {
    let folders = prefix.within(TENANTS).folders().await?;
    Ok(folders.into_iter().filter(|name| is_tenant_name(name)))
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
    let is_query = settings.store.role == ServerRole::Query;
    if let (true, Some(prefix)) = (is_query, WriterPrefix::named_in(data)?) {
        return Err(refused(format!(
            "data: the write-ahead log in {} belongs to {prefix}, and may have what is not stored there yet: use another data folder \
             for store.role: query",
            data.display()
        )));
    }
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
    if is_query {
        return Ok(None);
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
