//! Slow periods inside a window.

use super::{Load, Random, THREADS};
use laggard_localize::{
    Bins, Incident, ScanSettings, SiteSettings, SiteTable, find_incidents, find_replica_periods,
};
use laggard_model::{Nanos, OperationId, ReplicaId, Timestamp};
use std::collections::BTreeSet;
use std::ops::Range;

fn incidents_of(table: &SiteTable) -> Vec<Incident> {
    find_incidents(table, &ScanSettings::default(), THREADS)
}

fn minute(at: i64) -> Timestamp {
    Timestamp::from_unix_ns(at * 60_000_000_000)
}

/// First and last minute, and slow bins, of every incident.
fn periods(table: &SiteTable) -> Vec<(Timestamp, Timestamp, usize)> {
    incidents_of(table).iter().map(|incident| (incident.since, incident.until, incident.bins)).collect()
}

/// One request a second: so many minutes.
fn minutes(seed: u64, minutes: usize, factor: impl Fn(usize, usize) -> f64) -> SiteTable {
    Load { sites: 3, ..Load::default() }
        .table(&mut Random(seed), minutes * 60, |site, at| factor(site, at / 60))
}

#[test]
fn quiet_windows_have_no_slow_period() {
    let alarms = (0..60).filter(|&seed| !incidents_of(&minutes(seed, 24, |_, _| 1.0)).is_empty()).count();
    assert_eq!(alarms, 0, "of 60 windows of 24 minutes");
}

#[test]
fn a_slow_period_is_found_with_its_edges() {
    for seed in 0..10 {
        let slow = |site, minute| if site == 1 && (10..14).contains(&minute) { 5.0 } else { 1.0 };
        let table = minutes(100 + seed, 30, slow);
        assert_eq!(periods(&table), [(minute(10), minute(14), 4)], "seed {seed}");
        let share = incidents_of(&table)[0].excess_share;
        // One of three equal sites takes four times its usual beyond it: 4/3, less what giants are cut by.
        assert!(share > 0.7 && share < 2.2, "seed {seed}: {share}");
    }
}

#[test]
fn two_slow_periods_are_two_incidents() {
    let slow = |site, minute| match (site, minute) {
        (0, 5..8) => 6.0,
        (2, 20..22) => 8.0,
        _ => 1.0,
    };
    let table = minutes(200, 30, slow);
    assert_eq!(periods(&table), [(minute(5), minute(8), 3), (minute(20), minute(22), 2)]);
}

#[test]
fn slowness_of_few_requests_is_no_incident() {
    // A site with a third of the time takes 40 % longer: 13 % of the latency.
    let table =
        minutes(300, 30, |site, minute| if site == 1 && (10..14).contains(&minute) { 1.4 } else { 1.0 });
    assert_eq!(periods(&table), []);
}

#[test]
fn a_minute_without_requests_neither_ends_nor_starts_an_incident() {
    let slow = |site, minute| if site == 1 && (10..16).contains(&minute) { 6.0 } else { 1.0 };
    let without = |from: i64, to: i64| {
        minutes(400, 40, slow).only(|request| !(minute(from)..minute(to)).contains(&request.start))
    };
    assert_eq!(periods(&without(13, 14)), [(minute(10), minute(16), 5)], "a minute inside is missing");
    assert_eq!(
        periods(&without(12, 14)),
        [(minute(10), minute(12), 2), (minute(14), minute(16), 2)],
        "two minutes inside are missing"
    );
    assert_eq!(periods(&without(16, 19)), [(minute(10), minute(16), 6)], "minutes after it are missing");
    assert_eq!(periods(&without(0, 5)), [(minute(10), minute(16), 6)], "the window begins later");
    assert_eq!(periods(&without(25, 30)), [(minute(10), minute(16), 6)], "a hole elsewhere");
}

#[test]
fn a_few_giant_requests_are_no_incident() {
    for giants in 1..=4 {
        let load = Load { sites: 3, ..Load::default() };
        let table = load.table(&mut Random(500 + giants as u64), 1800, |site, at| {
            if site == 1 && (600..600 + giants).contains(&at) { 3000.0 } else { 1.0 }
        });
        assert_eq!(periods(&table), [], "{giants} giants");
    }
}

#[test]
fn a_gradual_slowdown_is_found() {
    // From 1 to 8 times the usual over the last ten of forty minutes.
    let ramp =
        |site, minute: usize| if site == 0 { 1.0 + 0.7 * minute.saturating_sub(29) as f64 } else { 1.0 };
    let found = incidents_of(&minutes(600, 40, ramp));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!((minute(30)..=minute(34)).contains(&found[0].since), "{found:?}");
    assert_eq!(found[0].until, minute(40));
}

#[test]
fn slow_from_the_start_or_to_the_end_is_found_as_well() {
    let first = minutes(700, 30, |site, minute| if site == 1 && minute < 3 { 6.0 } else { 1.0 });
    assert_eq!(periods(&first), [(minute(0), minute(3), 3)]);
    let last = minutes(701, 30, |site, minute| if site == 1 && minute >= 27 { 6.0 } else { 1.0 });
    assert_eq!(periods(&last), [(minute(27), minute(30), 3)]);
}

#[test]
fn few_bins_give_no_reference() {
    let slow = |site, minute| if site == 1 && minute == 5 { 10.0 } else { 1.0 };
    assert_eq!(periods(&minutes(800, 11, slow)), []);
    assert_eq!(periods(&minutes(800, 12, slow)), [(minute(5), minute(6), 1)]);
    assert_eq!(periods(&SiteTable::default()), []);
}

