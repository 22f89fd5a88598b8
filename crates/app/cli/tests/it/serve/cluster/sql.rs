//! `laggard sql` at workers: rows are those of threads, whatever happens to them.

use super::bucket::{ONE, THREE, add, query, store_one_and_three};
use super::{ANSWERED_WITHIN, TestCluster};
use crate::outcome::{Outcome, laggard};
use crate::serve::Running;
use crate::serve::bucket::{Buckets, ConditionalPuts};
use crate::serve::store_commands::{damage, files, text};
use crate::serve::stored::service_part;
use rustix::process::Signal;
use std::time::Instant;
use tempfile::TempDir;

/// One for each shape of a plan: groups, conditions, joins, subqueries, limits, all columns, and tables that workers do not read.
const QUERIES: [&str; 14] = [
    "select count(*) from spans",
    "select service, operation, count(*) as n, sum(duration_ns) as ns from spans group by 1, 2 order by 1, 2",
    "select structure, count(distinct trace_id) as n, max(latency_ns) as most, avg(latency_ns) as mean
        from requests group by 1 order by 1",
    "select service, approx_percentile_cont(self_ns, 0.5) as p50 from calls where node > 0 group by 1 order by 1",
    "select r.trace_id, c.operation, c.self_ns from requests r
        join calls c on c.trace_id = r.trace_id and c.request = r.request where r.latency_ns > 100000000 order by 1, 2",
    "select count(*) from requests where latency_ns > (select avg(latency_ns) from requests)",
    "select * from spans where start_time >= '2026-01-12T09:05:00Z' order by trace_id, span_id",
    "select * from calls where trace_id in ('00000000000000b4', '00000000000000b5') order by trace_id, node",
    "select trace_id, latency_ns from requests order by latency_ns desc, trace_id limit 7",
    "select count(*) as n from (select trace_id from spans limit 17)",
    "select distinct structure, node, operation from structures order by 1, 2",
    "select date_bin(interval '1 minute', start_time) as minute, count(*) from requests group by 1 order by 1",
    "select count(*) from spans where trace_id = 'none'",
    "select (select count(*) from samples) + (select count(*) from incidents) + (select count(*) from spans) as n",
];

impl TestCluster {
    fn sql_at(&self, addresses: &[&str], query: &str, further: &[&str]) -> Outcome {
        let (data, token, addresses) = (self.data(), self.token(), addresses.join(","));
        let words = ["sql", "--store", text(&data), query, "--output", "csv"];
        let workers = ["--workers", &addresses, "--worker-token-file", text(&token)];
        laggard(&[&words, &workers[..], further].concat())
    }

    fn sql_here(&self, query: &str) -> Outcome {
        laggard(&["sql", "--store", text(&self.data()), query, "--output", "csv"])
    }

    /// Asks all workers; the answer must be that of threads.
    #[track_caller]
    fn queries_right(&self, query: &str) {
        let (expected, found) = (self.sql_here(query), self.sql_at(&self.addresses(), query, &[]));
        assert_eq!(
            (found.status, &found.stdout),
            (expected.status, &expected.stdout),
            "{query}: {}",
            found.stderr
        );
        assert_eq!(found.stderr, expected.stderr, "{query}");
    }
}

#[test]
fn workers_answer_queries_as_threads_do() {
    for workers in [1, 3] {
        let cluster = TestCluster::start(workers);
        for query in QUERIES {
            assert!(cluster.sql_here(query).status == 0, "{query}");
            cluster.queries_right(query);
        }
        let one_thread = cluster.sql_at(&cluster.addresses(), QUERIES[1], &["--threads", "1"]);
        assert_eq!(one_thread.text(), cluster.sql_here(QUERIES[1]).text());
    }
}

#[test]
fn queries_of_a_bucket_are_answered_with_workers_and_without() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    let data: [TempDir; 4] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    store_one_and_three(&buckets, &data);
    let answers = [ONE, THREE].map(|url| {
        let mut cluster = TestCluster::of(tempfile::tempdir().unwrap(), 0);
        add(&mut cluster, &buckets.variables(), url);
        let (token, addresses) = (cluster.token(), cluster.addresses().join(","));
        let workers = ["--workers", &addresses, "--worker-token-file", text(&token)];
        QUERIES.map(|sql| {
            let words = ["sql", sql, "--output", "csv"];
            let [here, there] =
                [&[][..], &workers].map(|more| query(&buckets, url, &[&words, more].concat()));
            assert_eq!((here.status, &here.stderr), (0, &there.stderr), "{sql}");
            assert_eq!(here.stdout, there.stdout, "{sql}");
            here.stdout
        })
    });
    assert!(answers[0][0].ends_with("\n600\n"), "{}", answers[0][0]);
    for ((one, three), sql) in answers[0].iter().zip(&answers[1]).zip(QUERIES) {
        assert_eq!(one, three, "{sql}");
    }
}

#[test]
fn workers_read_late_spans_of_a_query() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "store.keep_for=off", "--set", "store.upkeep=1h"];
    let server = Running::start(&folder.path().join("data"), &settings);
    for service in [1, 0] {
        assert_eq!(server.request("http", "POST", "/api/v1/import", &[], &service_part(service)).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
    }
    server.stop();
    let cluster = TestCluster::of(folder, 2);
    QUERIES.into_iter().for_each(|query| cluster.queries_right(query));
}

/// The query plan is sent, not the rows that it aggregates: a worker that is gone is noticed by any of these queries.
#[test]
fn queries_need_their_workers_and_name_those_that_are_gone() {
    let mut cluster = TestCluster::start(2);
    cluster.kill(0);
    cluster.queries_right(QUERIES[1]);
    let gone = cluster.addresses()[0].to_owned();
    let begun = Instant::now();
    let failed = cluster.sql_at(&[&gone], QUERIES[0], &[]);
    assert_eq!((failed.status, &*failed.stdout), (3, ""), "{}", failed.stderr);
    assert!(failed.stderr.contains(&gone), "{}", failed.stderr);
    assert!(begun.elapsed() < ANSWERED_WITHIN);
    // What workers do not read needs none.
    assert_eq!(cluster.sql_at(&[&gone], "select count(*) from incidents", &[]).status, 0);
}

#[test]
fn a_stopped_worker_does_not_stop_a_query() {
    let cluster = TestCluster::start(2);
    cluster.workers[1].signal(Signal::STOP);
    let begun = Instant::now();
    cluster.queries_right(QUERIES[2]);
    assert!(begun.elapsed() < ANSWERED_WITHIN);
    cluster.workers[1].signal(Signal::CONT);
}

#[test]
fn damage_at_workers_is_reported_and_the_rest_answered() {
    let cluster = TestCluster::start(2);
    let all = files(&cluster.data(), ".parquet");
    damage(all.iter().find(|file| text(file).contains("/calls/")).unwrap());
    let query = "select count(*) as n from calls";
    let found = cluster.sql_at(&cluster.addresses(), query, &[]);
    let expected = cluster.sql_here(query);
    assert_eq!((found.status, &found.stdout), (3, &expected.stdout), "{}", found.stderr);
    assert_eq!(found.stderr, expected.stderr);
}
