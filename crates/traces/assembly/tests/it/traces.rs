//! Assembly of unusual and damaged traces.

use laggard_assembly::{AssembledTrace, CallRows, assemble};
use laggard_model::{Loss, Names, Nanos};
use laggard_testkit::parse_spans;
use proptest::prelude::*;

fn assembled(text: &str) -> (AssembledTrace, Names) {
    let mut drawn = parse_spans(text);
    drawn.rows.sort_by_key(|row| (row.start, row.span));
    (assemble(&drawn.rows), drawn.names)
}

/// `operation:self` of each node of the first request.
fn selves(text: &str) -> (Vec<String>, AssembledTrace) {
    let (trace, names) = assembled(text);
    let tree = &trace.requests[0].tree;
    let line = |node: usize| {
        let operation = names.operation_key(tree.operation[node]).operation;
        format!("{operation}:{}", tree.self_time[node].ns())
    };
    ((0..tree.len()).map(line).collect(), trace)
}

#[test]
fn parallel_children_count_by_their_union() {
    let (lines, trace) = selves(
        "1 - root@h 0..100
         2 1 a@h 10..50
         3 1 b@h 30..70
         4 1 c@h 90..95",
    );
    assert_eq!(lines, ["root:35", "a:40", "b:40", "c:5"]);
    assert!(trace.losses.is_empty());
    assert_eq!(trace.requests[0].tree.order_group, [0, 0, 0, 1]);
}

#[test]
fn a_remote_callee_counts_with_its_duration_regardless_of_skew() {
    let (lines, trace) = selves(
        "1 - send@h1 0..100 client
         2 1 handle@h2 5000..5070 server",
    );
    assert_eq!(lines, ["send:30", "handle:70"]);
    assert_eq!(trace.losses.count(Loss::ClockSkew), 1);
    let bounds = trace.clocks.pairs()[0].1;
    assert_eq!((bounds.low_ns, bounds.high_ns), (4970, 5000));
}

#[test]
fn several_remote_callees_in_parallel_are_not_added_up_when_the_skew_is_bounded() {
    let (lines, trace) = selves(
        "1 - fan-out@h1 0..100
         2 1 a@h2 10..80
         3 1 b@h3 15..90",
    );
    assert_eq!(lines, ["fan-out:20", "a:70", "b:75"]);
    assert!(trace.losses.is_empty());
    let (lines, _) = selves(
        "1 - fan-out@h1 0..100
         2 1 a@h2 1010..1050
         3 1 b@h3 15..45",
    );
    assert_eq!(lines, ["fan-out:30", "b:30", "a:40"]);
}

#[test]
fn a_callee_longer_than_its_call_is_asynchronous() {
    let (lines, trace) = selves(
        "1 - send@h1 0..10
         2 1 work@h2 0..50",
    );
    assert_eq!(lines, ["send:0", "work:50"]);
    assert_eq!(trace.losses.count(Loss::AsynchronousCallee), 1);
}

#[test]
fn a_message_does_not_block_its_producer() {
    let (lines, trace) = selves(
        "1 - root@h1 0..100
         2 1 publish@h1 10..20 producer
         3 2 consume@h2 30..500 consumer",
    );
    assert_eq!(lines, ["root:90", "publish:10", "consume:470"]);
    assert!(trace.losses.is_empty());
}

#[test]
fn children_outside_their_parent_are_clipped_and_counted() {
    let (lines, trace) = selves(
        "1 - root@h 100..200
         2 1 early@h 50..120
         3 1 late@h 180..300
         4 1 after@h 400..500",
    );
    assert_eq!(lines, ["root:60", "early:70", "late:120", "after:100"]);
    assert_eq!(trace.losses.count(Loss::ChildBeforeParent), 1);
    assert_eq!(trace.losses.count(Loss::ChildOutlivesParent), 2);
}

/// A client may report any number as a duration, also one beyond the range of timestamps.
#[test]
fn a_duration_beyond_all_timestamps_is_a_parent_like_others() {
    let mut parsed = parse_spans("1 - root@h 0..100\n2 1 child@h 10..20");
    parsed.rows[0].inclusive = Nanos::from_ns(u64::MAX);
    let trace = assemble(&parsed.rows);
    let tree = &trace.requests[0].tree;
    assert_eq!(tree.self_time[1].ns(), 10);
    assert_eq!(tree.self_time[0].ns(), u64::MAX - 10);
}

