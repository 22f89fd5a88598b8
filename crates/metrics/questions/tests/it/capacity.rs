//! Remaining capacity of a simulated shop.

use crate::tpcw_table::table;
use laggard_metrics_questions::{
    CapacitySettings, ChangesQuestion, ChangesSettings, CountedWindows, SampleFacts, WhatIfChange, capacity,
    changes,
};
use laggard_report::{CapacityReport, CapacityVerdict, ClientsBasis, TierKind, Trust};
use laggard_samples::WindowTable;
use laggard_simulate::{Phase, TierSettings, TpcwRun, TpcwSettings, Workload, tpcw};
use std::num::NonZeroUsize;

fn run(seed: u64, clients: &[u32], windows: u32, cores: f64) -> TpcwRun {
    let phases = vec![Phase::new(windows, Workload::Steps { mix: 1, clients: clients.to_vec() })];
    let front = TierSettings { servers: 1, cores };
    tpcw(&TpcwSettings { front, ..TpcwSettings::new(seed, phases) }).expect("settings in range")
}

fn light_load_table() -> WindowTable {
    table(&run(1, &[200, 450, 700, 950], 48, 1.0))
}

fn capacity_report(table: &WindowTable, settings: &CapacitySettings) -> CapacityReport {
    capacity(table, &SampleFacts::default(), settings).expect("names that are there")
}

/// Mean throughput and response time over the last 90 % of the run.
fn mean_measurements(run: &TpcwRun) -> [f64; 2] {
    let types = run.transactions.len();
    let first = run.windows / 10;
    let rows = first * types..run.windows * types;
    let count: f64 = run.system.counts[rows.clone()].iter().sum();
    let known = rows.filter(|row| run.system.counts[*row] > 0.0);
    let sum: f64 = known.map(|row| run.system.counts[row] * run.system.response_s[row]).sum();
    [count / ((run.windows - first) as f64 * f64::from(run.window_s)), sum / count]
}

#[test]
fn a_simulation_confirms_the_answer() {
    for cores in [1.0, 2.0] {
        let steps = [200, 450, 700, 950].map(|clients| (f64::from(clients) * cores * 0.8) as u32);
        let report = capacity_report(&table(&run(1, &steps, 60, cores)), &CapacitySettings::new(0.02));
        assert_eq!(report.accuracy.as_ref().unwrap().trust, Trust::Good, "{}", report.headline);
        let answer = report.answer.unwrap();
        // Of the median mix, because chance makes one window's mix heavier than the sessions are.
        let clients = answer.clients_median.unwrap() as u32;
        let [throughput, response_s] = mean_measurements(&run(2, &[clients], 80, cores));
        assert!(
            (answer.throughput_median / throughput - 1.0).abs() < 0.03,
            "{} {throughput}",
            answer.throughput_median
        );
        assert!((0.02 / response_s - 1.0).abs() < 0.12, "{cores}: {response_s}");
    }
}

#[test]
fn the_think_time_is_estimated_and_the_front_saturates_first() {
    let report = capacity_report(&light_load_table(), &CapacitySettings::new(0.1));
    let model = report.model.unwrap();
    assert_eq!(model.clients, ClientsBasis::Measured);
    assert!((model.think.unwrap().seconds - 7.0).abs() < 0.1);
    assert_eq!(report.answer.as_ref().unwrap().bottleneck, "front");
    assert_eq!(model.tiers.iter().filter(|tier| tier.kind == TierKind::Cpu).count(), 2);
    // Part of the demand comes after the response (objects that pages embed).
    assert!(report.cautions.iter().any(|caution| caution.contains("after the response")));
}

/// One fit for both questions: the same observations give the same demands.
#[test]
fn demands_match_those_of_the_changes_question() {
    let table = light_load_table();
    let question = ChangesQuestion {
        table: &table,
        facts: &SampleFacts::default(),
        deployments: &[],
        settings: &ChangesSettings::default(),
        threads: NonZeroUsize::MIN,
    };
    let changes = changes(&question).unwrap();
    let model = capacity_report(&table, &CapacitySettings::new(0.1)).model.unwrap();
    for server in &changes.servers {
        assert_eq!(server.models.len(), 1, "{}", changes.headline);
        let tier = model.tiers.iter().find(|tier| tier.tier == server.tier).unwrap();
        for (index, cost) in server.models[0].transactions.iter().enumerate() {
            let transaction = &cost.transaction;
            assert_eq!(*transaction, model.transactions[index]);
            assert!((tier.demands_s[index] / cost.demand_s - 1.0).abs() < 1e-9, "{transaction}");
            assert!((tier.high_s[index] / cost.demand_high_s - 1.0).abs() < 1e-9, "{transaction}");
            assert_eq!(tier.distinguishable[index], cost.distinguishable, "{transaction}");
        }
    }
}

