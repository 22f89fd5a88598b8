//! A part of a simulated shop as a table of windows.

use laggard_model::{Nanos, Timestamp};
use laggard_numeric::Matrix;
use laggard_samples::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};
use laggard_simulate::{TpcwRun, TransactionSeries};
use std::ops::Range;

/// Windows that an evaluation without alerts reads: 12 hours and the last.
pub(crate) const WINDOWS_MAX: usize = 780;

/// Samples of the shop in some windows.
pub(crate) fn table(run: &TpcwRun, windows: Range<usize>) -> WindowTable {
    let types = run.transactions.len();
    let matrix = |values: &[f64]| {
        Matrix::from_row_major(
            windows.len(),
            types,
            values[windows.start * types..windows.end * types].to_vec(),
        )
    };
    let transactions = |series: &TransactionSeries| TransactionWindows {
        counts: matrix(&series.counts),
        response_s: matrix(&series.response_s),
        outbound: series
            .outbound
            .iter()
            .map(|calls| OutboundWindows {
                callee: calls.callee.clone(),
                counts: matrix(&calls.counts),
                time_s: matrix(&calls.time_s),
            })
            .collect(),
    };
    let servers = run.servers.iter().map(|server| ServerWindows {
        memory: vec![],
        network: vec![],
        server: server.server.clone(),
        tier: server.tier.clone(),
        machine: None,
        cores: Some(server.cores),
        utilization: server.utilization[windows.clone()].to_vec(),
        own: server.own.as_ref().map(transactions),
    });
    let length = Nanos::from_secs(u64::from(run.window_s));
    WindowTable {
        since: Timestamp::from_unix_ns(run.since_unix_ns + windows.start as i64 * length.ns() as i64),
        length,
        windows: windows.len(),
        transactions: run.transactions.clone(),
        system: transactions(&run.system),
        clients: run.clients[windows.clone()].to_vec(),
        servers: servers.collect(),
        ..WindowTable::default()
    }
}
