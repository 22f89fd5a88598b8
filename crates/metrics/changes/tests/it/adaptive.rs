//! The default method on the reference data, measured servers, simulated shops, and queues without changes.

use std::num::NonZeroUsize;

use laggard_changes::{
    Analysis, Change, ChangeKind, ChangeSettings, ChangedQuantity, Observations, SegmentKind,
    TooLittleDataError, changes, signature,
};
use laggard_numeric::Matrix;
use laggard_simulate::{Phase, TpcwRun, TpcwScenario, TpcwSettings, Workload, tpcw};
use proptest::prelude::*;
use serde_json::Value;

use crate::measured::{SimulatedRun, runs};
use crate::queue::{Arrivals, Discipline, Queue};

const ONE: NonZeroUsize = NonZeroUsize::MIN;

fn analyzed(observations: &Observations) -> Analysis {
    changes(observations, &ChangeSettings::default(), ONE).expect("enough windows")
}

fn alarms(analysis: &Analysis) -> Vec<&Change> {
    let is_alarm = |kind| matches!(kind, ChangeKind::ApplicationChange | ChangeKind::Rollback { .. });
    analysis.changes.iter().filter(|change| is_alarm(change.kind)).collect()
}

fn named(change: &Change) -> Vec<usize> {
    change.transactions.iter().map(|changed| changed.transaction).collect()
}

fn matrix(rows: &Value) -> Matrix {
    let rows = rows.as_array().expect("rows");
    let cells = |row: &Value| -> Vec<f64> {
        row.as_array().expect("cells").iter().map(|cell| cell.as_f64().unwrap_or(f64::NAN)).collect()
    };
    let all: Vec<Vec<f64>> = rows.iter().map(cells).collect();
    Matrix::from_row_major(all.len(), all[0].len(), all.concat())
}

fn reference() -> (Observations, Value) {
    let golden = laggard_testkit::golden("segmentation/tpcw_small");
    let input = &golden["input"];
    let utilization: Vec<f64> =
        input["u"].as_array().expect("u").iter().map(|u| u.as_f64().expect("a number")).collect();
    let observations = Observations {
        window_s: input["window_seconds"].as_f64().expect("seconds"),
        windows: (0..utilization.len()).collect(),
        counts: matrix(&input["n"]),
        utilization,
        response_s: matrix(&input["r_front_s"]),
        cores: 1.0,
    };
    (observations, golden)
}

#[test]
fn the_signature_matches_the_reference() {
    let (observations, golden) = reference();
    let bounds: Vec<usize> = golden["input"]["truth"]["bounds"]
        .as_array()
        .expect("bounds")
        .iter()
        .map(|bound| bound.as_u64().expect("a row") as usize)
        .collect();
    for (at, expected) in golden["signature"].as_array().expect("segments").iter().enumerate() {
        let times = signature(&observations, std::slice::from_ref(&(bounds[at]..bounds[at + 1])));
        for (time, expected) in times.iter().zip(expected["service_s"].as_array().expect("types")) {
            let (time, expected) =
                (time.expect("often enough").seconds, expected.as_f64().expect("a number"));
            assert!((time - expected).abs() < 1e-8, "segment {at}: {time} for {expected}");
        }
    }
}

#[test]
fn the_reference_workload_has_one_region_and_two_alarms() {
    let (observations, _) = reference();
    let analysis = analyzed(&observations);
    let alarms = alarms(&analysis);
    let rows: Vec<usize> = alarms.iter().map(|change| change.onset.row).collect();
    assert_eq!(rows, [245, 290], "{:?}", analysis.changes);
    for alarm in alarms {
        assert_eq!(named(alarm), [7]);
        let changed = &alarm.transactions[0];
        assert!((changed.after_s - changed.before_s - 0.005).abs() < 0.0005, "{changed:?}");
    }
    let region =
        analysis.segments.iter().find(|segment| matches!(segment.kind, SegmentKind::Anomalous { .. }));
    let region = region.expect("the foreign process").rows.clone();
    assert!(region.start.abs_diff(60) <= 3 && region.end.abs_diff(90) <= 3, "{region:?}");
    assert_eq!(analysis.groups.len(), 3);
}

