//! Comparison with a baseline: false positive rate and power.

use super::{Load, Random, THREADS, site};
use laggard_localize::{
    ChangeSettings, SiteRequest, SiteSettings, SiteTable, UsualLatency, compare_sites, latency_change,
    shifted_suspects,
};
use laggard_model::{AttributeSetId, Fingerprint, OperationId, ServiceId, Timestamp, TraceId};
use std::collections::BTreeMap;

fn settings() -> ChangeSettings {
    ChangeSettings::default()
}

/// Runs with any slower site, of so many in which nothing changed.
fn false_alarms(runs: u64, baseline: usize, window: usize, load: Load) -> usize {
    (0..runs)
        .filter(|&seed| {
            let mut random = Random(seed);
            let before = load.table(&mut random, baseline, |_, _| 1.0);
            let after = load.table(&mut random, window, |_, _| 1.0);
            compare_sites(&before, &after, &[], &settings(), THREADS).iter().any(|change| change.slower)
        })
        .count()
}

/// At most 5 % of the runs plus two standard errors.
fn false_positives_max(runs: u64) -> usize {
    let runs = runs as f64;
    (0.05 * runs + 2.0 * (0.05 * 0.95 * runs).sqrt()) as usize
}

#[test]
fn no_change_with_the_window_divided_into_blocks() {
    let found = false_alarms(200, 300, 150, Load::default());
    assert!(found <= false_positives_max(200), "{found} of 200");
}

#[test]
fn no_change_with_a_window_of_one_block() {
    let found = false_alarms(200, 480, 48, Load::default());
    assert!(found <= false_positives_max(200), "{found} of 200");
}

#[test]
fn no_change_against_a_baseline_of_hundreds_of_windows() {
    let found = false_alarms(100, 4000, 16, Load { sites: 2, ..Load::default() });
    assert!(found <= false_positives_max(100), "{found} of 100");
}

#[test]
fn no_change_against_a_short_baseline() {
    let found = false_alarms(200, 60, 300, Load::default());
    assert!(found <= false_positives_max(200), "{found} of 200");
}

#[test]
fn one_slower_site_is_found_and_its_factor_measured() {
    let load = Load { sites: 3, sigma: 0.25, ..Load::default() };
    // A baseline of two windows says less about drift than one of twenty.
    for (baseline, window, factor) in [(2000, 1000, 1.15), (12_000, 600, 1.1)] {
        let (mut found, mut covered, mut others) = (0, 0, 0);
        let runs = 50;
        for seed in 0..runs {
            let mut random = Random(1000 + seed);
            let before = load.table(&mut random, baseline, |_, _| 1.0);
            let after = load.table(&mut random, window, |at, _| if at == 2 { factor } else { 1.0 });
            let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
            let change = &changes[2];
            assert_eq!(change.site, site(2));
            found += usize::from(change.slower);
            covered += usize::from((change.factor_low..change.factor_high).contains(&factor));
            others += changes.iter().filter(|change| change.slower && change.site != site(2)).count();
        }
        // 47.5 of 50 are expected to be covered; 43 or fewer come about in 1 of 25.
        assert!(covered >= 44, "{covered} of {runs} intervals cover the truth ({baseline} before)");
        assert!(found >= 42, "{found} of {runs} found ({baseline} before)");
        assert!(others <= 4, "{others} wrong sites ({baseline} before)");
    }
}

/// The first `requests` of a table.
fn first(table: &SiteTable, requests: usize) -> SiteTable {
    let mut table = table.clone();
    table.requests.truncate(requests);
    table.rows.iter_mut().for_each(|rows| rows.retain(|row| (row.request as usize) < requests));
    table
}

/// Mean p-value of a site that is a tenth slower in a window of 400 requests, whose baseline grows over eight windows.
#[test]
fn a_longer_baseline_does_not_reduce_power() {
    let load = Load { sites: 3, sigma: 0.3, ..Load::default() };
    let sizes = [800, 1_600, 2_400, 3_100, 3_300, 4_800, 6_400];
    let runs = 40;
    let mut logs = [0.0; 7];
    for seed in 0..runs {
        let mut random = Random(9_000 + seed);
        let baseline = load.table(&mut random, 6_400, |_, _| 1.0);
        let window = load.table(&mut random, 400, |at, _| if at == 1 { 1.1 } else { 1.0 });
        for (log, size) in logs.iter_mut().zip(sizes) {
            let changes = compare_sites(&first(&baseline, size), &window, &[], &settings(), THREADS);
            *log += changes[1].p_value.ln() / runs as f64;
        }
    }
    assert!(logs.windows(2).all(|pair| pair[1] <= pair[0] + 0.15), "mean ln p: {logs:?}");
    assert!(logs[6] < logs[0] - 0.5, "{logs:?}");
}

