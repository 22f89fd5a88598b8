//! Scrapes that arrive together share one exposition, so that no client keeps the processors busy with them.

use super::exposition::ExpositionFormat;
use crate::api::problem::ApiError;
use crate::api::running::blocking;
use crate::security::VisibleTenants;
use axum::body::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Shortest time between the starts of two expositions of the same metrics.
const INTERVAL_MIN: Duration = Duration::from_millis(50);

/// What is in an exposition: its format, and whose metrics.
type Key = (ExpositionFormat, VisibleTenants);

/// The latest exposition of some metrics; locked while one is computed.
type Latest = tokio::sync::Mutex<Option<Scrape>>;

struct Scrape {
    started: Instant,
    text: Bytes,
}

/// Expositions of the last moments.
#[derive(Default)]
pub(crate) struct Scrapes {
    recent: Mutex<HashMap<Key, Arc<Latest>>>,
}

impl Scrapes {
    /// An exposition whose computation starts after this call: a new one, or one that is shared with other callers.
    ///
    /// # Errors
    /// If it cannot be computed.
    pub(super) async fn text(
        &self,
        key: Key,
        compute: impl FnOnce() -> String + Send + 'static,
    ) -> Result<Bytes, ApiError> {
        let called = Instant::now();
        let latest = self.latest(key);
        let mut latest = latest.lock().await;
        if let Some(shared) = latest.as_ref().filter(|scrape| scrape.started >= called) {
            return Ok(shared.text.clone());
        }
        if let Some(previous) = latest.as_ref() {
            tokio::time::sleep_until(previous.started + INTERVAL_MIN).await;
        }
        let started = Instant::now();
        let text: Bytes = blocking(compute).await?.into();
        *latest = Some(Scrape { started, text: text.clone() });
        Ok(text)
    }

    fn latest(&self, key: Key) -> Arc<Latest> {
        let mut recent = self.recent.lock().expect("no thread panics while it holds the lock");
        recent.retain(|_, latest| {
            let is_recent = |scrape: &Scrape| scrape.started.elapsed() <= INTERVAL_MIN;
            // What cannot be locked is in use.
            latest.try_lock().map_or(true, |scrape| scrape.as_ref().is_some_and(is_recent))
        });
        Arc::clone(recent.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn scrapes_that_arrive_together_share_two_expositions() {
        let (scrapes, computed) = (Scrapes::default(), Arc::new(AtomicUsize::new(0)));
        let scrape = |format: ExpositionFormat| {
            let computed = Arc::clone(&computed);
            let compute = move || computed.fetch_add(1, Ordering::Relaxed).to_string();
            scrapes.text((format, VisibleTenants::from_token(None)), compute)
        };
        let first = scrape(ExpositionFormat::Text).await.unwrap();
        let together = (0..100).map(|_| scrape(ExpositionFormat::Text));
        let together = futures::future::try_join_all(together).await.unwrap();
        assert_eq!(first, "0");
        assert!(together.iter().all(|text| text == "1"), "none is older than its scrape: {together:?}");
        assert_eq!(scrape(ExpositionFormat::OpenMetrics).await.unwrap(), "2");
        tokio::time::sleep(2 * INTERVAL_MIN).await;
        assert_eq!(scrape(ExpositionFormat::OpenMetrics).await.unwrap(), "3");
        assert_eq!(scrapes.recent.lock().unwrap().len(), 1, "what nobody wants any more is forgotten");
    }
}
