//! What several servers store below one URL, read as one store while they write.

use crate::clock::wall_clock;
use crate::state::StoreIssue;
use crate::{DataLocation, SegmentFigures, StoreError, StoreReader, StoreSettings, Views};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The stores that the servers below a URL have in folders of one path. Nothing of them is changed.
pub struct WriterStores {
    url: DataLocation,
    /// Of the store, below the prefix of each writer.
    path: String,
    settings: StoreSettings,
    state: Mutex<State>,
}

struct State {
    /// Names of the writers, sorted.
    writers: Vec<String>,
    reader: Arc<StoreReader>,
    /// Since they could not be read.
    unreadable: Option<StoreIssue>,
}

impl WriterStores {
    /// Opens the stores as they are now; writers without a folder of this path have stored nothing.
    ///
    /// # Errors
    /// When the URL cannot be listed, or as of [`StoreReader::open_all`].
    pub async fn open(
        url: &DataLocation,
        path: &str,
        settings: &StoreSettings,
    ) -> Result<WriterStores, StoreError> {
        let writers = url.writer_names().await?;
        let reader = Arc::new(url.read_stores(&folders(&writers, path), settings).await?);
        let state = Mutex::new(State { writers, reader, unreadable: None });
        Ok(WriterStores { url: url.clone(), path: path.to_owned(), settings: settings.clone(), state })
    }

    /// Reads the newest manifests, of new writers as well. If that fails, what was read before stays, and the figures say so.
    pub async fn refresh(&self) {
        let refreshed = self.try_refresh().await;
        let mut state = self.state();
        match refreshed {
            Ok(()) => state.unreadable = None,
            Err(error) => {
                let text = format!("data that servers have stored since cannot be read: {error}");
                if state.unreadable.is_none() {
                    tracing::error!("{text}");
                }
                let since = state.unreadable.as_ref().map_or_else(wall_clock, |issue| issue.since);
                state.unreadable =
                    Some(StoreIssue { name: "writers_unreadable", text, since, blocks: false });
            }
        }
    }

    async fn try_refresh(&self) -> Result<(), StoreError> {
        let known = self.state().writers.clone();
        let writers = self.url.writer_names_with(&known).await?;
        if let Some(gone) = known.iter().find(|name| writers.binary_search(name).is_err()) {
            // A claim is never removed by a server: this is rather a file system that is not mounted than a store that is empty.
            return Err(StoreError::new(format!(
                "{}: what {gone} has stored is gone; is it mounted? If it was removed on purpose, restart this server",
                self.url
            )));
        }
        let reader = {
            let state = self.state();
            (state.writers == writers).then(|| Arc::clone(&state.reader))
        };
        if let Some(reader) = reader {
            return reader.refresh().await.map(drop);
        }
        let reader = Arc::new(self.url.read_stores(&folders(&writers, &self.path), &self.settings).await?);
        let mut state = self.state();
        (state.writers, state.reader) = (writers, reader);
        Ok(())
    }

    /// Snapshots as of the last refresh.
    pub fn views(&self) -> Views {
        self.state().reader.views()
    }

    /// The same, and which folders below the URL they are of, in the order in which these are combined.
    pub fn views_of_folders(&self) -> (Views, Vec<String>) {
        let state = self.state();
        (state.reader.views(), folders(&state.writers, &self.path))
    }

    /// Sizes and problems, as of the last refresh.
    pub fn figures(&self) -> SegmentFigures {
        let mut figures = self.state().reader.figures();
        figures.problems.extend(self.unreadable());
        figures
    }

    /// Why what is stored now is not known, if the last refresh failed.
    pub fn unreadable(&self) -> Option<StoreIssue> {
        self.state().unreadable.clone()
    }

    /// Evicts what is cached from memory.
    pub fn release_memory(&self) {
        self.state().reader.release_memory();
    }

    /// Evicts what is cached and has not been used for this long.
    pub fn expire_memory(&self, idle: Duration) {
        self.state().reader.expire_memory(idle);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }
}

/// The stores of some writers, below the prefix of each.
fn folders(writers: &[String], path: &str) -> Vec<String> {
    writers.iter().map(|writer| format!("{writer}/{path}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted_objects::CountedObjects;
    use crate::location::SEGMENTS;
    use crate::random_batches::batch;
    use crate::{FlushBatch, OWNER_FOLDER, Segments};
    use futures::TryStreamExt;
    use laggard_engine::Batch;
    use object_store::path::Path as ObjectPath;
    use object_store::prefix::PrefixStore;
    use object_store::{ObjectStore, ObjectStoreExt};

    /// Stores a trace of a writer's own below its prefix.
    async fn write(objects: &Arc<dyn ObjectStore>, number: u64) {
        let writer = format!("live/w{number:03}");
        let owner = ObjectPath::from(format!("{writer}/{OWNER_FOLDER}/000000000001.json"));
        objects.put(&owner, "{}".into()).await.unwrap();
        let below = PrefixStore::new(Arc::clone(objects), format!("{writer}/tenants/default/{SEGMENTS}"));
        let (segments, _) = Segments::open(Arc::new(below), &StoreSettings::default()).await.unwrap();
        let Batch { names, spans, .. } = batch(&[(u128::from(number) + 1, 1)]);
        segments.commit(Arc::new(FlushBatch { names, spans, ..FlushBatch::default() })).await.unwrap();
    }

    #[tokio::test]
    async fn a_writer_that_is_gone_is_a_problem_and_what_was_read_stays() {
        let objects = Arc::new(CountedObjects::default()) as Arc<dyn ObjectStore>;
        write(&objects, 0).await;
        write(&objects, 1).await;
        let url = DataLocation::from_objects(Arc::clone(&objects), "live");
        let settings = StoreSettings::default();
        let stores = WriterStores::open(&url, "tenants/default", &settings).await.unwrap();
        let all: Vec<_> = objects.list(None).map_ok(|found| found.location).try_collect().await.unwrap();
        for path in all.iter().filter(|path| path.as_ref().starts_with("live/w001/")) {
            objects.delete(path).await.unwrap();
        }
        stores.refresh().await;
        let problem = stores.unreadable().unwrap().text;
        assert!(problem.contains("what w001 has stored is gone; is it mounted?"), "{problem}");
        assert_eq!(stores.figures().spans, 2);
        write(&objects, 1).await;
        stores.refresh().await;
        assert!(stores.unreadable().is_none());
    }

    /// What it costs to look for what is new is proportional to the number of servers: a list and a manifest for each.
    #[tokio::test]
    async fn a_refresh_takes_two_requests_for_each_writer_and_one_for_all() {
        for writers in [1, 10, 100] {
            let counted = Arc::new(CountedObjects::default());
            let objects = Arc::clone(&counted) as Arc<dyn ObjectStore>;
            for number in 0..writers {
                write(&objects, number).await;
            }
            let url = DataLocation::from_objects(Arc::clone(&objects), "live");
            let settings = StoreSettings::default();
            let stores = WriterStores::open(&url, "tenants/default", &settings).await.unwrap();
            counted.take();
            stores.refresh().await;
            assert_eq!(counted.take(), (writers + 1, writers), "lists and gets of {writers}");
            // A new one is looked into once.
            write(&objects, writers).await;
            stores.refresh().await;
            assert_eq!(stores.figures().spans, writers + 1);
            counted.take();
            stores.refresh().await;
            assert_eq!(counted.take(), (writers + 2, writers + 1));
            assert!(stores.unreadable().is_none());
        }
    }
}
