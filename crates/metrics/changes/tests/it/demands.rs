//! Demands against known truth: measured runs, and simulated queues.

use crate::accuracy::{Errors, mean, only, percent_off};
use crate::measured;
use crate::queue::{Arrivals, Discipline, Queue};
use laggard_changes::{
    Estimator, FittedModel, ModelSettings, Observations, TooLittleDataError, fit_model, nnls_model,
};
use laggard_numeric::Matrix;
use laggard_testkit::data_folder;
use std::collections::BTreeMap;

/// One-hour runs in windows of 10 s: mean relative error of the demands at most 8, 10 and 15 % at 20, 50 and 80 %
/// load. Intervals cover at least 90 % of the truth, for the hours and for intervals of ten minutes.
#[test]
fn demands_match_the_measured_truth() {
    let Some(folder) = data_folder("cpu-demands") else { return };
    let (mut hours, mut ten_minutes): (BTreeMap<u32, Errors>, Errors) = Default::default();
    for run in measured::runs(&folder, 10) {
        let rows = run.observations.windows.len();
        hours.entry(run.load).or_default().add(&run.observations, 0..rows, &run.demand_s);
        for start in (0..=rows - 60).step_by(60) {
            ten_minutes.add(&run.observations, start..start + 60, &run.demand_s);
        }
    }
    for (load, errors) in &hours {
        let limit = match load {
            ..=20 => 8.0,
            21..=50 => 10.0,
            _ => 15.0,
        };
        let (selected_error, plain_error) = (mean(&errors.selected), mean(&errors.without_constant));
        assert!(selected_error <= limit, "{load} % load: {selected_error:.1} % off");
        assert!(
            selected_error < plain_error,
            "{load} % load: {selected_error:.1} % off, plain least squares {plain_error:.1} %"
        );
    }
    let covered: usize = hours.values().map(|errors| errors.covered).sum();
    let all: usize = hours.values().map(|errors| errors.selected.len()).sum();
    assert!(covered as f64 >= 0.9 * all as f64, "{covered} of {all} intervals cover the truth");
    assert!(
        ten_minutes.coverage() >= 0.9,
        "{:.2} of the intervals of ten minutes cover",
        ten_minutes.coverage()
    );
    assert!(mean(&ten_minutes.selected) < 8.0, "ten minutes: {:.1} % off", mean(&ten_minutes.selected));
}

/// One model holds if only the load changes: the demands of runs of one experiment at three loads, one after the other,
/// agree with the truth.
#[test]
fn a_change_of_load_does_not_change_demands() {
    let Some(folder) = data_folder("cpu-demands") else { return };
    let mut errors = Errors::default();
    for run in measured::joined(measured::runs(&folder, 10)) {
        let rows = run.observations.windows.len();
        let fit = errors.add(&run.observations, 0..rows, &run.demand_s);
        assert!(fit.report.constant.percent < 4.0, "{}: {:?}", run.name, fit.report.constant);
    }
    assert!(mean(&errors.selected) < 5.0, "{:.1} % off", mean(&errors.selected));
    assert!(errors.coverage() >= 0.8);
}

/// Windows of a minute with 10 % constant CPU use and demands of 10, 20, … ms, without noise; response times under
/// processor sharing if `has_times`.
fn without_noise(types: usize, has_times: bool) -> Observations {
    let rows = 200;
    let count = |row: usize, kind: usize| 300.0 + 60.0 * ((row * (7 + 2 * kind)) % (11 + 2 * kind)) as f64;
    let demand_s = |kind: usize| 0.010 * (kind + 1) as f64;
    let scale = 1.0 / (types * types) as f64;
    let counts: Vec<f64> =
        (0..rows).flat_map(|row| (0..types).map(move |kind| count(row, kind) * scale)).collect();
    let used = |row: usize| {
        let own = counts[row * types..][..types].iter().enumerate();
        0.10 + own.map(|(kind, count)| count * demand_s(kind) / 60.0).sum::<f64>()
    };
    let utilization: Vec<f64> = (0..rows).map(used).collect();
    let times = utilization.iter().flat_map(|used| (0..types).map(move |kind| demand_s(kind) / (1.0 - used)));
    Observations {
        window_s: 60.0,
        windows: (0..rows).collect(),
        response_s: if has_times {
            Matrix::from_row_major(rows, types, times.collect())
        } else {
            Matrix::default()
        },
        counts: Matrix::from_row_major(rows, types, counts),
        utilization,
        cores: 1.0,
    }
}

