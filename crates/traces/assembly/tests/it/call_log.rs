//! The reference call trees of `golden/calltree`.

use laggard_assembly::{assemble, rebuild_calls};
use laggard_model::{CallFlag, CallRow, CallTree, Loss, Names, OperationKey, SpanKind, Timestamp, TraceId};
use laggard_testkit::golden;
use serde_json::Value;

fn id(value: &Value) -> TraceId {
    TraceId::from_value(u128::from(value.as_u64().expect("ids are numbers")))
}

fn record(row: &Value, names: &mut Names) -> CallRow {
    let operation = row[4].as_str().expect("a method");
    CallRow {
        request: id(&row[2]),
        fragment: id(&row[3]),
        callee: (!row[6].is_null()).then(|| id(&row[6])),
        time: Timestamp::from_unix_ns(row[1].as_i64().expect("a time") * 1000),
        operation: names.operation(OperationKey { service: "", operation, kind: SpanKind::Unspecified }),
        host: names.replica(row[0].as_str().expect("a host")),
        flag: if row[5] == "E" { CallFlag::Enter } else { CallFlag::Exit },
    }
}

/// Rows of operation, host, inclusive µs, self µs.
fn rows(tree: &CallTree, names: &Names) -> Vec<Value> {
    (0..tree.len())
        .map(|node| {
            serde_json::json!([
                names.operation_key(tree.operation[node]).operation,
                names.replica_name(tree.replica[node]),
                tree.inclusive_time[node].ns() / 1000,
                tree.self_time[node].ns() / 1000,
            ])
        })
        .collect()
}

#[test]
fn call_trees_agree_with_the_reference() {
    let golden = golden("calltree/cases");
    let cases = golden["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 4);
    for case in cases {
        let mut names = Names::new();
        let log = case["log"].as_array().expect("a log");
        let mut records: Vec<CallRow> = log.iter().map(|row| record(row, &mut names)).collect();
        let mut rebuilt = rebuild_calls(&mut records);
        rebuilt.rows.sort_by_key(|row| (row.start, row.span));
        let assembled = assemble(&rebuilt.rows);
        let tree = &assembled.requests[0].tree;
        let name = &case["name"];
        assert_eq!(Value::from(rows(tree, &names)), case["preorder"], "{name}");
        let parents: Vec<i64> = tree.parent.iter().map(|parent| parent.map_or(-1, i64::from)).collect();
        assert_eq!(serde_json::json!(parents), case["parents"], "{name}");
        let has_incomplete = case["incomplete"].as_array().is_some();
        assert_eq!(rebuilt.losses.count(Loss::MissingReturn) > 0, has_incomplete, "{name}");
        let orphans: Vec<Value> = assembled.orphans.iter().flat_map(|tree| rows(tree, &names)).collect();
        let expected = case["orphans"].as_array().cloned().unwrap_or_default();
        assert_eq!(orphans.len(), expected.len(), "{name}");
        for (orphan, expected) in orphans.iter().zip(&expected) {
            assert_eq!(
                (&orphan[0], &orphan[1], &orphan[2]),
                (&expected[0], &expected[1], &expected[2]),
                "{name}"
            );
        }
        assert_eq!(assembled.requests[0].complete, !has_incomplete && expected.is_empty(), "{name}");
    }
}

/// Lines of `HOST TIME FRAGMENT METHOD FLAG [CALLEE]`, request 1.
fn calls(text: &str) -> Vec<CallRow> {
    let mut names = Names::new();
    let mut out = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| words[index].parse::<u64>().expect("a number");
        out.push(CallRow {
            request: TraceId::from_value(1),
            fragment: TraceId::from_value(u128::from(number(2))),
            callee: words.get(5).map(|_| TraceId::from_value(u128::from(number(5)))),
            time: Timestamp::from_unix_ns(number(1) as i64),
            operation: names.operation(OperationKey {
                service: "",
                operation: words[3],
                kind: SpanKind::Unspecified,
            }),
            host: names.replica(words[0]),
            flag: if words[4] == "E" { CallFlag::Enter } else { CallFlag::Exit },
        });
    }
    out
}

#[test]
fn stray_returns_repeated_announcements_and_cycles_are_counted() {
    let rebuilt = rebuild_calls(&mut calls(
        "h1 0 1 R E
         h1 1 1 x X
         h1 2 1 send E 2
         h1 8 1 send X 2
         h1 10 1 send E 2
         h1 18 1 send X 2
         h1 20 1 R X
         h2 100 2 work E
         h2 101 2 back E 1
         h2 102 2 back X 1
         h2 105 2 work X",
    ));
    assert_eq!(rebuilt.losses.count(Loss::StrayReturn), 1);
    assert_eq!(rebuilt.losses.count(Loss::RepeatedAnnouncement), 1);
    assert_eq!(rebuilt.losses.count(Loss::Cycle), 1);
    assert_eq!(rebuilt.rows.len(), 5);
    assert_eq!(rebuilt.rows.iter().filter(|row| row.parent.is_none()).count(), 1);
}

#[test]
fn mutually_announcing_fragments_stay_orphans_and_terminate() {
    let mut rebuilt = rebuild_calls(&mut calls(
        "h1 0 1 R E
         h1 9 1 R X
         h2 0 2 a E 3
         h2 1 2 a X
         h3 0 3 b E 2
         h3 1 3 b X",
    ));
    assert_eq!(rebuilt.losses.count(Loss::Cycle), 1);
    rebuilt.rows.sort_by_key(|row| (row.start, row.span));
    let assembled = assemble(&rebuilt.rows);
    assert_eq!(assembled.requests.len(), 1);
    assert!(!assembled.requests[0].complete);
    assert_eq!(assembled.orphans.iter().map(CallTree::len).sum::<usize>(), 2);
}

#[test]
fn a_long_chain_of_fragments_takes_linear_time() {
    let mut records = Vec::new();
    let length = 100_000_u64;
    for fragment in 1..=length {
        let text = format!(
            "h {fragment} {fragment} call E {}\nh {} {fragment} call X {}",
            fragment + 1,
            fragment + 1,
            fragment + 1
        );
        records.extend(calls(&text));
    }
    let rebuilt = rebuild_calls(&mut records);
    assert_eq!(rebuilt.rows.len() as u64, length);
    assert!(rebuilt.losses.is_empty());
}
