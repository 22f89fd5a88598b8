//! From spans to the right verdict on incidents with known truth. Larger runs over many seeds are in
//! `lab/experiments/examples/accuracy.rs`; their figures are in `docs/accuracy.md`.

use crate::simulated::{Incident, THREADS, incident};
use crate::sites::traces_of;
use laggard_diagnose::{DiagnoseMethod, DiagnoseSettings, RequestSelection, diagnose};
use laggard_engine::LocalEngine;
use laggard_localize::{CloudDiagSettings, Mode};
use laggard_model::Timestamp;
use laggard_report::{ClusterRole, InputFacts, LinkEnd, Report, Scope, Verdict};
use laggard_simulate::{Scenario, Settings};
use std::collections::BTreeSet;
use std::fmt::Write;

fn small(scenario: Scenario, seed: u64) -> Settings {
    Settings { requests_per_service: 600, categories_per_service: 3, ..Settings::new(scenario, seed) }
}

fn report_with(incident: &Incident, settings: &DiagnoseSettings) -> Report {
    let engine = LocalEngine::new(THREADS);
    diagnose(&incident.traces, None, &InputFacts::default(), settings, engine).expect("settings in range")
}

fn report(incident: &Incident) -> Report {
    report_with(incident, &DiagnoseSettings::default())
}

fn guilty(incident: &Incident) -> BTreeSet<&str> {
    incident.injected.iter().map(|(_, replica)| replica.as_str()).collect()
}

fn blamed(report: &Report) -> BTreeSet<&str> {
    report.replicas.iter().map(|row| row.replica.as_str()).collect()
}

fn top(report: &Report) -> String {
    let first = report.suspects.first().expect("a suspect");
    format!("{} {}", first.service, first.operation)
}

#[test]
fn quiet_hours_are_healthy() {
    for seed in [31, 32] {
        let report = report(&incident(&small(Scenario::Quiet, seed)));
        assert_eq!(report.verdict, Verdict::Healthy, "seed {seed}: {}", report.headline);
        assert!(report.replicas.is_empty());
    }
}

#[test]
fn half_of_the_requests_give_the_same_diagnosis() {
    let incident = incident(&small(Scenario::RandomDevice, 4));
    let with = |rows_max: usize| {
        let clouddiag = CloudDiagSettings { rows_max, ..CloudDiagSettings::new(Mode::Robust) };
        let method = DiagnoseMethod::from_name("clouddiag").unwrap();
        report_with(&incident, &DiagnoseSettings { method, clouddiag, ..DiagnoseSettings::default() })
    };
    let (all, half) = (with(20_000), with(100));
    let left_out = half.input.losses.count(laggard_model::Loss::RowLimit);
    assert!((600..1200).contains(&left_out), "of 1,800 requests {left_out} were left out");
    assert_eq!(top(&half), top(&all));
    let ratio = |of: fn(&Report) -> f64| of(&half) / of(&all);
    let ratios = [
        ratio(|report| report.suspects[0].requests_hit as f64),
        ratio(|report| report.suspects[0].requests_hit_estimated),
        ratio(|report| report.suspects[0].requests_seen as f64),
        ratio(|report| report.suspects[0].share),
    ];
    assert!(ratios.iter().all(|ratio| (0.7..1.4).contains(ratio)), "{ratios:?}");
}

#[test]
fn a_heavy_tail_of_request_sizes_is_healthy() {
    let report = report(&incident(&small(Scenario::HeavyTail, 33)));
    assert!(report.categories.iter().all(|category| category.anomalous || !category.analyzed));
    assert_eq!(report.verdict, Verdict::Healthy, "{}", report.headline);
}

#[test]
fn a_thread_pool_fault_has_scope_all() {
    let incident = incident(&small(Scenario::ThreadPool, 34));
    let report = report(&incident);
    assert_eq!(top(&report), incident.injected[0].0);
    assert_eq!((report.suspects.len(), report.suspects[0].scope), (1, Scope::All));
    assert!(report.replicas.is_empty());
}

#[test]
fn random_devices_name_all_and_only_their_replicas() {
    all_and_only_their_replicas(&small(Scenario::RandomDevice, 35));
}

/// Each replica has few bursts, so that it takes more requests.
#[test]
fn bursts_name_all_and_only_their_replicas() {
    let more = Settings { requests_per_service: 1500, ..small(Scenario::Bursts, 35) };
    all_and_only_their_replicas(&Settings { categories_per_service: 6, ..more });
}

fn all_and_only_their_replicas(settings: &Settings) {
    let incident = incident(settings);
    let report = report(&incident);
    assert_eq!(top(&report), incident.injected[0].0);
    assert_eq!(report.suspects[0].scope, Scope::Replicas);
    assert_eq!(blamed(&report), guilty(&incident));
}

