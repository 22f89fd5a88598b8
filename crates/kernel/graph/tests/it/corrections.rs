//! Every correction for current kernels by a small example, calculated by hand.

use crate::events::EventTrace;
use laggard_kernel_graph::{GraphSettings, HostId, IrqName, WorkerState};
use laggard_model::{KernelTime, Loss, Tid};

/// Thread 1 waits for thread 2, which is pre-empted on the way.
const WAIT: &str = "
    10 0 0 switch 0 R 1
    20 0 1 waking 2
    30 0 1 switch 1 S 2
    40 0 2 switch 2 R 3
    60 0 3 switch 3 S 2
    70 0 2 waking 1
    80 0 2 switch 2 S 1
    90 0 1 switch 1 S 0
";

#[test]
fn a_wait_is_replaced_by_the_work_of_its_waker() {
    let story = EventTrace::traced(WAIT);
    let expected = "running t1 10-20, running t1 20-30, running t2 30-40, preempted t2 40-60, running t2 60-70, \
                    preempted t1 70-80, running t1 80-90";
    assert_eq!(story.segments(1, 10, 90), expected);
    assert!(story.losses.iter().all(|(loss, _)| loss == Loss::UnknownWaker));
    let cut = "running t1 25-30, running t2 30-35";
    assert_eq!(story.segments(1, 25, 35), cut);
    assert_eq!(story.segments(1, 45, 72), "preempted t2 45-60, running t2 60-70, preempted t1 70-72");
}

#[test]
fn the_better_wake_up_event_is_used_alone() {
    let both = WAIT.replace("70 0 2 waking 1", "70 0 2 waking 1\n 72 1 0 switch 0 R 4\n 75 1 4/h wakeup 1\n");
    let story = EventTrace::traced(&both);
    assert!(story.segments(1, 10, 90).contains("running t2 60-70, preempted t1 70-80"));
    assert_eq!(story.losses.count(Loss::LateWakeups), 0);
    let late = format!("1 0 0 wakeup 9\n{WAIT}");
    let early = GraphSettings { first_events_max: 1, ..GraphSettings::default() };
    let story = EventTrace::traced_with(early, &late);
    assert_eq!(story.losses.count(Loss::LateWakeups), 2);
    let best = EventTrace::traced(&format!("{WAIT}\n 95 0 0 ttwu 5"));
    assert_eq!(
        best.graph.worker_of(HostId(0), Tid(5), KernelTime::MAX).map(|id| best.graph.name(id)),
        Some("t5")
    );
}

#[test]
fn an_idle_kernel_thread_is_blocked() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         20 0 1 switch 1 I 2
         30 0 2 waking 1
         40 0 2 switch 2 R+ 1
         50 0 1 switch 1 S 2",
    );
    assert_eq!(
        story.segments(1, 10, 50),
        "running t1 10-20, running t2 20-30, preempted t1 30-40, running t1 40-50"
    );
    assert_eq!(story.segments(2, 20, 50), "running t2 20-30, running t2 30-40, preempted t2 40-50");
}

#[test]
fn a_thread_woken_while_it_leaves_is_runnable() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         10 1 0 switch 0 R 2
         29 1 2 waking 1
         30 0 1 switch 1 S 0
         50 0 0 switch 0 R 1
         60 0 1 switch 1 S 0",
    );
    assert_eq!(story.segments(1, 10, 60), "running t1 10-30, preempted t1 30-50, running t1 50-60");
}

#[test]
fn a_thread_woken_long_before_it_leaves_is_not_runnable() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         10 1 0 switch 0 R 2
         29 1 2 waking 1
         80 0 1 switch 1 S 0
         90 1 2 waking 1
         95 0 0 switch 0 R 1
         99 0 1 switch 1 S 0",
    );
    assert_eq!(
        story.segments(1, 10, 99),
        "running t1 10-80, running t2 80-90, preempted t1 90-95, running t1 95-99"
    );
}

