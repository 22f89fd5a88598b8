//! Changes of a simulated shop and of hand-made tables.

use crate::tpcw_table::table;
use laggard_metrics_questions::{
    ChangeMethod, ChangesQuestion, ChangesSettings, DeclaredDeployment, SampleFacts, changes,
};
use laggard_model::{Losses, Nanos, Timestamp};
use laggard_numeric::Matrix;
use laggard_report::{ChangeEventKind, ChangeReport, ChangeVerdict, SegmentState};
use laggard_samples::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};
use laggard_simulate::{Phase, TpcwRun, TpcwSettings, Workload, tpcw};
use std::num::NonZeroUsize;

const MINUTE_NS: i64 = 60_000_000_000;

fn changes_report(
    table: &WindowTable,
    method: ChangeMethod,
    deployments: &[DeclaredDeployment],
) -> ChangeReport {
    let settings = ChangesSettings { method, ..ChangesSettings::default() };
    let question = ChangesQuestion {
        table,
        facts: &SampleFacts::default(),
        deployments,
        settings: &settings,
        threads: NonZeroUsize::new(2).unwrap(),
    };
    changes(&question).unwrap()
}

/// Two hours of three minutes' steps, the second with another cost of Home.
fn simulate_shop(extra_s: f64) -> TpcwRun {
    let load = || Workload::Steps { mix: 1, clients: vec![40, 120, 200] };
    let phases = vec![Phase::new(60, load()), Phase::new(60, load()).with_change("Home", extra_s)];
    tpcw(&TpcwSettings::new(7, phases)).unwrap()
}

#[test]
fn a_slower_transaction_is_dated_named_and_linked_to_its_deployment() {
    let run = simulate_shop(0.01);
    let table = table(&run);
    let time = table.since.plus(Nanos::from_secs(60 * 60));
    let deployment = |seconds: u64, name: &str| DeclaredDeployment {
        time: time.minus(Nanos::from_secs(seconds)),
        name: name.to_owned(),
    };
    let deployments = [deployment(2_400, "v1"), deployment(12, "v2")];
    for method in [ChangeMethod::Adaptive, ChangeMethod::Cherkasova] {
        let report = changes_report(&table, method, &deployments);
        assert_eq!(report.verdict, ChangeVerdict::ApplicationChange, "{}", report.headline);
        let response = report.response.as_ref().unwrap();
        assert_eq!(response.response_s.len(), response.transactions.len());
        // Home takes 10 ms more in the second hour.
        let home = response.transactions.iter().position(|name| name == "Home").unwrap();
        let mean = |points: &[Option<f64>]| {
            points.iter().flatten().sum::<f64>() / points.iter().flatten().count() as f64
        };
        let [before, after] = [0..60, 60..120].map(|hour| mean(&response.response_s[home][hour]));
        assert!((0.008..0.02).contains(&(after - before)), "{before} {after}");
        let alarms: Vec<_> =
            report.events.iter().filter(|event| event.kind == ChangeEventKind::ApplicationChange).collect();
        assert_eq!(alarms.len(), 1, "{}", report.headline);
        let onset = &alarms[0].onset;
        assert!(onset.at.since(time).magnitude() <= Nanos::from_secs(120), "{onset:?}");
        assert!(onset.earliest <= onset.at && onset.at <= onset.latest);
        let home = &alarms[0].transactions[0];
        assert_eq!(home.transaction, "Home");
        assert!((home.difference_s - 0.01).abs() < 0.002, "{home:?}");
        assert_eq!(alarms[0].deployment.as_ref().unwrap().name, "v2");
        assert!(report.ruled_out.iter().any(|text| text.contains("followed deployment `v1`")));
        assert!(report.headline.contains("`Home` "), "{}", report.headline);
    }
}

#[test]
fn a_report_is_complete_and_consistent() {
    let table = table(&simulate_shop(0.01));
    let report = changes_report(&table, ChangeMethod::Cherkasova, &[]);
    let server = report.servers.iter().find(|server| server.tier == "front").unwrap();
    assert_eq!(server.windows, 120);
    let covered: u64 = server.segments.iter().map(|segment| segment.windows).sum();
    assert_eq!(covered, 120);
    for pair in server.segments.windows(2) {
        assert_eq!(pair[0].time.until, pair[1].time.since);
    }
    assert_eq!(server.models.iter().filter(|model| model.current).count(), 1);
    for segment in server.segments.iter().filter(|segment| segment.state == SegmentState::Normal) {
        assert!((segment.model.unwrap() as usize) < server.models.len());
    }
    let series = &server.series;
    assert_eq!((series.observed.len(), series.windows_per_point), (120, 1));
    for lists in [&series.predicted, &series.residual_low, &series.transactions_per_s] {
        assert_eq!(lists.len(), 120);
    }
    let mix = report.mix.as_ref().unwrap();
    let all: f64 = mix.shares.iter().map(|shares| shares[10].unwrap()).sum();
    assert!((all - 1.0).abs() < 1e-9, "{all}");
    assert_eq!(mix.transactions.last().unwrap(), "(other)");
    assert!(report.settings.iter().any(|setting| setting.name == "error-max" && setting.value == "3"));
}