#[test]
fn orphans_are_separate_and_make_the_request_partial() {
    let (trace, _) = assembled(
        "1 - root@h 0..100
         2 1 a@h 10..20
         3 77 lost@h 30..40
         4 3 below@h 31..32",
    );
    assert_eq!(trace.requests.len(), 1);
    assert!(!trace.requests[0].complete);
    assert_eq!(trace.orphans.len(), 1);
    assert_eq!(trace.orphans[0].len(), 2);
    assert_eq!(trace.losses.count(Loss::OrphanSpan), 1);
    assert_eq!(trace.losses.count(Loss::PartialRequest), 1);
}

#[test]
fn a_trace_with_an_external_caller_is_complete_from_its_entry() {
    let (trace, _) = assembled(
        "1 99 entry@h 0..100
         2 1 a@h 10..20",
    );
    assert_eq!(trace.losses.count(Loss::MissingRoot), 1);
    assert!(trace.requests[0].complete);
    let (trace, _) = assembled(
        "1 98 entry@h 0..100
         2 99 other@h 10..20",
    );
    assert!(trace.requests.iter().all(|request| !request.complete));
}

/// Calls that a service makes, or several spans of no kind, are what is left of a request whose entry was lost.
#[test]
fn a_trace_that_lost_its_entry_is_one_partial_request() {
    let lost = [
        "2 1 load@h 10..20 internal
         3 1 post@h 30..90 client
         4 3 post@h2 35..85 server",
        "2 1 post@h 30..90 client
         4 2 post@h2 35..85 server",
        "2 1 a@h 10..20
         3 1 b@h 30..40",
        "2 1 get@h1 10..20 server
         3 9 get@h2 30..40 server",
    ];
    for rows in lost {
        let (trace, _) = assembled(rows);
        assert_eq!(trace.requests.len(), 1, "{rows}");
        assert!(!trace.requests[0].complete, "{rows}");
        assert_eq!(trace.losses.count(Loss::MissingRoot), 1, "{rows}");
        assert_eq!(trace.losses.count(Loss::PartialRequest), 1, "{rows}");
    }
    let (trace, _) = assembled(
        "2 1 get@h1 10..20 server
         3 1 get@h2 30..40 server",
    );
    assert_eq!(
        trace.requests.iter().filter(|request| request.complete).count(),
        2,
        "a caller that is not traced"
    );
}

#[test]
fn every_root_is_a_request() {
    let (trace, _) = assembled(
        "1 - first@h 0..100
         2 - second@h 200..300
         3 0 third@h 400..500",
    );
    assert_eq!(trace.requests.len(), 3, "a parent 0 that no span has is no parent");
    assert_eq!(trace.losses.count(Loss::ExtraRoot), 2);
}

#[test]
fn duplicates_are_dropped_and_cycles_are_cut() {
    let (trace, _) = assembled(
        "1 - root@h 0..100
         2 1 a@h 10..20
         2 1 a@h 10..20
         3 4 x@h 30..40
         4 3 y@h 31..39
         5 5 self@h 50..60",
    );
    assert_eq!(trace.losses.count(Loss::DuplicateSpan), 1);
    assert_eq!(trace.losses.count(Loss::Cycle), 2);
    assert_eq!(trace.spans, 5);
    assert_eq!(trace.orphans.len(), 2);
}

#[test]
fn the_halves_of_a_shared_span_become_caller_and_callee() {
    let (trace, names) = assembled(
        "1 - root@h1 0..100 server
         2 1 post@h1 10..60 client
         2 1 post@h2 1010..1050 server
         3 2 query@h2 1020..1030",
    );
    let tree = &trace.requests[0].tree;
    assert_eq!(tree.parent, [None, Some(0), Some(1), Some(2)]);
    assert_eq!(names.replica_name(tree.replica[2]), "h2");
    assert_eq!(trace.losses.count(Loss::DuplicateSpan), 0);
}

