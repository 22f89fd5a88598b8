//! Principal components, residual limits, edit distance and histograms against reference results.

use crate::golden::{assert_close, assert_relative, indices, items, load, matrix, number, numbers};
use laggard_numeric::{
    BinRule, HistogramBins, dissimilarities, hall_buckley_eagleson_limit, jackson_mudholkar_limit,
    jensen_shannon_distance, levenshtein_within, principal_components,
};
use serde_json::Value;

#[test]
fn components_errors_and_anomalous_rows() {
    let golden = load("pca_q/cases");
    for case in items(&golden["cases"]) {
        let name = case["name"].as_str().expect("a name");
        let rows = matrix(&case["Y"]);
        let found = principal_components(&rows);
        for (j, (mean, expected)) in found.means.iter().zip(numbers(&case["mean"])).enumerate() {
            assert_close(*mean, expected, 1e-10, &format!("{name}: mean {j}"));
        }
        for (j, expected) in numbers(&case["eigenvalues"]).into_iter().enumerate() {
            assert_close(found.variances[j], expected, 1e-8, &format!("{name}: variance {j}"));
        }
        let eigenvalues = numbers(&case["eigenvalues"]);
        let all: f64 = eigenvalues.iter().sum();
        for (j, share) in found.cumulative_shares().into_iter().enumerate() {
            let expected = eigenvalues[..=j].iter().sum::<f64>() / all;
            assert_close(share, expected, 1e-8, &format!("{name}: share of the first {j}"));
        }
        let components = found.components_holding(number(&case["gamma"]));
        assert_eq!(components as u64, case["k"].as_u64().expect("k"), "{name}");
        for (component, expected) in items(&case["loadings_k"]).iter().enumerate() {
            for (entry, expected) in found.loadings.row(component).iter().zip(numbers(expected)) {
                assert_close(*entry, expected, 1e-8, &format!("{name}: loading {component}"));
            }
        }
        check_rows(
            case,
            name,
            &found.squared_prediction_errors(&rows, components),
            found.residual_variances(components),
        );
        assert_eq!(found.principal_columns(components), indices(&case["b4"]), "{name}");
    }
}

fn check_rows(case: &Value, name: &str, errors: &[f64], residual: &[f64]) {
    for (i, expected) in numbers(&case["spe"]).into_iter().enumerate() {
        assert_close(errors[i], expected, 1e-8, &format!("{name}: error of row {i}"));
    }
    let limit = jackson_mudholkar_limit(residual, number(&case["beta"]));
    assert_close(limit.unwrap_or(0.0), number(&case["q_limit"]), 1e-8, &format!("{name}: limit"));
    let beyond = |limit| (0..errors.len()).filter(|&i| errors[i] > limit).collect::<Vec<_>>();
    assert_eq!(limit.map_or(vec![], beyond), indices(&case["anomalous_rows"]), "{name}");
}

#[test]
fn residual_limits() {
    let golden = load("pca_q/cases");
    for case in items(&golden["q_limits"]) {
        let variances = match case.get("residual_eigenvalues") {
            Some(all) => numbers(all),
            None => {
                let mut all = vec![number(&case["residual_eigenvalues_head"])];
                let count = case["tail_count"].as_u64().expect("a count") as usize;
                all.resize(count + 1, number(&case["residual_eigenvalues_tail"]));
                all
            }
        };
        let level = number(&case["beta"]);
        let found = jackson_mudholkar_limit(&variances, level).unwrap_or(0.0);
        assert_relative(found, number(&case["q"]), 1e-8, "Jackson and Mudholkar");
        let found = hall_buckley_eagleson_limit(&variances, level).unwrap_or(0.0);
        assert_relative(found, number(&case["q_hbe"]), 1e-8, "Hall, Buckley, Eagleson");
    }
}

#[test]
fn edit_distances() {
    let golden = load("clusters/algorithm1");
    for (pair, expected) in golden["edit_distance"].as_object().expect("pairs") {
        let (a, b) = pair.split_once('|').expect("two words");
        let expected = expected.as_u64().map(|distance| distance as usize);
        assert_eq!(levenshtein_within(a.as_bytes(), b.as_bytes(), usize::MAX), expected, "{pair}");
    }
}

#[test]
fn jensen_shannon_distances_and_ratios() {
    let golden = load("jsd/cases");
    for pair in items(&golden["pairs"]) {
        let found = jensen_shannon_distance(&numbers(&pair["p"]), &numbers(&pair["q"]));
        assert_close(found, number(&pair["sqrt_jsd"]), 1e-10, "distance");
    }
    let instances: Vec<Vec<f64>> = items(&golden["instances"]).iter().map(numbers).collect();
    for (name, rule) in [("sqrt", BinRule::SquareRoot), ("log_sturges", BinRule::LogSturges)] {
        let expected = &golden["rules"][name];
        let bins = HistogramBins::from_values(instances.iter().flatten().copied(), rule);
        assert_eq!(bins.count() as u64, expected["bins"].as_u64().expect("a count"), "{name}");
        let shares: Vec<Vec<f64>> = instances.iter().map(|values| bins.shares(values)).collect();
        for (found, expected) in shares.iter().zip(items(&expected["histograms"])) {
            for (found, expected) in found.iter().zip(numbers(expected)) {
                assert_close(*found, expected, 1e-10, name);
            }
        }
        for (found, expected) in dissimilarities(&shares).iter().zip(numbers(&expected["ratio_sqrt"])) {
            assert_close(found.ratio, expected, 1e-10, name);
        }
    }
}