/// Windows in which requests take as long as before, up to chance, and in which a fifth of them takes three times as long.
#[test]
fn requests_are_certainly_slower_only_by_more_than_they_vary() {
    let certain = |factor: f64| {
        let is_certain = |seed: &u64| {
            let mut random = Random(9_500 + seed);
            let before = Load::default().table(&mut random, 1_600, |_, _| 1.0);
            let slow = |_: usize, request: usize| if request.is_multiple_of(5) { factor } else { 1.0 };
            let after = Load::default().table(&mut random, 400, slow);
            latency_change(&before, &after, &UsualLatency::new(&before, &after, &BTreeMap::new())).is_certain
        };
        (0..100).filter(is_certain).count()
    };
    assert!(certain(1.0) <= 1, "{}", certain(1.0));
    assert!(certain(3.0) >= 95, "{}", certain(3.0));
    let mut random = Random(9_700);
    let before = Load::default().table(&mut random, 1_600, |_, _| 1.0);
    let giant = |_: usize, request: usize| if request == 77 { 500.0 } else { 1.0 };
    let after = Load::default().table(&mut random, 400, giant);
    let change = latency_change(&before, &after, &UsualLatency::new(&before, &after, &BTreeMap::new()));
    assert!(change.slower_mean_ns > 0.5 * change.baseline_mean_ns && !change.is_certain, "{change:?}");
}

#[test]
fn a_different_mix_of_categories_is_not_slower() {
    let mut found = 0;
    for seed in 0..60 {
        let mut random = Random(2000 + seed);
        let before = Load { shares: [0.7, 0.2, 0.1], ..Load::default() }.table(&mut random, 2000, |_, _| 1.0);
        let after = Load { shares: [0.1, 0.2, 0.7], ..Load::default() }.table(&mut random, 200, |_, _| 1.0);
        found += usize::from(
            compare_sites(&before, &after, &[], &settings(), THREADS).iter().any(|change| change.slower),
        );
        let change = latency_change(&before, &after, &UsualLatency::new(&before, &after, &BTreeMap::new()));
        let whole = change.window_mean_ns - change.baseline_mean_ns;
        assert!((change.slower_mean_ns + change.mix_mean_ns - whole).abs() < 1e-6 * whole);
        assert!(change.mix_mean_ns > 0.8 * whole && change.mix_mean_ns < 1.2 * whole, "{change:?}");
    }
    assert!(found <= false_positives_max(60), "{found} of 60");
}

#[test]
fn requests_of_a_new_shape_are_compared_with_those_of_the_same_entry() {
    let request = |category, latency_ns| SiteRequest {
        start: Timestamp::from_unix_ns(0),
        trace: TraceId::from_value(1),
        latency_ns,
        category,
        weight: 1.0,
        number: 0,
        attributes: AttributeSetId::from_index(0),
    };
    let table = |categories: [u128; 2], requests: Vec<SiteRequest>| SiteTable {
        categories: categories.map(Fingerprint::from_value).to_vec(),
        requests,
        ..SiteTable::default()
    };
    let before =
        table([1, 2], vec![request(0, 100.0), request(0, 100.0), request(1, 10.0), request(1, 10.0)]);
    // The second entry's other shape stops early.
    let after = table([1, 3], vec![request(0, 100.0), request(1, 4.0)]);
    let entry = |category: u128, entry| (Fingerprint::from_value(category), OperationId::from_index(entry));
    let entries = BTreeMap::from([entry(1, 0), entry(2, 1), entry(3, 1)]);
    let change = latency_change(&before, &after, &UsualLatency::new(&before, &after, &entries));
    assert_eq!((change.slower_mean_ns, change.mix_mean_ns), (-3.0, 0.0));
    let unknown = latency_change(&before, &after, &UsualLatency::new(&before, &after, &BTreeMap::new()));
    assert_eq!((unknown.slower_mean_ns, unknown.mix_mean_ns), (-25.5, 22.5));
}

