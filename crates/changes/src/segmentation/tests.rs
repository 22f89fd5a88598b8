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

fn assert_relative(found: f64, wanted: f64, tolerance: f64, what: &str) {
    assert!((found - wanted).abs() <= tolerance * wanted.abs().max(1e-4), "{what}: {found}, not {wanted}");
}

#[test]
fn small_tables_and_paths_are_those_of_exhaustive_search() {
    let Some(golden) = golden("segmentation/bruteforce") else { return };
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
            let found = f64::from(table.row(at(0))[at(1) - at(0) - 1]);
            assert!(
                (found - number(&weight[2])).abs() < 2e-6 * number(&weight[2]).max(1.0),
                "{name} {weight}: {found}"
            );
        }
        for solution in items(&case["solutions"]) {
            let path = PathSearch::new(&table).cheapest(number(&solution["lam"]));
            assert_relative(path.cost, number(&solution["cost"]), 1e-5, name);
        }
    }
}

fn tpcw_small() -> Option<(Value, Observations)> {
    let golden = golden("segmentation/tpcw_small")?;
    let input = &golden["input"];
    let data = observations(&input["n"], items(&input["u"]).iter().map(number).collect());
    Some((golden, data))
}

#[test]
fn costs_of_the_workload_are_those_of_the_reference() {
    let Some((golden, data)) = tpcw_small() else { return };
    let regression = WindowRegression::new(&data);
    let table = CostTable::new(&regression, 1, TWO);
    for probe in items(&golden["segment_probes"]) {
        let (a, b) = (number(&probe["a"]) as usize, number(&probe["b"]) as usize);
        let found = f64::from(table.row(a)[b - a - 1]).powi(2);
        assert!(
            (found - number(&probe["sse"])).abs() < 1e-9 + 1e-6 * number(&probe["sse"]),
            "{probe}: {found}"
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
fn the_penalty_found_is_that_of_the_reference() {
    let Some((golden, data)) = tpcw_small() else { return };
    let regression = WindowRegression::new(&data);
    let table = CostTable::new(&regression, 1, TWO);
    let budget = ErrorBudget { percent: 3.0, segment_windows_min: Some(15) };
    let found = search_penalty(&regression, &table, budget, &mut SegmentErrors::default());
    assert_relative(found.lambda, number(&golden["pipeline"]["lam"]), 1e-4, "penalty");
    // What the reference calls the error is that of the worst segment, which the budget is about.
    let worst =
        found.segments().filter(|segment| segment.len() >= 15).map(|segment| regression.fit(&[segment]));
    let worst = worst.map(|fit| fit.error_percent()).fold(0.0, f64::max);
    assert_relative(worst, number(&golden["pipeline"]["error"]), 1e-6, "error");
}
