//! The stores that a worker opens for rounds of other processes: those below the location that it was configured with, and no others.

use super::stored_data::{is_store, stores_of_tenants};
use laggard_store::{
    DataLocation, SentRound, StoreError, StoreReader, StoreSettings, WorkerRound, steps_done,
};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The data of a server, or of several, as a worker reads it.
pub struct WorkerStore {
    location: DataLocation,
    settings: StoreSettings,
    /// The store that was asked for last, by its folders.
    last: Mutex<Option<(Vec<String>, Arc<StoreReader>)>>,
}

impl WorkerStore {
    /// A store by its path or URL ([`DataLocation::parse`]), read within some memory (bytes).
    ///
    /// # Errors
    /// When the URL is of a kind that this program does not read, or there is no store.
    pub async fn open(location: &str, memory_bytes: u64) -> Result<WorkerStore, StoreError> {
        let location = DataLocation::parse(location)?;
        if !is_store(&location).await? && stores_of_tenants(&location).await?.is_empty() {
            return Err(StoreError::new(format!("{location}: this is no data folder of laggard serve")));
        }
        let cache_bytes = StoreSettings::default().cache_bytes.min(memory_bytes as usize / 4);
        let settings = StoreSettings { cache_bytes, ..StoreSettings::default() };
        Ok(WorkerStore { location, settings, last: Mutex::default() })
    }

    /// Plans the units of a round that another process sent.
    ///
    /// # Errors
    /// When the round is of another version or damaged, names another store, or segments that all units need cannot be read.
    pub async fn round(&self, sent: &[u8]) -> Result<WorkerRound, StoreError> {
        let sent = SentRound::decode(sent)?;
        let reader = self.reader(sent.folders()).await?;
        reader.worker_round(sent).await
    }

    /// A counter that grows while this process reads and computes.
    pub fn steps(&self) -> u64 {
        steps_done()
    }

    async fn reader(&self, folders: &[String]) -> Result<Arc<StoreReader>, StoreError> {
        let mut last = self.last.lock().await;
        if let Some((known, reader)) = last.as_ref()
            && known == folders
        {
            return Ok(Arc::clone(reader));
        }
        let reader = Arc::new(self.open_folders(folders).await?);
        *last = Some((folders.to_vec(), Arc::clone(&reader)));
        Ok(reader)
    }

    /// Opens the stores in some folders as one. Each must be one that is found here: a round cannot name other files.
    async fn open_folders(&self, folders: &[String]) -> Result<StoreReader, StoreError> {
        let mut stores = Vec::new();
        if is_store(&self.location).await? {
            stores.push((String::new(), self.location.clone()));
        } else {
            stores.extend(stores_of_tenants(&self.location).await?.into_iter().map(|(_, store)| store));
        }
        let find = |folder: &String| {
            let found = stores.iter().find(|(known, _)| known == folder);
            found.map(|(_, store)| store.clone()).ok_or_else(|| {
                StoreError::new(format!("{}: there is no store {folder:?} in it", self.location))
            })
        };
        let located: Vec<DataLocation> = folders.iter().map(find).collect::<Result<_, _>>()?;
        match located.as_slice() {
            [one] => one.read_store(&self.settings).await,
            several => DataLocation::read_stores(several, &self.settings).await,
        }
    }
}