/// One request in seven has a shape of its own, with more calls than the others.
#[test]
fn requests_of_many_shapes_are_not_slower_because_shapes_are_new() {
    let mut certain = 0;
    for seed in 0..60 {
        let mut random = Random(9_900 + seed);
        let mut table = |from: u32, requests: u32| {
            let latencies = (0..requests).map(|at| {
                let usual = if at % 7 == 0 { 250.0 } else { 40.0 };
                (at, usual * (0.3 * random.normal()).exp())
            });
            let request = |(at, latency_ns): (u32, f64)| SiteRequest {
                start: Timestamp::from_unix_ns(i64::from(from + at)),
                trace: TraceId::from_value(u128::from(from + at) + 1),
                latency_ns,
                category: if at % 7 == 0 { at / 7 + 1 } else { 0 },
                weight: 1.0,
                number: at,
                attributes: AttributeSetId::from_index(0),
            };
            let shape = |category: u32| {
                Fingerprint::from_value(u128::from(category + from * u32::from(category > 0)) + 1)
            };
            SiteTable {
                categories: (0..=requests / 7 + 1).map(shape).collect(),
                requests: latencies.map(request).collect(),
                ..SiteTable::default()
            }
        };
        let (before, after) = (table(1_000_000, 2_100), table(2_000_000, 700));
        let all = before.categories.iter().chain(&after.categories);
        let entries = all.map(|&shape| (shape, OperationId::from_index(0))).collect();
        let change = latency_change(&before, &after, &UsualLatency::new(&before, &after, &entries));
        assert!(change.slower_mean_ns.abs() < 0.1 * change.baseline_mean_ns, "{change:?}");
        certain += usize::from(change.is_certain);
    }
    assert!(certain <= 1, "{certain} of 60");
}

/// One request in five of the baseline has a shape of its own and takes ten times as long. All of the window have new shapes.
#[test]
fn requests_are_not_faster_because_a_release_changed_all_shapes() {
    let table = |from: u128, requests: Vec<(u32, f64)>| SiteTable {
        categories: (0..100).map(|category| Fingerprint::from_value(from + category)).collect(),
        requests: (0..)
            .zip(requests)
            .map(|(number, (category, latency_ns))| SiteRequest {
                start: Timestamp::from_unix_ns(i64::from(number)),
                trace: TraceId::from_value(from + u128::from(number)),
                latency_ns,
                category,
                weight: 1.0,
                number,
                attributes: AttributeSetId::from_index(0),
            })
            .collect(),
        ..SiteTable::default()
    };
    let request = |at: u32| if at.is_multiple_of(5) { (1 + at / 5, 1_000.0) } else { (0, 100.0) };
    let before = table(1_000, (0..200).map(request).collect());
    let after = table(2_000, (0..200).map(request).collect());
    let shapes = before.categories.iter().chain(&after.categories);
    let entries = shapes.map(|&shape| (shape, OperationId::from_index(0))).collect();
    let change = latency_change(&before, &after, &UsualLatency::new(&before, &after, &entries));
    assert_eq!((change.slower_mean_ns, change.mix_mean_ns), (0.0, 0.0));
}

#[test]
fn incidents_in_half_of_the_baseline_do_not_hide_a_change() {
    for seed in 0..20 {
        let mut random = Random(3000 + seed);
        // Other sites were slow in two intervals of the baseline, and so was this one for some time.
        let other = |at: usize, request: usize| match (at, request / 100) {
            (0, 2 | 3 | 7 | 8) | (1, 12..=15) | (2, 5 | 17 | 18) => 3.0,
            _ => 1.0,
        };
        let before = Load::default().table(&mut random, 2000, other);
        let after = Load::default().table(&mut random, 100, |at, _| if at == 2 { 2.0 } else { 1.0 });
        let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
        let slower: Vec<_> =
            changes.iter().filter(|change| change.slower).map(|change| change.site).collect();
        assert_eq!(slower, [site(2)], "seed {seed}");
        assert!(changes[2].factor > 1.4 && changes[2].factor < 2.6, "seed {seed}: {}", changes[2].factor);
    }
}