/// Concatenates runs as if one server had processed them.
fn joined(runs: &[&SimulatedRun]) -> Observations {
    let concatenated = |values: &dyn Fn(&SimulatedRun) -> Vec<f64>| -> Vec<f64> {
        runs.iter().flat_map(|run| values(run)).collect()
    };
    let utilization = concatenated(&|run| run.observations.utilization.clone());
    let (rows, types) = (utilization.len(), runs[0].observations.counts.cols());
    let first = &runs[0].observations;
    Observations {
        window_s: first.window_s,
        windows: (0..rows).collect(),
        counts: Matrix::from_row_major(
            rows,
            types,
            concatenated(&|run| run.observations.counts.data().to_vec()),
        ),
        response_s: Matrix::from_row_major(
            rows,
            types,
            concatenated(&|run| run.observations.response_s.data().to_vec()),
        ),
        utilization,
        cores: first.cores,
    }
}

fn without_times(observations: &Observations) -> Observations {
    Observations { response_s: Matrix::zeros(0, 0), ..observations.clone() }
}

fn run_of(runs: &[SimulatedRun], experiment: u32, load: u32) -> &SimulatedRun {
    runs.iter().find(|run| run.experiment == experiment && run.load == load).expect("the run")
}

#[test]
fn measured_servers_give_no_alarm_if_only_the_load_changes() {
    let Some(folder) = laggard_testkit::data_folder("cpu-demands") else { return };
    for seconds in [10, 60] {
        let runs = runs(&folder, seconds);
        for run in &runs {
            for observations in [run.observations.clone(), without_times(&run.observations)] {
                let analysis = analyzed(&observations);
                assert!(alarms(&analysis).is_empty(), "{} {seconds} s: {:?}", run.name, analysis.changes);
            }
        }
        for experiment in 1..=4 {
            for loads in [&[20, 50, 80][..], &[80, 20, 50], &[50, 80], &[20, 80]] {
                let selected: Vec<&SimulatedRun> =
                    loads.iter().map(|&load| run_of(&runs, experiment, load)).collect();
                let together = joined(&selected);
                for observations in [without_times(&together), together] {
                    let analysis = analyzed(&observations);
                    let what = format!("{experiment} {loads:?} {seconds} s");
                    assert!(alarms(&analysis).is_empty(), "{what}: {:?}", analysis.changes);
                }
            }
        }
    }
}

#[test]
fn measured_servers_give_one_alarm_if_a_demand_changes() {
    let Some(folder) = laggard_testkit::data_folder("cpu-demands") else { return };
    // Experiments 1 and 2 have one class, of 25 and 125 ms; 3 and 4 have two, of which the second changes so.
    for seconds in [10, 60] {
        let runs = runs(&folder, seconds);
        for (before, after, changed) in [(1, 2, 0), (2, 1, 0), (3, 4, 1), (4, 3, 1)] {
            for load in [20, 50, 80] {
                let (before, after) = (run_of(&runs, before, load), run_of(&runs, after, load));
                let cut = before.observations.utilization.len();
                let analysis = analyzed(&joined(&[before, after]));
                let reported = alarms(&analysis);
                assert_eq!(reported.len(), 1, "{} to {}: {:?}", before.name, after.name, analysis.changes);
                assert_eq!(named(reported[0]), [changed]);
                assert!(reported[0].onset.row.abs_diff(cut) <= 1, "{:?} for {cut}", reported[0].onset);
            }
        }
    }
}

/// The first front server of a simulated shop: outbound calls are subtracted from the response times.
fn shop_observations(run: &TpcwRun) -> Observations {
    let own = run.servers[0].own.as_ref().unwrap_or(&run.system);
    let front = |at: usize| {
        let outbound = &own.outbound[0];
        let calls_s = if outbound.counts[at] > 0.0 { outbound.counts[at] * outbound.time_s[at] } else { 0.0 };
        own.response_s[at] - calls_s / own.counts[at].max(1.0)
    };
    let types = run.transactions.len();
    Observations {
        window_s: f64::from(run.window_s),
        windows: (0..run.windows).collect(),
        counts: Matrix::from_row_major(run.windows, types, own.counts.clone()),
        utilization: run.servers[0].utilization.clone(),
        response_s: Matrix::from_row_major(run.windows, types, (0..own.counts.len()).map(front).collect()),
        cores: 1.0,
    }
}

