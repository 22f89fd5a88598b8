//! Call trees rebuilt from the call log alone by an independent reader.

use crate::support::{draw, small, write};
use laggard_simulate::{OutputFormat, Request, Scenario};
use std::collections::HashMap;

/// A line; fields as text.
struct Line {
    host: String,
    time_us: i64,
    request: String,
    mid: String,
    method: String,
    exits: bool,
    callee: String,
}

/// A node of a rebuilt tree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    method: String,
    host: String,
    inclusive_us: i64,
    callees: Vec<Node>,
    announces: String,
}

fn read(text: &str, host: &str) -> Vec<Line> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("host,time_us,request_id,mid,method,flag,callee_mid"));
    let lines: Vec<Line> = lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!((fields.len(), fields[0]), (7, host), "{line}");
            assert!(["E", "X"].contains(&fields[5]));
            Line {
                host: fields[0].to_owned(),
                time_us: fields[1].parse().unwrap(),
                request: fields[2].to_owned(),
                mid: fields[3].to_owned(),
                method: fields[4].to_owned(),
                exits: fields[5] == "X",
                callee: fields[6].to_owned(),
            }
        })
        .collect();
    assert!(lines.is_sorted_by_key(|line| line.time_us), "{host} is out of order");
    lines
}

/// The root of a fragment: a stack of open calls.
fn fragment(lines: &[&Line]) -> Node {
    let mut open: Vec<(Node, i64)> = Vec::new();
    for line in lines {
        if !line.exits {
            let (method, host) = (line.method.clone(), line.host.clone());
            let announces = line.callee.clone();
            let node = Node { method, host, inclusive_us: 0, callees: Vec::new(), announces };
            open.push((node, line.time_us));
            continue;
        }
        let (mut node, entered) = open.pop().expect("a return without a call");
        assert_eq!((&node.method, &node.announces), (&line.method, &line.callee));
        node.inclusive_us = line.time_us - entered;
        match open.last_mut() {
            Some((caller, _)) => caller.callees.push(node),
            None => return node,
        }
    }
    panic!("a fragment without an end")
}

/// Appends the callee's fragment to every call that announces one.
fn join(node: &mut Node, fragments: &HashMap<(String, String), Node>, request: &str) {
    for callee in &mut node.callees {
        join(callee, fragments, request);
    }
    if !node.announces.is_empty() {
        let mut callee = fragments[&(request.to_owned(), node.announces.clone())].clone();
        join(&mut callee, fragments, request);
        node.callees.push(callee);
    }
}

fn preorder(node: &Node, out: &mut Vec<(String, String, i64)>) {
    out.push((node.method.clone(), node.host.clone(), node.inclusive_us));
    node.callees.iter().for_each(|callee| preorder(callee, out));
}

fn expected(request: &Request) -> Vec<(String, String, i64)> {
    let row = |call: &laggard_simulate::Call| {
        let end_us = call.start.plus(call.inclusive).unix_ns() / 1_000;
        let method = format!("{}.{}", request.service(call), request.operation(call));
        (method, request.replica(call).to_owned(), end_us - call.start.unix_ns() / 1_000)
    };
    request.calls.iter().map(row).collect()
}

#[test]
fn the_log_alone_reproduces_the_trees() {
    for scenario in [Scenario::Bursts, Scenario::CodeBugNewOperation] {
        let settings = small(scenario, 5);
        let (folder, summary) = write(&settings, OutputFormat::CallLog);
        let files = folder.files("traces");
        assert_eq!((files.len(), files[17].0.as_str()), (100, "node017.log"));
        let lines: Vec<Line> = files
            .iter()
            .flat_map(|(name, bytes)| read(std::str::from_utf8(bytes).unwrap(), &name[..7]))
            .collect();
        assert_eq!(lines.len() as u64, 2 * summary.truth.spans);
        let mut by_fragment: HashMap<(String, String), Vec<&Line>> = HashMap::new();
        for line in &lines {
            by_fragment.entry((line.request.clone(), line.mid.clone())).or_default().push(line);
        }
        let fragments: HashMap<_, _> =
            by_fragment.into_iter().map(|(key, lines)| (key, fragment(&lines))).collect();
        let requests = draw(&settings);
        let entries = fragments.keys().filter(|(request, mid)| request == mid).count();
        assert_eq!(entries, requests.len());
        for request in &requests {
            let id = format!("{:032x}", request.trace_id.value());
            let mut root = fragments[&(id.clone(), id.clone())].clone();
            join(&mut root, &fragments, &id);
            let mut rows = Vec::new();
            preorder(&root, &mut rows);
            assert_eq!(rows, expected(request));
        }
    }
}