/// Demands and constant to six digits, within intervals of a thousandth.
#[test]
fn data_without_noise_give_their_demands_and_constant() {
    for types in 1..=4 {
        for has_times in [false, true] {
            let fit = fit_all(&without_noise(types, has_times), &ModelSettings::default());
            let case = format!("{types} types, response times: {has_times}: {:?}", fit.report);
            assert!((fit.report.constant.percent - 10.0).abs() < 1e-5, "{case}");
            for (kind, interval) in fit.report.demand.iter().enumerate() {
                let truth = 0.010 * (kind + 1) as f64;
                assert!(percent_off(fit.model.demand_s[kind], truth) < 1e-4, "{case}");
                assert!(interval.low <= truth && truth <= interval.high, "{case}");
                assert!(interval.high - interval.low < 1e-3 * truth, "{case}");
            }
        }
    }
}

/// The fit to all windows.
fn fit_all(observations: &Observations, settings: &ModelSettings) -> FittedModel {
    let rows = 0..observations.windows.len();
    fit_model(observations, std::slice::from_ref(&rows), settings).expect("enough windows")
}

fn simulated(change: impl Fn(&mut Queue)) -> Errors {
    let mut errors = Errors::default();
    for (seed, demand_s, rates) in [
        (1, vec![0.02, 0.1], vec![12.5, 2.5]),
        (2, vec![0.05, 0.01, 0.03], vec![4.0, 15.0, 5.0]),
        (3, vec![0.01, 0.02, 0.04, 0.16], vec![15.0, 10.0, 2.5, 1.0]),
    ] {
        let mut queue = Queue::open(&demand_s, &rates, seed);
        change(&mut queue);
        errors.add(&queue.observe(300, 10.0), 0..300, &demand_s);
    }
    errors
}

fn set_load(queue: &mut Queue, factor: f64) {
    if let Arrivals::Open { rates, .. } = &mut queue.arrivals {
        rates.iter_mut().for_each(|rate| *rate *= factor);
    }
}

#[test]
fn processor_sharing_at_high_load_is_estimated_from_response_times() {
    let errors = simulated(|queue| set_load(queue, 1.6));
    assert!(mean(&errors.selected) < 4.0 && errors.coverage() >= 0.9, "{errors:?}");
    assert!(mean(&errors.least_squares) > 2.0 * mean(&errors.selected), "{errors:?}");
}

/// Few clients keep the counts steady, so that least squares is dominated by noise.
#[test]
fn demands_are_accurate_with_few_clients_at_high_load() {
    let errors = simulated(|queue| {
        let clients = vec![5; queue.demand_s.len()];
        let work_s: f64 = queue.demand_s.iter().map(|demand| 5.0 * demand).sum();
        queue.arrivals = Arrivals::Closed { clients, think_s: 0.9 * work_s };
    });
    assert!(mean(&errors.selected) < 8.0 && errors.coverage() >= 0.8, "{errors:?}");
    assert!(mean(&errors.least_squares) > 3.0 * mean(&errors.selected), "{errors:?}");
}

#[test]
fn first_come_first_served_is_recognized() {
    let mut queue = Queue::open(&[0.01, 0.05, 0.02], &[20.0, 6.0, 10.0], 5);
    queue.discipline = Discipline::FirstComeFirstServed;
    let observations = queue.observe(300, 10.0);
    let fit = fit_all(&observations, &ModelSettings::default());
    assert!(fit.report.reason.contains("first come"), "{}", fit.report.reason);
    for (demand, truth) in fit.model.demand_s.iter().zip(&queue.demand_s) {
        assert!(percent_off(*demand, *truth) < 8.0, "{:?}", fit.model.demand_s);
    }
}

/// Time spent elsewhere distorts demands from response times; utilization corrects them.
#[test]
fn time_spent_elsewhere_is_detected() {
    let mut queue = Queue::open(&[0.02, 0.02], &[12.0, 13.0], 8);
    queue.elsewhere_s = vec![0.0, 0.1];
    let observations = queue.observe(1500, 10.0);
    let fit = fit_all(&observations, &ModelSettings::default());
    let sharing = fit_all(&observations, &only(Estimator::ProcessorSharing));
    assert!(percent_off(sharing.model.demand_s[1], 0.02) > 30.0);
    assert!(percent_off(fit.model.demand_s[1], 0.02) < 12.0, "{:?}", fit.report);
    assert!(
        fit.report.cautions.iter().any(|caution| caution.contains("elsewhere")),
        "{:?}",
        fit.report.cautions
    );
}

