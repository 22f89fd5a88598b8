//! The shop's measurements agree with its true parameters.

use crate::support::Folder;
use laggard_simulate::{
    Cache, Compression, ExpectedKind, Foreign, Phase, TierSettings, TpcwRun, TpcwScenario, TpcwSettings,
    Workload, tpcw, write_tpcw,
};

fn steady(clients: u32, windows: u32) -> Phase {
    Phase::new(windows, Workload::Steps { mix: 1, clients: vec![clients] })
}

/// CPU seconds that the transactions of all windows should have taken, by the true demands.
fn explained_s(run: &TpcwRun) -> f64 {
    let types = run.transactions.len();
    let demand_s = |index: usize| run.truth.transactions[index % types].demand_ms / 1_000.0;
    run.system.counts.iter().enumerate().map(|(index, count)| count * demand_s(index)).sum()
}

/// CPU seconds that the front servers used.
fn used_s(run: &TpcwRun) -> f64 {
    let front = run.servers.iter().filter(|server| server.tier == "front");
    front.map(|server| server.utilization.iter().sum::<f64>() * server.cores * f64::from(run.window_s)).sum()
}

/// Mean time at the front of all transactions of a type, in ms.
fn front_ms(run: &TpcwRun, name: &str) -> f64 {
    let types = run.transactions.len();
    let kind = run.transactions.iter().position(|other| other == name).unwrap();
    let (mut total_s, mut count) = (0.0, 0.0);
    for index in
        (kind..run.system.counts.len()).step_by(types).filter(|&index| run.system.counts[index] > 0.0)
    {
        let outbound = &run.system.outbound[0];
        let calls_s =
            if outbound.counts[index] > 0.0 { outbound.counts[index] * outbound.time_s[index] } else { 0.0 };
        total_s += run.system.counts[index] * run.system.response_s[index] - calls_s;
        count += run.system.counts[index];
    }
    1_000.0 * total_s / count
}

