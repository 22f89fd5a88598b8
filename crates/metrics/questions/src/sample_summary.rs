//! The summary of the samples, for every report on a table of windows.

use laggard_model::{Nanos, Timestamp};
use laggard_numeric::Matrix;
use laggard_report::{InputFacts, NamedCount, SampleSummary, SampledServer, Window};
use laggard_samples::{ServerWindows, WindowTable};

/// Facts on the input of samples.
#[derive(Clone, Debug, Default)]
pub struct SampleFacts {
    /// Inputs, bytes, formats.
    pub input: InputFacts,
    /// Samples read.
    pub samples: u64,
    /// Spans that were converted to samples.
    pub spans: u64,
}

/// Summarizes a table of windows and its input.
pub fn sample_summary(table: &WindowTable, facts: &SampleFacts) -> SampleSummary {
    let counts = &table.system.counts;
    let known = |row: usize| counts.row(row).iter().any(|count| count.is_finite());
    let gaps = (0..table.windows).filter(|&row| row >= counts.rows() || !known(row)).count();
    SampleSummary {
        files: facts.input.files,
        bytes: facts.input.bytes,
        spilled_bytes: facts.input.spilled_bytes,
        formats: facts.input.formats.clone(),
        samples: facts.samples,
        spans: facts.spans,
        window: (table.windows > 0).then(|| extent(table)),
        window_s: seconds(table.length),
        windows: table.windows as u64,
        gaps: gaps as u64,
        servers: table.servers.iter().map(sampled_server).collect(),
        transactions: transactions(table),
        losses: table.losses.clone(),
    }
}

/// Start of a window of the table; the number of windows gives the end of the last.
pub(crate) fn window_start(table: &WindowTable, window: usize) -> Timestamp {
    table.since.plus(Nanos::from_ns(table.length.ns().saturating_mul(window as u64)))
}

fn extent(table: &WindowTable) -> Window {
    Window { since: table.since, until: window_start(table, table.windows) }
}

/// A length in seconds.
pub(crate) fn seconds(length: Nanos) -> f64 {
    length.ns() as f64 / 1e9
}

/// The element, or NaN outside the matrix: response times and calls may be missing altogether.
pub(crate) fn cell(matrix: &Matrix, row: usize, column: usize) -> f64 {
    if row < matrix.rows() && column < matrix.cols() { matrix.get(row, column) } else { f64::NAN }
}

fn sampled_server(server: &ServerWindows) -> SampledServer {
    let known: Vec<f64> = server.utilization.iter().copied().filter(|used| used.is_finite()).collect();
    let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    SampledServer {
        server: server.server.clone(),
        tier: server.tier.clone(),
        cores: server.cores,
        windows: known.len() as u64,
        utilization_mean: mean,
        own_transactions: server.own.is_some(),
    }
}

fn transactions(table: &WindowTable) -> Vec<NamedCount> {
    let counts = &table.system.counts;
    let total = |column: usize| -> f64 {
        (0..counts.rows()).map(|row| counts.get(row, column)).filter(|count| count.is_finite()).sum()
    };
    let names = table.transactions.iter().enumerate().take(counts.cols());
    names
        .map(|(column, name)| NamedCount { name: name.clone(), count: total(column).round() as u64 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Losses;
    use laggard_samples::TransactionWindows;

    fn table() -> WindowTable {
        let gap = f64::NAN;
        let system = TransactionWindows {
            counts: Matrix::from_row_major(3, 2, vec![1.0, 2.0, gap, gap, 3.0, 4.0]),
            response_s: Matrix::zeros(0, 0),
            outbound: vec![],
        };
        WindowTable {
            since: Timestamp::from_unix_ns(0),
            length: Nanos::from_secs(60),
            windows: 3,
            transactions: vec!["Cart".to_owned(), "Home".to_owned()],
            system,
            clients: vec![gap; 3],
            servers: vec![ServerWindows {
                memory: vec![],
                network: vec![],
                server: "app-1".to_owned(),
                tier: "front".to_owned(),
                machine: None,
                cores: Some(2.0),
                utilization: vec![0.2, 0.4, gap],
                own: None,
            }],
            losses: Losses::default(),
            cautions: Vec::new(),
        }
    }

    #[test]
    fn gaps_and_totals_are_counted() {
        let summary = sample_summary(&table(), &SampleFacts { samples: 9, ..SampleFacts::default() });
        assert_eq!((summary.windows, summary.gaps, summary.samples), (3, 1, 9));
        assert_eq!(summary.transactions.iter().map(|row| row.count).collect::<Vec<_>>(), [4, 6]);
        let window = summary.window.unwrap();
        assert_eq!(window.to_string(), "1970-01-01T00:00:00.000Z to 1970-01-01T00:03:00.000Z");
        let server = &summary.servers[0];
        assert_eq!(server.windows, 2);
        assert!((server.utilization_mean.unwrap() - 0.3).abs() < 1e-12);
    }
}
