//! System calls and page faults by small examples: which call a thread was in.

use crate::events::EventTrace;
use laggard_kernel_graph::{GraphSettings, Window};
use laggard_model::KernelTime;

/// The calls of a thread: `NAME FROM-TO` in microseconds, joined by commas.
fn calls(story: &EventTrace, tid: u32) -> String {
    let window = Window { from: KernelTime::from_ns(0), to: KernelTime::MAX };
    let calls = story
        .graph
        .calls_within(story.thread(tid, 0), window)
        .map(|call| format!("{} {}-{}", call.name, call.window.from.ns() / 1000, call.window.to.ns() / 1000));
    calls.collect::<Vec<_>>().join(", ")
}

fn call_at(story: &EventTrace, tid: u32, us: u64) -> Option<&str> {
    let time = KernelTime::from_ns(us * 1000);
    story.graph.call_at(story.thread(tid, us), time).map(|call| call.name)
}

#[test]
fn a_thread_waits_in_the_call_that_it_entered_and_has_not_left() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
        12 0 1 enter 202
        20 0 1 switch 1 S 2
        25 0 2 enter write
        30 0 2 waking 1
        31 0 2 leave write
        40 0 2 switch 2 S 1
        42 0 1 leave 202
        50 0 1 enter 999
        55 0 1 leave 999
        60 0 1 switch 1 S 0",
    );
    assert!(story.graph.has_calls());
    assert_eq!(calls(&story, 1), "futex 12-42, call 999 50-55");
    assert_eq!(calls(&story, 2), "write 25-31");
    let calls = [11, 12, 35, 41, 42].map(|us| call_at(&story, 1, us));
    assert_eq!(calls, [None, Some("futex"), Some("futex"), Some("futex"), None]);
}

#[test]
fn calls_without_entry_or_exit_extend_to_the_ends_of_the_trace() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 2
        20 0 2 waking 1
        30 0 2 switch 2 S 1
        32 0 1 leave epoll_wait
        33 0 1 enter read
        34 0 1 leave read
        36 0 1 enter epoll_wait
        40 0 1 switch 1 S 0
        90 0 0 tick",
    );
    assert_eq!(calls(&story, 1), "epoll_wait 20-32, read 33-34, epoll_wait 36-90");
}

#[test]
fn calls_around_losses_are_unknown() {
    let lines = "10 0 0 switch 0 R 1
        12 0 1 enter read
        14 0 1 leave read
        16 0 1 enter futex
        20 0 1 switch 1 S 0
        LOST
        40 0 1 leave futex
        50 0 1 enter write
        55 0 1 leave read
        60 0 1 leave write
        70 0 1 switch 1 S 0";
    let story = EventTrace::traced(&lines.replace("LOST", "30 0 - lost"));
    assert_eq!(
        calls(&story, 1),
        "read 12-14",
        "neither the one with the loss nor what does not belong together"
    );
    let story = EventTrace::traced(&lines.replace("LOST", "30 0 0 switch 0 R 1"));
    assert_eq!(calls(&story, 1), "read 12-14, futex 16-40");
}

#[test]
fn waits_outside_system_calls_belong_to_the_preceding_page_fault() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
        12 0 1 enter brk
        13 0 1 leave brk
        15 0 1 fault
        18 0 1 fault
        20 0 1 switch 1 D 0
        30 0 0 irq 8 nvme0q1
        31 0 0 waking 1
        32 0 0 -irq 8
        33 0 0 switch 0 R 1
        35 0 1 switch 1 D 0
        45 0 0 irq 8 nvme0q1
        46 0 0 waking 1
        47 0 0 -irq 8
        48 0 0 switch 0 R 1
        60 0 1 enter read
        61 0 1 fault
        70 0 1 switch 1 S 0",
    );
    // The first fault did not wait, and the last one is in a call.
    assert_eq!(calls(&story, 1), "brk 12-13, page fault 18-46, read 60-70");
    let fault = story.graph.call_at(story.thread(1, 25), KernelTime::from_ns(25_000)).unwrap();
    assert!(fault.is_page_fault());
}

#[test]
fn calls_are_unknown_without_records_and_under_the_published_rules() {
    let lines = "10 0 0 switch 0 R 1\n20 0 1 switch 1 S 0\n30 0 0 waking 1\n";
    assert!(!EventTrace::traced(lines).graph.has_calls());
    let lines = format!("{lines}40 0 0 switch 0 R 1\n42 0 1 enter read\n44 0 1 leave read\n");
    assert!(EventTrace::traced(&lines).graph.has_calls());
    assert!(!EventTrace::traced_with(GraphSettings::compat(), &lines).graph.has_calls());
}