#[test]
fn the_answer_does_not_depend_on_the_order_of_servers_threads_or_the_run() {
    let table = table(&simulate_shop(0.01));
    let first = changes_report(&table, ChangeMethod::default(), &[]);
    let second = changes_report(&table, ChangeMethod::default(), &[]);
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}

#[test]
fn settings_out_of_range_are_named() {
    let table = small_table(4, 1);
    let settings = ChangesSettings { types_max: 0, ..ChangesSettings::default() };
    let facts = SampleFacts::default();
    let question = ChangesQuestion {
        table: &table,
        facts: &facts,
        deployments: &[],
        settings: &settings,
        threads: NonZeroUsize::MIN,
    };
    assert!(changes(&question).unwrap_err().to_string().starts_with("types-max is 0"));
}

/// Windows of a minute with types `a` (one to seven calls a second, of 10 ms) and `b` (none), on servers that share them.
fn small_table(windows: usize, servers: usize) -> WindowTable {
    let count = |index: usize| 60.0 + 30.0 * (index * 7 % 13) as f64;
    let counts = (0..windows).flat_map(|index| [count(index), 0.0]).collect();
    let used = |index: usize| 0.02 + 0.01 * count(index) / 60.0 / servers as f64;
    let server = |index: usize| ServerWindows {
        memory: vec![],
        network: vec![],
        server: format!("app-{index}"),
        tier: "app".to_owned(),
        machine: None,
        cores: Some(1.0),
        utilization: (0..windows).map(used).collect(),
        own: None,
    };
    WindowTable {
        since: Timestamp::from_unix_ns(0),
        length: Nanos::from_secs(60),
        windows,
        transactions: vec!["a".to_owned(), "b".to_owned()],
        system: TransactionWindows {
            counts: Matrix::from_row_major(windows, 2, counts),
            response_s: Matrix::zeros(0, 0),
            outbound: vec![],
        },
        clients: vec![f64::NAN; windows],
        servers: (0..servers).map(server).collect(),
        losses: Losses::default(),
        cautions: vec![],
    }
}

#[test]
fn too_little_data_gives_no_verdict() {
    for windows in [0, 1, 5, 19] {
        let report = changes_report(&small_table(windows, 1), ChangeMethod::default(), &[]);
        assert_eq!(report.verdict, ChangeVerdict::InsufficientData, "{windows}");
        assert!(report.headline.starts_with("Too little data to say. `app-0`: "), "{}", report.headline);
        assert!(report.events.is_empty());
    }
    let without_servers = changes_report(&small_table(100, 0), ChangeMethod::default(), &[]);
    assert_eq!(without_servers.verdict, ChangeVerdict::InsufficientData);
    assert!(without_servers.headline.contains("no CPU utilization"), "{}", without_servers.headline);
}

#[test]
fn the_missing_kind_of_sample_is_named() {
    let missing = |change: &dyn Fn(&mut WindowTable)| {
        let mut table = small_table(100, 1);
        change(&mut table);
        let report = changes_report(&table, ChangeMethod::default(), &[]);
        assert_eq!(report.verdict, ChangeVerdict::InsufficientData);
        report.missing.join(" ")
    };
    let no_cpu = missing(&|table| table.servers[0].utilization.fill(f64::NAN));
    assert!(no_cpu.contains("no CPU utilization is known, while transactions of 100 windows"), "{no_cpu}");
    let no_counts = missing(&|table| table.system.counts.data_mut().fill(f64::NAN));
    assert!(no_counts.contains("no transactions are counted"), "{no_counts}");
    let separate = missing(&|table| {
        table.servers[0].utilization[50..].fill(f64::NAN);
        let types = table.system.counts.cols();
        table.system.counts.data_mut()[..50 * types].fill(f64::NAN);
    });
    assert!(separate.contains("but never both"), "{separate}");
    let busy = missing(&|table| table.servers[0].utilization.fill(0.97));
    assert!(busy.contains("In 100 of 100 windows the CPU is at least 95 % busy"), "{busy}");
}

#[test]
fn a_server_with_too_little_data_does_not_prevent_the_verdicts_of_others() {
    let mut table = small_table(100, 1);
    table.servers.push(ServerWindows { server: "app-1".to_owned(), ..table.servers[0].clone() });
    table.servers.iter_mut().for_each(|server| server.own = Some(table.system.clone()));
    table.servers[1].utilization[4..].fill(f64::NAN);
    let report = changes_report(&table, ChangeMethod::default(), &[]);
    assert_eq!(report.verdict, ChangeVerdict::Steady, "{}", report.headline);
    assert_eq!(report.servers[1].verdict, ChangeVerdict::InsufficientData);
    assert_eq!(report.missing.len(), 1);
}

