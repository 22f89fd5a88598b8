//! Memory that fills up, and memory that only seems to.

use super::usual;
use laggard_model::Timestamp;
use laggard_samples::{StorageKey, StorageUse};
use laggard_server::alerts::AlertList;
use std::f64::consts::TAU;

/// A point every five minutes.
const STEPS_AN_HOUR: usize = 12;
/// Hours before a leak starts, and of a run without one.
const QUIET_HOURS: f64 = 30.0;
const DAYS_HOURS: f64 = 240.0;
/// Hours until a leak has filled the memory.
const LEAKS: [f64; 6] = [3.0, 6.0, 12.0, 24.0, 72.0, 168.0];

/// Pseudo-random numbers between 0 and 1: xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The use without a leak, by hour.
fn shapes(seed: u64) -> Vec<(&'static str, Vec<f64>)> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let steps = (DAYS_HOURS * STEPS_AN_HOUR as f64) as usize;
    let hour = |step: usize| step as f64 / STEPS_AN_HOUR as f64;
    let level = 0.3 + 0.3 * random.next();
    let swing = 0.05 + 0.15 * random.next();
    let phase = random.next();
    let mut noise = || 0.01 * (random.next() - 0.5);
    let daily: Vec<f64> =
        (0..steps).map(|step| level + swing * (TAU * (hour(step) / 24.0 + phase)).sin() + noise()).collect();
    let collected: Vec<f64> =
        (0..steps).map(|step| level + swing * (hour(step) / (0.5 + 3.0 * phase)).fract() + noise()).collect();
    let warm: Vec<f64> =
        (0..steps).map(|step| level * (1.0 - (-hour(step) / 3.0).exp()) + swing + noise()).collect();
    let flat: Vec<f64> = (0..steps).map(|_| level + noise()).collect();
    let mut walk = Vec::with_capacity(steps);
    let mut used = level;
    for _ in 0..steps {
        used = (used + 0.008 * (random.next() - 0.5) + 0.0005 * (level - used)).clamp(0.02, 0.98);
        walk.push(used);
    }
    vec![("flat", flat), ("daily", daily), ("collected", collected), ("warm-up", warm), ("walk", walk)]
}

/// When alerts fire, as hours.
fn watch(used: &[f64]) -> Vec<(f64, String)> {
    let detection = usual();
    let key = StorageKey { tier: String::new(), server: "host-1".to_owned(), device: None };
    let time =
        |step: usize| Timestamp::from_unix_ns(1_768_176_000_000_000_000 + step as i64 * 300_000_000_000);
    let (mut alerts, mut fired) = (AlertList::default(), Vec::new());
    let retained_steps = (detection.baseline.ns() / 300_000_000_000) as usize + STEPS_AN_HOUR;
    for step in 1..=used.len() {
        let from = step.saturating_sub(retained_steps.max(STORED_STEPS));
        let points = (from..step).map(|index| (time(index), used[index]));
        let resource = StorageUse { key: key.clone(), points: points.collect() };
        let evaluation = detection.evaluate(&alerts, None, &[resource], time(step));
        let changes = alerts.apply_servers(&evaluation, detection.rules, time(step));
        if !changes.fired.is_empty() {
            let alert = alerts.active.iter().find(|alert| changes.fired.contains(&alert.id));
            let summary = alert.map_or_else(String::new, |alert| alert.finding.summary());
            fired.push((step as f64 / STEPS_AN_HOUR as f64, summary));
        }
    }
    fired
}

/// How far back the server reads samples of memory and file systems: seven days.
const STORED_STEPS: usize = 7 * 24 * STEPS_AN_HOUR;

/// Prints false alarms, and for leaks which part of their time was left.
pub(crate) fn print(first: u64, seeds: u64) {
    println!("| use | runs | false alarms in {DAYS_HOURS} h each |");
    println!("|---|---|---|");
    for shape in 0..5 {
        let all = (first..first + seeds).map(|seed| watch(&shapes(seed)[shape].1).len());
        println!("| {} | {seeds} | {} |", shapes(first)[shape].0, all.sum::<usize>());
    }
    println!("\n| use | full after | detected | least part of the time left | at least half |");
    println!("|---|---|---|---|---|");
    for shape in 0..5 {
        for hours in LEAKS {
            print_leak(shape, hours, first..first + seeds);
        }
    }
}

fn print_leak(shape: usize, hours: f64, seeds: std::ops::Range<u64>) {
    let (mut lead_times, mut runs, mut name) = (Vec::new(), 0, "");
    for seed in seeds {
        let (shape_name, mut used) = shapes(seed).swap_remove(shape);
        name = shape_name;
        let start = used[(QUIET_HOURS * STEPS_AN_HOUR as f64) as usize];
        let free = 1.0 - start;
        let grown = |step: usize| (step as f64 / STEPS_AN_HOUR as f64 - QUIET_HOURS).max(0.0) / hours * free;
        used.iter_mut().enumerate().for_each(|(step, used)| *used += grown(step));
        let full = used.iter().position(|used| *used >= 1.0).unwrap_or(used.len());
        used.truncate(full);
        let full = full as f64 / STEPS_AN_HOUR as f64;
        runs += 1;
        let detected = watch(&used).into_iter().map(|(hour, _)| hour).find(|hour| *hour > QUIET_HOURS);
        lead_times.extend(detected.map(|hour| (full - hour) / (full - QUIET_HOURS)));
    }
    let least = lead_times.iter().copied().fold(f64::INFINITY, f64::min);
    let half = lead_times.iter().filter(|lead_time| **lead_time >= 0.5).count();
    println!("| {name} | {hours} h | {} of {runs} | {least:.2} | {half} |", lead_times.len());
}
