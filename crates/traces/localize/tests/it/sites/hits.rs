//! Which calls are hit.

use super::Random;
use laggard_localize::{CallLevel, ComparedSite, NormalCalls, WindowCall, find_hits};

/// Usual times of three categories, nanoseconds.
const USUAL_NS: [f64; 3] = [1e5, 1e6, 3e6];

struct Draw {
    random: Random,
    sigma: f64,
}

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw { random: Random(seed), sigma: 0.4 }
    }

    fn call(&mut self, category: usize) -> f64 {
        USUAL_NS[category] * (self.sigma * self.random.normal()).exp()
    }

    fn normal(&mut self, calls: usize) -> NormalCalls {
        NormalCalls::Known((0..calls).map(|at| (at as u32 % 3, self.call(at % 3) as f32)).collect())
    }

    /// Calls with the extra time of each, nanoseconds.
    fn window(&mut self, calls: usize, extra: impl Fn(usize, f64) -> f64) -> Vec<WindowCall> {
        let call = |at: usize| {
            let usual = self.call(at % 3);
            let time_ns = (usual + extra(at, usual)) as f32;
            WindowCall { request: at as u32, category: at as u32 % 3, time_ns, is_judged: true }
        };
        (0..calls).map(call).collect()
    }
}

fn hits(levels: &[CallLevel]) -> Vec<usize> {
    (0..levels.len()).filter(|&at| levels[at].is_hit).collect()
}

fn compared(calls: Vec<WindowCall>, normal: NormalCalls) -> ComparedSite {
    ComparedSite { calls, normal, factor_min: Some(1.04) }
}

/// Shares of the named that are right, and of the right that are named.
fn scores(named: &[usize], right: impl Fn(usize) -> bool, calls: usize) -> (f64, f64) {
    let both = named.iter().filter(|&&at| right(at)).count() as f64;
    let all = (0..calls).filter(|&at| right(at)).count() as f64;
    (both / named.len().max(1) as f64, both / all)
}

#[test]
fn some_slow_calls_among_many_normal_ones_are_named() {
    let mut precisions = 0.0;
    for seed in 0..20 {
        let mut draw = Draw::new(seed);
        let normal = draw.normal(600);
        let site = compared(draw.window(400, |at, _| if at % 10 == 0 { 2e7 } else { 0.0 }), normal);
        let levels = find_hits(&[site]);
        let (precision, recall) = scores(&hits(&levels[0]), |at| at % 10 == 0, 400);
        assert!(precision >= 0.8 && recall == 1.0, "seed {seed}: {precision} {recall}");
        precisions += precision;
        for (at, level) in levels[0].iter().enumerate() {
            let usual = f64::from(level.usual_ns) / USUAL_NS[at % 3];
            assert!((0.8..1.25).contains(&usual), "seed {seed}: {usual}");
        }
    }
    assert!(precisions >= 0.97 * 20.0, "{}", precisions / 20.0);
}

#[test]
fn few_normal_calls_are_enough_for_very_slow_ones() {
    let mut draw = Draw::new(1);
    let normal = draw.normal(20);
    let site = compared(draw.window(60, |at, _| if at % 6 == 0 { 5e8 } else { 0.0 }), normal);
    let found = hits(&find_hits(&[site])[0]);
    assert!((0..60).step_by(6).all(|at| found.contains(&at)), "{found:?}");
    assert!(found.len() <= 13, "{found:?}");
}

#[test]
fn normal_calls_are_not_hit() {
    let wrong: usize = (0..40)
        .map(|seed| {
            let mut draw = Draw::new(100 + seed);
            let normal = draw.normal(300);
            let site = ComparedSite { factor_min: None, ..compared(draw.window(300, |_, _| 0.0), normal) };
            hits(&find_hits(&[site])[0]).len()
        })
        .sum();
    assert!(wrong <= 12, "{wrong} of 12,000");
}

#[test]
fn all_calls_are_hit_if_all_are_slower() {
    for share in [0.1, 1.0] {
        let mut draw = Draw::new(7);
        let normal = draw.normal(6_000);
        let calls = draw.window(6_000, |_, usual| share * usual);
        let found = hits(&find_hits(&[compared(calls, normal)])[0]).len();
        assert!(found >= 5_700, "{share}: {found}");
    }
}