#[test]
fn a_slow_host_is_named_regardless_of_its_services() {
    let incident = incident(&small(Scenario::SlowHost, 36));
    let report = report(&incident);
    assert_eq!(report.verdict, Verdict::Suspects);
    assert_eq!(blamed(&report), guilty(&incident));
    let injected: BTreeSet<&str> = incident.injected.iter().map(|(name, _)| name.as_str()).collect();
    for suspect in &report.suspects {
        let name = format!("{} {}", suspect.service, suspect.operation);
        assert!(injected.contains(name.as_str()), "{name} is not slow");
        // The replica shows which end of a slow call is the cause.
        assert!(suspect.between.as_ref().is_none_or(|between| between.end != LinkEnd::Unknown), "{name}");
    }
}

#[test]
fn the_papers_mode_finds_the_operation_and_names_replicas_with_a_deviation() {
    let incident = incident(&small(Scenario::RandomDevice, 35));
    let settings =
        DiagnoseSettings { clouddiag: CloudDiagSettings::new(Mode::Paper), ..DiagnoseSettings::default() };
    let report = report_with(&incident, &settings);
    assert_eq!((report.mode.as_str(), top(&report)), ("paper", incident.injected[0].0.clone()));
    assert!(guilty(&incident).is_subset(&blamed(&report)));
}

#[test]
fn reports_are_consistent() {
    let report = report(&incident(&small(Scenario::Bursts, 37)));
    assert!(report.suspects.iter().map(|suspect| suspect.share).sum::<f64>() <= 1.0 + 1e-9);
    let known: BTreeSet<&str> = report.categories.iter().map(|category| category.id.as_str()).collect();
    for (index, suspect) in report.suspects.iter().enumerate() {
        assert_eq!(suspect.rank as usize, index + 1);
        assert!(suspect.categories.iter().all(|id| known.contains(id.as_str())));
        assert!(!suspect.trace_ids.is_empty() && suspect.trace_ids.len() <= 5);
        assert!(suspect.effect_ns > 0 && suspect.factor > 1.0 && suspect.requests_hit > 0);
    }
    assert!(report.replicas.iter().all(|replica| replica.p_value.is_some_and(|p| p <= 0.01)));
    let requests: u64 = report.categories.iter().map(|category| category.requests).sum();
    assert_eq!(requests, report.input.requests);
}

#[test]
fn windows_and_services_select_requests() {
    let incident = incident(&small(Scenario::Quiet, 38));
    let whole = report(&incident);
    let window = whole.window.as_ref().expect("there are requests");
    let middle = window.since.unix_ns() + window.until.since(window.since).ns() / 2;
    let half = DiagnoseSettings { since: Timestamp::from_unix_ns(middle), ..DiagnoseSettings::default() };
    let later = report_with(&incident, &half);
    assert!(later.input.requests > 0 && later.input.requests < whole.input.requests);
    let nobody = only_service("nobody");
    let none = report_with(&incident, &nobody);
    assert_eq!((none.verdict, none.input.requests), (Verdict::InsufficientData, 0));
    let entry = only_service("front-end");
    assert_eq!(report_with(&incident, &entry).input.requests, whole.input.requests);
}

#[test]
fn a_setting_out_of_range_is_an_error_that_names_it() {
    let incident = incident(&Settings { requests_per_service: 5, ..small(Scenario::Quiet, 1) });
    let mut settings = DiagnoseSettings::default();
    settings.clouddiag.cosine_max = 2.0;
    let engine = LocalEngine::new(THREADS);
    let error = diagnose(&incident.traces, None, &InputFacts::default(), &settings, engine).unwrap_err();
    assert_eq!(error.to_string(), "cosine-max is 2; allowed: a number, 0 to 1; default: 0.8");
}

/// Components of wide call trees take their time without optimization.
fn tiny(scenario: Scenario, seed: u64) -> Settings {
    Settings { requests_per_service: 700, categories_per_service: 2, ..Settings::new(scenario, seed) }
}

fn by_components(mode: Mode) -> DiagnoseSettings {
    DiagnoseSettings {
        method: DiagnoseMethod::from_name("pca").unwrap(),
        clouddiag: CloudDiagSettings::new(mode),
        ..DiagnoseSettings::default()
    }
}

