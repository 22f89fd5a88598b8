//! The object store that tests use.

use object_store::ObjectStore;
use object_store::memory::InMemory;
use std::sync::Arc;

/// An empty object store: in memory or, with a feature for it and the variable `LAGGARD_BUCKET` (`s3://BUCKET`, `gs://BUCKET`,
/// `az://CONTAINER`), a part of that bucket. The usual variables of its provider configure it.
pub(crate) fn empty_objects() -> Arc<dyn ObjectStore> {
    #[cfg(feature = "bucket")]
    if let Ok(url) = std::env::var("LAGGARD_BUCKET") {
        return part_of(&url);
    }
    Arc::new(InMemory::new())
}

#[cfg(feature = "bucket")]
fn part_of(url: &str) -> Arc<dyn ObjectStore> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (scheme, bucket) = url.split_once("://").expect("LAGGARD_BUCKET is a URL");
    let store = crate::buckets::open(url, scheme, bucket).unwrap();
    let part = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Arc::new(object_store::prefix::PrefixStore::new(store, part))
}
