//! Latency degradation patterns: synthetic incidents, quiet tables, invariances, and measurements.

use crate::delag::{Labeled, tables};
use laggard_localize::{LatencyPatterns, PatternSettings, RequestTable, RequestTableError, latency_patterns};
use laggard_testkit::data_folder;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Splitmix64, and normal values by the sum of twelve uniform ones.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.word() % limit as u64) as usize
    }
}

/// Lognormal times of `columns` operations that share a factor; the latency is their sum and a little noise.
fn quiet(seed: u64, rows: usize, columns: usize, shared: f64, own: f64) -> Labeled {
    let mut random = Random(seed);
    let mut table = Labeled {
        operations: vec![String::new(); columns],
        columns: vec![Vec::new(); columns],
        latencies: Vec::new(),
        causes: vec![0; rows],
    };
    let scales: Vec<f64> = (0..columns).map(|_| (random.uniform() * 6.0).exp()).collect();
    for _ in 0..rows {
        let size = (shared * random.normal()).exp();
        let mut sum = 0.0;
        for (column, scale) in table.columns.iter_mut().zip(&scales) {
            let time = scale * size * (own * random.normal()).exp();
            column.push(time);
            sum += time;
        }
        table.latencies.push(sum * (0.05 * random.normal()).exp());
    }
    table
}

/// Delays some operations of some rows and their latency, all by the same.
fn inject(table: &mut Labeled, cause: u32, rows: impl Iterator<Item = usize>, delays: &[(usize, f64)]) {
    for row in rows {
        table.causes[row] = cause;
        for &(column, delay) in delays {
            table.columns[column][row] += delay;
            table.latencies[row] += delay;
        }
    }
}

/// Six operations around 10, 20, … with little spread.
fn calm(seed: u64, rows: usize) -> Labeled {
    let mut table = quiet(seed, rows, 6, 0.0, 0.0);
    let mut random = Random(seed ^ 1);
    table.latencies.fill(50.0);
    for (at, column) in table.columns.iter_mut().enumerate() {
        for (time, latency) in column.iter_mut().zip(&mut table.latencies) {
            *time = (10.0 * (at + 1) as f64 * (0.1 * random.normal()).exp()).round();
            *latency += *time;
        }
    }
    table
}

#[test]
fn two_causes_with_their_operations() {
    let mut table = calm(1, 2000);
    inject(&mut table, 1, (0..2000).step_by(10), &[(0, 40.0), (2, 60.0)]);
    inject(&mut table, 2, (5..2000).step_by(20), &[(4, 90.0)]);
    let found = table.patterns();
    assert_eq!(found.patterns.len(), 2);
    assert!(table.score(&found).f1 > 0.98 && table.mean_cause_f1(&found) > 0.98);
    let columns = |at: usize| {
        let pattern: &laggard_localize::LatencyPattern = &found.patterns[at];
        let mut columns: Vec<usize> =
            pattern.conditions.iter().chain(&pattern.companions).map(|condition| condition.column).collect();
        columns.sort_unstable();
        columns
    };
    assert_eq!((columns(0), columns(1)), (vec![0, 2], vec![4]));
    let first = &found.patterns[0];
    assert!((first.mean_excess - 100.0).abs() < 5.0, "{}", first.mean_excess);
    assert!(first.separation > 0.98 && first.p_value < 1e-6 && first.precision > 0.95 && first.recall > 0.9);
}

#[test]
fn two_causes_in_one_mode_are_distinguished_by_other_modes() {
    let mut table = calm(2, 3000);
    inject(&mut table, 1, (0..3000).step_by(10), &[(3, 60.0), (0, 40.0)]);
    inject(&mut table, 2, (5..3000).step_by(10), &[(3, 60.0), (1, 70.0)]);
    let found = table.patterns();
    assert_eq!(found.patterns.len(), 2);
    assert!(table.mean_cause_f1(&found) > 0.98);
}

/// A cache is hit by half of the requests, off the critical path, and its caller shows both.
#[test]
fn a_preexisting_division_is_no_second_cause() {
    let mut table = calm(3, 3000);
    for row in (0..3000).filter(|row| row / 7 % 2 == 0) {
        table.columns[1][row] += 150.0;
        table.columns[5][row] += 150.0;
    }
    inject(&mut table, 1, (0..3000).step_by(10), &[(3, 80.0)]);
    for row in (0..3000).step_by(10) {
        table.columns[5][row] += 80.0;
    }
    let found = table.patterns();
    assert_eq!(found.patterns.len(), 1);
    assert!(table.score(&found).f1 > 0.98);
    assert_eq!(found.patterns[0].conditions[0].column, 3);
}

