//! The search for slow replicas does not depend on names or order.

use super::{Load, Random, THREADS, site};
use laggard_localize::{
    Culprit, CulpritSettings, Share, Site, SiteSettings, SiteSuspect, SiteTable, changed_replica_suspects,
    find_culprits, find_uneven_sites, join_suspects,
};
use laggard_model::{OperationId, ReplicaId};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn replica(at: usize) -> ReplicaId {
    ReplicaId::from_index(at)
}

/// Observations on sets of one to three replicas; those with a replica below `bad` take `factor` times as long.
struct Made {
    shares: Vec<Share>,
    sets: Vec<Vec<ReplicaId>>,
}

fn made(seed: u64, count: usize, replicas: usize, bad: usize, factor: f64) -> Made {
    let mut random = Random(seed);
    let mut made = Made { shares: Vec::new(), sets: Vec::new() };
    for at in 0..count {
        let members = 1 + random.below(3.min(replicas));
        let set: BTreeSet<ReplicaId> = (0..members).map(|_| replica(random.below(replicas))).collect();
        let slow = set.iter().any(|replica| replica.index() < bad);
        let level = if slow { factor.ln() } else { 0.0 };
        made.sets.push(set.into_iter().collect());
        made.shares.push(Share { set: at as u32, log_ratio: level + 0.4 * random.normal() });
    }
    made
}

fn culprits_of(made: &Made) -> Vec<Culprit> {
    find_culprits(&made.shares, &made.sets, 1, &CulpritSettings::default())
}

fn names(culprits: &[Culprit]) -> BTreeSet<ReplicaId> {
    culprits.iter().map(|culprit| culprit.replica).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn names_do_not_change_the_result(
        seed in any::<u64>(), replicas in 2_usize..24, bad in 0_usize..6, factor in 1.2_f64..3.0,
    ) {
        let made = made(seed, 200, replicas, bad.min(replicas / 2), factor);
        let mut other: Vec<usize> = (0..replicas).collect();
        Random(seed ^ 1).shuffle(&mut other);
        let rename = |set: &Vec<ReplicaId>| {
            let mut set: Vec<ReplicaId> = set.iter().map(|at| replica(other[at.index()])).collect();
            set.sort_unstable();
            set
        };
        let renamed = Made { shares: made.shares.clone(), sets: made.sets.iter().map(rename).collect() };
        let before: BTreeSet<ReplicaId> =
            names(&culprits_of(&made)).into_iter().map(|at| replica(other[at.index()])).collect();
        prop_assert_eq!(before, names(&culprits_of(&renamed)));
    }

    #[test]
    fn order_does_not_change_the_result(
        seed in any::<u64>(), replicas in 2_usize..24, bad in 0_usize..6, factor in 1.2_f64..3.0,
    ) {
        let made = made(seed, 200, replicas, bad.min(replicas / 2), factor);
        let before = culprits_of(&made);
        let mut order: Vec<u32> = (0..made.sets.len() as u32).collect();
        let mut random = Random(seed ^ 2);
        random.shuffle(&mut order);
        let mut sets = vec![Vec::new(); order.len()];
        for (from, &to) in order.iter().enumerate() {
            sets[to as usize].clone_from(&made.sets[from]);
        }
        let mut shares: Vec<Share> = made.shares.clone();
        shares.iter_mut().for_each(|share| share.set = order[share.set as usize]);
        random.shuffle(&mut shares);
        let after = culprits_of(&Made { shares, sets });
        prop_assert_eq!(names(&before), names(&after));
        for (a, b) in before.iter().zip(&after) {
            prop_assert!((a.factor - b.factor).abs() < 1e-9 && a.observations == b.observations);
        }
    }

    /// A level common to all observations implicates no replica.
    #[test]
    fn only_differences_between_replicas_matter(seed in any::<u64>(), level in -5.0_f64..5.0) {
        let mut made = made(seed, 200, 10, 2, 1.8);
        let before = names(&culprits_of(&made));
        made.shares.iter_mut().for_each(|share| share.log_ratio += level);
        prop_assert_eq!(before, names(&culprits_of(&made)));
    }
}

#[test]
fn without_slow_replicas_none_is_named() {
    let wrong = (0..300).filter(|&seed| !culprits_of(&made(seed, 150, 12, 0, 1.0)).is_empty()).count();
    assert!(wrong <= 2, "{wrong} of 300");
}

