//! Losses, packets over loopback, and edge cases of real traces, calculated by hand.

use crate::events::{EventTrace, event};
use laggard_kernel_graph::{GraphBuilder, GraphSettings, HostId, Window};
use laggard_model::{Cpu, KernelTexts, KernelTime, Loss, Losses};

#[test]
fn a_loss_cuts_the_threads_of_its_cpu() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         10 1 0 switch 0 R 3
         20 0 1 tick
         60 0 2 lost
         70 0 2 tick
         75 1 3 waking 1
         80 0 2 switch 2 S 1
         90 0 1 switch 1 S 0",
    );
    assert_eq!(
        story.segments(1, 10, 90),
        "running t1 10-20, unknown t1 20-60, unknown t1 60-75, preempted t1 75-80, running t1 80-90"
    );
    assert_eq!(story.segments(3, 10, 90), "running t3 10-90");
}

#[test]
fn a_wait_that_contains_a_loss_and_no_wake_up_is_unknown() {
    let story = |loss: &str| {
        let lines = format!(
            "10 0 0 switch 0 R 1
             20 0 1 switch 1 S 0
             30 1 0 tick
             {loss}
             50 0 0 switch 0 R 1
             60 0 1 switch 1 S 0"
        );
        EventTrace::traced(&lines).segments(1, 10, 60)
    };
    assert_eq!(story("40 1 0 lost"), "running t1 10-20, unknown t1 20-50, running t1 50-60");
    assert_eq!(story(""), "running t1 10-20, blocked t1 20-50, running t1 50-60");
}

#[test]
fn interrupts_started_before_a_loss_are_dropped() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         20 0 1 switch 1 S 2
         30 1 0 hrtimer
         40 1 0 lost
         50 1 3 waking 1
         60 0 2 switch 2 R 1
         70 0 1 switch 1 S 0",
    );
    assert_eq!(story.path(1, 20, 50).segments[0].worker, story.thread(3, 50));
    assert_eq!(story.segments(1, 20, 50), "unknown  20-50", "what the waker did before is not known");
}

#[test]
fn a_wait_for_a_server_over_loopback_is_the_server_s_work() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         20 0 1 send 7
         21 0 1 softirq 3
         22 0 1/s receive 7
         23 0 1/s waking 2
         24 0 1 -softirq 3
         30 0 1 switch 1 S 2
         50 0 2 send 8
         51 0 2 softirq 3
         52 0 2/s receive 8
         53 0 2/s waking 1
         54 0 2 -softirq 3
         60 0 2 switch 2 S 1
         70 0 1 switch 1 S 0",
    );
    assert_eq!(
        story.segments(1, 10, 70),
        "running t1 10-20, running t1 20-30, running t2 30-50, network t1 50-53, preempted t1 53-60, \
         running t1 60-70"
    );
    let path = story.path(1, 10, 70);
    assert_eq!(path.links.iter().filter(|link| link.network).count(), 1);
}

#[test]
fn socket_buffer_addresses_expire() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 2
         20 0 2 send 7
         30 0 2 switch 2 S 1
         40 0 1 switch 1 S 3
         20050 0 3 softirq 3
         20052 0 3/s receive 7
         20053 0 3/s waking 1
         20054 0 3 -softirq 3
         20060 0 3 switch 3 S 1
         20070 0 1 switch 1 S 0",
    );
    assert_eq!(story.segments(1, 40, 20060), "network t1 40-20053, preempted t1 20053-20060");
}

#[test]
fn events_out_of_order_are_moved_and_counted() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1\n 5 0 1 waking 2\n 20 0 1 switch 1 S 2\n 30 0 2 switch 2 S 0",
    );
    assert_eq!(story.losses.count(Loss::TimeWentBack), 1);
    assert_eq!(story.segments(1, 10, 20), "running t1 10-20");
}

