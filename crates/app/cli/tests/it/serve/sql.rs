//! `laggard sql`: rows of a store, compared with what was sent.

use super::Running;
use super::store_commands::{damage, files, text};
use super::stored::{everything, service_part, start};
use crate::outcome::{Outcome, laggard, laggard_with_stdin};
use crate::server::traces;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const JSON: &str = "Content-Type: application/json";

fn sql(folder: &Path, query: &str, further: &[&str]) -> Outcome {
    laggard(&[&["sql", "--store", text(folder), query], further].concat())
}

/// The rows of an answer without losses.
#[track_caller]
fn rows(folder: &Path, query: &str) -> Vec<Value> {
    let answer = sql(folder, query, &["--output", "json"]).text();
    answer.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn number(folder: &Path, expression: &str) -> i64 {
    rows(folder, &format!("select {expression} as n"))[0]["n"].as_i64().unwrap()
}

/// A store of [`traces`] in three segments.
fn store() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    start(&data, &[]).stop();
    (folder, data)
}

/// Spans and the sum of their durations by service and operation, as they were sent.
fn sent() -> BTreeMap<(String, String), (i64, i64)> {
    let all: Value = serde_json::from_str(&traces()).unwrap();
    let mut sums = BTreeMap::new();
    for service in all["resourceSpans"].as_array().unwrap() {
        let name = service["resource"]["attributes"][0]["value"]["stringValue"].as_str().unwrap();
        for span in service["scopeSpans"][0]["spans"].as_array().unwrap() {
            let ns = |key: &str| span[key].as_str().unwrap().parse::<i64>().unwrap();
            let key = (name.to_owned(), span["name"].as_str().unwrap().to_owned());
            let sum: &mut (i64, i64) = sums.entry(key).or_default();
            sum.0 += 1;
            sum.1 += ns("endTimeUnixNano") - ns("startTimeUnixNano");
        }
    }
    sums
}

#[test]
fn spans_are_those_that_were_sent() {
    let (_folder, data) = store();
    let before = everything(&data);
    let query =
        "select service, operation, count(*) as spans, sum(duration_ns) as ns from spans group by 1, 2";
    let found: BTreeMap<(String, String), (i64, i64)> = rows(&data, query)
        .iter()
        .map(|row| {
            let name = |key: &str| row[key].as_str().unwrap().to_owned();
            let number = |key: &str| row[key].as_i64().unwrap();
            ((name("service"), name("operation")), (number("spans"), number("ns")))
        })
        .collect();
    assert_eq!(found, sent());
    let one = rows(&data, "select * from spans where trace_id = '0000000000000005' order by span_id");
    let cell = |row: usize, key: &str| one[row][key].clone();
    assert_eq!(one.len(), 3);
    assert_eq!((cell(0, "span_id"), cell(0, "parent_span_id")), (json!("0000000000000001"), Value::Null));
    assert_eq!((cell(2, "parent_span_id"), cell(2, "kind")), (json!("0000000000000002"), json!("server")));
    assert_eq!((cell(2, "service"), cell(2, "replica")), (json!("db"), json!("db-1")));
    assert_eq!(cell(0, "start_time"), json!("2026-01-12T09:00:12Z"));
    assert_eq!(everything(&data), before, "nothing of a store is changed");
}

/// Every tenth of a second of the truth is in the traces: 10 ms of `web`, of which 4 are the database's, and what is extra.
#[test]
fn requests_and_calls_are_assembled() {
    let (_folder, data) = store();
    assert_eq!(number(&data, "(select count(*) from requests)"), 200);
    let latency: i64 = sent()[&("web".to_owned(), "buy".to_owned())].1;
    assert_eq!(number(&data, "(select sum(latency_ns) from requests)"), latency);
    assert_eq!(number(&data, "(select count(*) from calls)"), 600);
    assert_eq!(number(&data, "(select sum(self_ns) from calls)"), latency);
    let slow = "select c.service, c.operation, c.replica, c.self_ns / 1000000 as ms from requests r
        join calls c on c.trace_id = r.trace_id and c.request = r.request
        where r.latency_ns > 100000000 and c.self_ns > 50000000 limit 1";
    let slow = rows(&data, slow);
    assert_eq!(slow, [json!({"service": "db", "operation": "read", "replica": "db-1", "ms": 104})]);
    let structures = rows(&data, "select * from structures order by node");
    assert_eq!(structures.len(), 3, "{structures:?}");
    let used =
        "(select count(*) from requests r join structures s on s.structure = r.structure and s.node = 0)";
    assert_eq!(number(&data, used), 200);
}

