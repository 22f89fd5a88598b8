//! Checks that a bucket honors conditional puts: creating an object that exists must fail. Claims and manifests rely on it.

use super::error::ClaimError;
use super::owner::random_token;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions};

/// Creates a new object twice: the second time must fail.
///
/// # Errors
/// When it does not, or the bucket cannot be written.
pub(super) async fn probe(objects: &dyn ObjectStore, name: &str) -> Result<(), ClaimError> {
    let path = Path::from(format!("probe/{}", random_token()));
    let create = || {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        objects.put_opts(&path, "probe".into(), options)
    };
    match create().await {
        // An attempt whose answer was lost has put it.
        Ok(_) | Err(Error::AlreadyExists { .. }) => {}
        Err(error @ Error::NotImplemented { .. }) => {
            return Err(ClaimError::settings(format!("{name}: {error}")));
        }
        Err(error) => return Err(ClaimError::refused(format!("{name} cannot be written: {error}"))),
    }
    let again = create().await;
    if let Err(error) = objects.delete(&path).await {
        return Err(ClaimError::refused(format!("{name}: objects cannot be deleted: {error}")));
    }
    match again {
        Err(Error::AlreadyExists { .. }) => Ok(()),
        Ok(_) => Err(ClaimError::settings(format!(
            "store.url: {name} does not honor conditional puts (If-None-Match: *): an object that was there was replaced. Two servers \
             could overwrite each other's data there; use a bucket of Amazon S3 or of another server that honors them"
        ))),
        Err(error) => Err(ClaimError::refused(format!("{name} cannot be written: {error}"))),
    }
}
