//! The object store that tests use.

use object_store::ObjectStore;
use object_store::memory::InMemory;
use std::sync::Arc;

/// An empty object store: in memory or, with the feature `s3` and the variable `LAGGARD_S3_BUCKET`, a part of that
/// bucket. The usual `AWS_` variables configure it.
pub(crate) fn empty_objects() -> Arc<dyn ObjectStore> {
    #[cfg(feature = "s3")]
    if let Ok(bucket) = std::env::var("LAGGARD_S3_BUCKET") {
        return part_of(&bucket);
    }
    Arc::new(InMemory::new())
}

#[cfg(feature = "s3")]
fn part_of(bucket: &str) -> Arc<dyn ObjectStore> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let store = object_store::aws::AmazonS3Builder::from_env().with_bucket_name(bucket).build().unwrap();
    let part = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Arc::new(object_store::prefix::PrefixStore::new(store, part))
}