#[test]
fn principal_components_name_the_operation_and_the_dead_hosts() {
    let incident = incident(&tiny(Scenario::Failover, 41));
    let report = report_with(&incident, &by_components(Mode::Robust));
    assert_eq!((report.method.as_str(), report.mode.as_str()), ("pca", "robust"));
    assert_eq!(top(&report), incident.injected[0].0);
    assert_eq!(report.suspects[0].scope, Scope::Replicas);
    assert_eq!(blamed(&report), guilty(&incident));
    assert!(report.suspects.iter().map(|suspect| suspect.share).sum::<f64>() <= 1.0 + 1e-9);
    let pca = report.pca.as_ref().expect("what the paper shows");
    for cluster in pca.clusters.iter().filter(|cluster| cluster.role == ClusterRole::Major) {
        let components = cluster.components.as_ref().expect("major clusters are analyzed");
        assert!(components.requests >= cluster.requests && cluster.cumulative_share <= 1.0);
        assert!(components.cumulative_variance.is_sorted() && components.normal >= 1);
    }
    let times = &pca.replica_times[0];
    assert_eq!(
        (&times.service, &times.operation),
        (&report.suspects[0].service, &report.suspects[0].operation)
    );
    assert!(blamed(&report).contains(times.replicas[0].replica.as_str()), "the culprits differ most");
    for replica in &times.replicas {
        assert_eq!(replica.shares.len() + 1, times.edges_ns.len());
        assert!((replica.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    let row = report.settings.iter().find(|row| row.name == "pca-variance").expect("a row");
    assert_eq!(row.value, "0.95");
}

#[test]
fn principal_components_find_nothing_in_a_quiet_hour() {
    let report = report_with(&incident(&tiny(Scenario::Quiet, 31)), &by_components(Mode::Robust));
    assert_eq!(report.verdict, Verdict::Healthy, "{}", report.headline);
}

#[test]
fn principal_components_in_the_papers_form_run_to_the_end() {
    let incident = incident(&tiny(Scenario::LoadImbalance, 42));
    let report = report_with(&incident, &by_components(Mode::Paper));
    assert_eq!((report.method.as_str(), report.mode.as_str()), ("pca", "paper"));
    assert_eq!(report.verdict, Verdict::Suspects);
    assert!(report.suspects.iter().all(|suspect| suspect.share >= 0.0 && suspect.factor.is_finite()));
}

fn only_service(service: &str) -> DiagnoseSettings {
    let selection = RequestSelection { service: Some(service.to_owned()), ..RequestSelection::default() };
    DiagnoseSettings { selection, ..DiagnoseSettings::default() }
}

/// A request a second for 70 minutes; one of three replicas of the callee takes twice as long in ten of them. On average it is 1.1 times as slow as
/// its peers.
#[test]
fn a_replica_that_is_slow_for_a_part_of_the_window_is_named_with_the_period() {
    let traces = |slow: std::ops::Range<u64>| {
        let mut text = String::new();
        for second in 0..4_200_u64 {
            let start = second * 1_000_000_000;
            let usual = 4_000_000 + (second * 7_919) % 997 * 1_000;
            let is_slow = second % 3 == 1 && slow.contains(&(second / 60));
            let time = if is_slow { 2 * usual } else { usual };
            writeln!(text, "{} a - api/buy@api-1 {start}..{} server", second + 1, start + 2_000_000 + time)
                .unwrap();
            let from = start + 1_000_000;
            writeln!(
                text,
                "{} b a stock/take@stock-{} {from}..{} server",
                second + 1,
                second % 3,
                from + time
            )
            .unwrap();
        }
        traces_of(text.lines())
    };
    let settings = DiagnoseSettings::default();
    let engine = LocalEngine::new(THREADS);
    let report = |slow| diagnose(&traces(slow), None, &InputFacts::default(), &settings, engine).unwrap();
    assert_eq!(report(0..0).verdict, Verdict::Healthy);
    let report = report(40..50);
    assert_eq!(report.verdict, Verdict::Suspects, "{}", report.headline);
    let lead = &report.suspects[0];
    assert_eq!((&*lead.service, &*lead.operation, lead.scope), ("stock", "take", Scope::Replicas));
    assert_eq!(blamed(&report), BTreeSet::from(["stock-1"]));
    assert!((1.9..2.1).contains(&lead.factor), "{}", lead.factor);
    // A third of the requests of ten minutes.
    assert!((190..=205).contains(&lead.requests_hit), "{}", lead.requests_hit);
    let [period] = report.incidents.as_slice() else { panic!("{:?}", report.incidents) };
    let minutes = [period.time.since, period.time.until].map(|time| time.unix_ns() / 60_000_000_000);
    assert_eq!(minutes, [40, 50]);
}

#[test]
fn clouddiag_reports_the_ranks_of_decomposed_matrices() {
    let incident = incident(&small(Scenario::Failover, 41));
    let settings = DiagnoseSettings {
        method: DiagnoseMethod::from_name("clouddiag").unwrap(),
        ..DiagnoseSettings::default()
    };
    let published = report_with(&incident, &settings);
    let ranked = published.categories.iter().filter(|category| category.ranks.is_some());
    assert!(ranked.clone().count() > 0 && ranked.clone().all(|category| category.anomalous));
    for ranks in ranked.filter_map(|category| category.ranks) {
        assert!(1 <= ranks.low_rank && ranks.low_rank <= ranks.matrix, "{ranks:?}");
    }
    let default = report(&incident);
    assert!(default.pca.is_none() && default.categories.iter().all(|category| category.ranks.is_none()));
}