#[test]
fn transactions_of_the_system_are_divided_among_servers_and_costs_are_not() {
    for servers in [1, 3] {
        let report = changes_report(&small_table(100, servers), ChangeMethod::Cherkasova, &[]);
        let model = &report.servers[0].models[0];
        assert_eq!(model.transactions.len(), 1, "a type that never occurs has no column");
        let cost = &model.transactions[0];
        assert!(cost.demand_low_s <= 0.01 && 0.01 <= cost.demand_high_s, "{servers}: {cost:?}");
        let server = &report.servers[0];
        assert!((server.segments[0].constant_percent - 2.0).abs() < 0.1, "{:?}", server.segments);
        let rate = server.series.transactions_per_s[0].unwrap();
        assert!((rate * servers as f64 - 1.0).abs() < 1e-9, "{rate}");
        let shared = report.cautions.iter().any(|text| text.contains("divided evenly among 3 servers"));
        assert_eq!(shared, servers == 3, "{:?}", report.cautions);
    }
}

#[test]
fn gaps_are_left_out_and_dates_stay_correct() {
    let mut table = small_table(100, 1);
    for window in 20..50 {
        (0..2).for_each(|index| table.system.counts.set(window, index, f64::NAN));
    }
    let report = changes_report(&table, ChangeMethod::Cherkasova, &[]);
    let server = &report.servers[0];
    assert_eq!((report.input.gaps, server.windows), (30, 70));
    assert_eq!(server.segments[0].time.until.unix_ns(), 100 * MINUTE_NS);
    assert_eq!((server.series.observed[20], server.series.predicted[49]), (None, None));
    assert!(server.series.observed[50].is_some());
    assert!(report.cautions.iter().any(|text| text.starts_with("30 of 100 windows have no transactions")));
}

#[test]
fn long_tables_have_bounded_series_that_keep_extremes() {
    let mut table = small_table(2_000, 1);
    table.servers[0].utilization[1_234] = 0.9;
    let report = changes_report(
        &WindowTable { servers: table.servers.clone(), ..table },
        ChangeMethod::Cherkasova,
        &[],
    );
    let series = &report.servers[0].series;
    assert_eq!((series.windows_per_point, series.observed.len()), (2, 1_000));
    assert_eq!(series.observed_high[1_234 / 2], Some(0.9));
    assert!(series.observed[1_234 / 2].unwrap() < 0.5);
    assert_eq!(report.mix.unwrap().windows_per_point, 2);
}

#[test]
fn outbound_calls_are_subtracted_and_overlaps_counted() {
    let mut table = small_table(100, 1);
    table.system.response_s = Matrix::from_row_major(100, 2, [0.05, f64::NAN].repeat(100));
    let time_s = |index: usize| if index == 3 { 0.2 } else { 0.02 };
    let calls = |value: fn(f64) -> f64| {
        let rows = (0..100).flat_map(|index| [value(table.system.counts.get(index, 0)), f64::NAN]);
        Matrix::from_row_major(100, 2, rows.collect())
    };
    table.system.outbound = vec![OutboundWindows {
        callee: "db".to_owned(),
        counts: calls(|count| 2.0 * count),
        time_s: Matrix::from_row_major(
            100,
            2,
            (0..100).flat_map(|index| [time_s(index), f64::NAN]).collect(),
        ),
    }];
    let report = changes_report(&table, ChangeMethod::Cherkasova, &[]);
    let cost = &report.servers[0].models[0].transactions[0];
    // 50 ms less two calls of 20 ms, times the idle share of about 94 %.
    let service = cost.service_time_s.unwrap();
    assert!((service - 0.01 * 0.94).abs() < 3e-4, "{service}");
    assert!(report.cautions.iter().any(|text| text.contains("in 1 cases")), "{:?}", report.cautions);
}

/// Two calls of 20 ms a transaction: that is what the database took for it, less queueing.
#[test]
fn a_called_tier_has_the_times_of_its_calls() {
    let mut table = small_table(100, 1);
    table.servers[0].tier = "db".to_owned();
    table.servers.push(ServerWindows { tier: "app".to_owned(), ..table.servers[0].clone() });
    table.system.response_s = Matrix::from_row_major(100, 2, [0.05, f64::NAN].repeat(100));
    let calls = (0..100).flat_map(|index| [2.0 * table.system.counts.get(index, 0), f64::NAN]).collect();
    table.system.outbound = vec![OutboundWindows {
        callee: "db".to_owned(),
        counts: Matrix::from_row_major(100, 2, calls),
        time_s: Matrix::from_row_major(100, 2, [0.02, f64::NAN].repeat(100)),
    }];
    let report = changes_report(&table, ChangeMethod::Cherkasova, &[]);
    let times: Vec<f64> = report
        .servers
        .iter()
        .map(|server| server.models[0].transactions[0].service_time_s.unwrap())
        .collect();
    assert!((times[0] - 0.04 * 0.94).abs() < 1e-3 && (times[1] - 0.01 * 0.94).abs() < 3e-4, "{times:?}");
}
