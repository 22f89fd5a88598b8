//! Request tables with known truth: CSV with a latency, one column per operation, and the cause of each row.
//! Shared with the example `patterns`.

#![expect(clippy::unwrap_used, reason = "a file that is no such table ends the test")]

use laggard_localize::{LatencyPatterns, PatternSettings, RequestTable, latency_patterns};
use std::fs;
use std::path::Path;

/// One file: times by column, and 0 or the number of the cause of each row.
pub(crate) struct Labeled {
    pub operations: Vec<String>,
    pub columns: Vec<Vec<f64>>,
    pub latencies: Vec<f64>,
    pub causes: Vec<u32>,
}

/// How well rows were found, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Score {
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
}

impl Labeled {
    /// Reads `Latency,…,anomaly` under a header, plain or as `.zst`.
    pub(crate) fn read(path: &Path) -> Labeled {
        let bytes = fs::read(path).unwrap();
        let is_zstd = path.extension().is_some_and(|ending| ending == "zst");
        let bytes = if is_zstd { zstd::decode_all(&bytes[..]).unwrap() } else { bytes };
        let text = String::from_utf8(bytes).unwrap();
        let mut lines = text.lines();
        let titles: Vec<String> = lines.next().unwrap().split(',').map(str::to_owned).collect();
        let mut table: Vec<Vec<f64>> = vec![Vec::new(); titles.len()];
        for line in lines {
            for (column, field) in table.iter_mut().zip(line.split(',')) {
                column.push(field.parse().unwrap());
            }
        }
        let causes = table.pop().unwrap().into_iter().map(|cause| cause as u32).collect();
        let latencies = table.remove(0);
        let operations = titles[1..titles.len() - 1].to_vec();
        Labeled { operations, columns: table, latencies, causes }
    }

    /// The rows for which `keep`.
    pub(crate) fn filtered(&self, keep: impl Fn(usize) -> bool) -> Labeled {
        let rows: Vec<usize> = (0..self.causes.len()).filter(|&row| keep(row)).collect();
        let pick = |times: &[f64]| rows.iter().map(|&row| times[row]).collect::<Vec<f64>>();
        Labeled {
            operations: self.operations.clone(),
            columns: self.columns.iter().map(|column| pick(column)).collect(),
            latencies: pick(&self.latencies),
            causes: rows.iter().map(|&row| self.causes[row]).collect(),
        }
    }

    pub(crate) fn patterns(&self) -> LatencyPatterns {
        let columns: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        let table = RequestTable { columns: &columns, latencies: &self.latencies, weights: None };
        latency_patterns(&table, &PatternSettings::default()).unwrap()
    }

    /// The union of all patterns against all causes.
    pub(crate) fn score(&self, found: &LatencyPatterns) -> Score {
        let rows: Vec<usize> =
            found.patterns.iter().flat_map(|pattern| pattern.rows.iter().copied()).collect();
        self.score_rows(&rows, |cause| cause != 0)
    }

    /// Mean F1 over the causes, each with its pattern in the best matching of the two.
    pub(crate) fn mean_cause_f1(&self, found: &LatencyPatterns) -> f64 {
        let causes = 1..=self.causes.iter().copied().max().unwrap_or(0);
        let f1 = |cause: u32, at: usize| self.score_rows(&found.patterns[at].rows, |of| of == cause).f1;
        let causes: Vec<u32> = causes.collect();
        best_matching(&causes, found.patterns.len(), &f1, &mut Vec::new()) / causes.len().max(1) as f64
    }

    fn score_rows(&self, rows: &[usize], is_hit: impl Fn(u32) -> bool) -> Score {
        let hits = rows.iter().filter(|&&row| is_hit(self.causes[row])).count() as f64;
        let expected = self.causes.iter().filter(|&&cause| is_hit(cause)).count() as f64;
        let share = |whole: f64| if whole > 0.0 { hits / whole } else { 0.0 };
        let f1 = 2.0 * hits / (rows.len() as f64 + expected).max(1.0);
        Score { precision: share(rows.len() as f64), recall: share(expected), f1 }
    }
}

/// Largest sum over all assignments of at most one pattern to each cause.
fn best_matching(
    causes: &[u32],
    patterns: usize,
    f1: &dyn Fn(u32, usize) -> f64,
    taken: &mut Vec<usize>,
) -> f64 {
    let Some((&cause, others)) = causes.split_first() else { return 0.0 };
    let mut best = best_matching(others, patterns, f1, taken);
    for at in 0..patterns {
        if taken.contains(&at) {
            continue;
        }
        taken.push(at);
        best = best.max(f1(cause, at) + best_matching(others, patterns, f1, taken));
        taken.pop();
    }
    best
}

/// The tables of a folder, by name.
pub(crate) fn tables(folder: &Path) -> Vec<(String, Labeled)> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(".csv"));
    paths.sort();
    paths
        .iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), Labeled::read(path)))
        .collect()
}