#[test]
fn a_chain_deeper_than_the_limit_folds_into_the_node_at_the_limit() {
    let mut text = "0x - root@h 0..1000000\n".to_owned();
    for depth in 1..1000 {
        let parent = if depth == 1 { "0x".to_owned() } else { format!("{:x}", depth - 1) };
        text.push_str(&format!("{depth:x} {parent} call@h {depth}..{}\n", 1_000_000 - depth));
    }
    let (trace, _) = assembled(&text);
    assert_eq!(trace.requests[0].tree.len(), 256);
    assert_eq!(trace.losses.count(Loss::DepthLimit), 1);
}

#[test]
fn a_trace_of_200_000_spans_is_one_request() {
    let mut text = "root - root@h 0..10000000\n".to_owned();
    for child in 0..200_000 {
        text.push_str(&format!("c{child} root call@h {}..{}\n", child * 10, child * 10 + 5));
    }
    let (trace, _) = assembled(&text);
    assert_eq!(trace.requests[0].tree.len(), 200_001);
    assert_eq!(trace.requests[0].tree.self_time[0].ns(), 10_000_000 - 200_000 * 5);
}

proptest! {
    /// Any parent links, even cyclic ones: every span ends up in exactly one tree, and no self time exceeds
    /// its inclusive time.
    #[test]
    fn every_span_is_in_exactly_one_tree(
        spans in proptest::collection::vec((0_u32..20, 0_i64..100, 0_i64..100, 0_u32..3), 1..20)
    ) {
        let text: String = spans
            .iter()
            .enumerate()
            .map(|(id, (parent, from, length, host))| {
                let parent = if *parent == 0 { "-".to_owned() } else { format!("p{parent}") };
                format!("p{} {parent} op@h{host} {from}..{}\n", id + 1, from + length)
            })
            .collect();
        let (trace, _) = assembled(&text);
        let trees = || trace.requests.iter().map(|request| &request.tree).chain(&trace.orphans);
        prop_assert_eq!(trees().map(|tree| tree.len()).sum::<usize>(), spans.len());
        for tree in trees() {
            prop_assert!(tree.self_time.iter().zip(&tree.inclusive_time).all(|(own, all)| own <= all));
            let precedes = |(position, parent): (usize, &Option<u32>)| parent.is_none_or(|parent| (parent as usize) < position);
            prop_assert!(tree.parent.iter().enumerate().all(precedes));
        }
    }
}

#[test]
fn a_request_has_the_weight_of_its_root_and_other_weights_are_counted() {
    let weight = |text: &str| {
        let (trace, _) = assembled(text);
        let count = trace.requests[0].adjusted_count.map(laggard_model::AdjustedCount::get);
        (count, trace.losses.count(Loss::UnequalSampling))
    };
    assert_eq!(weight("1 - a@h 0..9 x4\n2 1 b@h 1..2 x4\n3 1 c@h 3..4"), (Some(4.0), 0));
    assert_eq!(weight("1 - a@h 0..9 x4\n2 1 b@h 1..2 x2\n3 1 c@h 3..4 x8"), (Some(4.0), 1));
    assert_eq!(weight("1 - a@h 0..9\n2 1 b@h 1..2 x2"), (None, 1));
    assert_eq!(weight("1 - a@h 0..9\n2 1 b@h 1..2"), (None, 0));
}

#[test]
fn every_call_refers_to_its_row() {
    let mut drawn = parse_spans(
        "a - list@h1 100..200\nb a read@h1 110..130\nc a write@h1 140..150\nx y lost@h2 300..310",
    );
    drawn.rows.sort_by_key(|row| (row.start, row.span));
    let (assembled, rows) = CallRows::assemble(&drawn.rows);
    assert_eq!(assembled, assemble(&drawn.rows));
    let operations =
        |places: &[u32]| places.iter().map(|&index| drawn.rows[index as usize].operation).collect::<Vec<_>>();
    let of_requests: Vec<_> = rows.requests.iter().map(|places| operations(places)).collect();
    let expected: Vec<_> = assembled.requests.iter().map(|request| request.tree.operation.clone()).collect();
    assert_eq!((of_requests, rows.requests[0].len()), (expected, 3));
    assert_eq!(operations(&rows.orphans[0]), assembled.orphans[0].operation);
}
