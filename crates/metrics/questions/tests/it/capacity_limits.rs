//! Memory, network, groups of clients, and the cost of a change in capacity, of a simulated shop.

use crate::tpcw_table::table;
use laggard_metrics_questions::{CapacitySettings, RequestedClients, SampleFacts, capacity};
use laggard_report::{CapacityReport, CapacityVerdict, LoadUnit, ResourceKind};
use laggard_samples::WindowTable;
use laggard_simulate::{Phase, TpcwSettings, Workload, tpcw};

fn shop(seed: u64, phases: Vec<Phase>) -> WindowTable {
    table(&tpcw(&TpcwSettings::new(seed, phases)).expect("settings in range"))
}

fn steps(windows: u32, mix: usize, clients: &[u32]) -> Phase {
    Phase::new(windows, Workload::Steps { mix, clients: clients.to_vec() })
}

fn report(table: &WindowTable, settings: &CapacitySettings) -> CapacityReport {
    capacity(table, &SampleFacts::default(), settings).expect("names that are there")
}

/// Sets the memory or the link of the first tier to a line over clients or throughput, with noise of 1 % and a trend.
fn set_use(table: &mut WindowTable, resource: ResourceKind, used: impl Fn(usize, f64, f64) -> f64) {
    let front = table.servers.iter().position(|server| server.tier == "front").unwrap();
    let used: Vec<f64> = (0..table.windows)
        .map(|window| {
            let rate: f64 = table.system.counts.row(window).iter().sum::<f64>() / 60.0;
            let hash = (78.233 * (window + 1) as f64).sin() * 43_758.547;
            let noise = 0.02 * (hash - hash.floor() - 0.5);
            used(window, table.clients[window], rate) + noise
        })
        .collect();
    match resource {
        ResourceKind::Memory => table.servers[front].memory = used,
        ResourceKind::Network => table.servers[front].network = used,
    }
}

/// 20 % of the memory without clients and 0.1 % for each: 90 % at 700 clients, before the CPU has enough; the link is no limit.
#[test]
fn memory_that_is_full_before_the_cpu_limits_the_capacity() {
    let mut table = shop(1, vec![steps(48, 1, &[150, 300, 450, 600])]);
    let without = report(&table, &CapacitySettings::new(0.1));
    assert!(without.limits.is_empty() && without.used().unwrap() < 0.8, "{}", without.headline);
    set_use(&mut table, ResourceKind::Memory, |_, clients, _| 0.2 + 0.001 * clients);
    set_use(&mut table, ResourceKind::Network, |_, _, rate| 0.002 * rate);
    let report = report(&table, &CapacitySettings::new(0.1));
    let [memory, network] = &report.limits[..] else { panic!("{:?}", report.limits) };
    assert_eq!((memory.resource, memory.unit), (ResourceKind::Memory, LoadUnit::Clients));
    let growth = memory.growth.as_ref().unwrap();
    assert!((growth.load / 700.0 - 1.0).abs() < 0.05, "{growth:?}");
    assert!(growth.low <= 700.0 && growth.high >= 700.0, "{growth:?}");
    assert!(memory.load_before_cpu().is_some() && network.load_before_cpu().is_none());
    let link = network.growth.as_ref().unwrap();
    assert_eq!(network.unit, LoadUnit::Throughput);
    assert!((link.load / 400.0 - 1.0).abs() < 0.05, "{link:?}");
    assert!(
        report.headline.contains("Before that, the memory of `front` is 90 % full at"),
        "{}",
        report.headline
    );
    // Of 600 clients of 700.
    assert_eq!(report.verdict, CapacityVerdict::NearLimit, "{}", report.headline);
}

#[test]
fn memory_that_does_not_follow_the_load_gives_no_limit() {
    let mut table = shop(1, vec![steps(48, 1, &[150, 300, 450, 600])]);
    set_use(&mut table, ResourceKind::Memory, |window, _, _| 0.5 + 0.004 * window as f64);
    let report = report(&table, &CapacitySettings::new(0.1));
    assert!(report.limits[0].growth.is_none(), "{:?}", report.limits);
    assert!(report.limits[0].load_before_cpu().is_none());
    assert_eq!(report.verdict, CapacityVerdict::Enough);
}