/// The database takes 1.5 ms a call. Its demands follow from calls, also those of types with one call in a thousand.
#[test]
fn the_cost_of_a_call_gives_the_demands_of_a_callee() {
    let run = run(5, &[200, 450, 700, 950], 48, 1.0);
    let model = capacity_report(&table(&run), &CapacitySettings::new(0.1)).model.unwrap();
    let database = model.tiers.iter().find(|tier| tier.tier == "db").unwrap();
    let call = database.call.as_ref().unwrap();
    assert!(call.common, "{}", database.source);
    assert!((call.demand_s / 0.0015 - 1.0).abs() < 0.03, "{}", call.demand_s);
    assert!(call.low_s <= 0.0015 && call.high_s >= 0.0015, "{} to {}", call.low_s, call.high_s);
    let position_of = |name: &str| model.transactions.iter().position(|known| known == name).unwrap();
    for (name, calls) in [("Admin Confirm", 3.0), ("Buy Confirm", 6.0), ("Home", 1.0)] {
        assert!((call.calls[position_of(name)] - calls).abs() < 1e-9, "{name}");
        assert!((database.demands_s[position_of(name)] / (0.0015 * calls) - 1.0).abs() < 0.03, "{name}");
        assert!(database.distinguishable[position_of(name)], "{name}");
    }
    assert!(model.tiers.iter().find(|tier| tier.tier == "front").unwrap().call.is_none());
}

#[test]
fn without_clients_the_answer_is_a_rate_or_needs_a_think_time() {
    let mut unknown = light_load_table();
    unknown.clients = vec![];
    let report = capacity_report(&unknown, &CapacitySettings::new(0.1));
    let answer = report.answer.unwrap();
    assert_eq!(answer.clients, None);
    assert!(report.cautions.iter().any(|caution| caution.contains("--think")));
    let with_think_time = CapacitySettings { think_s: Some(7.0), ..CapacitySettings::new(0.1) };
    let closed = capacity_report(&unknown, &with_think_time);
    assert_eq!(closed.model.unwrap().clients, ClientsBasis::FromThinkTime);
    let clients = closed.answer.unwrap().clients.unwrap() as f64;
    let known = capacity_report(&light_load_table(), &CapacitySettings::new(0.1)).answer.unwrap();
    assert!((clients / known.clients.unwrap() as f64 - 1.0).abs() < 0.02);
    assert!((answer.throughput / known.throughput - 1.0).abs() < 0.1);
}

#[test]
fn what_if_changes_move_the_answer_in_the_right_direction() {
    let table = light_load_table();
    let base = capacity_report(&table, &CapacitySettings::new(0.1)).answer.unwrap().clients.unwrap();
    let with = |change: &str| {
        let changes = vec![WhatIfChange::parse(change).unwrap()];
        let report = capacity_report(&table, &CapacitySettings { changes, ..CapacitySettings::new(0.1) });
        let what_if = report.what_if.unwrap();
        (what_if.answer.clients.unwrap(), what_if.changes.join(" "))
    };
    let (more, words) = with("front.servers=2");
    assert!(more > base + base / 4, "{more} of {base}");
    assert_eq!(words, "`front` has 2 servers instead of 1.");
    assert!(with("front.cores=2").0 > base + base / 4);
    assert!(with("Home.demand=-30%").0 > base);
    assert!(with("Home.demand=+30%").0 < base);
    assert!(with("front.demand=x2").0 < 3 * base / 5);
    assert!(with("Home.db.demand=5ms").0 <= base);
}

#[test]
fn other_mixes_loads_and_think_times_are_answered() {
    let table = light_load_table();
    let report = capacity_report(
        &table,
        &CapacitySettings {
            mix: Some(vec![("Home".to_owned(), 3.0), ("Best Sellers".to_owned(), 1.0)]),
            load_factor: Some(0.5),
            think_s: Some(3.5),
            ..CapacitySettings::new(0.1)
        },
    );
    let (base, what_if) = (report.answer.unwrap(), report.what_if.unwrap());
    assert_eq!(what_if.changes.len(), 3);
    assert!(what_if.answer.limiting_window.is_none() && what_if.answer.windows.is_empty());
    assert_eq!(what_if.answer.mix.iter().filter(|share| **share > 0.0).count(), 2);
    assert!(what_if.answer.clients < base.clients);
    let load = what_if.load.unwrap();
    assert!((load.clients.unwrap() - 0.5 * report.load.unwrap().clients.unwrap()).abs() < 1e-6);
}

