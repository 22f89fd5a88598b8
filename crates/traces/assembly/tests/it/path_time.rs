//! Critical-path shares of self times.

use laggard_assembly::assemble;
use laggard_model::CallTree;
use laggard_testkit::parse_spans;
use proptest::prelude::*;

fn tree(text: &str) -> (CallTree, laggard_model::Names) {
    let mut drawn = parse_spans(text);
    drawn.rows.sort_by_key(|row| (row.start, row.span));
    let mut trace = assemble(&drawn.rows);
    (trace.requests.swap_remove(0).tree, drawn.names)
}

/// `operation:self/path` of each node of the first request, and checks what holds of every tree.
fn lines(text: &str) -> Vec<String> {
    let (tree, names) = tree(text);
    check(&tree);
    let line = |node: usize| {
        let operation = names.operation_key(tree.operation[node]).operation;
        format!("{operation}:{}/{}", tree.self_time[node].ns(), tree.path_time[node].ns())
    };
    (0..tree.len()).map(line).collect()
}

fn total(tree: &CallTree) -> u64 {
    tree.path_time.iter().map(|time| time.ns()).sum()
}

fn check(tree: &CallTree) {
    assert!(tree.path_time.iter().zip(&tree.self_time).all(|(path, own)| path <= own), "{tree:?}");
    assert!(total(tree) <= tree.latency().ns(), "{tree:?}");
}

#[test]
fn a_single_call_is_the_critical_path() {
    assert_eq!(lines("1 - root@h 0..100"), ["root:100/100"]);
}

#[test]
fn sequential_calls_are_all_on_the_critical_path() {
    let found = lines(
        "1 - root@h 0..100
         2 1 a@h 10..40
         3 2 aa@h 20..30
         4 1 b@h 50..90",
    );
    assert_eq!(found, ["root:30/30", "a:20/20", "aa:10/10", "b:40/40"]);
}

#[test]
fn the_parallel_call_that_ends_last_is_on_the_critical_path() {
    // root  |---------------------|
    //   a     |=====|
    //   b      |===========|           a ran alone for 5, b was waited for from 15 to 75
    let found = lines(
        "1 - root@h 0..100
         2 1 a@h 10..40
         3 1 b@h 15..75",
    );
    assert_eq!(found, ["root:35/35", "a:30/5", "b:60/60"]);
    // A call entirely parallel to a longer one is not awaited, nor are its callees.
    let found = lines(
        "1 - root@h 0..100
         2 1 long@h 10..90
         3 1 short@h 20..60
         4 3 below@h 30..50",
    );
    assert_eq!(found, ["root:20/20", "long:80/80", "short:20/0", "below:20/0"]);
}

#[test]
fn a_partly_awaited_call_passes_its_share_to_callees_proportionally() {
    // a is waited for from 0 to 20 of its 40; of its self time and of its callee's half each counts.
    let found = lines(
        "1 - root@h 0..100
         2 1 a@h 0..40
         3 2 aa@h 10..40
         4 1 b@h 20..100",
    );
    assert_eq!(found, ["root:0/0", "a:10/5", "aa:30/15", "b:80/80"]);
}

#[test]
fn a_remote_callee_with_clock_skew_counts_with_its_duration() {
    let found = lines(
        "1 - send@h1 0..100 client
         2 1 handle@h2 5000..5070 server
         3 2 query@h2 5010..5030",
    );
    assert_eq!(found, ["send:30/30", "handle:50/50", "query:20/20"]);
}

#[test]
fn remote_callees_inside_their_caller_are_compared_as_recorded() {
    let found = lines(
        "1 - fan-out@h1 0..100
         2 1 a@h2 10..80
         3 1 b@h3 15..90",
    );
    assert_eq!(found, ["fan-out:20/20", "a:70/5", "b:75/75"]);
}

