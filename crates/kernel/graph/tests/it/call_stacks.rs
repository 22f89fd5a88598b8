//! Call stacks of waits by small examples.

use crate::events::EventTrace;
use laggard_model::KernelTime;

/// The stacks of a thread at an instant: `WAITING / WAKING`.
fn stacks_at(story: &EventTrace, tid: u32, us: u64) -> Option<String> {
    let stacks = story.graph.stacks_at(story.thread(tid, us), KernelTime::from_ns(us * 1000))?;
    Some(format!("{} / {}", stacks.waiting, stacks.waking))
}

#[test]
fn a_stack_belongs_to_the_switch_or_wake_up_before_it_on_its_cpu() {
    let story = EventTrace::traced(
        "10 0 0 switch 0 R 1
        20 0 1 switch 1 S 2
        20 1 - stack other cpu
        21 0 - stack pipe_read vfs_read
        30 0 2 waking 1
        31 0 - stack pipe_write
        40 0 2 switch 2 S 1
        41 0 - stack nanosleep
        60 0 1 switch 1 S 0
        61 0 1 tick
        62 0 - stack too late",
    );
    let stacks = |tid, us| stacks_at(&story, tid, us);
    assert_eq!(
        (stacks(1, 25).as_deref(), stacks(1, 35).as_deref()),
        (Some("pipe_read vfs_read / pipe_write"), stacks(1, 25).as_deref())
    );
    assert_eq!(stacks(2, 50).as_deref(), Some("nanosleep / "));
    // Before it waits, while it runs, and in a wait whose stack is missing.
    assert_eq!((stacks(1, 15), stacks(1, 45), stacks(1, 70)), (None, None, None));
}

#[test]
fn stacks_do_not_change_who_runs() {
    let with = "10 0 0 switch 0 R 1
        20 0 1 switch 1 S 2
        21 0 - stack pipe_read
        30 0 2 waking 1
        31 0 - stack pipe_write
        40 0 2 switch 2 S 1
        60 0 1 switch 1 S 0";
    let without: Vec<&str> = with.lines().filter(|line| !line.contains("stack")).collect();
    let (with, without) = (EventTrace::traced(with), EventTrace::traced(&without.join("\n")));
    assert_eq!(with.segments(1, 10, 60), without.segments(1, 10, 60));
    assert_eq!(with.losses, without.losses);
}
