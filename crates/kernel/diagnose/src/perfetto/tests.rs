//! Perfetto traces of hand-written events, decoded by field number.

use super::*;
use crate::test_scene::{APP, CALENDAR_NS, DB, Scene, US};
use laggard_model::{HostSnapshot, ThreadMembership, Tid};
use laggard_wire::{Fields, Value};
use std::collections::BTreeMap;

#[derive(Default, Debug)]
struct DecodedTrack {
    name: String,
    parent: u64,
    process: Option<(u64, String)>,
    thread: Option<(u64, u64, String)>,
}

#[derive(Default, Debug)]
struct DecodedEvent {
    time: u64,
    event_type: u64,
    track: u64,
    name: String,
    arguments: BTreeMap<String, String>,
    flow_from: Option<u64>,
    flow_to: Option<u64>,
}

#[derive(Default, Debug)]
struct Decoded {
    clocks: BTreeMap<u64, u64>,
    primary_clock: u64,
    tracks: BTreeMap<u64, DecodedTrack>,
    events: Vec<DecodedEvent>,
}

fn fields(message: &[u8]) -> impl Iterator<Item = (u32, Value<'_>)> {
    Fields::new(message).map(|field| field.expect("a complete message"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Numbers and texts of a message.
fn values(message: &[u8]) -> (BTreeMap<u32, u64>, BTreeMap<u32, String>) {
    let (mut numbers, mut texts) = (BTreeMap::new(), BTreeMap::new());
    for (field, value) in fields(message) {
        match value {
            Value::Varint(number) => drop(numbers.insert(field, number)),
            Value::Bytes(bytes) => drop(texts.insert(field, text(bytes))),
            Value::Fixed32(_) | Value::Fixed64(_) => panic!("field {field}"),
        }
    }
    (numbers, texts)
}

impl Decoded {
    fn new(trace: &[u8]) -> Decoded {
        let mut decoded = Decoded::default();
        for (field, value) in fields(trace) {
            let (1, Value::Bytes(packet)) = (field, value) else { panic!("field {field} of a trace") };
            let time = fields(packet).find_map(|field| match field {
                (8, Value::Varint(time)) => Some(time),
                _ => None,
            });
            assert!(
                fields(packet).any(|field| field == (10, Value::Varint(1))),
                "every packet has its sequence"
            );
            for (field, value) in fields(packet) {
                match (field, value) {
                    (6, Value::Bytes(clocks)) => decoded.add_clocks(clocks),
                    (60, Value::Bytes(track)) => decoded.add_track(track),
                    (11, Value::Bytes(event)) => decoded.add_event(time.unwrap(), event),
                    (8 | 10 | 13 | 87, Value::Varint(_)) => {}
                    _ => panic!("field {field} of a packet"),
                }
            }
        }
        decoded
    }

    fn add_clocks(&mut self, message: &[u8]) {
        for (field, value) in fields(message) {
            match (field, value) {
                (1, Value::Bytes(clock)) => {
                    let (numbers, _) = values(clock);
                    self.clocks.insert(numbers[&1], numbers[&2]);
                }
                (2, Value::Varint(clock)) => self.primary_clock = clock,
                _ => panic!("field {field} of clocks"),
            }
        }
    }

    fn add_track(&mut self, message: &[u8]) {
        let (mut track, mut id) = (DecodedTrack::default(), 0);
        for (field, value) in fields(message) {
            match (field, value) {
                (1, Value::Varint(number)) => id = number,
                (2, Value::Bytes(name)) => track.name = text(name),
                (3, Value::Bytes(process)) => {
                    let (numbers, texts) = values(process);
                    track.process = Some((numbers[&1], texts[&6].clone()));
                }
                (4, Value::Bytes(thread)) => {
                    let (numbers, texts) = values(thread);
                    track.thread = Some((numbers[&1], numbers[&2], texts[&5].clone()));
                }
                (5, Value::Varint(parent)) => track.parent = parent,
                (11 | 12, Value::Varint(_)) => {}
                _ => panic!("field {field} of a track"),
            }
        }
        assert!(id > 0 && self.tracks.insert(id, track).is_none(), "a number of its own");
    }

    fn add_event(&mut self, time: u64, message: &[u8]) {
        let mut event = DecodedEvent { time, ..DecodedEvent::default() };
        for (field, value) in fields(message) {
            match (field, value) {
                (9, Value::Varint(number)) => event.event_type = number,
                (11, Value::Varint(track)) => event.track = track,
                (22, Value::Bytes(_)) => {}
                (23, Value::Bytes(name)) => event.name = text(name),
                (4, Value::Bytes(annotation)) => {
                    let (numbers, texts) = values(annotation);
                    let value = texts.get(&6).cloned();
                    let value = value.or_else(|| numbers.values().next().map(u64::to_string));
                    event.arguments.insert(texts[&10].clone(), value.unwrap());
                }
                (47, Value::Fixed64(flow)) => event.flow_from = Some(flow),
                (48, Value::Fixed64(flow)) => event.flow_to = Some(flow),
                _ => panic!("field {field} of an event"),
            }
        }
        assert!(self.tracks.contains_key(&event.track), "its track is described before");
        self.events.push(event);
    }

    fn track(&self, name: &str) -> u64 {
        let mut named = self.tracks.iter().filter(|(_, track)| {
            track.name == name || track.thread.as_ref().is_some_and(|(_, _, thread)| thread == name)
        });
        *named.next().unwrap_or_else(|| panic!("no track {name} in {:?}", self.tracks)).0
    }

    /// The slices of a track by depth: beginning and end from the first execution on, in microseconds, and name. Slices must nest.
    fn slices(&self, track: u64) -> Vec<(usize, u64, u64, String)> {
        let mut events: Vec<&DecodedEvent> =
            self.events.iter().filter(|event| event.track == track && event.event_type != 3).collect();
        events.sort_by_key(|event| event.time);
        let (mut open, mut slices): (Vec<&DecodedEvent>, Vec<_>) = (Vec::new(), Vec::new());
        let us = |time: u64| (time - 1_010 * US) / US;
        for event in events {
            match event.event_type {
                1 => open.push(event),
                2 => {
                    let begun = open.pop().expect("a slice that began");
                    slices.push((open.len(), us(begun.time), us(event.time), begun.name.clone()));
                }
                other => panic!("an event of type {other}"),
            }
        }
        assert!(open.is_empty(), "every slice ends");
        slices.sort_by_key(|(depth, from, ..)| (*from, *depth));
        slices
    }

    fn argument(&self, track: u64, slice: &str, argument: &str) -> &str {
        let mut events = self.events.iter().filter(|event| event.track == track && event.name == slice);
        &events.next().unwrap().arguments[argument]
    }
}

fn question() -> KernelPathQuestion {
    KernelPathQuestion::default()
}

fn written(runs: &[KernelRun], question: &KernelPathQuestion) -> (PerfettoSummary, Decoded) {
    let mut out = Vec::new();
    let summary = write_perfetto(runs, question, &mut out).unwrap();
    (summary, Decoded::new(&out))
}

fn row(depth: usize, from: u64, to: u64, name: &str) -> (usize, u64, u64, String) {
    (depth, from, to, name.to_owned())
}

#[test]
fn an_execution_contains_its_path() {
    let (summary, trace) = written(&[Scene::run(1, None)], &question());
    let path = trace.track("Critical paths");
    assert_eq!(trace.tracks[&trace.tracks[&path].parent].name, "Executions");
    assert_eq!(
        trace.slices(path),
        [
            row(0, 0, 460, "request 1"),
            row(1, 0, 100, "computing"),
            row(1, 100, 400, "db (tid 200): running"),
            row(1, 400, 410, "waking CPU"),
            row(1, 410, 460, "computing"),
        ]
    );
    assert_eq!(trace.argument(path, "waking CPU", "CPU idle, ns"), "10000");
    assert_eq!((summary.executions, summary.threads, summary.cpus, summary.remark()), (1, 2, 2, None));
}

#[test]
fn threads_show_what_they_wait_for_and_arrows_lead_from_who_wakes_them() {
    let (_, trace) = written(&[Scene::run(1, None)], &question());
    let (app, db) = (trace.track("app (tid 100)"), trace.track("db (tid 200)"));
    assert_eq!(trace.tracks[&trace.tracks[&app].parent].name, "Threads");
    assert_eq!(
        trace.slices(app),
        [
            row(0, 0, 100, "running"),
            row(0, 100, 400, "waits for db (tid 200)"),
            row(0, 400, 410, "preempted"),
            row(0, 410, 460, "running"),
        ]
    );
    assert_eq!(trace.argument(app, "waits for db (tid 200)", "woken by"), "db (tid 200)");
    let ends = |track: u64, flow: fn(&DecodedEvent) -> Option<u64>| -> Vec<(u64, u64)> {
        let events = trace.events.iter().filter(|event| event.track == track);
        events.filter_map(|event| Some((flow(event)?, (event.time - 1_010 * US) / US))).collect()
    };
    let (from_db, to_app) = (ends(db, |event| event.flow_from), ends(app, |event| event.flow_to));
    assert_eq!(from_db.len(), 1);
    assert_eq!((from_db[0].1, from_db), (400, to_app), "db wakes app at 400 µs");
}

#[test]
fn cpus_show_which_thread_ran() {
    let (_, trace) = written(&[Scene::run(1, None)], &question());
    let slices = |name| trace.slices(trace.track(name));
    assert_eq!(slices("CPU 0"), [row(0, 0, 100, "app (tid 100)"), row(0, 410, 460, "app (tid 100)")]);
    assert_eq!(slices("CPU 1"), [row(0, 100, 405, "db (tid 200)")]);
}

#[test]
fn times_are_on_the_clock_of_the_trace() {
    let (_, trace) = written(&[Scene::run(1, None)], &question());
    let from = 1_010 * US;
    assert_eq!(trace.primary_clock, 3, "the monotonic clock");
    assert_eq!(trace.clocks, BTreeMap::from([(3, from), (1, from + CALENDAR_NS as u64)]));
    assert_eq!(trace.events.iter().map(|event| event.time).min(), Some(from));
}

#[test]
fn threads_of_a_known_process_are_below_it() {
    let thread =
        |tid, process| ThreadMembership { tid: Tid(tid), process: Tid(process), group: 0, at_end: false };
    let snapshot =
        HostSnapshot { threads: vec![thread(APP, APP), thread(DB, APP)], ..HostSnapshot::default() };
    let (_, trace) = written(&[Scene::run(1, Some(snapshot))], &question());
    let processes: Vec<_> = trace.tracks.values().filter_map(|track| track.process.clone()).collect();
    assert_eq!(processes, [(100, "app".to_owned())]);
    let threads: Vec<_> = trace.tracks.values().filter_map(|track| track.thread.clone()).collect();
    assert_eq!(threads, [(100, 200, "db".to_owned()), (100, 100, "app".to_owned())]);
}

#[test]
fn one_execution_can_be_selected() {
    let two = PathChoice::Number(2);
    let (summary, trace) = written(&[Scene::run(3, None)], &KernelPathQuestion { choice: two, ..question() });
    assert_eq!(summary.executions, 1);
    let slices = trace.slices(trace.track("Critical paths"));
    assert_eq!(slices[0], row(0, 480, 940, "request 2"));
    let cpu = trace.slices(trace.track("CPU 1"));
    assert_eq!(cpu, [row(0, 580, 885, "db (tid 200)")], "only during the execution");
}

#[test]
fn what_does_not_fit_is_counted() {
    let runs = [Scene::run(4, None)];
    let mut out = Vec::new();
    let limits = PerfettoLimits { slices: 6, threads: 1 };
    let summary = write_limited(&runs, &question(), limits, &mut out).unwrap();
    assert_eq!((summary.executions, summary.executions_left_out), (1, 3));
    assert_eq!((summary.threads, summary.threads_left_out, summary.slices_left_out), (1, 1, 0));
    assert_eq!(
        summary.remark().as_deref(),
        Some("The Perfetto trace leaves out, for its size: 3 executions; 1 threads.")
    );
    let all = KernelPathQuestion { executions_max: 3, ..question() };
    let summary = write_limited(&runs, &all, PerfettoLimits { slices: 15, threads: 9 }, &mut out).unwrap();
    assert_eq!((summary.executions, summary.executions_left_out), (3, 1));
    // Of `app` 4 states an execution and 1 between.
    assert!(summary.slices_left_out > 0, "{summary:?}");
}

#[test]
fn without_executions_nothing_is_written_and_two_clocks_are_an_error() {
    let mut out = Vec::new();
    let summary = write_perfetto(&[Scene::run(0, None)], &question(), &mut out).unwrap();
    assert!(out.is_empty() && summary.remark().is_some_and(|remark| remark.contains("no executions")));
    let two = [Scene::run(1, None), Scene::run(1, None)];
    let Err(PerfettoError::Question(reason)) = write_perfetto(&two, &question(), &mut out) else { panic!() };
    assert!(reason.contains("one clock") && out.is_empty(), "{reason}");
}
