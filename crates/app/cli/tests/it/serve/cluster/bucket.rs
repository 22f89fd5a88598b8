//! Workers that read a bucket, on a server with the API of S3 (moto).

use super::super::Running;
use super::super::bucket::{Buckets, ConditionalPuts};
use super::super::claimed_prefix::{SharedStore, flush};
use super::super::roles::{has_spans, receiver, wait_until};
use super::super::stored::{part, service_part};
use super::server::{QUESTIONS, answered, compared, settings};
use super::{TestCluster, WorkerProcess};
use crate::outcome::{Outcome, command, finish};
use serde_json::Value;
use tempfile::TempDir;

pub(super) const ONE: &str = "s3://traces/one";
pub(super) const THREE: &str = "s3://traces/three";

pub(super) fn query(buckets: &Buckets, url: &str, words: &[&str]) -> Outcome {
    finish(command(&[words, &["--store", url]].concat()).envs(buckets.variables()))
}

/// Queries one worker and all: the answers must be those without workers.
fn answers_right(buckets: &Buckets, url: &str, cluster: &TestCluster) {
    let token = cluster.token();
    for words in [
        &["diagnose", "--baseline", "none", "--output", "json"][..],
        &["diagnose", "--since", "2026-01-12T09:06:00Z", "--output", "json"],
        &["compare", "--since", "2026-01-12T09:05:00Z", "--output", "json"],
    ] {
        for limit in ["1000000", "150"] {
            let words = [words, &["--calls-max", limit]].concat();
            let expected = query(buckets, url, &words);
            assert_eq!(expected.status, 0, "{}", expected.stderr);
            for workers in [1, cluster.workers.len()] {
                let addresses = cluster.addresses()[..workers].join(",");
                let more = ["--workers", &addresses, "--worker-token-file", super::text(&token)];
                let found = query(buckets, url, &[&words[..], &more].concat());
                assert_eq!((found.status, &found.stderr), (0, &expected.stderr), "{words:?}");
                assert_eq!(found.stdout, expected.stdout, "{words:?}, {workers} workers");
            }
        }
    }
}

/// Adds three workers of a bucket.
pub(super) fn add(cluster: &mut TestCluster, variables: &[(&str, String)], url: &str) {
    let token = cluster.token();
    let token = ["--token-file", super::text(&token)];
    let worker = || WorkerProcess::start_at("127.0.0.1:0", url, &token, variables);
    cluster.workers.extend((0..3).map(|_| worker()));
}

/// Servers that store 600 spans: of the second third of the traces each service at another server, if there are several.
fn store_all(shared: &SharedStore, data: &[TempDir], names: &[&str]) {
    let servers: Vec<Running> =
        names.iter().zip(data).map(|(name, data)| receiver(shared, data, name)).collect();
    let nth = |number: usize| &servers[number % servers.len()];
    for (server, spans) in
        [(nth(0), part(0)), (nth(1), only_service(1, 0)), (nth(2), only_service(1, 1)), (nth(2), part(2))]
    {
        assert_eq!(server.request("http", "POST", "/api/v1/import", &[], &spans).status, 200);
        flush(server);
    }
}

/// The same spans by one server and by three, with a folder of data each; the store of the three.
pub(super) fn store_one_and_three(buckets: &Buckets, data: &[TempDir]) -> SharedStore {
    buckets.put("traces", b"");
    let [of_one, of_three] = [ONE, THREE].map(|url| SharedStore::new(url.to_owned(), buckets.variables()));
    store_all(&of_one, &data[..1], &["a"]);
    store_all(&of_three, &data[1..], &["b", "c", "d"]);
    of_three
}

#[test]
fn workers_read_a_bucket_of_one_server_and_of_three() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    let data: [TempDir; 6] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let of_three = store_one_and_three(&buckets, &data[..4]);
    let reports = [ONE, THREE].map(|url| {
        let mut cluster = TestCluster::of(tempfile::tempdir().unwrap(), 0);
        add(&mut cluster, &buckets.variables(), url);
        answers_right(&buckets, url, &cluster);
        if url == THREE {
            a_server_answers(&of_three, &data[4], &data[5], &cluster);
        }
        query(&buckets, url, &["diagnose", "--baseline", "none", "--output", "json"]).json()
    });
    assert_eq!(reports[0]["input"]["spans"], 600);
    for part in ["headline", "suspects", "input", "categories"] {
        assert_eq!(reports[0][part], reports[1][part], "{part}");
    }
}

#[test]
fn workers_read_a_bucket_that_throttles() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    buckets.put("traces", b"");
    let data = [tempfile::tempdir().unwrap()];
    store_all(&SharedStore::new(ONE.to_owned(), buckets.variables()), &data, &["a"]);
    let words = ["diagnose", "--baseline", "none", "--output", "json"];
    let expected = query(&buckets, ONE, &words);
    let mut cluster = TestCluster::of(tempfile::tempdir().unwrap(), 0);
    add(&mut cluster, &buckets.throttled_variables(), ONE);
    let (addresses, token) = (cluster.addresses().join(","), cluster.token());
    let workers = ["--workers", &addresses, "--worker-token-file", super::text(&token)];
    let words = [&words[..], &["--store", ONE], &workers].concat();
    let found = finish(command(&words).envs(buckets.throttled_variables()));
    assert_eq!((found.status, found.stdout, found.stderr), (0, expected.stdout, expected.stderr));
}

/// The spans of a service in one of three parts.
fn only_service(number: usize, service: usize) -> String {
    let (mut all, names): (Value, Value) =
        (serde_json::from_str(&part(number)).unwrap(), serde_json::from_str(&service_part(service)).unwrap());
    let resource = names["resourceSpans"][0]["resource"].clone();
    all["resourceSpans"].as_array_mut().unwrap().retain(|one| one["resource"] == resource);
    all.to_string()
}

/// A server that only answers, with workers, and one without.
fn a_server_answers(shared: &SharedStore, plain: &TempDir, data: &TempDir, cluster: &TestCluster) {
    let query = ["--set", "store.role=query"];
    let set = settings(cluster);
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let plain = shared.start(plain.path(), &query);
    let server = shared.start(data.path(), &[&query[..], &set].concat());
    for one in [&plain, &server] {
        wait_until("all is seen", || has_spans(one, 600));
    }
    compared(&server, &plain, &[]);
    assert!(answered(&server, QUESTIONS[0], &[]).contains("Stored by 3 servers"));
}
