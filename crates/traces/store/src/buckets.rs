//! Buckets, by the scheme of their URLs. Credentials and addresses come from the environment.

use crate::StoreError;
use object_store::ObjectStore;
use std::sync::Arc;

/// Who has a bucket.
struct Provider {
    scheme: &'static str,
    /// The feature of the program that reads it.
    feature: &'static str,
    /// Opens a bucket by its name; `None` in programs without the feature.
    open: Option<OpenBucket>,
}

type OpenBucket = fn(&str) -> object_store::Result<Arc<dyn ObjectStore>>;

#[cfg(feature = "s3")]
const S3: Option<OpenBucket> = Some(|bucket| {
    let builder = object_store::aws::AmazonS3Builder::from_env().with_bucket_name(bucket);
    Ok(Arc::new(builder.with_retry(retry()).build()?))
});
#[cfg(not(feature = "s3"))]
const S3: Option<OpenBucket> = None;

#[cfg(feature = "gcs")]
const GCS: Option<OpenBucket> = Some(|bucket| {
    let builder = object_store::gcp::GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
    Ok(Arc::new(builder.with_retry(retry()).build()?))
});
#[cfg(not(feature = "gcs"))]
const GCS: Option<OpenBucket> = None;

#[cfg(feature = "azure")]
const AZURE: Option<OpenBucket> = Some(|container| {
    let builder = object_store::azure::MicrosoftAzureBuilder::from_env().with_container_name(container);
    Ok(Arc::new(builder.with_retry(retry()).build()?))
});
#[cfg(not(feature = "azure"))]
const AZURE: Option<OpenBucket> = None;

const PROVIDERS: [Provider; 3] = [
    Provider { scheme: "s3", feature: "s3", open: S3 },
    Provider { scheme: "gs", feature: "gcs", open: GCS },
    Provider { scheme: "az", feature: "azure", open: AZURE },
];

/// A bucket that does not answer for this long is reported.
#[cfg(feature = "bucket")]
fn retry() -> object_store::RetryConfig {
    const RETRY_MAX: std::time::Duration = std::time::Duration::from_secs(20);
    object_store::RetryConfig {
        max_retries: 5,
        retry_timeout: RETRY_MAX,
        ..object_store::RetryConfig::default()
    }
}

/// The bucket of a URL, by its scheme and the name after it. `text` is the URL.
///
/// # Errors
/// When this program does not read URLs of this scheme, or the environment does not suffice.
pub(crate) fn open(text: &str, scheme: &str, bucket: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
    let Some(provider) = PROVIDERS.iter().find(|provider| provider.scheme == scheme) else {
        return Err(StoreError::new(format!(
            "{text}: {scheme}:// is not read; a folder, file://, s3://, gs://, and az:// are"
        )));
    };
    let Some(open) = provider.open else {
        return Err(StoreError::new(format!(
            "{text}: this program was built without {scheme}:// buckets; build it with `cargo build --release --features {}`",
            provider.feature
        )));
    };
    if bucket.is_empty() {
        return Err(StoreError::new(format!(
            "{text}: no bucket is named; {scheme}://BUCKET/PREFIX is expected"
        )));
    }
    #[cfg(feature = "bucket")]
    // Fails if the process has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    open(bucket).map_err(|error| StoreError::new(format!("{text}: {error}")))
}