/// Twenty windows at low load fit costs of rare types that are many times the true ones, or below zero, better by chance; the CPU
/// of all transactions and their times are as before.
#[test]
fn rare_types_are_not_named_where_neither_times_nor_the_cpu_moved() {
    for (scenario, seed) in [(TpcwScenario::Cache, 1305), (TpcwScenario::Lag, 1301)] {
        let run = tpcw(&TpcwSettings::scenario(scenario, seed)).expect("in range");
        let observations = shop_observations(&run);
        for observations in [without_times(&observations), observations] {
            let analysis = analyzed(&observations);
            assert!(alarms(&analysis).is_empty(), "{scenario:?}: {:?}", analysis.changes);
        }
    }
}

#[test]
fn only_the_slower_home_page_of_a_simulated_shop_is_named() {
    let bursts = || Phase::new(90, Workload::paper_bursts());
    let run =
        tpcw(&TpcwSettings::new(3, vec![bursts(), bursts().with_change("Home", 0.002)])).expect("in range");
    let observations = shop_observations(&run);
    let analysis = analyzed(&observations);
    let reported = alarms(&analysis);
    assert_eq!(reported.len(), 1, "{:?}", analysis.changes);
    let changed = &reported[0].transactions;
    assert_eq!(changed.iter().map(|t| &run.transactions[t.transaction]).collect::<Vec<_>>(), ["Home"]);
    assert!((changed[0].after_s - changed[0].before_s - 0.002).abs() < 0.0002, "{changed:?}");
    assert!(reported[0].onset.row.abs_diff(90) <= 1, "{:?}", reported[0].onset);
    assert_eq!(
        analysis,
        changes(&observations, &ChangeSettings::default(), NonZeroUsize::new(3).expect("3")).expect("same")
    );
}

#[test]
fn the_signature_of_several_cores_matches_a_simulated_queue() {
    for cores in [1, 2, 4] {
        for load in [0.3, 0.6] {
            let arrivals = Arrivals::Open { rates: vec![load * cores as f64 / 0.02], load: Vec::new() };
            let discipline = Discipline::FirstComeFirstServed;
            let queue = Queue { cores, arrivals, discipline, ..Queue::open(&[0.02], &[1.0], 7) };
            let observations = queue.observe(150, 60.0);
            let service_s =
                signature(&observations, std::slice::from_ref(&(0..150)))[0].expect("often enough").seconds;
            // The formula is first order in M/M/c: it overstates by up to 3 % at medium load.
            assert!((service_s / 0.02 - 1.0).abs() < 0.04, "{cores} cores at {load}: {service_s}");
        }
    }
}

#[test]
fn queues_without_changes_give_no_alarm() {
    let kinds: Vec<(&str, Vec<f64>, Vec<f64>)> = vec![
        ("one type, steady", vec![30.0], vec![]),
        ("one type, waves", vec![20.0], vec![0.4, 0.6, 0.9, 1.2, 1.5, 1.3, 1.0, 0.7]),
        ("proportional", vec![10.0, 20.0, 5.0], vec![0.5, 1.0, 1.5]),
        ("rare type", vec![25.0, 0.005], vec![0.5, 1.2]),
    ];
    for (name, rates, load) in kinds {
        for seed in 0..5 {
            let demand_s: Vec<f64> =
                rates.iter().enumerate().map(|(k, _)| 0.012 + 0.004 * k as f64).collect();
            let arrivals = Arrivals::Open { rates: rates.clone(), load: load.clone() };
            let queue = Queue { arrivals, overhead: 0.02, ..Queue::open(&demand_s, &rates, seed) };
            let observations = queue.observe(120, 30.0);
            for observations in [without_times(&observations), observations] {
                let analysis = analyzed(&observations);
                assert!(alarms(&analysis).is_empty(), "{name} {seed}: {:?}", analysis.changes);
            }
        }
    }
}

