//! The stores that a worker opens for rounds of other processes: those below the location that it was configured with, and no others.

use super::stored_data::{is_store, stores_of_tenants};
use crate::settings::{TENANTS, is_tenant_name};
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
        let is_one = is_store(&self.location).await?;
        let stores = if is_one { Vec::new() } else { stores_of_tenants(&self.location).await? };
        let writers = if is_one { Vec::new() } else { self.location.writer_names().await? };
        let is_found = |folder: &String| {
            is_one && folder.is_empty()
                || stores.iter().any(|(_, (known, _))| known == folder)
                || writers.iter().any(|writer| is_of_writer(folder, writer))
        };
        if let Some(unknown) = folders.iter().find(|folder| !is_found(folder)) {
            return Err(StoreError::new(format!("{}: there is no store {unknown:?} in it", self.location)));
        }
        match folders {
            [one] if one.is_empty() => self.location.read_store(&self.settings).await,
            [one] => self.location.within(one).read_store(&self.settings).await,
            several => self.location.read_stores(several, &self.settings).await,
        }
    }
}

/// Whether a folder is where a writer stores data of a tenant, of which it may have none.
fn is_of_writer(folder: &str, writer: &str) -> bool {
    let below = folder.strip_prefix(writer).and_then(|rest| rest.strip_prefix('/'));
    let tenant = below.and_then(|rest| rest.strip_prefix(TENANTS)).and_then(|rest| rest.strip_prefix('/'));
    tenant.is_some_and(is_tenant_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_store::OWNER_FOLDER;
    use std::fs;

    #[tokio::test]
    async fn a_worker_opens_stores_below_its_location_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for path in
            ["all/w1/tenants/shop/segments", "all/x/tenants/shop/segments", "outside/tenants/shop/segments"]
        {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        fs::create_dir(folder.path().join("all/w1").join(OWNER_FOLDER)).unwrap();
        let all = folder.path().join("all");
        let store = WorkerStore::open(all.to_str().unwrap(), 1 << 30).await.unwrap();
        let opened = async |folders: &[&str]| {
            let folders: Vec<String> = folders.iter().map(|&folder| folder.to_owned()).collect();
            store.open_folders(&folders).await.map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(opened(&["w1/tenants/shop"]).await, Ok(()));
        assert_eq!(
            opened(&["w1/tenants/shop", "w1/tenants/other"]).await,
            Ok(()),
            "it has stored nothing of it"
        );
        let outside = folder.path().join("outside/tenants/shop");
        for refused in [
            "",
            "w1",
            "x/tenants/shop",
            "w1/tenants",
            "w1/tenants/",
            "w1/tenants/..",
            "w1/tenants/shop/segments",
            "w1/tenants/../../x/tenants/shop",
            "../outside/tenants/shop",
            "../all/w1/tenants/shop",
            "/w1/tenants/shop",
            outside.to_str().unwrap(),
        ] {
            for folders in [&[refused][..], &["w1/tenants/shop", refused]] {
                let error = opened(folders).await.unwrap_err();
                assert!(error.ends_with(&format!("there is no store {refused:?} in it")), "{error}");
            }
        }
        let alone = opened(&["w1/tenants/other"]).await.unwrap_err();
        assert!(alone.contains("this is no store"), "{alone}");
    }
}