#[test]
fn a_second_wake_up_proves_that_the_thread_was_blocked() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         10 1 0 switch 0 R 2
         29 1 2 waking 1
         30 0 1 switch 1 S 0
         40 1 2 waking 1
         50 0 0 switch 0 R 1
         60 0 1 switch 1 S 0",
    );
    assert_eq!(
        story.segments(1, 10, 60),
        "running t1 10-30, running t2 30-40, preempted t1 40-50, running t1 50-60"
    );
}

#[test]
fn flags_identify_interrupts_without_events() {
    let wait = |flags: &str| {
        let lines = format!(
            "10 0 0 switch 0 R 1
             20 0 1 switch 1 S 2
             30 0 2{flags} waking 1
             40 0 2 switch 2 R 1
             50 0 1 switch 1 S 2"
        );
        let story = EventTrace::traced(&lines);
        (story.segments(1, 20, 30), story.path(1, 20, 30).unresolved)
    };
    assert_eq!(wait("/h"), ("ipi t1 20-30".to_owned(), 0));
    assert_eq!(wait("/hs"), ("ipi t1 20-30".to_owned(), 0));
    assert_eq!(wait("/s"), ("blocked t1 20-30".to_owned(), 1));
    assert_eq!(wait(""), ("running t2 20-30".to_owned(), 0));
}

/// The state of a wait that is ended inside of interrupts.
fn ended_inside(context: &str) -> String {
    let lines = format!(
        "10 0 0 switch 0 R 1
         20 0 1 switch 1 D 2
         25 0 2 {context}
         30 0 2/h waking 1
         40 0 2 switch 2 R 1
         50 0 1 switch 1 S 2"
    );
    let story = EventTrace::traced(&lines);
    let path = story.path(1, 20, 30);
    let qualifier = story.graph.texts().text(path.segments[0].qualifier);
    format!("{} {qualifier}", story.segments(1, 20, 30))
}

#[test]
fn interrupts_determine_the_wait_state() {
    let cases = [
        ("hrtimer", "timer t1 20-30 hrtimer"),
        ("softirq 1", "timer t1 20-30 softirq TIMER"),
        ("softirq 8", "timer t1 20-30 softirq HRTIMER"),
        ("softirq 4", "block_device t1 20-30 softirq BLOCK"),
        ("softirq 5", "block_device t1 20-30 softirq IRQ_POLL"),
        ("softirq 3", "network t1 20-30 softirq NET"),
        ("softirq 2", "network t1 20-30 softirq NET"),
        ("softirq 7", "interrupted t1 20-30 softirq SCHED"),
        ("softirq 9", "blocked t1 20-30 softirq RCU"),
        ("softirq 77", "blocked t1 20-30 softirq"),
        ("ipi", "ipi t1 20-30 "),
        ("irq 0 cascade", "interrupted t1 20-30 cascade"),
        ("irq 0 timer", "timer t1 20-30 timer"),
        ("irq 36 virtio1-req.0", "block_device t1 20-30 virtio1-req.0"),
        ("irq 37 virtio0-input.0", "network t1 20-30 virtio0-input.0"),
        ("irq 1 i8042", "user_input t1 20-30 i8042"),
        ("irq 9 acpi", "blocked t1 20-30 acpi"),
        ("reception", "network t1 20-30 t2"),
    ];
    for (context, expected) in cases {
        assert_eq!(ended_inside(context), expected, "{context}");
    }
}

#[test]
fn interrupt_names_are_configurable() {
    let disk = IrqName { pattern: "acpi".to_owned(), state: WorkerState::BlockDevice };
    let settings = GraphSettings { irq_names: vec![disk], ..GraphSettings::default() };
    let lines =
        "10 0 0 switch 0 R 1\n 20 0 1 switch 1 D 2\n 25 0 2 irq 9 acpi\n 30 0 2/h waking 1\n 40 0 2 tick";
    let story = EventTrace::traced_with(settings, lines);
    assert_eq!(story.segments(1, 20, 30), "block_device t1 20-30");
}

