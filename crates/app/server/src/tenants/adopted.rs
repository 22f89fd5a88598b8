//! Data of servers that are gone: nobody else would merge or expire them.

use super::tenants_in;
use crate::settings::{ServeSettings, TENANTS};
use laggard_store::{
    ClaimError, ClaimRequest, DataLocation, Store, StoreError, StoreFolder, StoreIssue, StoreSettings,
    WriterPrefix,
};
use std::path::Path;

/// The folder for what is needed meanwhile, in the data folder.
const FOLDER: &str = ".adopted";

/// The prefix of a server that is gone, and the stores below it, to which nothing is added.
pub(super) struct AdoptedWriter {
    prefix: WriterPrefix,
    stores: Vec<AdoptedStore>,
}

/// What a server that is gone stored of a tenant.
#[derive(Clone)]
pub(super) struct AdoptedStore {
    writer: Box<str>,
    tenant: Box<str>,
    store: Store,
}

impl AdoptedStore {
    /// Whose data these are.
    pub(super) fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Its problems. None of them blocks: this server's own store accepts data and answers all the same.
    pub(super) fn problems(&self) -> impl Iterator<Item = StoreIssue> {
        self.store.state().problems.into_iter().map(|issue| StoreIssue {
            text: format!("data of server {} (store.adopt): {}", self.writer, issue.text),
            blocks: false,
            ..issue
        })
    }
}

/// Adopts the data of all servers that the settings name.
///
/// # Errors
/// When one of them has stored nothing, or still runs, or its stores cannot be opened.
pub(super) async fn adopt_all(
    settings: &ServeSettings,
    store: &StoreSettings,
) -> Result<Vec<AdoptedWriter>, ClaimError> {
    let Some(url) = settings.store.url.as_ref().filter(|_| !settings.store.adopt.is_empty()) else {
        return Ok(Vec::new());
    };
    let about = |error: &dyn std::fmt::Display| StoreError::new(format!("store.adopt: {error}"));
    let known = DataLocation::parse(url).map_err(ClaimError::Settings)?.writer_names().await;
    let known = known.map_err(|error| ClaimError::Refused(about(&error)))?;
    let mut adopted = Vec::new();
    for writer in &settings.store.adopt {
        if !known.contains(writer) {
            let error = format!("no server {writer} has stored anything below {url}");
            return Err(ClaimError::Refused(about(&error)));
        }
        let one = adopt(settings, url, writer, store).await;
        adopted.push(one.map_err(|error| ClaimError::Refused(about(&error)))?);
    }
    Ok(adopted)
}

async fn adopt(
    settings: &ServeSettings,
    url: &str,
    writer: &str,
    store: &StoreSettings,
) -> Result<AdoptedWriter, ClaimError> {
    let folder = settings.data.join(FOLDER).join(writer);
    let refused = |error: &dyn std::fmt::Display| {
        ClaimError::Refused(StoreError::new(format!("{}: {error}", folder.display())))
    };
    let tenants = folder.join(TENANTS);
    empty(&tenants).map_err(|error| refused(&error))?;
    let request = ClaimRequest {
        url: url.to_owned(),
        writer: writer.to_owned(),
        folder: folder.clone(),
        logs: Vec::new(),
        takeover_after: settings.store.takeover_after.duration(),
    };
    let prefix = WriterPrefix::claim(&request).await?;
    let mut stores = Vec::new();
    for name in tenants_in(prefix.location()).await.map_err(|error| refused(&error))? {
        let own = StoreFolder::new(tenants.join(&name));
        let opened = own.open_below(&prefix, &format!("{TENANTS}/{name}"), store).await;
        let store = opened.map_err(ClaimError::Refused)?;
        stores.push(AdoptedStore { writer: writer.into(), tenant: name.into(), store });
    }
    tracing::info!(writer, tenants = stores.len(), "the data of a server that is gone are adopted");
    Ok(AdoptedWriter { prefix, stores })
}

/// Removes the logs of an earlier start: they never have anything, and what they continued may have been written by another server since.
fn empty(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::create_dir_all(folder)
}

impl AdoptedWriter {
    /// What it has of each tenant.
    pub(super) fn stores(&self) -> &[AdoptedStore] {
        &self.stores
    }

    /// Lets another server have them at once.
    pub(super) async fn release(&self) {
        for adopted in &self.stores {
            if let Err(error) = adopted.store.close().await {
                tracing::error!(%error, "an adopted store could not be closed");
                return;
            }
        }
        self.prefix.release().await;
    }
}
