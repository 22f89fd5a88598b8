//! Utilization and capacity.

use crate::{GeneratedSamples, sample, settings, shown, table_of, windows};
use laggard_model::{Loss, Measure};
use laggard_samples::{CoresOf, UtilizationUnit, WindowError, WindowSettings};

fn utilization(server: &'static str, values: &[f64]) -> Vec<GeneratedSamples> {
    let sample_of = |(second, &value): (usize, &f64)| {
        sample(20.0 * second as f64, Measure::Utilization, "", value).at(server, "app")
    };
    values.iter().enumerate().map(sample_of).collect()
}

#[test]
fn utilization_is_averaged_over_the_window() {
    let table = windows(&utilization("a", &[0.2, 0.4, 0.6, 0.1, 0.1, 0.1]), 60);
    assert_eq!(shown(table.servers[0].utilization.clone()), [0.4, 0.1]);
    assert_eq!((table.servers[0].server.as_str(), table.servers[0].tier.as_str()), ("a", "app"));
    assert!(table.servers[0].own.is_none());
}

#[test]
fn percent_is_recognized_over_all_servers() {
    let mut samples = utilization("busy", &[20.0, 40.0, 60.0, 90.0, 90.0, 90.0]);
    samples.extend(utilization("idle", &[0.5, 1.0, 1.2, 1.0, 1.0, 1.0]));
    let table = windows(&samples, 60);
    assert_eq!(shown(table.servers[0].utilization.clone()), [0.4, 0.9]);
    assert_eq!(shown(table.servers[1].utilization.clone()), [0.009, 0.01]);
    assert!(table.cautions[0].contains("percent"), "{:?}", table.cautions);
}

#[test]
fn utilization_slightly_above_one_is_clamped_and_counted() {
    let mut values = vec![0.5; 300];
    values[..3].fill(1.04);
    values[100] = 7.0;
    let table = windows(&utilization("a", &values), 60);
    let utilization = shown(table.servers[0].utilization.clone());
    assert_eq!((utilization[0], utilization[1]), (1.0, 0.5), "one odd value in 300 does not make it percent");
    assert_eq!(table.losses.count(Loss::UtilizationAboveOne), 2);
}

#[test]
fn cpu_seconds_need_the_cores() {
    let mut samples: Vec<GeneratedSamples> = (0..13)
        .map(|index| {
            sample(15.0 * f64::from(index), Measure::CpuSecondsTotal, "", 24.0 * f64::from(index))
                .at("pod-1", "")
        })
        .collect();
    // 24 CPU seconds in 15: 1.6 cores.
    let table = windows(&samples, 60);
    assert_eq!(table.servers[0].cores, Some(2.0));
    assert_eq!(shown(table.servers[0].utilization.clone()), [0.8; 3]);
    assert!(table.cautions[0].contains("2 cores"), "{:?}", table.cautions);
    samples.push(sample(30.0, Measure::Cores, "", 4.0).at("pod-1", ""));
    let table = windows(&samples, 60);
    assert_eq!(table.servers[0].cores, Some(4.0));
    assert_eq!(shown(table.servers[0].utilization.clone()), [0.4; 3]);
    let mut settings_with_cores = settings(60);
    settings_with_cores.cores = vec![CoresOf { name: "pod-1".to_owned(), cores: 1.6 }];
    let table = table_of(&samples).finish(&settings_with_cores).unwrap();
    assert_eq!(shown(table.servers[0].utilization.clone()), [1.0; 3]);
}

#[test]
fn cores_in_use_are_a_valid_unit() {
    let mut settings_with_cores = settings(60);
    settings_with_cores.utilization = UtilizationUnit::Cores;
    settings_with_cores.cores = vec![CoresOf { name: String::new(), cores: 4.0 }];
    let table = table_of(&utilization("a", &[1.0, 3.0, 2.0])).finish(&settings_with_cores).unwrap();
    assert_eq!(shown(table.servers[0].utilization.clone()), [0.5]);
}

