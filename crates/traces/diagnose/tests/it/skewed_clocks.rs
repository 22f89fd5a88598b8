//! Replicas that were replaced by others with skewed clocks.

use crate::simulated::THREADS;
use crate::sites::traces_of;
use laggard_diagnose::{DiagnoseSettings, diagnose};
use laggard_engine::{LocalEngine, Requests};
use laggard_report::{InputFacts, Report, Verdict};
use std::fmt::Write;

const MS: f64 = 1e6;

/// `api` calls `stock` and then `price`.
struct Calls {
    /// Part of the names of the replicas of `stock`: another generation has replaced them.
    generation: u32,
    /// How far the clock of each replica of `stock` is ahead, nanoseconds. By a little, its calls seem to overlap those of `price`; by
    /// more, they lie outside of the caller, and are not compared with those of others.
    ahead_ns: [u64; 2],
    /// Own time of `api`.
    own_ns: f64,
}

impl Calls {
    fn traces(&self, from_s: u64) -> Requests {
        let mut state = from_s + 1;
        let mut noisy = move |usual_ns: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 33) as f64 / (1_u64 << 31) as f64;
            (usual_ns * (0.4 * (uniform - 0.5)).exp()) as u64
        };
        let mut text = String::new();
        for second in from_s..from_s + 400 {
            let start = (second + 1) * 1_000_000_000;
            let (own, stock, price) = (noisy(self.own_ns), noisy(4.0 * MS), noisy(4.0 * MS));
            let mut span = |id: &str, place: &str, start: u64, length: u64| {
                writeln!(text, "{} {id} {place} {start}..{} server", second + 1, start + length).unwrap();
            };
            span("a", "- api/buy@api-1", start, own + stock + price);
            let replica = format!("a stock/take@stock-{}-{}", self.generation, second % 2);
            span("b", &replica, start + own / 2 + self.ahead_ns[second as usize % 2], stock);
            span("c", "a price/of@price-1", start + own / 2 + stock, price);
        }
        traces_of(text.lines())
    }
}

fn compared(before: &Calls, now: &Calls) -> Report {
    let (before, now) = (before.traces(0), now.traces(1_000));
    let (facts, settings) = (InputFacts::default(), DiagnoseSettings::default());
    diagnose(&now, Some(&before), &facts, &settings, LocalEngine::new(THREADS)).unwrap()
}

const BEFORE: Calls = Calls { generation: 1, ahead_ns: [0; 2], own_ns: 4.0 * MS };
const SKEWED: Calls = Calls { generation: 2, ahead_ns: [5_000_000, 20_000_000], ..BEFORE };

#[test]
fn a_caller_whose_callees_only_seem_to_overlap_is_not_suspected() {
    let report = compared(&BEFORE, &SKEWED);
    assert_ne!(report.verdict, Verdict::Suspects, "{:?}", report.suspects);
    let slow = report.suspects.iter().map(|suspect| &*suspect.operation).collect::<Vec<_>>();
    assert_eq!(slow, ["buy"], "as recorded, it takes longer");
}

/// Durations are each measured by one clock.
#[test]
fn a_caller_that_takes_longer_is_suspected_although_clocks_are_skewed() {
    let report = compared(&BEFORE, &Calls { own_ns: 12.0 * MS, ..SKEWED });
    assert_eq!(report.verdict, Verdict::Suspects, "{:?}", report.suspects);
    let lead = &report.suspects[0];
    assert_eq!((&*lead.service, &*lead.operation), ("api", "buy"));
}

/// `api` calls `stock` and `price` at once, which shows only where its clock agrees with theirs: on one replica, in some of 80 minutes.
fn agreeing_in(minutes: std::ops::Range<u64>) -> Report {
    let mut text = String::new();
    for request in 1..1_600_u64 {
        let start = request * 3_000_000_000;
        let (own, callee) = (6_000_000 + request * 7_919 % 101 * 10_000, 4_000_000);
        let api = request % 2;
        let agrees = api == 1 && minutes.contains(&(start / 60_000_000_000));
        let from = start + own / 2 + if agrees { 0 } else { 50_000_000 };
        writeln!(text, "{request} a - api/buy@api-{api} {start}..{} server", start + own + callee).unwrap();
        for (id, callee_text) in [("b", "stock/take@stock-1"), ("c", "price/of@price-1")] {
            writeln!(text, "{request} {id} a {callee_text} {from}..{} server", from + callee).unwrap();
        }
    }
    let (facts, settings) = (InputFacts::default(), DiagnoseSettings::default());
    diagnose(&traces_of(text.lines()), None, &facts, &settings, LocalEngine::new(THREADS)).unwrap()
}

#[test]
fn a_replica_whose_clock_agrees_is_not_slower_than_one_whose_clock_is_skewed() {
    for minutes in [0..80, 30..45] {
        let report = agreeing_in(minutes);
        assert_ne!(report.verdict, Verdict::Suspects, "{:?}", report.suspects);
        assert_eq!(report.suspects[0].replicas, ["api-1"], "as recorded, it is slower");
    }
}
