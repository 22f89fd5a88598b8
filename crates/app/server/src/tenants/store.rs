//! Where the data of a tenant goes, and what questions about it are answered from.

use super::adopted::AdoptedStore;
use crate::settings::TENANTS;
use laggard_engine::Batch;
use laggard_model::Nanos;
use laggard_store::{AppendError, SegmentFigures, Store, StoreError, StoreState, View, Views, WriterStores};
use std::time::Duration;

/// The data of a tenant: what this server stores, and with `store.url` what all servers store there.
pub(crate) struct TenantStore {
    placement: StorePlacement,
    keep_for: Option<Nanos>,
    /// What servers that are gone stored of the tenant, and this one merges and expires.
    adopted: Vec<AdoptedStore>,
}

enum StorePlacement {
    /// It stores data, and answers from these.
    Own(Store),
    /// It stores data, and answers from those of all servers.
    Shared(Store, WriterStores),
    /// It only answers, from the data of all servers.
    ReadOnly(WriterStores),
}

impl TenantStore {
    /// A store that is answered from.
    pub(super) fn own(store: Store) -> TenantStore {
        TenantStore { keep_for: store.keep_for(), placement: StorePlacement::Own(store), adopted: Vec::new() }
    }

    /// Answers from the stores of all servers; `own` is what this one stores, if it does.
    pub(super) fn answered_from(
        all: WriterStores,
        own: Option<Store>,
        keep_for: Option<Nanos>,
    ) -> TenantStore {
        let placement = match own {
            Some(own) => StorePlacement::Shared(own, all),
            None => StorePlacement::ReadOnly(all),
        };
        TenantStore { placement, keep_for, adopted: Vec::new() }
    }

    /// Reports the problems of these stores, too.
    pub(super) fn with_adopted(self, adopted: Vec<AdoptedStore>) -> TenantStore {
        TenantStore { adopted, ..self }
    }

    /// What this server stores.
    fn stored(&self) -> Option<&Store> {
        match &self.placement {
            StorePlacement::Own(own) | StorePlacement::Shared(own, _) => Some(own),
            StorePlacement::ReadOnly(_) => None,
        }
    }

    /// What all servers store, if that is answered from.
    fn of_all(&self) -> Option<&WriterStores> {
        match &self.placement {
            StorePlacement::Shared(_, all) | StorePlacement::ReadOnly(all) => Some(all),
            StorePlacement::Own(_) => None,
        }
    }

    /// Stores a batch.
    ///
    /// # Errors
    /// As of [`Store::append`]; when this server only answers questions.
    pub(crate) async fn append(&self, batch: Batch) -> Result<(), AppendError> {
        match self.stored() {
            Some(own) => own.append(batch).await,
            None => Err(AppendError::ReadOnly),
        }
    }

    /// A snapshot of what questions are answered from.
    pub(crate) fn view(&self) -> View {
        self.views().newest()
    }

    /// Snapshots, the newest each time.
    pub(crate) fn views(&self) -> Views {
        match &self.placement {
            StorePlacement::Own(own) => own.views(),
            StorePlacement::Shared(_, all) | StorePlacement::ReadOnly(all) => all.views(),
        }
    }

    /// Snapshots, and the folders that they are of, of this tenant: relative to `store.url`, or else to the data folder.
    pub(crate) fn views_of_folders(&self, tenant: &str) -> (Views, Vec<String>) {
        match &self.placement {
            StorePlacement::Own(own) => (own.views(), vec![format!("{TENANTS}/{tenant}")]),
            StorePlacement::Shared(_, all) | StorePlacement::ReadOnly(all) => all.views_of_folders(),
        }
    }

    /// Sizes of what questions are answered from.
    pub(crate) fn figures(&self) -> SegmentFigures {
        match &self.placement {
            StorePlacement::Own(own) => own.figures(),
            StorePlacement::Shared(_, all) | StorePlacement::ReadOnly(all) => all.figures(),
        }
    }

    /// Figures and problems of what this server stores; of one that only answers questions, of what it answers from. Of adopted
    /// stores the problems.
    pub(crate) fn state(&self) -> StoreState {
        let mut state = match &self.placement {
            StorePlacement::Own(own) => own.state(),
            StorePlacement::Shared(own, all) => {
                let mut state = own.state();
                state.problems.extend(all.unreadable());
                state
            }
            StorePlacement::ReadOnly(all) => all.figures().into_state(),
        };
        state.problems.extend(self.adopted.iter().flat_map(AdoptedStore::problems));
        state
    }

    /// Whether what other servers store now cannot be read.
    pub(crate) fn is_outdated(&self) -> bool {
        self.of_all().is_some_and(|all| all.unreadable().is_some())
    }

    /// Reads what other servers have stored since.
    pub(super) async fn refresh(&self) {
        if let Some(all) = self.of_all() {
            all.refresh().await;
        }
    }

    /// How long data is kept after it arrived; `None` for ever.
    pub(crate) fn keep_for(&self) -> Option<Nanos> {
        self.keep_for
    }

    /// Evicts what is cached from memory.
    pub(crate) fn release_memory(&self) {
        self.stored().inspect(|own| own.release_memory());
        self.of_all().inspect(|all| all.release_memory());
    }

    /// Evicts what is cached and has not been used for this long.
    pub(crate) fn expire_memory(&self, idle: Duration) {
        self.stored().inspect(|own| own.expire_memory(idle));
        self.of_all().inspect(|all| all.expire_memory(idle));
    }

    /// Has all open traces of this server in segments, and in its answers.
    ///
    /// # Errors
    /// As of [`Store::flush`].
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        if let Some(own) = self.stored() {
            own.flush().await?;
        }
        self.refresh().await;
        Ok(())
    }

    /// Flushes open data and closes the store.
    ///
    /// # Errors
    /// As of [`Store::close`].
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        match self.stored() {
            Some(own) => own.close().await,
            None => Ok(()),
        }
    }
}