#[test]
fn a_silent_server_has_a_gap() {
    let mut samples = utilization("a", &[0.5; 30]);
    samples.extend(utilization("b", &[0.25; 9]));
    let table = windows(&samples, 60);
    let utilization = shown(table.servers[1].utilization.clone());
    assert_eq!(utilization[..3], [0.25; 3]);
    assert_eq!(utilization[3..], [-1.0; 7]);
}

#[test]
fn servers_are_selected_by_name_or_tier_and_unknown_names_are_an_error() {
    let mut samples = utilization("a", &[0.5; 9]);
    samples.push(sample(0.0, Measure::Cores, "", 2.0).at("b", "db"));
    let mut expected = settings(60);
    expected.tiers = vec!["db".to_owned()];
    let table = table_of(&samples).finish(&expected).unwrap();
    assert_eq!(table.servers.len(), 1);
    assert_eq!((table.servers[0].server.as_str(), table.servers[0].cores), ("b", Some(2.0)));
    expected.servers = vec!["c".to_owned()];
    let error = table_of(&samples).finish(&expected).unwrap_err();
    assert!(matches!(error, WindowError::Unknown { .. }));
    assert!(error.to_string().contains("known are a, b"), "{error}");
}

#[test]
fn a_server_is_on_the_machine_of_its_latest_sample_and_selected_with_it() {
    let on = |second: f64, machine: &'static str| {
        sample(second, Measure::Machine, "", 1.0).at("a", "app").to(machine)
    };
    let mut samples = utilization("a", &[0.5; 9]);
    samples.extend(utilization("node-2", &[0.5; 9]));
    samples.extend([on(0.0, "node-1"), on(30.0, "node-2"), on(10.0, "node-3"), on(9_000.0, "node-2")]);
    let table = windows(&samples, 60);
    let machines: Vec<_> = table.servers.iter().map(|server| server.machine.as_deref()).collect();
    assert_eq!(machines, [Some("node-2"), None]);
    assert_eq!(table.windows, 3, "it makes no windows of its own");

    samples.extend(utilization("b", &[0.5; 9]));
    samples.extend(utilization("c", &[0.5; 9]));
    samples.push(sample(0.0, Measure::Machine, "", 1.0).at("c", "app").to("node-2"));
    let names = |with_machines: bool| {
        let settings = WindowSettings { servers: vec!["a".to_owned()], with_machines, ..settings(60) };
        let table = table_of(&samples).finish(&settings).unwrap();
        table.servers.into_iter().map(|server| server.server).collect::<Vec<_>>()
    };
    assert_eq!(names(false), ["a"]);
    assert_eq!(names(true), ["a", "c", "node-2"]);
}

/// Memory as bytes and as a share; the busier of two directions of a link. Neither makes windows or servers of its own.
#[test]
fn memory_and_network_are_shares_by_window() {
    let mut samples = utilization("a", &[0.2, 0.4, 0.6, 0.1, 0.1, 0.1]);
    samples.extend(utilization("b", &[0.1; 6]));
    for second in [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0] {
        let available = if second < 60.0 { 600.0 } else { 400.0 };
        samples.push(sample(second, Measure::MemoryAvailable, "", available).at("a", "app"));
        samples.push(sample(second, Measure::MemorySize, "", 1_000.0).at("a", "app"));
        samples.push(sample(second, Measure::MemoryUtilization, "", 25.0).at("b", "app"));
        samples.push(sample(second, Measure::NetworkUtilization, "", 0.1).at("b", "app"));
        samples.push(sample(second, Measure::MemoryUtilization, "", 0.5).at("no-cpu", "app"));
    }
    let table = windows(&samples, 60);
    assert_eq!((table.windows, table.servers.len()), (2, 2));
    assert_eq!(shown(table.servers[0].memory.clone()), [0.4, 0.6]);
    assert_eq!(shown(table.servers[1].memory.clone()), [0.25, 0.25]);
    assert_eq!(shown(table.servers[1].network.clone()), [0.1, 0.1]);
    assert!(table.servers[0].network.is_empty());
}