/// Groups with the mix of the shop are the clients that the shop has; a group with a mix of its own has its own response time.
#[test]
fn groups_of_clients_have_their_own_response_times() {
    let table = shop(1, vec![steps(48, 1, &[200, 450, 700, 950])]);
    let group = |name: &str, clients, mix: &[(&str, f64)]| RequestedClients {
        name: name.to_owned(),
        clients,
        think_s: None,
        mix: mix.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect(),
    };
    let ask = |client_groups: Vec<RequestedClients>| CapacitySettings {
        client_groups,
        ..CapacitySettings::new(0.05)
    };
    let same_mix = report(&table, &ask(vec![group("first", 600, &[]), group("second", 300, &[])]));
    let found = same_mix.client_groups.unwrap();
    let clients: u64 = found.most.groups.iter().map(|group| group.clients).sum();
    // The one capacity with the mix of all data is near the median over the intervals.
    let median = same_mix.answer.unwrap().clients_median.unwrap();
    assert!((clients as f64 / median - 1.0).abs() < 0.03, "{clients} {median}");
    let two =
        vec![group("browsing", 600, &[("Home", 1.0)]), group("searching", 200, &[("Best Sellers", 1.0)])];
    let found = report(&table, &ask(two)).client_groups.unwrap();
    let [browsing, searching] = &found.stated.groups[..] else { panic!("{found:?}") };
    assert!(searching.response_s > browsing.response_s, "{found:?}");
    assert!(found.most.groups.iter().all(|group| group.response_s <= 0.05));
    let failed = |groups| capacity(&table, &SampleFacts::default(), &ask(groups)).unwrap_err();
    assert!(failed(vec![group("a", 1, &[("Hom", 1.0)])]).contains("Home"));
    assert!(failed(vec![group("a", 0, &[])]).contains("no clients"));
    assert!(failed(vec![group("a", 1, &[]); 9]).contains("at most 8"));
}

/// Home takes 10 ms more for the second half. What that costs is what a shop without the change could serve.
#[test]
fn the_cost_of_a_change_is_stated_in_cores_and_clients() {
    let phase = || steps(90, 1, &[200, 450, 700]);
    let changed = shop(3, vec![phase(), phase().with_change("Home", 0.01)]);
    let after = report(&changed, &CapacitySettings::new(0.05));
    let cost = after.last_change.clone().unwrap();
    assert_eq!(cost.tier, "front");
    let minutes = (cost.since.unix_ns() - changed.since.unix_ns()) / 60_000_000_000;
    assert!((87..=93).contains(&minutes), "{minutes}");
    // The truth: its share of the transactions, times 10 ms.
    let home = changed.transactions.iter().position(|name| name == "Home").unwrap();
    let rows = 93..changed.windows;
    let sum = |column: usize| rows.clone().map(|row| changed.system.counts.get(row, column)).sum::<f64>();
    let all: f64 = (0..changed.transactions.len()).map(sum).sum();
    let truth_s = 0.01 * sum(home) / all;
    assert!(((cost.demand_after_s - cost.demand_before_s) / truth_s - 1.0).abs() < 0.1, "{cost:?} {truth_s}");
    let rows = changed.windows - 10..changed.windows;
    let now = rows.map(|row| changed.system.counts.get(row, home)).sum::<f64>() / 600.0;
    assert!((cost.cores / (0.01 * now) - 1.0).abs() < 0.15, "{cost:?} {now}");
    assert!(
        (cost.cores_to_restore / cost.cores_of_tier - cost.demand_after_s / cost.demand_before_s).abs()
            < 1e-9
    );
    let before = report(&shop(4, vec![phase()]), &CapacitySettings::new(0.05)).answer.unwrap();
    let ratio = cost.clients_before.unwrap() as f64 / before.clients_median.unwrap();
    assert!((ratio - 1.0).abs() < 0.04, "{cost:?} {:?}", before.clients_median);
    assert!(cost.clients_after < cost.clients_before);
    assert!(after.headline.contains("The last change, at "), "{}", after.headline);
    assert!(report(&shop(5, vec![phase()]), &CapacitySettings::new(0.05)).last_change.is_none());
}
