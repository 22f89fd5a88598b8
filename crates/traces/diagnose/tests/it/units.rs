//! Two rounds over units of a store: the report is that of all requests at once, byte for byte, whoever reads which unit in which
//! order; above the limit it says what was left out.

use crate::simulated::THREADS;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{
    Batch, Count, Gathering, LocalEngine, RequestSlice, Requests, SliceFacts, StartRange, Take,
    TraceAttributes, UnitFold, UnitId, encode_part,
};
use laggard_model::{Loss, Nanos, Sink, SpanRecord, Timestamp, TraceId};
use laggard_report::{InputFacts, Report, Verdict};
use laggard_simulate::{Request, Scenario, Settings, requests};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

/// A stored unit.
type Unit = (UnitId, RequestSlice);

/// Units of simulated requests: every request whose number has a late unit's remainder came late, the others are in segments by
/// time. The last segment is empty. Names come in another order in every unit.
fn units(settings: &Settings, twins: bool) -> Vec<Unit> {
    let all: Vec<Request> = requests(settings).expect("settings in range").collect();
    let segments = 5;
    let mut batches: Vec<(UnitId, Batch)> =
        (0..2).map(|range| (UnitId::LateTraces(range), Batch::default())).collect();
    batches.extend((0..=segments).map(|number| (UnitId::Segment(10 + number), Batch::default())));
    for (index, request) in all.iter().enumerate() {
        let batch = match index % 23 {
            7 => 0,
            11 => 1,
            _ => 2 + index * segments as usize / all.len(),
        };
        for call in &request.calls {
            let span = request.span(call);
            batches[batch].1.span(&span);
            if twins {
                twin(&mut batches[batch].1, &span);
            }
        }
    }
    batches.into_iter().map(|(id, batch)| (id, slice(id, batch))).collect()
}

/// The same span of another service, in another trace: whatever is found has an equal with another name.
fn twin(batch: &mut Batch, span: &SpanRecord<'_>) {
    let (service, replica) = (format!("a-{}", span.service), format!("a-{}", span.replica));
    batch.span(&SpanRecord {
        trace_id: TraceId::from_value(span.trace_id.value() ^ (1 << 127)),
        service: &service,
        replica: &replica,
        ..*span
    });
}

fn slice(id: UnitId, batch: Batch) -> RequestSlice {
    let mut names = batch.names;
    let texts: Vec<(TraceId, Box<str>)> = (batch.attributes.iter())
        .map(|&(trace, set)| (trace, names.attribute_set_text(set).into()))
        .collect();
    let attributes = TraceAttributes::from_texts(&texts, &mut names);
    let mut facts = SliceFacts { origins: batch.origins, texts: batch.texts, ..SliceFacts::default() };
    facts.losses.add(Loss::OtherSignal, || format!("of {id}"));
    RequestSlice::assemble(names, batch.spans, &attributes, facts)
}

/// A fold over units that are read by several workers in an order that depends on the seed. Some workers merge units that follow
/// each other before they return them.
fn folded<F: UnitFold>(fold: &F, units: &[Unit], workers: usize, seed: u64) -> F::Partial {
    let ids = units.iter().map(|&(id, _)| id);
    let gathering = Mutex::new(Gathering::new(fold, ids));
    let runs: Vec<&[Unit]> = units.chunks(1 + (seed % 3) as usize).collect();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&run| laggard_model::mix64(seed ^ (run as u64 + 1)));
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (gathering, runs, order) = (&gathering, &runs, &order);
            scope.spawn(move || {
                for &run in order.iter().skip(worker).step_by(workers) {
                    let mut partial = fold.start();
                    runs[run].iter().for_each(|(_, slice)| fold.merge(&mut partial, fold.unit(slice)));
                    let ids: Vec<UnitId> = runs[run].iter().map(|&(id, _)| id).collect();
                    let part = encode_part(fold, &ids, &partial);
                    gathering.lock().unwrap().deliver(&part).unwrap();
                }
            });
        }
    });
    gathering.into_inner().unwrap().finish().unwrap()
}

/// Both rounds.
fn gathered(units: &[Unit], count: &Count, calls_max: u64, (workers, seed): (usize, u64)) -> Requests {
    let counts = folded(count, units, workers, seed);
    let take = Take { read: count.read.clone(), levels: counts.levels(calls_max) };
    let selected = folded(&take, units, workers, seed.wrapping_mul(7));
    Requests::from_selected(selected, &take, (count, &counts), THREADS)
}

fn all_at_once(units: &[Unit]) -> Requests {
    Requests::from_slices(units.iter().map(|(_, slice)| Arc::new(slice.clone())).collect(), THREADS)
}

fn report(requests: &Requests, settings: &DiagnoseSettings) -> Report {
    diagnose(requests, None, &InputFacts::default(), settings, LocalEngine::new(THREADS)).unwrap()
}

/// Every figure of a report, with NaN.
fn bytes(report: &Report) -> String {
    format!("{report:#?}")
}

const EVERYTHING: StartRange = Timestamp::MIN..=Timestamp::MAX;

fn few(scenario: Scenario) -> Settings {
    Settings { requests_per_service: 400, categories_per_service: 4, ..Settings::new(scenario, 5) }
}