#[test]
fn a_site_that_the_baseline_never_called_is_new() {
    let mut random = Random(4000);
    let before = Load { sites: 3, ..Load::default() }.table(&mut random, 200, |_, _| 1.0);
    let after = Load { sites: 4, ..Load::default() }.table(&mut random, 100, |_, _| 1.0);
    let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
    assert_eq!(changes.len(), 4);
    let new = &changes[3];
    assert!(new.slower && new.is_new() && new.factor.is_infinite());
    assert_eq!((new.baseline_calls, new.calls, new.requests), (0, 100, 100));
    assert_eq!(new.hit, (0..100).collect::<Vec<u32>>());
    let time: f64 = after.by_site().last().unwrap().1.iter().map(|row| f64::from(row.time_ns)).sum();
    assert!(
        (new.path_excess_ns / time - 1.0).abs() < 1e-6 && (new.excess_ns * 100.0 / time - 1.0).abs() < 1e-6
    );
    assert!(!changes[0].is_new() && changes[0].baseline_calls == 200);
}

#[test]
fn a_site_that_one_request_called_may_be_chance() {
    let mut random = Random(4001);
    let before = Load { sites: 3, ..Load::default() }.table(&mut random, 200, |_, _| 1.0);
    let mut after = Load { sites: 4, ..Load::default() }.table(&mut random, 100, |_, _| 1.0);
    after.rows[3].retain(|row| row.request == 50);
    let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
    assert!(changes[3].is_new() && !changes[3].slower, "{:?}", changes[3]);
}

#[test]
fn too_few_requests_are_not_compared() {
    let mut random = Random(5000);
    let mut table = |requests| Load::default().table(&mut random, requests, |_, _| 1.0);
    let (nine, ten, none) = (table(9), table(10), SiteTable::default());
    assert!(compare_sites(&nine, &ten, &[], &settings(), THREADS).is_empty());
    assert!(compare_sites(&ten, &nine, &[], &settings(), THREADS).is_empty());
    assert!(compare_sites(&none, &ten, &[], &settings(), THREADS).is_empty());
    assert!(compare_sites(&none, &none, &[], &settings(), THREADS).is_empty());
    assert_eq!(compare_sites(&ten, &ten, &[], &settings(), THREADS).len(), 4);
    let change = latency_change(&none, &none, &UsualLatency::new(&none, &none, &BTreeMap::new()));
    assert!(change.slower_mean_ns == 0.0 && change.mix_mean_ns == 0.0);
}

#[test]
fn slow_requests_are_those_beyond_half_way() {
    let mut random = Random(6000);
    let load = Load { sigma: 0.05, shares: [1.0, 0.0, 0.0], ..Load::default() };
    let before = load.table(&mut random, 300, |_, _| 1.0);
    // Every third request takes three times as long.
    let after =
        load.table(&mut random, 150, |at, request| if at == 1 && request % 3 == 0 { 3.0 } else { 1.0 });
    let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
    assert!(changes[1].slower, "{:?}", changes[1]);
    assert_eq!(changes[1].hit, (0..150).filter(|request| request % 3 == 0).collect::<Vec<u32>>());
    assert!(changes.iter().filter(|change| !change.slower).all(|change| change.hit.is_empty()));
}

#[test]
fn slow_requests_are_found_although_other_incidents_raised_the_mean_of_the_baseline() {
    let load = Load { sigma: 0.05, shares: [1.0, 0.0, 0.0], ..Load::default() };
    // A tenth of the baseline took a hundred times as long: its mean is eleven times its usual.
    let other = |at: usize, request: usize| if at == 1 && request / 100 == 7 { 100.0 } else { 1.0 };
    let before = load.table(&mut Random(6100), 1000, other);
    let after = load.table(&mut Random(6101), 100, |at, _| if at == 1 { 3.0 } else { 1.0 });
    let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
    assert!(changes[1].slower && (2.9..3.1).contains(&changes[1].factor), "{:?}", changes[1]);
    assert_eq!(changes[1].hit.len(), 100);
}