/// The delayed operations take much longer in many requests anyway: one without effect on the latency, one that half of
/// the requests wait for.
#[test]
fn a_delay_is_one_pattern_for_all_kinds_of_requests() {
    let mut table = calm(5, 3000);
    for row in (0..3000).filter(|row| row / 7 % 2 == 0) {
        table.columns[0][row] += 150.0;
    }
    for row in (0..3000).filter(|row| row / 3 % 2 == 0) {
        table.columns[2][row] += 300.0;
        table.latencies[row] += 300.0;
    }
    inject(&mut table, 1, (0..3000).step_by(10), &[(0, 60.0), (2, 80.0)]);
    inject(&mut table, 2, (5..3000).step_by(10), &[(4, 150.0)]);
    let found = table.patterns();
    assert_eq!(found.patterns.len(), 2);
    assert!(table.mean_cause_f1(&found) > 0.95, "{}", table.mean_cause_f1(&found));
    let excesses: Vec<f64> = found.patterns.iter().map(|pattern| pattern.mean_excess).collect();
    assert!(excesses.iter().all(|excess| (135.0..155.0).contains(excess)), "{excesses:?}");
}

#[test]
fn the_right_rows_need_a_conjunction() {
    // Each operation alone is as slow in other requests, which are not slow.
    let mut table = calm(4, 4000);
    for row in 0..4000 {
        let (a, b) = (row % 10 == 0 || row % 10 == 1, row % 10 == 0 || row % 10 == 2);
        table.columns[0][row] += if a { 100.0 } else { 0.0 };
        table.columns[1][row] += if b { 100.0 } else { 0.0 };
    }
    inject(&mut table, 1, (0..4000).step_by(10), &[(5, 0.0)]);
    for row in (0..4000).step_by(10) {
        table.latencies[row] += 120.0;
    }
    let found = table.patterns();
    assert_eq!(found.patterns.len(), 1);
    assert!(table.score(&found).f1 > 0.95, "{:?}", table.score(&found));
    assert_eq!(found.patterns[0].conditions.len(), 2);
}

#[test]
fn quiet_tables_have_no_patterns() {
    let mut false_patterns = 0;
    let mut random = Random(7);
    for seed in 0..200 {
        let rows = [60, 200, 500, 1000][random.below(4)];
        let (shared, own) = ([0.0, 0.3, 0.8][random.below(3)], [0.1, 0.4, 0.8][random.below(3)]);
        let mut table = quiet(seed, rows, [3, 8, 15][random.below(3)], shared, own);
        if seed % 3 == 0 {
            table.columns.iter_mut().flatten().for_each(|time| *time = time.round());
        }
        false_patterns += table.patterns().patterns.len();
    }
    assert_eq!(false_patterns, 0);
}

#[test]
fn weights_count_requests_and_means_only() {
    let mut table = calm(5, 1000);
    inject(&mut table, 1, (0..1000).step_by(10), &[(2, 80.0)]);
    let columns: Vec<&[f64]> = table.columns.iter().map(Vec::as_slice).collect();
    let weights = vec![4.0; 1000];
    let weighted = RequestTable { columns: &columns, latencies: &table.latencies, weights: Some(&weights) };
    let found = latency_patterns(&weighted, &PatternSettings::default()).unwrap();
    let plain = table.patterns();
    assert_eq!(found.patterns[0].rows, plain.patterns[0].rows);
    assert_eq!(found.patterns[0].requests, 4.0 * plain.patterns[0].requests);
    assert!((found.patterns[0].mean_excess - plain.patterns[0].mean_excess).abs() < 1e-9);
}

#[test]
fn invalid_values_are_rejected_or_dropped() {
    let settings = PatternSettings::default();
    let answer = |columns: &[&[f64]], latencies: &[f64], weights: Option<&[f64]>| {
        latency_patterns(&RequestTable { columns, latencies, weights }, &settings)
    };
    assert_eq!(answer(&[], &[], None), Ok(LatencyPatterns::default()));
    let short = RequestTableError::ColumnLength { column: 0, length: 1, rows: 2 };
    assert_eq!(answer(&[&[1.0]], &[1.0, 2.0], None), Err(short));
    assert!(answer(&[], &[1.0], Some(&[f64::NAN])).unwrap_err().to_string().contains("weight NaN"));
    assert!(answer(&[], &[1.0], Some(&[])).is_err());
    let mut strange =
        vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, f64::MAX, f64::MIN_POSITIVE];
    strange.extend(strange.clone().into_iter().cycle().take(500));
    let found = answer(&[&strange, &strange], &strange, None).unwrap();
    assert_eq!(found.patterns, []);
    assert_eq!(found.rows_ignored, strange.iter().filter(|time| !time.is_finite() || **time <= 0.0).count());
}

