//! `store.role`: servers that only receive, and others that answer from what all of them have stored.

#[cfg(feature = "s3")]
use super::bucket::{Buckets, ConditionalPuts, Interruptible};
use super::claimed_prefix::{SharedStore, flush, import, spans};
use super::store_commands::text;
use super::{Running, TRACE, TRACE_PATH};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const QUERY: [&str; 2] = ["--set", "store.role=query"];

fn folders<const N: usize>() -> [TempDir; N] {
    [(); N].map(|()| tempfile::tempdir().unwrap())
}

pub(super) fn receiver(shared: &SharedStore, data: &TempDir, name: &str) -> Running {
    let name = format!("store.writer={name}");
    shared.start(data.path(), &["--set", "store.role=receive", "--set", &name])
}

/// Waits until something is so.
pub(super) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn json(server: &Running, path: &str) -> Value {
    serde_json::from_str(&server.get(path).body).unwrap()
}

pub(super) fn has_spans(server: &Running, spans: u64) -> bool {
    json(server, "/api/v1/status")["spans_stored"] == spans
}

#[test]
fn questions_are_answered_from_what_all_servers_have_stored() {
    let (folder, data) = (tempfile::tempdir().unwrap(), folders::<4>());
    let shared = SharedStore::in_folder(&folder);
    let (a, b) = (receiver(&shared, &data[0], "a"), receiver(&shared, &data[1], "b"));
    let query = shared.start(data[2].path(), &QUERY);
    for (server, number) in [(&a, 0), (&b, 1)] {
        import(server, number);
        flush(server);
    }
    wait_until("the query server sees both", || has_spans(&query, 399));
    assert_eq!(spans(&shared.report(&query)), 399);
    // A server that comes later, and whose name is before the others'.
    let early = receiver(&shared, &data[3], "Early");
    assert_eq!(early.send_trace(TRACE, &[]).status, 200);
    flush(&early);
    wait_until("the third is seen", || has_spans(&query, 400));
    assert_eq!(query.get(TRACE_PATH).status, 200);
    // After a restart of one, its new data are seen, too.
    early.stop();
    let early = receiver(&shared, &data[3], "Early");
    import(&early, 2);
    flush(&early);
    wait_until("more of the third is seen", || has_spans(&query, 601));
    assert_eq!(spans(&shared.report(&query)), 601);
}

/// The files of spans that a server has stored.
fn span_files(folder: &TempDir, writer: &str) -> impl Iterator<Item = PathBuf> {
    let spans = folder.path().join(writer).join("tenants/default/segments/spans");
    let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries(spans).flat_map(move |slice| entries(slice.path())).map(|file| file.path())
}

fn segments_of(folder: &TempDir, writer: &str) -> usize {
    span_files(folder, writer).count()
}

#[test]
fn data_of_a_server_that_is_gone_are_merged_by_one_that_adopts_them() {
    let (folder, data) = (tempfile::tempdir().unwrap(), folders::<3>());
    let shared = SharedStore::in_folder(&folder);
    let gone = receiver(&shared, &data[0], "gone");
    for number in 0..9_u32 {
        assert_eq!(gone.send_trace(&TRACE.replace("0af", &format!("{number}af")), &[]).status, 200);
        flush(&gone);
    }
    let adopting =
        ["--set", "store.writer=b", "--set", "store.adopt=gone", "--set", "store.delete_after=1ms"];
    shared.refused(data[1].path(), &adopting).fails(3, &["store.adopt", "/gone has a server"]);
    // Killed, and its disk is lost.
    drop(gone);
    assert_eq!(segments_of(&folder, "gone"), 9);
    let [unknown, itself] =
        ["store.adopt=nobody", "store.adopt=b"].map(|name| ["--set", "store.writer=b", "--set", name]);
    shared.refused(data[1].path(), &unknown).fails(3, &["store.adopt", "no server nobody"]);
    shared.refused(data[1].path(), &itself).fails(2, &["store.adopt names this server itself"]);
    let upkeep = ["--set", "store.upkeep=50ms"];
    let server = shared.start(data[1].path(), &[&adopting[..], &upkeep].concat());
    wait_until("they are merged", || segments_of(&folder, "gone") == 1);
    wait_until("all are answered", || has_trace(&server, 8));
    server.stop();
    let again = shared.start(data[1].path(), &adopting);
    assert!((0..9).all(|number| has_trace(&again, number)));
    again.stop();
    // It may come back with an empty folder.
    receiver(&shared, &data[2], "gone").stop();
}

#[test]
fn problems_of_adopted_data_are_in_the_status() {
    let (folder, data) = (tempfile::tempdir().unwrap(), folders::<2>());
    let shared = SharedStore::in_folder(&folder);
    let gone = receiver(&shared, &data[0], "gone");
    for number in 0..9_u32 {
        assert_eq!(gone.send_trace(&TRACE.replace("0af", &format!("{number}af")), &[]).status, 200);
        flush(&gone);
    }
    drop(gone);
    let damaged = span_files(&folder, "gone").next().expect("nine were stored");
    let length = std::fs::metadata(&damaged).unwrap().len();
    std::fs::write(&damaged, vec![0x5A; length as usize]).unwrap();
    // It answers nothing itself, so that only merging can notice the damage.
    let adopting = ["store.role=receive", "store.writer=b", "store.adopt=gone", "store.upkeep=50ms"];
    let server = shared.start(data[1].path(), &adopting.map(|setting| ["--set", setting]).concat());
    let problem = |path: &str| {
        let problems = json(&server, path)["problems"].clone();
        let of_gone = |problem: &&Value| {
            problem["text"].as_str().is_some_and(|text| text.starts_with("data of server gone"))
        };
        problems
            .as_array()?
            .iter()
            .filter(of_gone)
            .find(|problem| problem["name"] == "corrupt_segment")
            .cloned()
    };
    wait_until("the damage is reported", || problem("/api/v1/status").is_some());
    let reported = problem("/readyz").expect("it is in all places");
    assert!(reported["text"].as_str().unwrap().contains("store.adopt"), "{reported}");
    assert_eq!(json(&server, "/api/v1/status")["ready"], true, "this server's own store works");
    server.stop();
}