#[test]
fn factor_intervals_have_their_nominal_coverage() {
    let (mut covered, mut all) = (0, 0);
    for seed in 0..150 {
        for culprit in culprits_of(&made(1000 + seed, 400, 12, 2, 2.0)) {
            assert!(culprit.replica.index() < 2, "seed {seed}: {culprit:?}");
            covered += usize::from((culprit.factor_low..culprit.factor_high).contains(&2.0));
            all += 1;
        }
    }
    assert_eq!(all, 300, "both are always found");
    assert!(covered >= 277, "{covered} of {all}");
}

/// Replicas that serve different kinds of requests are compared within each kind.
#[test]
fn a_replica_that_gets_the_expensive_requests_is_not_slow() {
    let mut table = Load { sites: 2, ..Load::default() }.table(&mut Random(5), 600, |_, _| 1.0);
    table.sets = (0..4).map(|at| vec![replica(at)]).collect();
    for row in table.rows.iter_mut().flatten() {
        let request = &table.requests[row.request as usize];
        row.set = if request.category == 2 && row.request % 4 != 0 { 3 } else { row.request % 4 };
    }
    assert_eq!(find_uneven_sites(&table, &CulpritSettings::default(), THREADS), []);
}

#[test]
fn the_excess_is_the_additional_time_of_slow_replicas() {
    let mut table = Load { sites: 2, sigma: 0.2, ..Load::default() }.table(&mut Random(6), 800, |_, _| 1.0);
    table.sets = (0..4).map(|at| vec![replica(at)]).collect();
    let mut truth = 0.0;
    for (site, row) in
        table.rows.iter_mut().enumerate().flat_map(|(at, rows)| rows.iter_mut().map(move |row| (at, row)))
    {
        row.set = row.request % 4;
        if row.set == 2 && site == 1 {
            truth += 2.0 * f64::from(row.time_ns);
            (row.time_ns, row.path_ns) = (3.0 * row.time_ns, 3.0 * row.path_ns);
        }
    }
    table.requests.iter_mut().for_each(|request| request.weight = 5.0);
    let uneven = find_uneven_sites(&table, &CulpritSettings::default(), THREADS);
    assert_eq!(uneven.len(), 1);
    assert_eq!((uneven[0].site, uneven[0].replicas, uneven[0].observations), (site(1), 4, 200));
    assert_eq!(uneven[0].culprits.iter().map(|culprit| culprit.replica).collect::<Vec<_>>(), [replica(2)]);
    assert!((uneven[0].excess_ns / (5.0 * truth) - 1.0).abs() < 0.05, "{} of {truth}", uneven[0].excess_ns);
    assert!(uneven[0].requests.iter().all(|request| request % 4 == 2));
}

/// A release replaces the only replica of a service, and everything takes longer from then on.
#[test]
fn replicas_that_never_ran_at_the_same_time_are_not_compared() {
    let mut table = Load { sites: 1, sigma: 0.2, ..Load::default() }.table(&mut Random(8), 900, |_, _| 1.0);
    table.sets = vec![vec![replica(0)], vec![replica(1)]];
    // Until a request, both replicas serve.
    let mut culprits_until = |both: u32| {
        for row in table.rows.iter_mut().flatten() {
            row.set = u32::from(if row.request < both { row.request % 2 == 1 } else { row.request >= 450 });
            let usual = row.path_ns;
            row.time_ns = usual * if row.set == 1 { 1.5 } else { 1.0 };
        }
        let uneven = find_uneven_sites(&table, &CulpritSettings::default(), THREADS);
        uneven.iter().flat_map(|site| &site.culprits).map(|culprit| culprit.replica).collect::<Vec<_>>()
    };
    assert_eq!(culprits_until(0), []);
    assert_eq!(culprits_until(300), []);
    assert_eq!(culprits_until(900), [replica(1)]);
}

/// Where most requests go to the slow one of two replicas, the usual time of all is a slow one.
#[test]
fn the_busier_of_two_replicas_is_slow() {
    let mut table = Load { sites: 1, sigma: 0.2, ..Load::default() }.table(&mut Random(7), 900, |_, _| 1.0);
    table.sets = vec![vec![replica(0)], vec![replica(1)]];
    for row in table.rows.iter_mut().flatten() {
        row.set = u32::from(row.request % 9 > 3);
        if row.set == 1 {
            (row.time_ns, row.path_ns) = (3.0 * row.time_ns, 3.0 * row.path_ns);
        }
    }
    let uneven = find_uneven_sites(&table, &CulpritSettings::default(), THREADS);
    assert_eq!(uneven.len(), 1);
    assert_eq!(uneven[0].culprits.iter().map(|culprit| culprit.replica).collect::<Vec<_>>(), [replica(1)]);
    let hit = uneven[0].requests.len();
    assert!((475..=500).contains(&hit), "{hit} of 500 requests");
    assert!(uneven[0].requests.iter().all(|request| request % 9 > 3));
}