/// `docs/manual/methods/changes-example.csv`.
#[test]
fn the_worked_example_of_the_manual() {
    let rows = 60;
    let (mut counts, mut response_s, mut utilization) = (Vec::new(), Vec::new(), Vec::new());
    for t in 0..rows {
        let (cart, home) = (600.0 + 60.0 * ((t * 7) % 11) as f64, 900.0 + 50.0 * ((t * 5) % 13) as f64);
        let cart_s = if t < 30 { 0.010 } else { 0.012 };
        let noise = 0.3 * ((t % 3) as f64 - 1.0);
        let busy = (2.0 + noise) / 100.0 + (cart * cart_s + home * 0.005) / 60.0;
        counts.extend([cart, home]);
        response_s.push(cart_s * (1.0 + 0.01 * (((t * 3) % 5) as f64 - 2.0)) / (1.0 - busy));
        response_s.push(0.005 * (1.0 + 0.01 * (((t * 2) % 7) as f64 - 3.0)) / (1.0 - busy));
        utilization.push(busy);
    }
    let observations = Observations {
        window_s: 60.0,
        windows: (0..rows).collect(),
        counts: Matrix::from_row_major(rows, 2, counts),
        response_s: Matrix::from_row_major(rows, 2, response_s),
        utilization,
        cores: 1.0,
    };
    let analysis = analyzed(&observations);
    assert_eq!(analysis.changes.len(), 1, "{:?}", analysis.changes);
    let change = &analysis.changes[0];
    assert_eq!((change.kind, change.onset.row, named(change)), (ChangeKind::ApplicationChange, 30, vec![0]));
    assert!((change.error_ratio - 7.35).abs() < 0.2, "{}", change.error_ratio);
    assert!((change.transactions[0].before_s - 0.010).abs() < 1e-5, "{:?}", change.transactions);
    assert!((change.transactions[0].after_s - 0.012).abs() < 1e-5, "{:?}", change.transactions);
    assert_eq!(change.transactions[0].quantity, ChangedQuantity::CpuAndTime);
    // 900 calls of 2 ms more a minute on average.
    let cpu = change.cpu.expect("compared");
    assert!((cpu.cost_percent - 3.0).abs() < 0.3, "{cpu:?}");
    let sum = cpu.load_percent + cpu.mix_percent + cpu.cost_percent;
    assert!((sum - (cpu.after_percent - cpu.before_percent)).abs() < 1e-9, "{cpu:?}");
}

#[test]
fn too_little_data_is_an_error() {
    let few = Observations {
        window_s: 60.0,
        windows: (0..5).collect(),
        counts: Matrix::from_row_major(5, 2, vec![3.0; 10]),
        utilization: vec![0.2; 5],
        response_s: Matrix::zeros(0, 0),
        cores: 1.0,
    };
    let result = changes(&few, &ChangeSettings::default(), ONE);
    assert_eq!(result, Err(TooLittleDataError::Windows { available: 5, needed: 6 }));
    let full = Observations {
        utilization: vec![0.99; 40],
        windows: (0..40).collect(),
        counts: Matrix::from_row_major(40, 1, vec![3.0; 40]),
        ..few
    };
    let result = changes(&full, &ChangeSettings::default(), ONE);
    assert_eq!(result, Err(TooLittleDataError::Windows { available: 0, needed: 4 }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// For any numbers segments cover the rows in order, and changes are in order.
    #[test]
    fn any_numbers_give_a_consistent_result(
        rows in 8_usize..90,
        types in 1_usize..4,
        seed in any::<u64>(),
        scale in prop::sample::select(vec![0.0, 1.0, 1e6]),
    ) {
        let mut state = seed;
        let mut draw = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        let counts: Vec<f64> = (0..rows * types).map(|_| (scale * draw() * 50.0).floor()).collect();
        let utilization: Vec<f64> = (0..rows).map(|_| if draw() < 0.1 { 0.0 } else { 1.1 * draw() }).collect();
        let response: Vec<f64> = (0..rows * types).map(|_| if draw() < 0.2 { f64::NAN } else { draw() }).collect();
        let observations = Observations {
            window_s: 60.0,
            windows: (0..rows).collect(),
            counts: Matrix::from_row_major(rows, types, counts),
            utilization,
            response_s: Matrix::from_row_major(rows, types, response),
            cores: 1.0,
        };
        let Ok(analysis) = changes(&observations, &ChangeSettings::default(), ONE) else { return Ok(()) };
        let mut next = 0;
        for segment in &analysis.segments {
            prop_assert_eq!(segment.rows.start, next);
            prop_assert!(segment.rows.end > segment.rows.start);
            next = segment.rows.end;
        }
        prop_assert_eq!(next, rows);
        prop_assert!(analysis.changes.windows(2).all(|pair| pair[0].onset.row <= pair[1].onset.row));
        for change in &analysis.changes {
            prop_assert!(change.onset.earliest <= change.onset.row && change.onset.row <= change.onset.latest);
        }
    }
}