#[test]
fn names_follow_the_thread() {
    let story =
        EventTrace::traced("10 0 0 switch 0 R 1\n 20 0 1 exec 1 /usr/bin/a-very-long-program\n 30 0 1 tick");
    assert_eq!(story.graph.name(story.thread(1, 10)), "a-very-long-pro");
    let story = EventTrace::traced("10 0 0 switch 0 R 1\n 20 0 1 rename 1 worker\n 30 0 1 tick");
    assert_eq!(story.graph.name(story.thread(1, 10)), "worker");
}

#[test]
fn the_vertex_limit_is_enforced_and_reported() {
    let lines: Vec<String> = (1..1000)
        .map(|index| format!("{index} 0 {0} switch {0} S {1}", index % 7 + 1, (index + 1) % 7 + 1))
        .collect();
    let settings = GraphSettings { vertices_max: 100, first_events_max: 10, ..GraphSettings::default() };
    let story = EventTrace::traced_with(settings, &lines.join("\n"));
    assert!(story.graph.counts().vertices < 120);
    assert!(story.losses.count(Loss::GraphLimit) > 900);
}

#[test]
fn idle_time_of_the_last_cpu_is_reported_with_preemption() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         20 0 1 switch 1 R 2
         30 0 2 switch 2 S 0
         70 0 0 switch 0 R 2
         75 0 2 switch 2 S 1
         80 0 1 switch 1 S 0",
    );
    let path = story.path(1, 10, 80);
    assert_eq!(story.segments(1, 10, 80), "running t1 10-20, preempted t1 20-75, running t1 75-80");
    assert_eq!(path.segments[1].idle_ns, 40_000);
    assert_eq!(story.path(1, 40, 50).segments[0].idle_ns, 10_000);
    assert_eq!(path.segments[0].idle_ns, 0);
}

#[test]
fn the_thread_that_used_a_cpu_longest_is_known() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         10 1 0 switch 0 R 4
         20 0 1 switch 1 R 2
         30 0 2 switch 2 R 3
         60 0 3 switch 3 S 1
         90 0 1 switch 1 S 0
         90 1 4 switch 4 S 0",
    );
    let user = |from_us: u64, to_us: u64| {
        let time = |us: u64| KernelTime::from_ns(us * 1_000);
        let window = Window { from: time(from_us), to: time(to_us) };
        let users = story.graph.cpu_users(HostId(0), Cpu(0), window);
        users.first().map(|&(worker, ns)| (story.graph.name(worker), ns))
    };
    assert_eq!(user(20, 60), Some(("t3", 30_000)), "not t4, which runs longer elsewhere");
    assert_eq!(user(20, 35), Some(("t2", 10_000)));
    assert_eq!(user(60, 90), Some(("t1", 30_000)));
    assert_eq!(user(90, 95), None);
}

#[test]
fn string_handles_are_per_host() {
    let mut builder = GraphBuilder::new(GraphSettings::default(), HostId(0));
    for host in 0..2 {
        let mut texts = KernelTexts::default();
        texts.intern(["first", "second"][host]);
        let switch = event("10 0 - switch 0 R 1", &mut texts);
        let rename = event(&format!("20 0 - rename 1 of-{host}"), &mut texts);
        builder.push_from(HostId(host as u16), &switch, &texts);
        builder.push_from(HostId(host as u16), &rename, &texts);
    }
    let graph = builder.finish(&mut Losses::none());
    let named = |host| graph.worker_of(HostId(host), laggard_model::Tid(1), laggard_model::KernelTime::MAX);
    assert_eq!(named(0).map(|id| graph.name(id)), Some("of-0"));
    assert_eq!(named(1).map(|id| graph.name(id)), Some("of-1"));
}

#[test]
fn an_empty_trace_is_an_empty_graph() {
    let story = EventTrace::traced("");
    assert_eq!(story.graph.counts(), laggard_kernel_graph::GraphCounts::default());
    assert!(story.losses.is_empty());
}