/// Before and after: four replicas of one operation, of which the first is always a fifth slower, and the third becomes slower
/// by a factor.
fn before_and_after(seed: u64, factor: f32) -> (SiteTable, SiteTable) {
    let mut random = Random(seed);
    let mut table = |requests: usize, factor: f32| {
        let mut table = Load { sites: 5, ..Load::default() }.table(&mut random, requests, |_, _| 1.0);
        table.sets = (0..4).map(|at| vec![replica(at)]).collect();
        for (site, rows) in table.rows.iter_mut().enumerate() {
            for row in rows {
                row.set = row.request % 4;
                let factor = match row.set {
                    0 => 1.2,
                    2 if site == 1 => factor,
                    _ => 1.0,
                };
                (row.time_ns, row.path_ns) = (factor * row.time_ns, factor * row.path_ns);
            }
        }
        table
    };
    (table(8_000, 1.0), table(2_000, factor))
}

#[test]
fn a_replica_that_became_a_fifth_slower_than_its_peers_is_named() {
    let mut others = 0;
    for seed in 0..10 {
        let (before, after) = before_and_after(seed, 1.25);
        let suspects = changed_replica_suspects(&before, &after, &SiteSettings::default(), THREADS);
        let names: Vec<ReplicaId> = suspects[0].culprits.iter().map(|culprit| culprit.replica).collect();
        assert_eq!((suspects[0].sites[0], names), (site(1), vec![replica(2)]), "seed {seed}");
        assert!((1.1..1.4).contains(&suspects[0].factor), "{}", suspects[0].factor);
        others += suspects.len() - 1;
    }
    assert!(others <= 1, "false discoveries beside 10 true ones: {others}");
}

#[test]
fn replicas_that_always_differ_have_not_changed() {
    let named = (0..20).filter(|&seed| {
        let (before, after) = before_and_after(100 + seed, 1.0);
        !changed_replica_suspects(&before, &after, &SiteSettings::default(), THREADS).is_empty()
    });
    assert_eq!(named.count(), 0);
}

/// Of the calls between several replicas and the only one of another service, those of one caller became slow.
#[test]
fn the_only_replica_at_the_other_end_of_slow_calls_is_no_culprit() {
    for seed in 0..10 {
        let (mut before, mut after) = before_and_after(seed, 5.0);
        for table in [&mut before, &mut after] {
            table.sets.iter_mut().for_each(|ends| ends.push(replica(9)));
        }
        let suspects = changed_replica_suspects(&before, &after, &SiteSettings::default(), THREADS);
        let names: Vec<ReplicaId> = suspects[0].culprits.iter().map(|culprit| culprit.replica).collect();
        assert_eq!((suspects[0].sites[0], names), (site(1), vec![replica(2)]), "seed {seed}");
    }
}

#[test]
fn replicas_show_which_end_of_a_link_is_slow_for_all_its_suspects() {
    let [caller, callee] = [0, 1].map(OperationId::from_index);
    let suspect = |operation, replicas: &[usize], is_end_unknown| SiteSuspect {
        operation,
        sites: vec![Site::Link { caller, callee }],
        shift: None,
        slow_calls: None,
        culprits: replicas.iter().map(|&at| culprit(at)).collect(),
        excess_ns: 1e9,
        effect_ns: 1e6,
        factor: 2.0,
        hit: Vec::new(),
        is_end_unknown,
    };
    let joined = join_suspects(vec![suspect(callee, &[], true), suspect(caller, &[2], false)]);
    assert_eq!(joined.len(), 1);
    assert_eq!((joined[0].operation, joined[0].is_end_unknown), (caller, false));
    assert_eq!(joined[0].culprits[0].replica, replica(2));
    // Without replicas, both ends remain.
    assert_eq!(join_suspects(vec![suspect(callee, &[], true), suspect(caller, &[], false)]).len(), 2);
}

fn culprit(at: usize) -> Culprit {
    let (factor, factor_low, factor_high) = (2.0, 1.9, 2.1);
    Culprit { replica: replica(at), factor, factor_low, factor_high, observations: 100, p_adjusted: 1e-9 }
}