#[test]
fn any_workers_and_any_order_give_the_report_of_all_requests_at_once() {
    for scenario in [Scenario::RandomDevice, Scenario::Quiet] {
        let units = units(&Settings { drop_records: 0.002, ..few(scenario) }, false);
        let settings = DiagnoseSettings::default();
        let expected = bytes(&report(&all_at_once(&units), &settings));
        let count = Count { read: vec![EVERYTHING], windows: vec![EVERYTHING] };
        for (workers, seed) in [(1, 0), (2, 1), (3, 2), (7, 3)] {
            let requests = gathered(&units, &count, u64::MAX, (workers, seed));
            assert!(bytes(&report(&requests, &settings)) == expected, "{scenario:?}: {workers} workers");
        }
        let mut shuffled = units.clone();
        shuffled.reverse();
        let other_order = gathered(&shuffled, &count, u64::MAX, (2, 9));
        assert!(bytes(&report(&other_order, &settings)) == expected, "{scenario:?}: units in another order");
    }
}

#[test]
fn ties_between_names_do_not_depend_on_the_units() {
    let units = units(&few(Scenario::RandomDevice), true);
    let settings = DiagnoseSettings::default();
    let at_once = report(&all_at_once(&units), &settings);
    let tied = at_once.suspects.windows(2).any(|pair| pair[0].score == pair[1].score);
    assert!(tied, "an operation and its equal are suspects");
    let count = Count { read: vec![EVERYTHING], windows: vec![EVERYTHING] };
    for seed in 0..4 {
        let requests = gathered(&units, &count, u64::MAX, (3, seed));
        assert!(bytes(&report(&requests, &settings)) == bytes(&at_once), "seed {seed}");
    }
}

#[test]
fn a_window_and_its_baseline_are_selected_without_what_lies_outside() {
    let simulated = few(Scenario::RandomDevice);
    let units = units(&simulated, false);
    let time_at = |share: f64| {
        let seconds = f64::from(simulated.window_s) * share;
        Timestamp::from_unix_ns(simulated.start_unix_ns).plus(Nanos::from_ms((1000.0 * seconds) as u64))
    };
    let (window, baseline) =
        (time_at(0.5)..=time_at(0.9), time_at(0.1)..=time_at(0.5).minus(Nanos::from_ns(1)));
    let settings = DiagnoseSettings {
        since: *window.start(),
        until: *window.end(),
        baseline: BaselineChoice::Within { since: *baseline.start(), until: *baseline.end() },
        ..DiagnoseSettings::default()
    };
    let count = Count { read: vec![window.clone(), baseline], windows: vec![window] };
    let all = all_at_once(&units);
    let requests = gathered(&units, &count, u64::MAX, (2, 4));
    assert!(requests.len() < all.len() && requests.thinning().is_none());
    assert_eq!(bytes(&report(&requests, &settings)), bytes(&report(&all, &settings)));
}

#[test]
fn above_the_limit_the_same_is_found_and_the_report_states_what_was_left_out() {
    let simulated = Settings { requests_per_service: 3_000, ..few(Scenario::RandomDevice) };
    let units = units(&simulated, false);
    let all = all_at_once(&units);
    let settings = DiagnoseSettings::default();
    let whole = report(&all, &settings);
    let count = Count { read: vec![EVERYTHING], windows: vec![EVERYTHING] };
    let limit = all.spans() / 4;
    let thinned = gathered(&units, &count, limit, (2, 1));
    let found = report(&thinned, &settings);
    let thinning = thinned.thinning().unwrap();
    assert!(thinning.selected.calls <= limit && thinning.selected.calls > limit / 2, "{thinning:?}");
    let first = |report: &Report| {
        let suspect = &report.suspects[0];
        (suspect.service.clone(), suspect.operation.clone())
    };
    assert_eq!((found.verdict, first(&found)), (Verdict::Suspects, first(&whole)));
    // All spans were read; fewer requests were compared; their number is estimated.
    assert_eq!((found.input.spans, found.input.traces), (whole.input.spans, whole.input.traces));
    assert_eq!(found.input.losses, whole.input.losses);
    assert!(found.input.requests < whole.input.requests / 2);
    let estimated = found.input.sampling.requests_estimated / whole.input.requests as f64;
    assert!((0.95..1.05).contains(&estimated), "{estimated}");
    let expected = format!("Only {} of {} requests", thinning.selected.requests, thinning.all.requests);
    assert!(found.cautions.iter().any(|caution| caution.starts_with(&expected)), "{:?}", found.cautions);
    // What is left out does not depend on the workers.
    let again = gathered(&units, &count, limit, (5, 2));
    assert!(bytes(&report(&again, &settings)) == bytes(&found));
}

#[test]
fn nothing_is_a_report_without_data() {
    let count = Count { read: vec![EVERYTHING], windows: vec![EVERYTHING] };
    let nothing = gathered(&[], &count, 0, (1, 1));
    assert_eq!(report(&nothing, &DiagnoseSettings::default()).verdict, Verdict::InsufficientData);
    let empty =
        vec![(UnitId::Segment(1), RequestSlice::default()), (UnitId::Segment(2), RequestSlice::default())];
    let nothing = gathered(&empty, &count, 0, (NonZeroUsize::MIN.get(), 2));
    assert_eq!(report(&nothing, &DiagnoseSettings::default()).verdict, Verdict::InsufficientData);
}
