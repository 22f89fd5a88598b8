//! The measured data beside the repository, where they are.

use laggard_evaluate::{Options, Results, run};

fn evaluated(only: &str) -> Option<Results> {
    let folder = laggard_testkit::data_folder(only.split('/').next().unwrap_or_default())?;
    let data = folder.parent().map(|data| data.to_owned());
    let options = Options { data, only: Some(only.to_owned()), ..Options::default() };
    Some(run(&options, &mut |_| ()).unwrap())
}

#[test]
fn with_a_known_number_a_ranking_by_self_time_names_five_slow_nodes() {
    let Some(results) = evaluated("tracebench/slow nodes, unknown") else { return };
    let method = results.localizers.position("self-time excess").unwrap();
    let five = results
        .localizers
        .outcomes
        .iter()
        .filter(|outcome| outcome.method == method && outcome.case.contains("05fdn"));
    let right: Vec<bool> = five.map(|outcome| outcome.score.judgment.right).collect();
    assert_eq!(right, [true, true]);
}

/// The limits that the product promises: 8, 10 and 15 % at 20, 50 and 80 % load.
#[test]
fn demands_of_measured_runs_are_accurate_without_alarms() {
    let Some(results) = evaluated("cpu-demands") else { return };
    assert!(results.demands.methods[0].is_laggard && results.changes.methods[0].is_laggard);
    for (load, limit) in [("util20", 0.08), ("util50", 0.10), ("util80", 0.15)] {
        let default_outcomes = results
            .demands
            .outcomes
            .iter()
            .filter(|outcome| outcome.method == 0 && outcome.group.name == load);
        let errors: Vec<f64> =
            default_outcomes.flat_map(|outcome| outcome.score.relative_errors.clone()).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(errors.len() == 6 && mean <= limit, "{load}: {mean}");
    }
    let default_outcomes = || results.demands.outcomes.iter().filter(|outcome| outcome.method == 0);
    let (covered, intervals): (usize, usize) = (
        default_outcomes().map(|outcome| outcome.score.covered).sum(),
        default_outcomes().map(|outcome| outcome.score.intervals).sum(),
    );
    assert!(intervals == 18 && 10 * covered >= 9 * intervals, "{covered} of {intervals}");
    let default: Vec<bool> = results
        .changes
        .outcomes
        .iter()
        .filter(|outcome| outcome.method == 0)
        .map(|outcome| outcome.score.is_right())
        .collect();
    assert_eq!(default, [true; 12]);
}

/// In the names of groups whose delays are injected into measured requests.
const INJECTED: &str = "delays injected";

#[test]
fn a_threshold_on_latency_finds_most_hit_requests() {
    let Some(results) = evaluated("delag") else { return };
    let slowest = results
        .patterns
        .outcomes
        .iter()
        .filter(|outcome| results.patterns.methods[outcome.method].name == "slowest fifth")
        .filter(|outcome| !outcome.group.name.contains(INJECTED));
    let f1: Vec<f64> = slowest.filter_map(|outcome| outcome.score.score).map(|score| score.f1).collect();
    assert_eq!(f1.len(), 20);
    let mean = f1.iter().sum::<f64>() / 20.0;
    assert!((0.92..0.95).contains(&mean), "{mean}");
}

#[test]
fn latency_patterns_match_only_the_hit_requests() {
    let Some(results) = evaluated("delag") else { return };
    let default_outcomes: Vec<_> = results
        .patterns
        .outcomes
        .iter()
        .filter(|outcome| results.patterns.methods[outcome.method].is_laggard)
        .collect();
    let f1 = |is_in: &dyn Fn(&str) -> bool| -> Vec<f64> {
        let of_group = default_outcomes.iter().filter(|outcome| is_in(&outcome.group.name));
        of_group.filter_map(|outcome| outcome.score.score).map(|score| score.f1).collect()
    };
    let mean = |f1: &[f64]| f1.iter().sum::<f64>() / f1.len() as f64;
    let measured = f1(&|group| !group.contains(INJECTED));
    assert!(measured.len() == 20 && mean(&measured) > 0.99, "{}", mean(&measured));
    for (natural, least) in
        [("injected", 0.97), ("injected, modes by nature", 0.92), ("slow modes by nature", 0.75)]
    {
        let injected = f1(&|group| group.ends_with(natural));
        assert!(injected.len() >= 20 && mean(&injected) > least, "{natural}: {}", mean(&injected));
    }
    let false_findings: usize = default_outcomes
        .iter()
        .filter(|outcome| outcome.score.score.is_none())
        .map(|outcome| outcome.score.groups)
        .sum();
    assert_eq!(false_findings, 0);
}
