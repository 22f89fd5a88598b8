//! A simulated shop as a table of windows.

use laggard_model::{Losses, Nanos, Timestamp};
use laggard_numeric::Matrix;
use laggard_samples::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};
use laggard_simulate::{TpcwRun, TransactionSeries};

/// The shop's measurements as a table.
pub(crate) fn table(run: &TpcwRun) -> WindowTable {
    let types = run.transactions.len();
    let matrix = |values: &[f64]| Matrix::from_row_major(run.windows, types, values.to_vec());
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
        utilization: server.utilization.clone(),
        own: server.own.as_ref().map(transactions),
    });
    WindowTable {
        since: Timestamp::from_unix_ns(run.since_unix_ns),
        length: Nanos::from_secs(u64::from(run.window_s)),
        windows: run.windows,
        transactions: run.transactions.clone(),
        system: transactions(&run.system),
        clients: run.clients.clone(),
        servers: servers.collect(),
        losses: Losses::default(),
        cautions: vec![],
    }
}