#[test]
fn the_utilization_law_holds_and_response_times_are_those_of_a_shared_processor() {
    let run = tpcw(&TpcwSettings::new(1, vec![steady(600, 60)])).unwrap();
    let overhead_s = 0.012 * 3_600.0;
    let ratio = (used_s(&run) - overhead_s) / explained_s(&run);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    let utilization = used_s(&run) / 3_600.0;
    assert!((0.38..0.44).contains(&utilization), "{utilization}");
    for (name, service_ms) in [("Home", 2.6), ("Execute Search", 3.85), ("Shopping Cart", 4.125)] {
        let signature = front_ms(&run, name) * (1.0 - utilization);
        assert!((signature / service_ms - 1.0).abs() < 0.03, "{name} {signature}");
    }
    // 600 clients with think time 7 s.
    let rate = run.system.counts.iter().sum::<f64>() / 3_600.0;
    assert!((rate * 7.02 / 600.0 - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn foreign_load_is_used_and_slows_but_is_not_explained() {
    let phase = Phase { foreign: Foreign::Constant { share: 0.2 }, ..steady(600, 60) };
    let run = tpcw(&TpcwSettings::new(1, vec![phase])).unwrap();
    let unexplained = (used_s(&run) - explained_s(&run)) / 3_600.0;
    assert!((unexplained - 0.212).abs() < 0.01, "{unexplained}");
    let utilization = used_s(&run) / 3_600.0;
    let signature = front_ms(&run, "Home") * (1.0 - utilization);
    assert!((signature / 2.6 - 1.0).abs() < 0.03, "{signature}");
    assert!(run.truth.segments[0].is_anomalous && run.truth.foreign_share == [0.2; 60]);
}

#[test]
fn several_cores_quotas_and_servers_keep_the_law() {
    let on = |servers, cores| TpcwSettings {
        front: TierSettings { servers, cores },
        ..TpcwSettings::new(2, vec![steady(600, 30)])
    };
    for (servers, cores) in [(1, 4.0), (1, 1.5), (3, 0.5)] {
        let run = tpcw(&on(servers, cores)).unwrap();
        let overhead_s = 0.012 * 1_800.0 * f64::from(servers) * cores;
        let ratio = (used_s(&run) - overhead_s) / explained_s(&run);
        assert!((ratio - 1.0).abs() < 0.03, "{servers} x {cores}: {ratio}");
        let own: f64 = run.servers.iter().flat_map(|server| &server.own).flat_map(|own| &own.counts).sum();
        assert_eq!(own, run.system.counts.iter().sum::<f64>());
    }
}

#[test]
fn a_cold_cache_makes_the_first_minutes_costlier() {
    let cache = Cache { size: 20_000.0, ttl_s: 3_600.0, miss_extra: 0.5 };
    let settings = TpcwSettings { cache: Some(cache), ..TpcwSettings::new(1, vec![steady(600, 40)]) };
    let run = tpcw(&settings).unwrap();
    let mean = |range: std::ops::Range<usize>| run.servers[0].utilization[range].iter().sum::<f64>() / 4.0;
    let (cold, warm) = (mean(1..5), mean(36..40));
    assert!(cold > 1.15 * warm, "{cold} {warm}");
}

#[test]
fn the_paper_has_seven_segments_and_two_alarms() {
    let settings = TpcwSettings::scenario(TpcwScenario::Paper, 1);
    let starts: Vec<u32> = settings.phases.iter().map(|phase| phase.windows).collect();
    assert_eq!(starts, [300, 180, 310, 240, 260, 255, 255]);
    // Phases of a tenth of the length, to save time.
    let phases = settings.phases.iter().map(|phase| Phase { windows: phase.windows / 10, ..phase.clone() });
    let truth = tpcw(&TpcwSettings { phases: phases.collect(), ..settings.clone() }).unwrap().truth;
    let kinds: Vec<(usize, ExpectedKind)> =
        truth.expected.iter().map(|change| (change.window, change.kind)).collect();
    assert_eq!(
        kinds,
        [
            (30, ExpectedKind::AnomalyStart),
            (48, ExpectedKind::AnomalyEnd),
            (48, ExpectedKind::WorkloadChange),
            (79, ExpectedKind::WorkloadChange),
            (103, ExpectedKind::WorkloadChange),
            (129, ExpectedKind::ApplicationChange),
            (154, ExpectedKind::ApplicationChange),
        ]
    );
    for change in &truth.expected[5..] {
        assert_eq!(change.transactions.len(), 1);
        assert_eq!(change.transactions[0].name, "Home");
        assert!((change.transactions[0].difference_ms - 5.0).abs() < 1e-9);
    }
    assert_eq!(
        truth.segments.iter().map(|segment| segment.application).collect::<Vec<_>>(),
        [0, 0, 0, 0, 0, 1, 2]
    );
    let hog: Vec<f64> = truth.foreign_share.iter().copied().filter(|share| *share > 0.0).collect();
    assert!(hog.len() == 18 && hog.iter().all(|share| (0.02..=0.30).contains(share)), "{hog:?}");
}

#[test]
fn a_rollback_is_reported_as_a_rollback() {
    let phases = vec![steady(50, 5), steady(50, 5).with_change("Home", 0.005), steady(50, 5)];
    let truth = tpcw(&TpcwSettings::new(1, phases)).unwrap().truth;
    let kinds: Vec<ExpectedKind> = truth.expected.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ExpectedKind::ApplicationChange, ExpectedKind::Rollback]);
    assert!((truth.expected[1].transactions[0].difference_ms + 5.0).abs() < 1e-9);
}

#[test]
fn every_scenario_runs_and_its_names_survive_parsing() {
    for scenario in TpcwScenario::ALL {
        assert_eq!(TpcwScenario::parse(scenario.name()), Some(scenario));
        let settings = TpcwSettings::scenario(scenario, 7);
        assert_eq!(settings.name, scenario.name());
        let phases = settings.phases.iter().map(|phase| Phase { windows: 2, ..phase.clone() });
        let run = tpcw(&TpcwSettings { phases: phases.collect(), ..settings.clone() }).unwrap();
        assert_eq!(run.windows, 2 * settings.phases.len());
        assert!(run.system.counts.iter().sum::<f64>() > 0.0, "{}", scenario.name());
    }
}

#[test]
fn the_same_seed_gives_the_same_numbers_on_every_machine() {
    let run = |seed| tpcw(&TpcwSettings::new(seed, vec![steady(100, 10)])).unwrap();
    assert_eq!(run(1).system.counts, run(1).system.counts);
    assert_ne!(run(1).system.counts, run(2).system.counts);
    // Recorded once: results must not depend on the platform's math library.
    let first = run(1);
    assert_eq!(first.system.counts.iter().sum::<f64>(), 8_559.0);
    assert_eq!(first.servers[0].utilization[9].to_bits(), 4_589_883_367_100_799_246);
}

#[test]
fn windows_of_another_length_cover_the_same_time() {
    let minutes = TpcwSettings::scenario(TpcwScenario::Diurnal, 1);
    let seconds = minutes.clone().with_window_s(10);
    assert_eq!(seconds.windows(), 6 * minutes.windows());
    assert!(matches!(seconds.phases[0].workload, Workload::Diurnal { day_windows: 8_640, .. }));
}

#[test]
fn files_contain_the_measurements() {
    let folder = Folder::new();
    let directory = folder.path();
    let run = tpcw(&TpcwSettings::new(1, vec![steady(50, 3)])).unwrap();
    let summary = write_tpcw(&run, directory, Compression::Plain).unwrap();
    let text = std::fs::read_to_string(summary.samples.join("samples.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), summary.windows, summary.servers), (7, 3, 2));
    let titles: Vec<&str> = lines[0].split(',').collect();
    assert_eq!(titles[..6], ["time", "server", "tier", "cores", "utilization", "clients"]);
    assert_eq!(
        titles[6..10],
        [
            "count:Admin Confirm",
            "response_ms:Admin Confirm",
            "calls:Admin Confirm:db",
            "call_ms:Admin Confirm:db"
        ]
    );
    assert!(lines[3].starts_with("2026-01-12T00:01:00Z,front-1,front,1,"), "{}", lines[3]);
    assert!(lines[4].starts_with("2026-01-12T00:01:00Z,db-1,db,1,"), "{}", lines[4]);
    assert!(lines.iter().all(|line| line.split(',').count() == titles.len()));
    let truth: laggard_simulate::TpcwTruth =
        serde_json::from_str(&std::fs::read_to_string(&summary.truth_file).unwrap()).unwrap();
    assert_eq!(truth, run.truth);
    assert!(write_tpcw(&run, directory, Compression::Plain).is_err(), "samples of two runs would mix");
}

#[test]
fn settings_outside_their_range_are_named() {
    let base = TpcwSettings::new(1, vec![steady(50, 3)]);
    let none = TpcwSettings { phases: Vec::new(), ..base.clone() };
    let unknown = TpcwSettings { phases: vec![steady(1, 1).with_change("Hom", 0.1)], ..base.clone() };
    let foreign = Phase { foreign: Foreign::Constant { share: 0.99 }, ..steady(1, 1) };
    let hogged = TpcwSettings { phases: vec![foreign], ..base.clone() };
    let mix = Workload::Steps { mix: 3, clients: vec![1] };
    let mixed = TpcwSettings { phases: vec![Phase::new(1, mix)], ..base };
    for (settings, name) in
        [(none, "windows"), (unknown, "change"), (hogged, "foreign load"), (mixed, "clients")]
    {
        let error = tpcw(&settings).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}
