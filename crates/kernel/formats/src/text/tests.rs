use super::stream::TextStream;
use super::*;
use crate::trace::{EventBatch, EventStream, StreamState};
use laggard_model::{EventKind, Loss, PrevState, Tid};

fn read(text: &[u8]) -> EventBatch {
    read_with(text, OpenOptions::default())
}

fn read_with(text: &[u8], options: OpenOptions) -> EventBatch {
    let mut stream = TextStream::new("t".into(), text, options);
    let mut batch = EventBatch::default();
    while stream.read(&mut batch) == StreamState::More {}
    batch
}

const SWITCH: &str = "  <idle>-0     [001] d..2.  1.000001: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 \
                      prev_state=R ==> next_comm=a next_pid=7 next_prio=120\n";

#[test]
fn one_line_is_one_event() {
    let batch = read(SWITCH.as_bytes());
    assert_eq!(batch.events.len(), 1);
    let event = batch.events[0];
    assert_eq!((event.recorded, event.cpu.0, event.time.ns()), (Some(Tid::IDLE), 1, 1_000_001_000));
    let EventKind::Switch { next, prev_state, next_name, .. } = event.kind else { panic!() };
    assert_eq!((next, prev_state, batch.texts.text(next_name)), (Tid(7), PrevState(0), "a"));
    assert_eq!(batch.losses.count(Loss::CoarseTime), 1);
}

#[test]
fn losses_are_reported_where_they_occur() {
    let text = format!("{SWITCH}CPU:1 [68 EVENTS DROPPED]\n{SWITCH}CPU:0 [LOST 2 EVENTS]\n");
    let batch = read(text.as_bytes());
    assert_eq!(batch.losses.count(Loss::LostEvents), 70);
    let lost: Vec<_> = batch
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Lost { .. }))
        .map(|e| e.cpu.0)
        .collect();
    assert_eq!(lost, [1, 0]);
}

#[test]
fn comments_are_not_damage() {
    let remarks = "# tracer: nop\n#\n\ncpus=2\nversion = 6\nCPU 1 is empty\n\tffffffff8141e4b0 do_idle ([kernel])\n => f\n";
    assert!(read(remarks.as_bytes()).losses.is_empty());
}

#[test]
fn damage_is_counted_and_the_rest_is_read() {
    let long = "x".repeat(200_000);
    let text = format!(
        "nonsense\n{SWITCH}{long}\n{SWITCH}\u{fffd}\n a-1 [000] 1.0: sched_switch: ?\n{}",
        &SWITCH[..30]
    );
    let batch = read(text.as_bytes());
    assert_eq!(batch.events.len(), 2);
    assert_eq!(batch.losses.count(Loss::OversizedRecord), 1);
    assert_eq!(batch.losses.count(Loss::MalformedRecord), 3);
    assert_eq!(batch.losses.count(Loss::TruncatedInput), 1);
}

#[test]
fn binary_data_is_not_recognized_as_text() {
    assert!(recognize(Path::new("x"), SWITCH.as_bytes()));
    assert!(!recognize(Path::new("x"), b"\x17\x08\x44tracing6\0"));
    assert!(!recognize(Path::new("x"), b"{\"resourceSpans\":[]}"));
}

#[test]
fn other_events_are_read_on_request() {
    let line = b" app-7 [000] 1.5: probe_app:handle: (401136) id=4\n";
    assert!(read(line).events.is_empty());
    let batch =
        read_with(line, OpenOptions { also: vec!["probe_app:handle".to_owned()], ..OpenOptions::default() });
    let EventKind::Other { name, fields } = batch.events[0].kind else { panic!() };
    assert_eq!((batch.texts.text(name), batch.texts.text(fields)), ("handle", "(401136) id=4"));
}

#[test]
fn timers_are_named_by_their_function() {
    let line = |fields: &str| {
        let text = format!("  a-7 [001] d.h1. 1.000001: hrtimer_expire_entry: {fields}\n");
        let batch = read(text.as_bytes());
        let EventKind::HrtimerEntry(timer) = batch.events[0].kind else { panic!("{:?}", batch.events) };
        (timer.address, batch.texts.text(timer.function).to_owned())
    };
    let whole = "hrtimer=0xff12 function=sched_cfs_period_timer/0x0 now=17";
    assert_eq!(line(whole), (0xff12, "sched_cfs_period_timer".to_owned()));
    assert_eq!(
        line("hrtimer=00000000ab function=hrtimer_wakeup now=17"),
        (0xab, "hrtimer_wakeup".to_owned())
    );
    assert_eq!(line("hrtimer=0xff12 function=0xffffffff813b8a30 now=17"), (0xff12, String::new()));
}