#[test]
fn unknown_names_are_errors_that_list_the_known_names() {
    let table = light_load_table();
    let ask = |settings: CapacitySettings| capacity(&table, &SampleFacts::default(), &settings).unwrap_err();
    let changed = |text: &str| CapacitySettings {
        changes: vec![WhatIfChange::parse(text).unwrap()],
        ..CapacitySettings::new(0.1)
    };
    assert!(ask(changed("carrt.demand=-30%")).contains("Home"));
    assert!(ask(changed("app.servers=2")).contains("front"));
    let mix = Some(vec![("cart".to_owned(), 1.0)]);
    assert!(ask(CapacitySettings { mix, ..CapacitySettings::new(0.1) }).contains("Home"));
    let front = Some("app".to_owned());
    assert!(ask(CapacitySettings { front, ..CapacitySettings::new(0.1) }).contains("front"));
}

#[test]
fn too_little_data_is_reported() {
    let mut no_cpu = light_load_table();
    no_cpu.servers.clear();
    let mut short = light_load_table();
    short.servers.iter_mut().for_each(|server| server.utilization[4..].fill(f64::NAN));
    let mut idle = light_load_table();
    idle.servers.iter_mut().for_each(|server| server.utilization.fill(0.0));
    let mut gaps = light_load_table();
    gaps.system.counts = laggard_numeric::Matrix::from_row_major(48, 14, vec![f64::NAN; 48 * 14]);
    for table in [WindowTable::default(), no_cpu, short, idle, gaps] {
        let report = capacity_report(&table, &CapacitySettings::new(0.1));
        assert_eq!(report.verdict, CapacityVerdict::InsufficientData);
        assert!(report.answer.is_none() && !report.missing.is_empty(), "{}", report.headline);
    }
}

#[test]
fn an_unreachable_target_is_reported() {
    let report = capacity_report(&light_load_table(), &CapacitySettings::new(0.000_1));
    assert_eq!(report.answer.as_ref().unwrap().clients, Some(0));
    assert_eq!(report.verdict, CapacityVerdict::Exceeded);
    assert!(report.headline.starts_with("Not even one client"), "{}", report.headline);
}

/// A system whose load is not all counted, or whose CPU does other things, must not answer with confidence.
#[test]
fn data_that_do_not_fit_give_low_confidence() {
    let mut table = light_load_table();
    for (index, used) in table.servers[1].utilization.iter_mut().enumerate() {
        *used = 0.1 + 0.8 * f64::from(u8::from(index % 3 == 0));
    }
    let report = capacity_report(&table, &CapacitySettings::new(0.1));
    assert_eq!(report.accuracy.unwrap().trust, Trust::Poor);
    assert!(report.cautions.iter().any(|caution| caution.contains("rough guess")));
}

/// Home takes 10 ms more for the second half: only that half counts, and the capacity is what it is now.
#[test]
fn only_windows_of_the_current_application_are_used() {
    let load = || Workload::Steps { mix: 1, clients: vec![200, 450, 700] };
    let phases = vec![Phase::new(60, load()), Phase::new(60, load()).with_change("Home", 0.01)];
    let table = table(&tpcw(&TpcwSettings::new(3, phases)).unwrap());
    let now = capacity_report(&table, &CapacitySettings::new(0.05));
    let all = CapacitySettings { windows: CountedWindows::All, ..CapacitySettings::new(0.05) };
    let all = capacity_report(&table, &all);
    assert!(
        now.cautions
            .iter()
            .any(|caution| caution.contains("60 windows from before the last application change")),
        "{:?}",
        now.cautions
    );
    let first = now.observed.first().unwrap().since.unix_ns();
    let cut = table.since.unix_ns() + 60 * 60_000_000_000;
    assert!((first - cut).abs() <= 3 * 60_000_000_000, "{}", (first - cut) / 60_000_000_000);
    let clients = |report: &CapacityReport| report.answer.as_ref().unwrap().clients_median.unwrap();
    assert!(clients(&now) < 0.95 * clients(&all), "{} {}", clients(&now), clients(&all));
    assert!(now.accuracy.unwrap().trust == Trust::Good);
}