fn has_trace(server: &Running, number: u32) -> bool {
    server.get(&TRACE_PATH.replace("0af", &format!("{number}af"))).status == 200
}

#[test]
fn a_server_refuses_what_is_not_its_role() {
    let (folder, data) = (tempfile::tempdir().unwrap(), folders::<2>());
    let shared = SharedStore::in_folder(&folder);
    let receiving = receiver(&shared, &data[0], "a");
    let query = shared.start(data[1].path(), &QUERY);
    for server in [&receiving, &query] {
        assert_eq!(server.get("/readyz").status, 200);
    }
    for path in [TRACE_PATH, "/api/v1/overview", "/api/v1/incidents", "/jaeger/api/services"] {
        let refused = receiving.get(path);
        assert!(
            refused.status == 409 && refused.body.contains("only receives data"),
            "{path}: {}",
            refused.body
        );
    }
    let refused = query.send_trace(TRACE, &[]);
    assert!(refused.status == 404 && refused.body.contains("only answers questions"), "{}", refused.body);
    let refused = query.request("http", "POST", "/api/v1/import", &[], &super::stored::part(0));
    assert!(refused.status == 409 && refused.body.contains("only answers questions"), "{}", refused.body);
    // What a receiving server's log has would not be stored by one that only answers.
    receiving.stop();
    shared.refused(data[0].path(), &QUERY).fails(3, &["write-ahead log", "/a", "another data folder"]);
    let alone = crate::outcome::laggard(&["serve", "--data", "x", "--set", "store.role=query"]);
    alone.fails(2, &["store.role needs store.url"]);
    let sources = data[1].path().join("sources.yaml");
    std::fs::write(&sources, "trace_sources:\n  - {name: a, kind: jaeger, url: 'http://localhost:1'}\n")
        .unwrap();
    let pulling = shared.refused(data[1].path(), &[&["--config", text(&sources)], &QUERY[..]].concat());
    pulling.fails(2, &["trace_sources", "takes no data"]);
}

#[test]
fn tenants_of_other_servers_are_found() {
    let (folder, data) = (tempfile::tempdir().unwrap(), folders::<2>());
    let shared = SharedStore::in_folder(&folder);
    let tenants = ["--set", "tenants.enabled=true"];
    let query = shared.start(data[1].path(), &[&QUERY[..], &tenants].concat());
    let both = shared.start(data[0].path(), &tenants);
    let header = ["X-Scope-OrgID: shop"];
    assert_eq!(both.send_trace(TRACE, &header).status, 200);
    assert_eq!(both.request("http", "POST", "/api/v1/flush", &header, "").status, 204);
    let read = |server: &Running| server.request("http", "GET", TRACE_PATH, &header, "").status;
    assert_eq!(read(&both), 200);
    wait_until("the tenant is found", || read(&query) == 200);
}

/// What the server says of its last evaluation.
fn evaluation(server: &Running) -> String {
    json(server, "/api/v1/alerts")["last"]["outcome"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn one_server_evaluates_alerts_and_another_one_continues_after_a_kill() {
    let (folder, data) = (tempfile::tempdir().unwrap(), folders::<2>());
    let shared = SharedStore::in_folder(&folder);
    let often = [&QUERY[..], &["--set", "alerts.every=1s"]].concat();
    let first = shared.start(data[0].path(), &often);
    wait_until("the first evaluates", || evaluation(&first) == "nothing_new");
    let second = shared.start(data[1].path(), &often);
    wait_until("the second does not", || evaluation(&second) == "elsewhere");
    // Killed.
    drop(first);
    wait_until("the second evaluates", || evaluation(&second) == "nothing_new");
    let first = shared.start(data[0].path(), &often);
    wait_until("the first does not", || evaluation(&first) == "elsewhere");
    assert_ne!(evaluation(&second), "elsewhere");
    // One that is stopped lets the other continue without waiting for signs of life.
    second.stop();
    wait_until("the first evaluates again", || evaluation(&first) == "nothing_new");
}

#[test]
#[cfg(feature = "s3")]
fn a_bucket_that_does_not_answer_is_a_problem_and_no_silence() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    buckets.put("traces", b"");
    let data = folders::<2>();
    let shared = SharedStore::new("s3://traces/live".to_owned(), buckets.variables());
    let receiving = receiver(&shared, &data[0], "a");
    import(&receiving, 0);
    flush(&receiving);
    let connection = Interruptible::to(&buckets);
    let variables = connection.variables(&buckets);
    let query = SharedStore::new("s3://traces/live".to_owned(), variables)
        .start(data[1].path(), &[&QUERY[..], &["--set", "alerts.every=1s"]].concat());
    assert!(has_spans(&query, 198));
    connection.interrupt(true);
    query.wait_for_readiness(|ready, problems| ready && problems == ["writers_unreadable"]);
    wait_until("nothing is evaluated", || evaluation(&query) == "unreadable");
    import(&receiving, 1);
    flush(&receiving);
    connection.interrupt(false);
    query.wait_for_readiness(|ready, problems| ready && problems.is_empty());
    wait_until("what was stored meanwhile is seen", || has_spans(&query, 399));
    assert_eq!(spans(&shared.report(&query)), 399);
}
