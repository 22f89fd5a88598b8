use std::num::NonZeroUsize;

use laggard_numeric::Matrix;
use laggard_testkit::golden;
use serde_json::Value;

use super::*;
use crate::Observations;

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn items(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn observations(counts: &Value, utilization: Vec<f64>) -> Observations {
    let rows = items(counts);
    let cols = items(&rows[0]).len();
    let data = rows.iter().flat_map(|row| items(row).iter().map(number)).collect();
    Observations {
        window_s: 60.0,
        windows: (0..rows.len()).collect(),
        counts: Matrix::from_row_major(rows.len(), cols, data),
        utilization,
        response_s: Matrix::zeros(0, 0),
        cores: 1.0,
    }
}

const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("two");

fn assert_relative(actual: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (actual - expected).abs() <= tolerance * expected.abs().max(1e-4),
        "{what}: {actual}, not {expected}"
    );
}

#[test]
fn small_tables_and_paths_match_exhaustive_search() {
    let golden = golden("segmentation/bruteforce");
    for case in items(&golden["cases"]) {
        let name = case["name"].as_str().expect("a name");
        if case["fit"] != "nnls" {
            continue;
        }
        let percent = items(&case["u_percent"]);
        let data = observations(&case["N"], percent.iter().map(|u| number(u) / 100.0).collect());
        let table = CostTable::new(&WindowRegression::new(&data), 1, TWO);
        for weight in items(&case["weights"]) {
            let at = |i: usize| number(&weight[i]) as usize;
            let actual = f64::from(table.row(at(0))[at(1) - at(0) - 1]);
            assert!(
                (actual - number(&weight[2])).abs() < 2e-6 * number(&weight[2]).max(1.0),
                "{name} {weight}: {actual}"
            );
        }
        for solution in items(&case["solutions"]) {
            let path = PathSearch::new(&table).cheapest(number(&solution["lam"]));
            assert_relative(path.cost, number(&solution["cost"]), 1e-5, name);
        }
    }
}

fn tpcw_small() -> (Value, Observations) {
    let golden = golden("segmentation/tpcw_small");
    let input = &golden["input"];
    let data = observations(&input["n"], items(&input["u"]).iter().map(number).collect());
    (golden, data)
}

#[test]
fn costs_of_the_workload_match_the_reference() {
    let (golden, data) = tpcw_small();
    let regression = WindowRegression::new(&data);
    let table = CostTable::new(&regression, 1, TWO);
    for probe in items(&golden["segment_probes"]) {
        let (a, b) = (number(&probe["a"]) as usize, number(&probe["b"]) as usize);
        let actual = f64::from(table.row(a)[b - a - 1]).powi(2);
        assert!(
            (actual - number(&probe["sse"])).abs() < 1e-9 + 1e-6 * number(&probe["sse"]),
            "{probe}: {actual}"
        );
    }
    for solution in items(&golden["solutions"]) {
        let path = PathSearch::new(&table).cheapest(number(&solution["lam"]));
        assert_relative(path.cost, number(&solution["cost"]), 1e-4, "cost");
        let segments = path.points.len() as f64 - 1.0;
        assert!((segments - number(&solution["nseg"])).abs() < 1.5, "{solution}: {segments} segments");
    }
}

#[test]
fn the_penalty_matches_the_reference() {
    let (golden, data) = tpcw_small();
    let regression = WindowRegression::new(&data);
    let table = CostTable::new(&regression, 1, TWO);
    let budget = ErrorBudget { percent: 3.0, segment_windows_min: Some(15) };
    let actual = search_penalty(&regression, &table, budget, &mut SegmentErrors::default());
    assert_relative(actual.lambda, number(&golden["pipeline"]["lam"]), 1e-4, "penalty");
    // The error of the reference is that of the worst segment.
    let worst =
        actual.segments().filter(|segment| segment.len() >= 15).map(|segment| regression.fit(&[segment]));
    let worst = worst.map(|fit| fit.error_percent()).fold(0.0, f64::max);
    assert_relative(worst, number(&golden["pipeline"]["error"]), 1e-6, "error");
}

/// The search without [`only_switch`].
fn plain_search(regression: &WindowRegression, table: &CostTable, budget: ErrorBudget) -> (f64, Vec<usize>) {
    let mut errors = SegmentErrors::default();
    let paths = PathSearch::new(table);
    let mut attempt = |lambda: f64| {
        let path = paths.cheapest(lambda);
        let cuts = path.points.iter().map(|&point| table.points()[point]).collect();
        penalty_search::assess(
            regression,
            budget,
            &mut errors,
            penalty_search::WindowCut { cuts, lambda, cost: path.cost },
        )
    };
    let mut good = attempt(1.0);
    assert!(good.within_budget);
    let mut beyond = 2.0;
    loop {
        let next = attempt(beyond);
        if !next.within_budget {
            break;
        }
        (good, beyond) = (next, 2.0 * beyond);
    }
    for _ in 0..14 {
        let middle = attempt(0.5 * (good.lambda + beyond));
        if middle.within_budget { good = middle } else { beyond = middle.lambda }
    }
    (good.lambda, good.cuts)
}

#[test]
fn pruning_of_the_search_does_not_change_the_result() {
    let (_, data) = tpcw_small();
    let regression = WindowRegression::new(&data);
    let table = CostTable::new(&regression, 1, TWO);
    for percent in [0.5, 0.9, 1.1, 1.3, 2.0, 3.0, 5.0, 9.0] {
        let budget = ErrorBudget { percent, segment_windows_min: None };
        let actual = search_penalty(&regression, &table, budget, &mut SegmentErrors::default());
        let (lambda, cuts) = plain_search(&regression, &table, budget);
        assert!((actual.lambda - lambda).abs() <= 1e-9 * lambda, "{percent} %: {} {lambda}", actual.lambda);
        assert_eq!(actual.cuts, cuts, "{percent} %");
    }
}

/// Cuts on a grid of 5 windows are refined to the positions of the exact search.
#[test]
fn cuts_on_a_grid_are_refined_to_the_window() {
    let (_, data) = tpcw_small();
    let regression = WindowRegression::new(&data);
    let budget = ErrorBudget { percent: 3.0, segment_windows_min: Some(15) };
    let table = CostTable::new(&regression, 5, TWO);
    let coarse = search_penalty(&regression, &table, budget, &mut SegmentErrors::default());
    let fine = refine_cuts(&regression, coarse.clone(), 5, budget);
    assert!(
        fine.misfit + fine.lambda * fine.entropy <= coarse.misfit + coarse.lambda * coarse.entropy + 1e-6
    );
    assert_eq!(fine.cuts.len(), coarse.cuts.len());
    for cut in [60, 90, 245, 290] {
        assert!(fine.cuts.iter().any(|actual| actual.abs_diff(cut) <= 1), "{cut} in {:?}", fine.cuts);
    }
}