/// Where all calls take twice as long, the time lost is the mean time of a normal call, which is longer than the median.
#[test]
fn times_beyond_the_usual_mean_add_up_to_what_was_added() {
    let mut draw = Draw { sigma: 1.0, ..Draw::new(7) };
    let normal = draw.normal(9_000);
    let calls = draw.window(9_000, |_, usual| usual);
    let added_ns: f64 = calls.iter().map(|call| f64::from(call.time_ns) / 2.0).sum();
    let levels = find_hits(&[compared(calls.clone(), normal)]).remove(0);
    let beyond = |usual_ns: fn(&CallLevel) -> f32| {
        let hit = calls.iter().zip(&levels).filter(|(_, level)| level.is_hit);
        hit.map(|(call, level)| f64::from(call.time_ns - usual_ns(level))).sum::<f64>() / added_ns
    };
    let (by_mean, by_median) = (beyond(|level| level.usual_mean_ns), beyond(|level| level.usual_ns));
    assert!((0.95..1.1).contains(&by_mean), "{by_mean}");
    assert!(by_median > 1.3, "{by_median}");
}

#[test]
fn a_few_slow_calls_on_replicas_that_differ_a_little_do_not_make_all_calls_slow() {
    for seed in 0..20 {
        let mut draw = Draw::new(seed);
        let normal = draw.normal(9_000);
        let calls = draw.window(3_000, |at, usual| if at % 100 == 0 { 2e7 } else { 0.05 * usual });
        let site = ComparedSite { factor_min: Some(1.2), ..compared(calls, normal) };
        let (precision, recall) = scores(&hits(&find_hits(&[site])[0]), |at| at % 100 == 0, 3_000);
        assert!(precision >= 0.75 && recall == 1.0, "seed {seed}: {precision} {recall}");
    }
}

/// Where a machine makes all calls a little slower, and a fault some of them much slower, the fault is what matters.
#[test]
fn calls_that_take_much_longer_outweigh_a_little_more_of_all() {
    for seed in 0..10 {
        let mut draw = Draw::new(seed);
        let normal = draw.normal(3000);
        let is_slow = |at: usize| at.is_multiple_of(20);
        let extra = |at: usize, usual: f64| 0.4 * usual + if is_slow(at) { 8e7 } else { 0.0 };
        let found = hits(&find_hits(&[compared(draw.window(1500, extra), normal)])[0]);
        let (precision, recall) = scores(&found, is_slow, 1500);
        assert!(precision >= 0.9 && recall == 1.0, "seed {seed}: {precision} {recall}");
    }
}

#[test]
fn calls_that_are_not_judged_are_never_hit() {
    let mut draw = Draw::new(8);
    let normal = draw.normal(300);
    let mut calls = draw.window(300, |at, _| if at % 3 == 0 { 1e8 } else { 0.0 });
    calls.iter_mut().enumerate().for_each(|(at, call)| call.is_judged = at % 2 == 0);
    let found = hits(&find_hits(&[compared(calls, normal)])[0]);
    assert!(found.iter().all(|at| at % 2 == 0));
    assert!((0..300).step_by(6).all(|at| found.contains(&at)));
}

#[test]
fn without_normal_calls_the_bulk_counts_as_normal() {
    for share in [20, 5, 3] {
        let mut draw = Draw::new(9);
        let calls = draw.window(900, |at, _| if (at / 3) % share == 0 { 2e7 } else { 0.0 });
        let site = ComparedSite { factor_min: None, ..compared(calls, NormalCalls::Bulk) };
        let (precision, recall) = scores(&hits(&find_hits(&[site])[0]), |at| (at / 3) % share == 0, 900);
        assert!(precision >= 0.9 && recall >= 0.98, "1 in {share}: {precision} {recall}");
    }
}

#[test]
fn every_call_of_a_new_operation_is_hit() {
    let mut draw = Draw::new(10);
    let levels = find_hits(&[compared(draw.window(5, |_, _| 0.0), NormalCalls::New)]);
    assert!(levels[0].iter().all(|level| level.is_hit && level.usual_ns == 0.0));
}

/// One call in twenty takes four times as long anyway, so that single slow calls look like normal ones.
#[test]
fn more_calls_of_a_usual_slow_mode_do_not_make_all_calls_slow() {
    for seed in 0..20 {
        let mut draw = Draw { sigma: 0.2, ..Draw::new(seed) };
        let mut time = |is_slow: bool| (draw.call(1) * if is_slow { 4.0 } else { 1.0 }) as f32;
        let normal = NormalCalls::Known((0..3_000).map(|at| (1, time(at % 20 == 0))).collect());
        let window = (0..3_000).map(|at| WindowCall {
            request: at as u32,
            category: 1,
            time_ns: time(at % 20 == 0 || at % 6 == 0),
            is_judged: true,
        });
        let levels = find_hits(&[compared(window.collect(), normal)]);
        let named = hits(&levels[0]).len();
        assert!(named <= 700, "seed {seed}: {named} of 3,000 where 500 are slow");
    }
}
