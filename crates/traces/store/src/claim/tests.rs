//! Claims of a folder, as several servers make them.

use super::owner::Owner;
use super::probe::probe;
use super::*;
use crate::DataLocation;
use crate::unreliable_objects::{Creation, UnreliableObjects};
use futures::TryStreamExt;
use object_store::ObjectStore;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const SILENCE: Duration = Duration::from_millis(300);

fn request(shared: &TempDir, data: &Path) -> ClaimRequest {
    ClaimRequest {
        url: format!("file://{}", shared.path().display()),
        writer: "one".to_owned(),
        folder: data.to_owned(),
        logs: vec![data.join("log"), data.join("nothing")],
        takeover_after: SILENCE,
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

async fn refused(request: &ClaimRequest) -> String {
    match WriterPrefix::claim(request).await {
        Err(ClaimError::Refused(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is claimed"),
    }
}

fn write_log(data: &TempDir) {
    std::fs::create_dir_all(data.path().join("log")).unwrap();
    std::fs::write(data.path().join("log").join(format!("{:020}.log", 1)), "records").unwrap();
}

#[tokio::test]
async fn a_writer_has_one_server() {
    let (shared, [first, second]) = (folder(), [folder(), folder()]);
    let held = WriterPrefix::claim(&request(&shared, first.path())).await.unwrap();
    let error = refused(&request(&shared, second.path())).await;
    assert!(error.contains("/one has a server: process") && error.contains("store.writer"), "{error}");
    std::fs::copy(first.path().join(WRITER_MARK), second.path().join(WRITER_MARK)).unwrap();
    let error = refused(&request(&shared, second.path())).await;
    assert!(error.contains("has a server"), "a copy of its folder is not its folder: {error}");
    let other = ClaimRequest { writer: "two".to_owned(), ..request(&shared, second.path()) };
    let _other = WriterPrefix::claim(&other).await.unwrap();
    held.release().await;
    let third = folder();
    let next = WriterPrefix::claim(&request(&shared, third.path())).await.unwrap();
    assert_eq!((next.held().number(), next.held().log_elsewhere()), (2, None));
    assert!(held.held().lost().is_none(), "it has ended");
}

#[tokio::test]
async fn after_a_kill_the_same_folder_continues_at_once_and_another_one_after_silence() {
    let (shared, [first, second]) = (folder(), [folder(), folder()]);
    let never = Duration::from_secs(1 << 30);
    let patient = ClaimRequest { takeover_after: never, ..request(&shared, first.path()) };
    drop(WriterPrefix::claim(&patient).await.unwrap());
    write_log(&first);
    let held = WriterPrefix::claim(&request(&shared, first.path())).await.unwrap();
    assert_eq!((held.held().number(), held.held().log_elsewhere()), (2, None));
    drop(held);
    let held = WriterPrefix::claim(&request(&shared, second.path())).await.unwrap();
    assert_eq!(held.held().number(), 3);
    let text = held.held().log_elsewhere().unwrap();
    assert!(text.contains("spans of its last seconds may be missing"), "{text}");
    drop(held);
    let error = refused(&request(&shared, first.path())).await;
    assert!(error.contains("does not continue what is stored") && error.contains(WRITER_MARK), "{error}");
    std::fs::remove_dir_all(first.path().join("log")).unwrap();
    assert_eq!(WriterPrefix::claim(&request(&shared, first.path())).await.unwrap().held().number(), 4);
}

#[tokio::test]
async fn a_log_of_another_writer_is_refused() {
    let (shared, data) = (folder(), folder());
    WriterPrefix::claim(&request(&shared, data.path())).await.unwrap().release().await;
    write_log(&data);
    let other = ClaimRequest { writer: "two".to_owned(), ..request(&shared, data.path()) };
    let error = refused(&other).await;
    assert!(error.contains("/one, not to file://") && error.contains("/two:"), "{error}");
    assert_eq!(
        WriterPrefix::named_in(data.path()).unwrap(),
        Some(format!("file://{}/one", shared.path().display()))
    );
    let fresh = folder();
    write_log(&fresh);
    let error = refused(&request(&shared, fresh.path())).await;
    assert!(error.contains("does not continue what is stored"), "{error}");
}

#[tokio::test]
async fn an_owner_notices_a_later_claim() {
    let (shared, data) = (folder(), folder());
    let held = WriterPrefix::claim(&request(&shared, data.path())).await.unwrap();
    let location = DataLocation::parse(&request(&shared, data.path()).url).unwrap().within("one");
    let objects = location.writable().unwrap().objects;
    assert!(!Owner::this_process(1, SILENCE).create(&*objects).await.unwrap(), "it has another owner");
    assert!(held.held().lost().is_none());
    assert!(Owner::this_process(2, SILENCE).create(&*objects).await.unwrap());
    while held.held().lost().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(held.held().check().is_err() && held.held().lost().unwrap().blocks);
}

#[tokio::test]
async fn a_place_that_replaces_what_is_to_be_created_is_refused() {
    for creation in [Creation::Honored, Creation::Replaces, Creation::RepeatsLost] {
        let objects = UnreliableObjects::new(creation);
        let probed = probe(&objects, "s3://bucket").await;
        match creation {
            Creation::Replaces => {
                let Err(ClaimError::Settings(error)) = probed else { panic!("{probed:?}") };
                assert!(error.to_string().contains("does not honor conditional puts"), "{error}");
            }
            _ => probed.unwrap(),
        }
        assert!(objects.list(None).try_collect::<Vec<_>>().await.unwrap().is_empty());
    }
    let lost = probe(&UnreliableObjects::new(Creation::LosesAnswers), "s3://bucket").await;
    assert!(matches!(lost, Err(ClaimError::Refused(_))), "{lost:?}");
}
