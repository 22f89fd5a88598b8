//! Rank tests, multiple testing and dispersion against the golden files.

use laggard_numeric::{
    Alternative, benjamini_hochberg, binomial_upper_tail, coefficient_of_variation, mad, mann_whitney,
    mann_whitney_asymptotic, mann_whitney_exact, mann_whitney_one_vs_rest, mann_whitney_permutation,
    median_of,
};

use crate::golden::{assert_close, assert_relative, items, load, number, numbers};

const ALTERNATIVES: [(&str, Alternative); 3] =
    [("two-sided", Alternative::TwoSided), ("greater", Alternative::Greater), ("less", Alternative::Less)];

#[test]
fn mann_whitney_as_the_reference() {
    let golden = load("mwu/cases");
    let mut compared = 0;
    for case in items(&golden["cases"]) {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        assert_eq!(mann_whitney(&x, &y, Alternative::Greater).u, number(&case["U1"]));
        for (name, alternative) in ALTERNATIVES {
            let found = [
                ("asymptotic", Some(mann_whitney_asymptotic(&x, &y, alternative))),
                ("exact", mann_whitney_exact(&x, &y, alternative)),
                ("permutation", mann_whitney_permutation(&x, &y, alternative)),
            ];
            for (kind, test) in found {
                if let Some(expected) = case.get(format!("p_{kind}_{name}")) {
                    let p = test.expect("the reference has it").p_value;
                    assert_close(p, number(expected), 1e-10, &format!("{} {kind} {name}", case["name"]));
                    compared += 1;
                }
            }
        }
        if let Some(expected) = case.get("p_two_sided") {
            assert_eq!(mann_whitney(&x, &y, Alternative::TwoSided).p_value, number(expected));
            compared += 1;
        }
    }
    assert_eq!(compared, 56);
}

#[test]
fn adjusted_p_values_as_the_reference() {
    let golden = load("bh/cases");
    for case in items(&golden["cases"]) {
        let adjusted = benjamini_hochberg(&numbers(&case["p"]));
        for (found, expected) in adjusted.iter().zip(numbers(&case["adjusted"])) {
            assert_close(*found, expected, 1e-12, "adjusted p");
        }
        let rejected: Vec<bool> = adjusted.iter().map(|p| *p <= number(&case["alpha"])).collect();
        let expected: Vec<bool> = items(&case["reject"]).iter().map(|r| r == true).collect();
        assert_eq!(rejected, expected);
    }
}

#[test]
fn replicas_as_the_reference() {
    let golden = load("jsd/cases");
    let replicas: Vec<Vec<f64>> = items(&golden["instances"]).iter().map(numbers).collect();
    let groups: Vec<u32> = (0..).zip(&replicas).flat_map(|(g, values)| vec![g; values.len()]).collect();
    let pool = replicas.concat();
    let shifts = mann_whitney_one_vs_rest(&pool, &groups, replicas.len());
    let limit = number(&golden["log_limit"]);
    let exceeding = |values: &[f64]| values.iter().filter(|v| v.ln() > limit).count() as u64;
    let mut combined = Vec::new();
    for ((values, shift), expected) in replicas.iter().zip(shifts).zip(items(&golden["instance_tests"])) {
        let (n, e) = (values.len() as u64, exceeding(values));
        let others = exceeding(&pool) - e;
        let share = (others + 1) as f64 / (pool.len() as u64 - n + 2) as f64;
        assert_relative(share, number(&expected["p0"]), 1e-8, "share of the others");
        let excess = binomial_upper_tail(n, share, e);
        assert_relative(excess, number(&expected["p_exceed"]), 1e-8, "binomial");
        assert_relative(shift, number(&expected["p_mwu_greater"]), 1e-8, "Mann-Whitney");
        combined.push((2.0 * shift.min(excess)).min(1.0));
    }
    for (found, expected) in benjamini_hochberg(&combined).iter().zip(numbers(&golden["bh_adjusted"])) {
        assert_relative(*found, expected, 1e-8, "adjusted");
    }
}

#[test]
fn dispersion_as_the_reference() {
    let golden = load("clusters/cv");
    for case in items(&golden["cases"]) {
        let values = numbers(&case["x"]);
        let cv = coefficient_of_variation(&values);
        assert_close(cv, number(&case["cv"]), 1e-12, "cv");
        assert_eq!(cv > 1.0, case["anomalous_at_1"] == true);
        let median = median_of(&values);
        let robust = if median == 0.0 { 0.0 } else { mad(&values, median) / median };
        assert_close(robust, number(&case["robust_cv"]), 1e-12, "robust cv");
    }
}