#[test]
fn a_missing_switch_out_of_idle_is_dated_back_to_the_wake_up() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         10 1 0 tick
         20 0 1 waking 2
         30 0 1 switch 1 S 0
         50 1 2 waking 1
         55 0 0 switch 0 R 1
         60 1 2 switch 2 S 0
         70 0 1 switch 1 S 0",
    );
    let expected =
        "running t1 10-20, running t1 20-30, running t2 30-50, preempted t1 50-55, running t1 55-70";
    assert_eq!(story.segments(1, 10, 70), expected);
    assert_eq!(story.losses.count(Loss::ImpliedSwitch), 1);
    let path = story.path(1, 10, 70);
    assert_eq!(
        path.segments.iter().filter(|segment| segment.inferred).count(),
        1,
        "the run from the implied switch on"
    );
}

#[test]
fn a_silent_cpu_did_not_run() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         10 1 0 tick
         20 0 1 waking 2
         30000 1 2 tick
         30010 1 2 switch 2 S 0",
    );
    assert_eq!(story.segments(2, 20, 30010), "preempted t2 20-30000, running t2 30000-30010");
    let path = story.path(2, 20, 30010);
    assert!(path.segments.iter().all(|segment| segment.inferred));
}

#[test]
fn without_writers_the_next_switch_decides() {
    let story = EventTrace::traced(
        "10 0 - switch 0 R 1
         10 1 - switch 9 S 0
         20 0 - waking 2
         30 0 - switch 1 S 0
         60 1 - switch 2 S 0",
    );
    assert_eq!(story.segments(2, 20, 60), "running t2 20-60");
    assert_eq!(story.losses.count(Loss::ImpliedSwitch), 1);
}

#[test]
fn the_idle_task_is_never_a_waker() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         20 0 1 switch 1 S 0
         30 0 0 waking 1
         40 0 0 switch 0 R 1
         50 0 1 switch 1 S 0",
    );
    assert_eq!(
        story.segments(1, 10, 50),
        "running t1 10-20, blocked t1 20-30, preempted t1 30-40, running t1 40-50"
    );
    assert_eq!(story.path(1, 10, 50).unresolved, 1);
    assert_eq!(story.losses.count(Loss::UnknownWaker), 1);
}

#[test]
fn the_next_record_decides_about_a_thread_left_without_a_switch() {
    let status_after = |next: &str| {
        let lines = format!(
            "10 0 0 switch 0 R 1
             10 1 0 switch 0 R 2
             20 0 3 tick
             {next}
             40 0 3 switch 3 S 1
             50 0 1 switch 1 S 0"
        );
        EventTrace::traced(&lines).segments(1, 10, 50)
    };
    assert_eq!(status_after(""), "running t1 10-20, preempted t1 20-40, running t1 40-50");
    assert_eq!(
        status_after("30 1 2 waking 1"),
        "running t1 10-20, running t2 20-30, preempted t1 30-40, running t1 40-50"
    );
}

#[test]
fn reused_tids_are_different_threads() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
         20 0 1 exit 1
         30 0 1 switch 1 X 0
         40 0 0 switch 0 R 2
         50 0 2 fork 2 1
         60 0 2 wakeup_new 1
         70 0 2 switch 2 S 1
         80 0 1 switch 1 S 0",
    );
    let (first, second) = (story.thread(1, 10), story.thread(1, 60));
    assert_ne!(first, second);
    assert_eq!(story.thread(1, 55), first, "before the second began");
    assert_eq!(story.thread(1, 1), first, "before all began");
    assert_eq!(story.segments(1, 60, 80), "preempted t1 60-70, running t1 70-80");
    assert_eq!(story.graph.lifetime(first).map(|lifetime| lifetime.to), Some(KernelTime::from_ns(30_000)));
}

#[test]
fn a_parked_thread_has_not_ended_without_an_exit_event() {
    let parked = |exit: &str| {
        let lines = format!(
            "10 0 0 switch 0 R 1
             {exit}
             20 0 1 switch 1 P 2
             30 0 2 waking 1
             40 0 2 switch 2 S 1
             50 0 1 switch 1 S 0"
        );
        let story = EventTrace::traced(&lines);
        story.thread(1, 10) == story.thread(1, 45)
    };
    assert!(parked(""));
    assert!(!parked("15 0 1 exit 1"));
}