fn shuffled(table: &Labeled, seed: u64) -> (Labeled, Vec<usize>) {
    let mut random = Random(seed);
    let mut order: Vec<usize> = (0..table.causes.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let pick = |times: &Vec<f64>| order.iter().map(|&row| times[row]).collect::<Vec<f64>>();
    let moved = Labeled {
        operations: table.operations.clone(),
        columns: table.columns.iter().map(pick).collect(),
        latencies: pick(&table.latencies),
        causes: order.iter().map(|&row| table.causes[row]).collect(),
    };
    (moved, order)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_rows_changes_nothing(seed: u64, delay in 30.0..200.0_f64) {
        let mut table = calm(seed, 600);
        inject(&mut table, 1, (0..600).step_by(9), &[(seed as usize % 6, delay)]);
        let (moved, order) = shuffled(&table, seed ^ 5);
        let (found, again) = (table.patterns(), moved.patterns());
        prop_assert_eq!(found.patterns.len(), again.patterns.len());
        for (pattern, same) in found.patterns.iter().zip(&again.patterns) {
            let mut rows: Vec<usize> = same.rows.iter().map(|&row| order[row]).collect();
            rows.sort_unstable();
            prop_assert_eq!(&pattern.rows, &rows);
            prop_assert_eq!(&pattern.conditions, &same.conditions);
            prop_assert_eq!(pattern.p_value, same.p_value);
        }
    }

    #[test]
    fn the_unit_changes_nothing(seed: u64, unit in prop::sample::select(vec![1e-3, 0.5, 1024.0, 1e6])) {
        let mut table = calm(seed, 600);
        inject(&mut table, 1, (0..600).step_by(9), &[(1, 60.0)]);
        let found = table.patterns();
        table.columns.iter_mut().flatten().for_each(|time| *time *= unit);
        table.latencies.iter_mut().for_each(|time| *time *= unit);
        let again = table.patterns();
        prop_assert_eq!(found.patterns.len(), again.patterns.len());
        for (pattern, same) in found.patterns.iter().zip(&again.patterns) {
            prop_assert_eq!(&pattern.rows, &same.rows);
            prop_assert_eq!(pattern.conditions[0].column, same.conditions[0].column);
        }
    }

    #[test]
    fn all_answers_are_well_formed(seed: u64, rows in 0..300_usize, spikes in 0..5_usize) {
        let mut table = quiet(seed, rows, 4, 0.3, 0.4);
        let mut random = Random(seed);
        for spike in 0..spikes {
            let hit: Vec<usize> = (0..rows).filter(|_| random.uniform() < 0.1).collect();
            inject(&mut table, 1, hit.into_iter(), &[(spike % 4, 10_f64.powi(spike as i32))]);
        }
        let found = table.patterns();
        let mut seen = vec![false; rows];
        for pattern in &found.patterns {
            prop_assert!(pattern.rows.is_sorted() && pattern.rows.len() >= 10);
            for &row in &pattern.rows {
                prop_assert!(!std::mem::replace(&mut seen[row], true), "rows are disjoint");
                let holds = |condition: &laggard_localize::Condition| {
                    (condition.low..=condition.high).contains(&table.columns[condition.column][row])
                };
                prop_assert!(pattern.conditions.iter().all(holds));
            }
            prop_assert!(pattern.separation >= 0.9 && pattern.p_value <= 0.001 && pattern.slowdown >= 1.05);
        }
    }
}

/// Measured tables: F1 published for DeLag, which gets the range of slow latencies as input, 0.91 to 0.96.
#[test]
fn measured_degradations_are_found_and_quiet_rows_are_quiet() {
    let Some(folder) = data_folder("delag") else { return };
    let mut systems: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (name, table) in tables(&folder) {
        let found = table.patterns();
        let score = table.score(&found);
        assert!(score.f1 > 0.97 && score.recall > 0.97, "{name}: {score:?}");
        let system = name.split('-').next().expect("a part").to_owned();
        systems.entry(system).or_default().push((score.f1, table.mean_cause_f1(&found)));
        let quiet = table.filtered(|row| table.causes[row] == 0).patterns();
        assert_eq!(quiet.patterns, [], "{name} without the rows that were hit");
    }
    for (system, scores) in systems {
        let mean = |part: fn(&(f64, f64)) -> f64| scores.iter().map(part).sum::<f64>() / scores.len() as f64;
        let (f1, per_cause) = (mean(|score| score.0), mean(|score| score.1));
        assert!(f1 > 0.985 && per_cause > 0.98, "{system}: {f1} and {per_cause}");
    }
}

/// The independently shuffled columns of quiet measured rows, so that none is correlated with the latency.
#[test]
fn shuffled_measured_columns_are_quiet() {
    let Some(folder) = data_folder("delag") else { return };
    for (at, (name, table)) in tables(&folder).into_iter().enumerate() {
        let mut mixed = table.filtered(|row| row % 4 == at % 4);
        for column in 0..mixed.columns.len() {
            let (moved, _) = shuffled(&mixed, column as u64);
            mixed.columns[column].clone_from(&moved.columns[column]);
        }
        assert_eq!(mixed.patterns().patterns, [], "{name}");
    }
}