#[test]
fn late_spans_belong_to_their_requests() {
    let (_folder, on_time) = store();
    let folder = tempfile::tempdir().unwrap();
    let late = folder.path().join("data");
    let server = Running::start(&late, &["--set", "store.keep_for=off", "--set", "store.upkeep=1h"]);
    for service in [1, 0] {
        assert_eq!(server.request("http", "POST", "/api/v1/import", &[], &service_part(service)).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
    }
    server.stop();
    assert!(number(&late, "(select count(*) from requests)") == 200);
    for query in [
        "select * from requests order by trace_id, request",
        "select * from calls order by trace_id, request, node",
        "select * from structures order by structure, node",
        "select * from spans order by trace_id, span_id, service",
    ] {
        assert_eq!(rows(&late, query), rows(&on_time, query), "{query}");
    }
}

#[test]
fn a_condition_on_time_or_trace_reads_no_other_segments() {
    let (_folder, data) = store();
    // The first of three segments cannot be read any longer.
    let all = files(&data, ".parquet");
    let first = all.iter().filter_map(|file| file.file_name()).min().unwrap();
    all.iter().filter(|file| file.file_name() == Some(first)).for_each(|file| damage(file));
    let since = "'2026-01-12T09:05:00Z'";
    for (table, time, expected) in
        [("requests", "start_time", 100), ("calls", "request_start_time", 300), ("spans", "start_time", 300)]
    {
        assert_eq!(
            number(&data, &format!("(select count(*) from {table} where {time} >= {since})")),
            expected
        );
        // Not a bound that can be read from the condition.
        let all = sql(
            &data,
            &format!("select count(*) from {table} where {time} + interval '1 second' >= {since}"),
            &[],
        );
        assert_eq!(all.status, 3, "{}", all.stderr);
    }
    assert_eq!(
        number(
            &data,
            "(select count(*) from spans where trace_id in ('00000000000000b4', '00000000000000b5'))"
        ),
        6
    );
}

#[test]
fn damage_is_reported_and_the_rest_answered() {
    let (_folder, data) = store();
    let damaged = files(&data, ".parquet").into_iter().find(|file| text(file).contains("/calls/")).unwrap();
    damage(&damaged);
    let answer = sql(&data, "select count(*) as n from calls", &["--output", "csv"]);
    assert_eq!(answer.status, 3);
    assert!(answer.stderr.contains("segment"), "{}", answer.stderr);
    let left: i64 = answer.stdout.lines().nth(1).unwrap().parse().unwrap();
    assert!((300..600).contains(&left), "{left}");
    // Its spans can be read.
    assert_eq!(number(&data, "(select count(*) from spans)"), 600);
}

#[test]
fn only_questions_are_answered() {
    let (folder, data) = store();
    let copied = folder.path().join("copied.csv");
    for statement in [
        format!("copy (select * from spans) to '{}'", copied.display()),
        "create table t as select * from spans".to_owned(),
        "create external table t stored as csv location '/etc/passwd'".to_owned(),
        "insert into spans select * from spans".to_owned(),
        "drop table spans".to_owned(),
        "set datafusion.execution.batch_size = 1".to_owned(),
        "select * from '/etc/passwd'".to_owned(),
        "select nothing from spans".to_owned(),
        "selekt 1".to_owned(),
        String::new(),
    ] {
        let refused = sql(&data, &statement, &[]);
        assert_eq!((refused.status, &*refused.stdout), (2, ""), "{statement}: {}", refused.stderr);
        assert!(refused.stderr.starts_with("laggard: "), "{statement}: {}", refused.stderr);
    }
    assert!(!copied.exists());
}

#[test]
fn sorting_beyond_the_memory_is_done_on_disk() {
    let (folder, data) = store();
    let many = "select s.value, lpad(cast(s.value * 7919 % 1000003 as varchar), 40, r.trace_id) as padded
        from generate_series(1, 1000000) s, (select min(trace_id) as trace_id from requests) r order by 2, 1";
    let count = |memory: &str, further: &[&str]| {
        let words = [&["--memory", memory, "--output", "csv"], further].concat();
        let answer = sql(&data, many, &words);
        assert_eq!(answer.status, 0, "{memory}: {}", answer.stderr);
        answer.stdout
    };
    let spill = folder.path().join("spill");
    fs::create_dir(&spill).unwrap();
    let spilled = count("128MiB", &["--spill-folder", text(&spill)]);
    assert_eq!(spilled.lines().count(), 1_000_001);
    assert!(spilled == count("1GiB", &[]), "the rows of the two differ");
    assert_eq!(fs::read_dir(&spill).unwrap().count(), 0, "temporary files are deleted");
    // A file where the folder should be.
    fs::remove_dir(&spill).unwrap();
    fs::write(&spill, "").unwrap();
    let failed = sql(&data, many, &["--memory", "128MiB", "--spill-folder", text(&spill)]);
    assert_ne!(failed.status, 0);
}

#[test]
fn answers_are_tables_csv_or_json() {
    let (_folder, data) = store();
    let query = "select trace_id, latency_ns / 1000 as us from requests order by us desc, trace_id limit 2";
    let expected = "trace_id              us\n────────────────  ──────\n0000000000000014  110000\n0000000000000028  110000\n";
    assert_eq!(sql(&data, query, &[]).text(), expected);
    let csv = sql(&data, query, &["--output", "csv"]).text();
    assert_eq!(csv, "trace_id,us\n0000000000000014,110000\n0000000000000028,110000\n");
    let from_input =
        laggard_with_stdin(&["sql", "--store", text(&data), "-", "--output", "csv"], query.as_bytes());
    assert_eq!(from_input.text(), csv);
    let nothing = "select trace_id from requests where latency_ns < 0";
    assert_eq!(sql(&data, nothing, &["--output", "csv"]).text(), "trace_id\n");
    assert_eq!(sql(&data, nothing, &["--output", "json"]).text(), "");
    let many = sql(&data, "select a.node from calls a cross join calls b", &[]);
    assert_eq!((many.status, many.stdout.lines().count()), (0, 1_002));
    assert!(many.stderr.contains("359,000 rows more"), "{}", many.stderr);
    let described = sql(&data, "describe requests", &[]).text();
    assert!(described.contains("latency_ns"), "{described}");
}

#[test]
fn samples_events_and_incidents_are_tables_too() {
    let (_folder, data) = store();
    let server = Running::start(&data, &["--set", "store.keep_for=off"]);
    let metrics = "time,server,metric,value\n2026-01-12T09:00:00Z,db-1,utilization,0.25\n2026-01-12T09:01:00Z,db-1,utilization,0.75\n";
    let imported = server.request("http", "POST", "/api/v1/import", &[], metrics);
    assert_eq!(imported.status, 200, "{}", imported.body);
    let record = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{
        "timeUnixNano": "1768208400001000000", "severityNumber": 17, "body": {"stringValue": "no connection"},
        "traceId": "00000000000000000000000000000001", "spanId": "0000000000000003",
        "attributes": [{"key": "pool", "value": {"stringValue": "main"}}]
    }]}]}]});
    assert_eq!(server.request("otlp_http", "POST", "/v1/logs", &[JSON], &record.to_string()).status, 200);
    assert_eq!(server.post("/api/v1/flush").status, 204);
    server.stop();
    let incidents = include_str!("../../../../server/src/alerts/stored_version_4.json");
    fs::write(data.join("tenants/default/alerts.json"), incidents).unwrap();
    let samples = "select server, measure, avg(value) as mean, count(*) as n from samples group by 1, 2";
    assert_eq!(
        rows(&data, samples),
        [json!({"server": "db-1", "measure": "utilization", "mean": 0.5, "n": 2})]
    );
    let logged = "select e.body, e.severity, e.attributes, s.operation from events e
        join spans s on s.trace_id = e.trace_id and s.span_id = e.span_id where e.trace_id = '0000000000000001'";
    let logged = rows(&data, logged);
    assert_eq!((&logged[0]["body"], &logged[0]["operation"]), (&json!("no connection"), &json!("read")));
    assert_eq!(
        (&logged[0]["severity"], &logged[0]["attributes"]),
        (&json!(17), &json!(r#"{"pool":"main"}"#))
    );
    let stored: Value = serde_json::from_str(incidents).unwrap();
    let id = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let sent: BTreeSet<String> =
        stored["alerts"]["incidents"].as_array().unwrap().iter().map(|one| id(one, "id")).collect();
    let found = rows(&data, "select incident, state, cause, verdict from incidents");
    assert_eq!(found.iter().map(|one| id(one, "incident")).collect::<BTreeSet<_>>(), sent);
}