/// A varying load identifies the constant, even a large one.
#[test]
fn a_constant_is_estimated_when_the_load_varies() {
    let mut queue = Queue::open(&[0.02, 0.05], &[10.0, 6.0], 9);
    queue.overhead = 0.15;
    if let Arrivals::Open { load, .. } = &mut queue.arrivals {
        *load = [0.4, 1.4, 0.8, 1.1].iter().flat_map(|level| vec![*level; 20]).collect();
    }
    let fit = fit_all(&queue.observe(300, 60.0), &ModelSettings::default());
    let constant = fit.report.constant;
    assert!((constant.percent - 15.0).abs() < 2.0, "{constant:?}");
    assert!((constant.interval_percent.low..constant.interval_percent.high).contains(&15.0), "{constant:?}");
    assert!((constant.seconds_per_window - 0.6 * constant.percent).abs() < 1e-9);
}

#[test]
fn without_response_times_slopes_are_selected() {
    let queue = Queue::open(&[0.02, 0.05], &[10.0, 6.0], 10);
    let mut observations = queue.observe(400, 10.0);
    observations.response_s = Matrix::default();
    let fit = fit_all(&observations, &ModelSettings::default());
    assert_eq!(fit.report.estimator, Estimator::ScaledLeastSquares);
    for (j, truth) in queue.demand_s.iter().enumerate() {
        assert!((fit.report.demand[j].low..fit.report.demand[j].high).contains(truth), "{:?}", fit.report);
    }
    let requested = fit_all(&observations, &only(Estimator::Combined));
    assert!(requested.report.cautions.iter().any(|caution| caution.contains("combined")));
}

/// Two types with proportional counts: their sum is identified, single demands are not, and a group reports it.
#[test]
fn types_with_proportional_counts_are_a_group() {
    let queue = Queue::open(&[0.02, 0.05], &[10.0, 4.0], 11);
    let mut observations = queue.observe(300, 10.0);
    observations.response_s = Matrix::default();
    let mut counts = Matrix::zeros(300, 3);
    for t in 0..300 {
        let row = observations.counts.row(t);
        counts.row_mut(t).copy_from_slice(&[row[0], 2.0 * row[0], row[1]]);
    }
    observations.counts = counts;
    let fit = fit_all(&observations, &ModelSettings::default());
    assert_eq!(fit.report.indistinguishable.len(), 1);
    let group = &fit.report.indistinguishable[0];
    assert_eq!(group.transactions, [0, 1]);
    // 20 ms for one of the first and two of the second: 6.7 ms each.
    assert!(percent_off(group.mean_demand_s, 0.02 / 3.0) < 15.0, "{group:?}");
    assert_eq!(fit.model.condition, f64::INFINITY);
    assert!(fit.report.demand[0].high.is_infinite());
}

#[test]
fn degenerate_windows_never_panic() {
    let queue = Queue::open(&[0.02, 0.05], &[10.0, 4.0], 12);
    let observations = queue.observe(40, 10.0);
    let settings = ModelSettings::default();
    let too_few = fit_model(&observations, &[0..2, 5..6], &settings).expect_err("too few");
    assert_eq!(too_few, TooLittleDataError::Windows { available: 3, needed: 4 });
    assert!(nnls_model(&observations, &[0..2, 5..6]).is_err());
    assert!(fit_model(&observations, &[0..2, 5..7], &settings).is_ok());
    let mut idle = observations.clone();
    idle.utilization.fill(0.0);
    let fit = fit_all(&idle, &settings);
    assert!(fit.model.demand_s.iter().all(|demand| *demand == 0.0));
    let mut steady = observations.clone();
    (0..40).for_each(|t| steady.counts.row_mut(t).copy_from_slice(&[100.0, 0.0]));
    let fit = fit_all(&steady, &settings);
    assert!(fit.report.cautions.iter().any(|caution| caution.contains("never completed")));
    assert!(fit.report.demand[1].high.is_infinite() && fit.model.standard_error_s[1].is_nan());
    let mut nothing = observations;
    nothing.counts = Matrix::zeros(40, 2);
    let fit = fit_all(&nothing, &settings);
    assert!(fit.model.demand_s.iter().all(|demand| *demand == 0.0));
}