#[test]
fn hostile_clocks_do_no_harm() {
    for (first, last) in [
        (i64::MIN, i64::MAX),
        (i64::MIN, i64::MIN + 1),
        (i64::MIN + 1, 0),
        (i64::MAX - 1, i64::MAX),
        (0, i64::MAX),
    ] {
        let mut table = minutes(900, 2, |_, _| 1.0);
        table.requests[0].start = Timestamp::from_unix_ns(first);
        let rest = table.requests.len() - 1;
        for (at, request) in table.requests.iter_mut().enumerate().skip(1) {
            let part = (i128::from(last) - i128::from(first)) * at as i128 / rest as i128;
            request.start = Timestamp::from_unix_ns((i128::from(first) + part) as i64);
        }
        let bins = Bins::of(&table, Nanos::from_secs(60)).unwrap();
        assert!(bins.requests.len() <= 1500, "{first}..{last}: {} bins", bins.requests.len());
        assert_eq!(bins.requests.iter().sum::<usize>(), table.requests.len());
        incidents_of(&table);
    }
}

#[test]
fn bins_lie_on_whole_minutes_and_get_longer_in_long_windows() {
    let mut table = minutes(1000, 2, |_, _| 1.0);
    for (at, request) in table.requests.iter_mut().enumerate() {
        request.start = Timestamp::from_unix_ns(-30_000_000_000 + at as i64 * 1_000_000_000);
    }
    let bins = Bins::of(&table, Nanos::from_secs(60)).unwrap();
    assert_eq!((bins.start, bins.requests.as_slice()), (minute(-1), &[30, 60, 30][..]));
    assert_eq!((bins.start_of(1), bins.bin_of(minute(0)), bins.bin_of(minute(1))), (minute(0), 1, 2));
    let last = table.requests.len() - 1;
    table.requests[last].start = minute(2 * 1440);
    let bins = Bins::of(&table, Nanos::from_secs(60)).unwrap();
    assert_eq!(bins.length, Nanos::from_secs(180));
}

#[test]
fn sampling_weights_do_not_make_a_slow_period() {
    let mut table = minutes(1100, 30, |_, _| 1.0);
    for (at, request) in table.requests.iter_mut().enumerate() {
        request.weight = if at % 2 == 0 { 1.0 } else { 20.0 };
    }
    assert_eq!(periods(&table), []);
}

/// A request a second on three replicas in turn; one of them is slower at one site in some minutes.
fn on_three_replicas(seed: u64, minutes: usize, slow: Range<usize>, factor: f64) -> SiteTable {
    let at = |site: usize, request: usize| {
        let is_slow = site == 1 && request % 3 == 2 && slow.contains(&(request / 60));
        if is_slow { factor } else { 1.0 }
    };
    let mut table = Load { sites: 3, ..Load::default() }.table(&mut Random(seed), minutes * 60, at);
    table.sets = (0..3).map(|at| vec![ReplicaId::from_index(at)]).collect();
    table.rows.iter_mut().flatten().for_each(|row| row.set = row.request % 3);
    table
}

fn replica_periods_of(table: &SiteTable) -> Vec<Range<Timestamp>> {
    let found = find_replica_periods(table, &BTreeSet::new(), &SiteSettings::default(), THREADS);
    let slow = BTreeSet::from([OperationId::from_index(1)]);
    assert!(found.iter().all(|period| period.operations == slow), "{found:?}");
    found.into_iter().map(|period| period.time).collect()
}

#[test]
fn a_replica_that_is_slow_for_a_part_of_the_window_is_found_with_its_period() {
    for (seed, minutes, slow) in [(1, 60, 40..52), (2, 240, 100..120), (3, 40, 0..10), (4, 100, 80..100)] {
        let table = on_three_replicas(seed, minutes, slow.clone(), 2.0);
        let found = replica_periods_of(&table);
        let [period] = found.as_slice() else { panic!("seed {seed}: {found:?}") };
        let off = |time: Timestamp, expected: usize| time.since(minute(expected as i64)).magnitude();
        let off = off(period.start, slow.start).max(off(period.end, slow.end));
        assert!(off <= Nanos::from_secs(120), "seed {seed}: {period:?}");
        let known = BTreeSet::from([OperationId::from_index(1)]);
        assert_eq!(find_replica_periods(&table, &known, &SiteSettings::default(), THREADS), []);
    }
}

#[test]
fn replicas_that_are_slow_throughout_or_not_at_all_have_no_period() {
    for seed in 0..40 {
        assert_eq!(replica_periods_of(&on_three_replicas(500 + seed, 60, 0..60, 2.0)), []);
        assert_eq!(replica_periods_of(&on_three_replicas(600 + seed, 60, 0..60, 1.0)), []);
    }
}

/// Three requests a minute on many replicas. One replica has six calls in twelve minutes, and three of them are very long.
#[test]
fn a_few_very_long_calls_are_no_period() {
    for seed in 0..20 {
        let load = Load { sites: 1, ..Load::default() };
        let mut table = load.table(&mut Random(700 + seed), 3_600, |_, _| 1.0);
        table = table.only(|request| request.start.unix_ns() / 1_000_000_000 % 20 == 0);
        table.sets = (0..41).map(|at| vec![ReplicaId::from_index(at)]).collect();
        for (at, row) in table.rows.iter_mut().flatten().enumerate() {
            let is_busy = (138..174).contains(&at) && at % 6 == 0;
            row.set = if is_busy { 0 } else { 1 + row.request % 40 };
            if is_busy && at % 12 == 6 {
                (row.time_ns, row.path_ns) = (3_000.0 * row.time_ns, 3_000.0 * row.path_ns);
            }
        }
        assert_eq!(find_replica_periods(&table, &BTreeSet::new(), &SiteSettings::default(), THREADS), []);
    }
}
