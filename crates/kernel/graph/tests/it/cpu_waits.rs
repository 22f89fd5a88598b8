//! Waits for a CPU by small examples: quotas, and who used the CPU.

use crate::events::EventTrace;
use laggard_kernel_graph::{CpuUserRelation, HostId, Membership, Window};
use laggard_model::{
    ControlGroup, Cpu, CpuQuota, HostSnapshot, KernelTime, ThreadMembership, ThrottleCounts, Tid,
};

/// Thread 1 has a quota of 10 ms in each 100 ms, and thread 2 wants the same CPU. In each of three periods thread 1 is pre-empted
/// once within its quota, then exhausts it, runs only for the kernel's check, and is throttled until the timer expires.
fn periods() -> String {
    let mut lines =
        String::from("100 0 0 hrtimer sched_cfs_period_timer\n101 0 0 -hrtimer\n110 0 0 switch 0 R 1\n");
    for period in 0..3 {
        let time_us = |ms: f64| period as f64 * 100_000.0 + ms * 1000.0;
        let rows = [
            (time_us(4.0), "1 switch 1 R 2"),
            (time_us(24.0), "2 switch 2 R 1"),
            (time_us(31.0), "1 switch 1 R 2"),
            (time_us(50.0), "2 switch 2 R 1"),
            (time_us(50.006), "1 switch 1 R 2"),
            (time_us(100.0), "2/h hrtimer sched_cfs_period_timer"),
            (time_us(100.001), "2/h -hrtimer"),
            (time_us(100.05), "2 switch 2 R 1"),
        ];
        rows.iter().for_each(|(us, row)| lines.push_str(&format!("{us} 0 {row}\n")));
    }
    lines
}

fn group(path: &str, quota: Option<CpuQuota>, throttled_ns: u64) -> ControlGroup {
    let counts = |throttled_ns| ThrottleCounts { periods: 3, throttled: 3, throttled_ns };
    let counted = quota.map(|_| (counts(0), counts(throttled_ns)));
    ControlGroup {
        path: path.to_owned(),
        quota,
        before: counted.map(|(before, _)| ThrottleCounts { periods: 0, throttled: 0, ..before }),
        after: counted.map(|(_, after)| after),
    }
}

fn membership(tid: u32, process: u32, group: u32) -> ThreadMembership {
    ThreadMembership { tid: Tid(tid), process: Tid(process), group, at_end: false }
}

fn with_snapshot(
    mut story: EventTrace,
    groups: Vec<ControlGroup>,
    threads: Vec<ThreadMembership>,
) -> EventTrace {
    let mut membership = Membership::default();
    membership.add_snapshot(HostSnapshot { groups, threads, ..HostSnapshot::default() });
    story.graph.set_membership(HostId(0), membership);
    story
}

fn states(story: &EventTrace, state: &str) -> Vec<String> {
    let segments = story.segments(1, 110, 300_050);
    segments.split(", ").filter(|segment| segment.starts_with(state)).map(str::to_owned).collect()
}

#[test]
fn a_quota_throttles_a_thread_until_its_timer_expires_even_on_a_busy_cpu() {
    let quota = Some(CpuQuota { quota_ns: 10_000_000, period_ns: 100_000_000 });
    let groups = vec![group("/", None, 0), group("/limited", quota, 150_000_000)];
    let threads = vec![membership(1, 1, 1), membership(2, 2, 0)];
    let story = with_snapshot(EventTrace::traced(&periods()), groups, threads);
    assert_eq!(
        states(&story, "throttled"),
        ["throttled t1 50006-100000", "throttled t1 150006-200000", "throttled t1 250006-300000"]
    );
    // Time slices of the other thread do not count as throttling, nor does time after the timer.
    let preempted = states(&story, "preempted");
    assert_eq!(
        preempted[..3],
        ["preempted t1 4000-24000", "preempted t1 31000-50000", "preempted t1 100000-100050"]
    );
}

#[test]
fn a_group_without_a_quota_is_never_throttled() {
    let groups = vec![group("/", None, 0), group("/free", None, 0)];
    let threads = vec![membership(1, 1, 1), membership(2, 2, 0)];
    let story = with_snapshot(EventTrace::traced(&periods()), groups, threads);
    assert!(states(&story, "throttled").is_empty());
}

#[test]
fn without_known_quotas_waits_that_end_with_the_timer_are_throttling() {
    let story = EventTrace::traced(&periods());
    assert_eq!(states(&story, "throttled").len(), 3);
    let unnamed = periods().replace(" sched_cfs_period_timer", "");
    assert!(states(&EventTrace::traced(&unnamed), "throttled").is_empty(), "a busy CPU tells nothing");
}

#[test]
fn the_users_of_a_cpu_are_named_with_their_relation() {
    let docker = format!("/docker/{}", "4f".repeat(32));
    let groups = vec![group("/", None, 0), group(&docker, None, 0)];
    let lines = "10 0 0 switch 0 R 1
        20 0 1 switch 1 R 2
        50 0 2 switch 2 R 3
        60 0 3 switch 3 R 4
        65 0 4 switch 4 R 1
        70 0 1 switch 1 S 0";
    let threads = vec![membership(1, 1, 1), membership(2, 2, 0), membership(3, 1, 1), membership(4, 4, 1)];
    let story = with_snapshot(EventTrace::traced(lines), groups, threads);
    let time = |us: u64| KernelTime::from_ns(us * 1000);
    let users = story.graph.cpu_users(HostId(0), Cpu(0), Window { from: time(20), to: time(65) });
    let waiting = story.thread(1, 20);
    let users: Vec<(&str, u64, CpuUserRelation)> = users
        .iter()
        .map(|&(user, ns)| (story.graph.name(user), ns / 1000, story.graph.relation(waiting, user)))
        .collect();
    assert_eq!(
        users,
        [
            ("t2", 30, CpuUserRelation::Host),
            ("t3", 10, CpuUserRelation::SameProcess),
            ("t4", 5, CpuUserRelation::OtherProcess)
        ]
    );
    assert_eq!(story.graph.container(waiting).as_deref(), Some("4f4f4f4f4f4f"));
    let unknown = EventTrace::traced(lines);
    assert_eq!(
        unknown.graph.relation(unknown.thread(1, 20), unknown.thread(2, 20)),
        CpuUserRelation::Unknown
    );
}
