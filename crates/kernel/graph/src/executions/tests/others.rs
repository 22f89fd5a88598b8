//! Executions by events, programs, system calls, and threads.

use super::notation::{check, find, find_with};
use laggard_model::{HostSnapshot, ThreadMembership, Tid};

#[test]
fn pairs_of_events_with_and_without_a_key() {
    let drawing = "
        10 7 order_in id=1 kind=buy
        20 7 order_in id=2 kind=sell
        30 8 order_out id=1 state=all well
        40 7 order_out id=2
        50 7 order_out state=no id
    ";
    let keyed = ["order_in 1 7>8 10..30 0", "order_in 2 7>7 20..40 1"];
    check("events:order_in[key=id],order_out[key=id]", drawing, &keyed, 0);
    // An end without a matching beginning is unpaired.
    check("events:order_in[key=id,kind=b*],order_out[key=id]", drawing, &keyed[..1], 1);
    let nested = ["order_in - 7>7 10..50 0", "order_in - 7>7 20..40 1"];
    check("events:order_in,order_out@thread", drawing, &nested, 1);
}

#[test]
fn known_events_delimit_too() {
    let drawing = "
        10 7 fork 9 sh
        20 9 exec /bin/job
        30 9 call openat
        40 9 return openat 3
        50 9 exit
    ";
    check("events:sched_process_exec,sched_process_exit", drawing, &["sched_process_exec - 9>9 20..50 0"], 0);
    check("events:sys_enter_openat,sys_exit_openat", drawing, &["sys_enter_openat - 9>9 30..40 0"], 0);
    let by_number = drawing.replace("call openat", "enter 257").replace("return openat", "leave 257");
    check("events:sys_enter_openat,sys_exit_openat", &by_number, &["sys_enter_openat - 9>9 30..40 0"], 0);
}

#[test]
fn one_event_may_end_one_and_begin_the_next() {
    let drawing = "
        10 7 frame
        20 7 frame
        35 7 frame
    ";
    check("events:frame,frame", drawing, &["frame - 7>7 10..20 0", "frame - 7>7 20..35 0"], 2);
}

#[test]
fn programs_are_executions_from_start_to_exit() {
    let drawing = "
        1 1 exit
        5 1 fork 9 sh
        8 9 exec /usr/bin/env
        10 9 exec /srv/job.sh
        12 9 fork 10 job.sh
        14 10 exec /bin/sleep
        30 10 exit
        40 9 exit
        50 1 fork 11 sh
        52 11 exec /srv/job.sh
    ";
    // The last program of a process gives its name; the exit of a process that started before the trace is ignored.
    check("process", drawing, &["job.sh 9 9>9 10..40 0", "sleep 10 10>10 14..30 0"], 1);
    check("process:job*", drawing, &["job.sh 9 9>9 10..40 0"], 1);
}

#[test]
fn single_calls_and_the_gaps_between_them() {
    let drawing = "
        10 7 enter 232
        20 7 leave 232 1
        22 7 enter 0
        24 7 leave 0 5
        30 7 enter 232
        35 7 leave 232 0
        40 7 enter 232
        60 7 leave 232 2
        70 7 enter 232
        75 7 leave 232 1
    ";
    let calls = [
        "epoll_wait - 7>7 10..20 0",
        "epoll_wait - 7>7 30..35 0",
        "epoll_wait - 7>7 40..60 0",
        "epoll_wait - 7>7 70..75 0",
    ];
    check("syscall:epoll_wait", drawing, &calls, 0);
    check(
        "syscall:232",
        drawing,
        &calls.map(|row| row.replace("epoll_wait", "232")).each_ref().map(String::as_str),
        0,
    );
    // A call that returns no work starts no execution.
    let between = ["after epoll_wait - 7>7 20..30 0", "after epoll_wait - 7>7 60..70 0"];
    check("between:epoll_wait", drawing, &between, 1);
    check("between:read", drawing, &[], 1);
}

#[test]
fn lifetimes_of_threads_and_windows_of_one_thread() {
    let drawing = "
        10 7 switch 8 web-1
        20 8 switch 9 job
        30 9 switch 8 web-1
        90 8 switch 7 web-main
    ";
    check("thread:web-*", drawing, &["web-main - 7>7 10..90 0", "web-1 - 8>8 10..90 0"], 0);
    check("tid:9", drawing, &["job - 9>9 20..30 0"], 0);
    check("tid:9,0.000000025..0.000000060", drawing, &["job - 9>9 25..60 0"], 0);
    check("tid:9,0.000000025..5", drawing, &["job - 9>9 25..90 0"], 0);
    check("tid:5", drawing, &[], 1);
    check("tid:9,7..8", drawing, &[], 1);
}

#[test]
fn calls_delimit_executions_of_the_recorded_processes() {
    // 7 is the recorded process, 8 its child, 9 a thread of that, 20 another program; 7 had a child 30 when it began.
    let drawing = "
        1 7 fork 8 server
        2 8 exec /usr/bin/server
        3 8 fork 9 worker
        10 9 leave 232 1
        11 20 leave 232 1
        12 30 leave 232 1
        20 9 enter 232
        21 20 enter 232
        22 30 enter 232
    ";
    let member = |tid| ThreadMembership { tid: Tid(tid), process: Tid(tid), group: 0, at_end: false };
    let snapshot = HostSnapshot {
        targets: vec![Tid(7), Tid(30)],
        threads: vec![member(20), member(30)],
        ..HostSnapshot::default()
    };
    let found = |delimiter: &str| {
        let delimited = find_with(delimiter, drawing, &snapshot);
        let tids: Vec<u32> = delimited.executions.iter().map(|execution| execution.tid.0).collect();
        (tids, delimited.of_other_processes)
    };
    assert_eq!(found("between:epoll_wait"), (vec![9, 30], 1));
    assert_eq!(found("between:epoll_wait@process=*"), (vec![9, 20, 30], 0));
    let whole = find("between:epoll_wait", drawing);
    assert_eq!((whole.executions.len(), whole.of_other_processes), (3, 0), "of the whole machine");
}
