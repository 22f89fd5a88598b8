//! `store.url`: servers whose segments are below a prefix in a bucket or in a folder of several servers.

#[cfg(feature = "s3")]
use super::bucket::{Buckets, ConditionalPuts, Interruptible};
use super::store_commands::{files, store, text};
use super::stored::{part, service_part};
use super::{Running, TRACE, TRACE_PATH};
use crate::outcome::{Outcome, command, finish};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Where the segments of servers are.
pub(super) struct SharedStore {
    url: String,
    variables: Vec<(&'static str, String)>,
    settings: Vec<String>,
}

impl SharedStore {
    pub(super) fn new(url: String, variables: Vec<(&'static str, String)>) -> SharedStore {
        let all = [
            "keep_for=off",
            "upkeep=1h",
            "idle=60s",
            "takeover_after=2s",
            "refresh=100ms",
            &format!("url={url}"),
        ];
        let settings = all.iter().flat_map(|setting| ["--set".to_owned(), format!("store.{setting}")]);
        SharedStore { settings: settings.collect(), url, variables }
    }

    pub(super) fn in_folder(folder: &TempDir) -> SharedStore {
        SharedStore::new(format!("file://{}", text(folder.path())), Vec::new())
    }

    fn words<'a>(&'a self, further: &[&'a str]) -> Vec<&'a str> {
        self.settings.iter().map(String::as_str).chain(further.iter().copied()).collect()
    }

    fn variables(&self) -> Vec<(&str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    pub(super) fn start(&self, data: &Path, further: &[&str]) -> Running {
        Running::start_with(data, &self.words(further), &self.variables())
    }

    /// Runs a server that is expected to end by itself.
    pub(super) fn refused(&self, data: &Path, further: &[&str]) -> Outcome {
        let mut words = vec!["serve", "--data", text(data)];
        for flag in ["--http", "--otlp-grpc", "--otlp-http", "--zipkin"] {
            words.extend([flag, "127.0.0.1:0"]);
        }
        self.run(&[&words, &*self.words(further)].concat())
    }

    fn run(&self, words: &[&str]) -> Outcome {
        finish(command(words).envs(self.variables()))
    }

    /// The report of what all writers have stored, which must be that of a server.
    pub(super) fn report(&self, server: &Running) -> String {
        let words = ["diagnose", "--output", "json"];
        let stored = self.run(&[&words[..], &["--store", &self.url]].concat());
        let address = format!("http://{}", server.addresses["http"]);
        let served = self.run(&[&words[..], &["--server", &address]].concat());
        assert_eq!((stored.status, &*stored.stderr), (served.status, ""), "{}", served.stderr);
        assert_eq!(stored.stdout, served.stdout);
        stored.stdout
    }
}

pub(super) fn import(server: &Running, number: usize) {
    assert_eq!(server.request("http", "POST", "/api/v1/import", &[], &part(number)).status, 200);
}

pub(super) fn flush(server: &Running) {
    assert_eq!(server.post("/api/v1/flush").status, 204);
}

/// Spans of a report, and batches that may be missing.
fn spans_and_lost(report: &str) -> (u64, u64) {
    let input = &serde_json::from_str::<Value>(report).unwrap()["input"];
    let losses = input["losses"].as_object().unwrap();
    assert!(losses.keys().all(|loss| loss == "corrupt_log"), "{losses:?}");
    let lost = losses.get("corrupt_log").map_or(0, |loss| loss["count"].as_u64().unwrap());
    (input["spans"].as_u64().unwrap(), lost)
}

pub(super) fn spans(report: &str) -> u64 {
    let (spans, lost) = spans_and_lost(report);
    assert_eq!(lost, 0, "nothing is lost");
    spans
}

/// Spans that were acknowledged survive kills, and with a new data folder what is in segments.
fn spans_survive_kills_and_a_new_folder(shared: &SharedStore) {
    let data = tempfile::tempdir().unwrap();
    let server = shared.start(data.path(), &[]);
    import(&server, 0);
    flush(&server);
    import(&server, 1);
    assert_eq!(spans(&shared.report(&server)), 198);
    // Killed; what it has in memory is in its log.
    drop(server);
    let server = shared.start(data.path(), &[]);
    assert_eq!(server.get("/readyz").status, 200);
    flush(&server);
    assert_eq!(spans(&shared.report(&server)), 399);
    import(&server, 2);
    flush(&server);
    let report = shared.report(&server);
    assert_eq!(spans(&report), 600);
    assert!(report.contains("\"read\""), "{report}");
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    drop(server);
    let empty = tempfile::tempdir().unwrap();
    let server = shared.start(empty.path(), &[]);
    let ready = server.get("/readyz");
    assert!(ready.status == 200 && ready.body.contains("log_elsewhere"), "{}", ready.body);
    assert_eq!(shared.report(&server), report);
    assert_eq!(server.send_trace(&TRACE.replace("0af", "1af"), &[]).status, 200);
    server.stop();
    // The log with the last trace of the first folder does not continue what the second has written.
    let old = shared.refused(data.path(), &[]);
    old.fails(3, &["does not continue what is stored below", "/default", "writer.json"]);
    let server = shared.start(tempfile::tempdir().unwrap().path(), &[]);
    assert!(!server.get("/readyz").body.contains("log_elsewhere"), "it was stopped, not killed");
    assert_eq!(server.get(&TRACE_PATH.replace("0af", "1af")).status, 200);
    // Of all that was sent, one trace is in a log that is missing: that is counted.
    assert_eq!(spans_and_lost(&shared.report(&server)), (601, 1));
    server.stop();
    // What the old log has is not lost.
    fs::remove_file(data.path().join("writer.json")).unwrap();
    let alone = Running::start(data.path(), &[]);
    flush(&alone);
    assert_eq!(alone.get(TRACE_PATH).status, 200);
}

/// Two servers never write below one prefix.
fn a_name_has_one_server(shared: &SharedStore) {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let first = shared.start(folders[0].path(), &[]);
    let second = shared.refused(folders[1].path(), &[]);
    second.fails(3, &["/default has a server: process", "store.writer"]);
    let other = shared.start(folders[1].path(), &["--set", "store.writer=other"]);
    for (server, number) in [(&first, 0), (&other, 1)] {
        import(server, number);
        flush(server);
    }
    // Both together are what one server has that got all of it.
    let both = shared.report(&other);
    assert_eq!(spans(&both), 399);
    let both: Value = serde_json::from_str(&both).unwrap();
    let caution = both["cautions"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(caution.starts_with("Stored by 2 servers: "), "{caution}");
    let alone = tempfile::tempdir().unwrap();
    let server = Running::start(alone.path(), &["--set", "store.keep_for=off", "--set", "store.upkeep=1h"]);
    for number in 0..2 {
        import(&server, number);
        flush(&server);
    }
    let one = shared.run(&["diagnose", "--output", "json", "--store", text(alone.path())]).json();
    for part in ["verdict", "suspects", "input", "categories"] {
        assert_eq!(both[part], one[part], "{part}");
    }
    other.stop();
    let third = ["--set", "store.writer=third"];
    assert_eq!(first.send_trace(TRACE, &[]).status, 200);
    drop(first);
    shared.refused(folders[0].path(), &third).fails(3, &["belongs to", "/default, not to", "/third"]);
    shared.start(folders[1].path(), &third).stop();
}

/// Each server gets the spans of one service, as where a load balancer distributes them by connection.
#[test]
fn traces_that_are_split_across_servers_are_whole() {
    let (folder, data) = (tempfile::tempdir().unwrap(), [(); 3].map(|()| tempfile::tempdir().unwrap()));
    let shared = SharedStore::in_folder(&folder);
    let servers = [0, 1].map(|number| {
        let server = shared.start(data[number].path(), &["--set", &format!("store.writer=w{number}")]);
        let imported = server.request("http", "POST", "/api/v1/import", &[], &service_part(number));
        assert_eq!(imported.status, 200);
        flush(&server);
        server
    });
    // It looks for what the other one has stored.
    flush(&servers[0]);
    let split: Value = serde_json::from_str(&shared.report(&servers[0])).unwrap();
    let alone = Running::start(data[2].path(), &["--set", "store.keep_for=off", "--set", "store.upkeep=1h"]);
    (0..3).for_each(|number| import(&alone, number));
    flush(&alone);
    let one = shared.run(&["diagnose", "--output", "json", "--store", text(data[2].path())]).json();
    let headline = one["headline"].as_str().unwrap();
    assert!(
        headline.contains("in `db` operation `read`") && headline.contains("10 of 200 requests"),
        "{headline}"
    );
    for part in ["headline", "suspects", "input", "categories"] {
        assert_eq!(split[part], one[part], "{part}");
    }
    // Half of the data must not pass for all of it.
    fs::rename(folder.path().join("w1/tenants/default/segments"), folder.path().join("moved")).unwrap();
    let words = ["diagnose", "--store", &*shared.url];
    shared.run(&words).fails(3, &["w1/tenants/default: this is no store"]);
}

#[test]
fn spans_below_a_folder_survive_kills_and_a_new_data_folder() {
    spans_survive_kills_and_a_new_folder(&SharedStore::in_folder(&tempfile::tempdir().unwrap()));
}

#[test]
fn a_name_has_one_server_in_a_folder() {
    a_name_has_one_server(&SharedStore::in_folder(&tempfile::tempdir().unwrap()));
}

#[test]
#[cfg(feature = "s3")]
fn spans_in_a_bucket_survive_kills_and_a_new_data_folder() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    buckets.put("traces", b"");
    let shared = SharedStore::new("s3://traces/live".to_owned(), buckets.variables());
    spans_survive_kills_and_a_new_folder(&shared);
}

#[test]
#[cfg(feature = "s3")]
fn a_name_has_one_server_in_a_bucket() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    buckets.put("traces", b"");
    a_name_has_one_server(&SharedStore::new("s3://traces".to_owned(), buckets.variables()));
    let nothing = SharedStore::new("s3://nothing".to_owned(), buckets.variables());
    let data = tempfile::tempdir().unwrap();
    nothing.refused(data.path(), &[]).fails(3, &["s3://nothing", "cannot be written"]);
}

#[test]
#[cfg(feature = "s3")]
fn while_a_bucket_does_not_answer_data_is_accepted_and_stored_later() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    buckets.put("traces", b"");
    let connection = Interruptible::to(&buckets);
    let shared = SharedStore::new("s3://traces/live".to_owned(), connection.variables(&buckets));
    let data = tempfile::tempdir().unwrap();
    let server = shared.start(data.path(), &[]);
    import(&server, 0);
    flush(&server);
    connection.interrupt(true);
    import(&server, 1);
    assert_ne!(server.post("/api/v1/flush").status, 204);
    server
        .wait_for_readiness(|ready, problems| !ready && problems.contains(&"segments_unwritable".to_owned()));
    import(&server, 2);
    connection.interrupt(false);
    server.wait_for_readiness(|ready, problems| ready && problems.is_empty());
    flush(&server);
    assert_eq!(spans(&shared.report(&server)), 600);
    connection.interrupt(true);
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    server.signal(rustix::process::Signal::TERM);
    let (status, log) = server.wait();
    assert_eq!(status, 3, "its log has what is not stored: {log}");
    let other = tempfile::tempdir().unwrap();
    shared.refused(other.path(), &[]).fails(3, &["s3://traces/live", "cannot be written"]);
    connection.interrupt(false);
    let server = shared.start(data.path(), &[]);
    flush(&server);
    assert_eq!(spans(&shared.report(&server)), 601);
}

#[test]
#[cfg(feature = "s3")]
fn a_bucket_that_ignores_conditions_is_refused() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Ignored) else { return };
    buckets.put("traces", b"");
    let shared = SharedStore::new("s3://traces/live".to_owned(), buckets.variables());
    let data = tempfile::tempdir().unwrap();
    let refused = shared.refused(data.path(), &[]);
    refused.fails(2, &["store.url: s3://traces/live does not honor conditional puts"]);
    assert!(!data.path().join("writer.json").exists(), "nothing is claimed");
}