/// One request that waited for something once is an outlier, not a change of the site.
#[test]
fn one_giant_request_is_no_change() {
    for (baseline, window) in [(300, 150), (600, 150)] {
        let mut found = 0;
        for seed in 0..40 {
            let mut random = Random(6200 + seed);
            let before = Load::default().table(&mut random, baseline, |_, _| 1.0);
            let giant = |at: usize, request: usize| if at == 1 && request == 40 { 1000.0 } else { 1.0 };
            let after = Load::default().table(&mut random, window, giant);
            let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
            found += usize::from(changes.iter().any(|change| change.slower));
        }
        assert!(found <= false_positives_max(40), "{found} of 40 ({baseline}, {window})");
    }
}

/// Of many rare paths one is always met for the first time.
#[test]
fn a_rare_path_observed_once_in_a_short_window_is_not_new() {
    let mut random = Random(6300);
    let before = Load { sites: 3, ..Load::default() }.table(&mut random, 4000, |_, _| 1.0);
    let mut after = Load { sites: 4, ..Load::default() }.table(&mut random, 12, |_, _| 1.0);
    after.rows[3].retain(|row| row.request == 5);
    let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
    assert!(changes[3].is_new() && !changes[3].slower, "{:?}", changes[3]);
}

/// A site of rare calls: it is called by every fortieth request of the baseline, and by some of the window.
fn rare_calls(seed: u64, requests: &[u32], factor: f64) -> bool {
    let mut random = Random(seed);
    let load = Load { sites: 60, sigma: 0.3, ..Load::default() };
    let mut before = load.table(&mut random, 2_400, |_, _| 1.0);
    let mut after = load.table(&mut random, 160, |at, _| if at == 7 { factor } else { 1.0 });
    before.rows[7].retain(|row| row.request % 40 == 0);
    after.rows[7].retain(|row| requests.contains(&row.request));
    let changes = compare_sites(&before, &after, &[], &settings(), THREADS);
    changes[7].slower
}

#[test]
fn three_calls_of_a_rare_operation_that_take_300_times_as_long_are_slower() {
    let found = |factor| (0..10).filter(|&seed| rare_calls(6_400 + seed, &[20, 70, 130], factor)).count();
    assert_eq!(found(300.0), 10);
    assert_eq!(found(20.0), 10);
    assert_eq!(found(1.0), 0);
}

/// Counting every request ten times changes nothing: weights add no evidence.
#[test]
fn equal_weights_only_scale_totals() {
    let mut random = Random(7000);
    let before = Load::default().table(&mut random, 300, |_, _| 1.0);
    let after = Load::default().table(&mut random, 150, |at, _| if at == 0 { 2.0 } else { 1.0 });
    let heavier = |table: &SiteTable| {
        let mut table = table.clone();
        table.requests.iter_mut().for_each(|request| request.weight = 10.0);
        table
    };
    let plain = compare_sites(&before, &after, &[], &settings(), THREADS);
    let weighted = compare_sites(&heavier(&before), &heavier(&after), &[], &settings(), THREADS);
    for (a, b) in plain.iter().zip(&weighted) {
        assert_eq!((a.site, a.slower, a.calls), (b.site, b.slower, b.calls));
        assert!((a.factor / b.factor - 1.0).abs() < 0.02, "{a:?} {b:?}");
    }
    assert!((weighted[0].path_excess_ns / plain[0].path_excess_ns / 10.0 - 1.0).abs() < 0.05);
}

#[test]
fn a_slowdown_of_most_operations_is_widespread() {
    let services: Vec<ServiceId> = (0..8).map(ServiceId::from_index).collect();
    let shifted = |slower: usize| {
        let mut random = Random(8_000);
        let load = Load { sites: 8, sigma: 0.3, ..Load::default() };
        let before = load.table(&mut random, 3_000, |_, _| 1.0);
        let after = load.table(&mut random, 600, |at, _| if at < slower { 1.6 } else { 1.0 });
        shifted_suspects(&before, &after, &services, &SiteSettings::default(), THREADS)
    };
    let slowdown = shifted(8).widespread.expect("all are slower");
    assert_eq!((slowdown.slower, slowdown.compared), (8, 8));
    assert!((1.5..1.7).contains(&slowdown.factor), "{slowdown:?}");
    assert_eq!((slowdown.share_beyond(1.1), slowdown.share_beyond(f64::INFINITY)), (0.0, 1.0));
    assert!((0.3..0.5).contains(&slowdown.share_beyond(3.0)), "1.9 times more, of twice as much more");
    let few = shifted(2);
    assert_eq!((few.suspects.len(), few.widespread), (2, None));
}
