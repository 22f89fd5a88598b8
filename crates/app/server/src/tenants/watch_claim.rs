//! Which of several servers evaluates alerts and objectives of the data that all of them answer from.

use laggard_store::{ClaimError, ClaimRequest, StoreError, WriterPrefix};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Its claim below `store.url`, and its folder in the data folder; no writer has such a name.
const NAME: &str = ".watch";

/// The right to evaluate, which one server below a URL has at a time.
pub(crate) struct WatchClaim {
    request: ClaimRequest,
    held: Mutex<Option<Arc<WriterPrefix>>>,
}

impl WatchClaim {
    /// The claim of a server with this data folder. Nothing is claimed yet.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub(super) fn new(
        url: &str,
        data: &std::path::Path,
        takeover_after: Duration,
    ) -> Result<WatchClaim, ClaimError> {
        let folder: PathBuf = data.join(NAME);
        std::fs::create_dir_all(&folder).map_err(|error| {
            ClaimError::Refused(StoreError::new(format!("{}: {error}", folder.display())))
        })?;
        let request = ClaimRequest {
            url: url.to_owned(),
            writer: NAME.to_owned(),
            folder,
            logs: Vec::new(),
            takeover_after,
        };
        Ok(WatchClaim { request, held: Mutex::default() })
    }

    /// Whether this server evaluates now.
    pub(crate) fn is_held(&self) -> bool {
        self.held().as_ref().is_some_and(|prefix| prefix.held().is_valid())
    }

    /// Claims it whenever no other server has it, until the server stops.
    pub(super) async fn seek(&self, stopping: &CancellationToken) {
        while !stopping.is_cancelled() {
            if !self.is_held() {
                *self.held() = None;
                match WriterPrefix::claim(&self.request).await {
                    Ok(prefix) => *self.held() = Some(Arc::new(prefix)),
                    Err(error) => tracing::debug!(%error, "another server evaluates alerts"),
                }
            }
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(self.request.takeover_after) => {}
            }
        }
    }

    /// Lets another server evaluate at once.
    pub(super) async fn release(&self) {
        let held = self.held().take();
        if let Some(prefix) = held {
            prefix.release().await;
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Arc<WriterPrefix>>> {
        self.held.lock().expect("no thread panics while it holds the lock")
    }
}