#[test]
fn a_server_that_was_replaced_while_it_stood_still_takes_nothing_more() {
    use rustix::process::Signal;
    let (folder, data) = (tempfile::tempdir().unwrap(), [(); 2].map(|()| tempfile::tempdir().unwrap()));
    let shared = SharedStore::in_folder(&folder);
    let first = shared.start(data[0].path(), &[]);
    import(&first, 0);
    flush(&first);
    assert_eq!(first.send_trace(TRACE, &[]).status, 200);
    first.signal(Signal::STOP);
    let second = shared.start(data[1].path(), &[]);
    import(&second, 1);
    flush(&second);
    first.signal(Signal::CONT);
    first.wait_for_readiness(|ready, problems| !ready && problems.contains(&"writer_taken_over".to_owned()));
    assert_eq!(first.send_trace(TRACE, &[]).status, 503);
    assert_ne!(first.post("/api/v1/flush").status, 204);
    import(&second, 2);
    flush(&second);
    // The trace that only the first one's log has may be missing, and is.
    assert_eq!(spans_and_lost(&shared.report(&second)), (600, 1));
    first.signal(Signal::TERM);
    let (status, log) = first.wait();
    assert_eq!(status, 3, "its log has what is not stored: {log}");
    second.stop();
    shared.refused(data[0].path(), &[]).fails(3, &["does not continue what is stored below"]);
}