#[test]
fn remote_callees_with_disagreeing_clocks_share_in_proportion_to_their_duration() {
    // 40 + 60 on unsynchronized clocks in a caller of 80: all 80 are covered, in proportion 2 to 3.
    let found = lines(
        "1 - fan-out@h1 0..80
         2 1 a@h2 1010..1050
         3 1 b@h3 -5..55",
    );
    assert_eq!(found, ["fan-out:0/0", "b:60/48", "a:40/32"]);
}

#[test]
fn a_local_call_and_a_remote_one_share_the_callers_time() {
    let found = lines(
        "1 - root@h1 0..100
         2 1 local@h1 10..40
         3 1 remote@h2 7000..7050",
    );
    assert_eq!(found, ["root:20/20", "local:30/30", "remote:50/50"]);
}

#[test]
fn the_callers_time_counts_for_an_asynchronous_callee() {
    let found = lines(
        "1 - send@h1 0..10
         2 1 work@h2 0..50
         3 2 below@h2 10..20",
    );
    // Ten of fifty: a fifth of the callee's own time and of what it called.
    assert_eq!(found, ["send:0/0", "work:40/8", "below:10/2"]);
}

#[test]
fn callers_do_not_wait_for_consumers() {
    let found = lines(
        "1 - root@h1 0..100
         2 1 publish@h1 10..20 producer
         3 2 consume@h2 30..500 consumer
         4 3 work@h2 40..400",
    );
    assert_eq!(found, ["root:90/90", "publish:10/10", "consume:110/0", "work:360/0"]);
}

#[test]
fn callers_do_not_wait_for_a_consumer_beside_an_asynchronous_callee() {
    let found = lines(
        "1 - send@h1 0..10
         2 1 work@h2 0..50
         3 1 consume@h3 0..950 consumer",
    );
    assert_eq!(found, ["send:0/0", "work:50/10", "consume:950/0"]);
}

#[test]
fn a_callee_that_outlives_its_caller_counts_until_the_caller_ends() {
    let found = lines(
        "1 - root@h 0..100
         2 1 late@h 60..140
         3 1 after@h 200..300",
    );
    assert_eq!(found, ["root:60/60", "late:80/40", "after:100/0"]);
}

#[test]
fn calls_of_zero_duration_are_ignored() {
    assert_eq!(lines("1 - root@h 0..0\n2 1 a@h 0..0\n3 1 b@h2 0..0"), ["root:0/0", "a:0/0", "b:0/0"]);
    assert_eq!(lines("1 - root@h 0..0\n2 1 a@h2 0..7")[0], "root:0/0");
}

/// A drawing: every span's parent is an earlier one (or it is the root), with a host each.
fn drawing(spans: &[(usize, i64, i64, u8)]) -> String {
    let mut text = String::new();
    for (id, &(parent, from, length, host)) in spans.iter().enumerate() {
        let parent = if id == 0 { "-".to_owned() } else { format!("p{}", parent % id) };
        let from = if id == 0 { 0 } else { from };
        text.push_str(&format!("p{id} {parent} op{id}@h{host} {from}..{}\n", from + length));
    }
    text
}

fn spans(hosts: u8) -> impl Strategy<Value = Vec<(usize, i64, i64, u8)>> {
    proptest::collection::vec((any::<usize>(), -50_i64..1000, 0_i64..700, 0..hosts), 1..25)
}

proptest! {
    /// On one clock the path times sum to the latency, except for rounding down.
    #[test]
    fn on_one_clock_path_times_sum_to_the_latency(spans in spans(1)) {
        let (tree, _) = tree(&drawing(&spans));
        prop_assert_eq!(tree.len(), spans.len());
        check(&tree);
        prop_assert!(total(&tree) + tree.len() as u64 >= tree.latency().ns(), "{tree:?}");
    }

    /// On several clocks it is never more than the latency.
    #[test]
    fn on_several_clocks_path_times_stay_within_the_latency(spans in spans(4)) {
        let (tree, _) = tree(&drawing(&spans));
        check(&tree);
        prop_assert!(total(&tree) + 2 * tree.len() as u64 >= tree.latency().ns(), "{tree:?}");
    }
}