#[test]
fn replaced_files_stay_for_a_while() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shared = SharedStore::in_folder(&folder);
    let below = folder.path().join("default");
    let often = ["--set", "store.upkeep=20ms"];
    let server = shared.start(data.path(), &[]);
    for number in 0..2 {
        import(&server, number);
        flush(&server);
    }
    // Two slices later, the two segments of the first slice are merged.
    assert_eq!(server.send_at(9_000, 1_768_208_400_000_000_000 + 1_200_000_000_000).status, 200);
    flush(&server);
    let before = files(&below, ".parquet");
    server.stop();
    let wait_for = |is_wanted: &dyn Fn(usize) -> bool| {
        for _ in 0..1000 {
            let now = files(&below, ".parquet");
            if is_wanted(now.len()) {
                return now;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{:?}, before: {before:?}", files(&below, ".parquet"));
    };
    let server = shared.start(data.path(), &often);
    // A merged segment beside the two that it replaces, each with four files.
    let now = wait_for(&|count| count == before.len() + 4);
    assert!(before.iter().all(|file| now.contains(file)), "{now:?}");
    assert_eq!(spans(&shared.report(&server)), 400);
    server.stop();
    let soon = [&often[..], &["--set", "store.delete_after=1ms"]].concat();
    let server = shared.start(data.path(), &soon);
    wait_for(&|count| count == before.len() - 4);
    assert_eq!(spans(&shared.report(&server)), 400);
}

#[test]
fn tenants_are_found_again_with_a_new_data_folder() {
    let (folder, data) = (tempfile::tempdir().unwrap(), [(); 2].map(|()| tempfile::tempdir().unwrap()));
    let shared = SharedStore::in_folder(&folder);
    let (tenants, shop) = (["--set", "tenants.enabled=true"], ["X-Scope-OrgID: shop"]);
    let server = shared.start(data[0].path(), &tenants);
    assert_eq!(server.send_trace(TRACE, &shop).status, 200);
    server.stop();
    let server = shared.start(data[1].path(), &tenants);
    assert_eq!(server.request("http", "GET", TRACE_PATH, &shop, "").status, 200);
    let words = ["diagnose", "--output", "json", "--store", &shared.url, "--tenant"];
    let stored = shared.run(&[&words[..], &["shop"]].concat());
    assert_eq!(spans(&stored.stdout), 1, "{}", stored.stderr);
    shared.run(&[&words[..], &["other"]].concat()).fails(3, &["no tenant \"other\", only shop"]);
}

#[test]
fn folders_are_not_mistaken_for_each_other() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shared = SharedStore::in_folder(&folder);
    shared.start(data.path(), &[]).stop();
    let words = ["serve", "--data", text(data.path()), "--http", "127.0.0.1:0"];
    shared.run(&words).fails(3, &["belongs to file://", "/default", "set store.url"]);
    store(&["check", text(data.path())]).fails(3, &["its segments are not in this folder", "/default"]);
    let below = folder.path().join("default");
    shared.run(&["serve", "--data", text(&below)]).fails(3, &["not a data folder"]);
    store(&["repair", text(&below)]).fails(3, &["not a data folder"]);
    assert_eq!(store(&["check", text(&below)]).status, 0);
    let local = tempfile::tempdir().unwrap();
    Running::start(local.path(), &[]).stop();
    let with_data = tempfile::tempdir().unwrap();
    let server = Running::start(with_data.path(), &[]);
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    server.stop();
    shared.refused(with_data.path(), &[]).fails(3, &["has segments of its own", "/default"]);
    for (setting, words) in [
        ("store.url=/folder", "s3://BUCKET/PREFIX"),
        ("store.url=gcs://bucket", "gcs:// is not read"),
        ("store.writer=a/b", "store.writer"),
        ("store.writer=tenants", "store.writer"),
    ] {
        let words = [setting.split('=').next().unwrap(), words];
        shared.refused(local.path(), &["--set", setting]).fails(2, &words);
    }
    #[cfg(not(feature = "s3"))]
    shared.refused(local.path(), &["--set", "store.url=s3://bucket"]).fails(2, &["--features s3"]);
}
