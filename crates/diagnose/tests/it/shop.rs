//! A simulated shop as a table of windows.

use laggard_model::{Nanos, Timestamp};
use laggard_numeric::Matrix;
use laggard_samples::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};
use laggard_simulate::{TpcwRun, TransactionSeries};

pub(crate) fn table(run: &TpcwRun) -> WindowTable {
    WindowTable {
        since: Timestamp::from_unix_ns(run.since_unix_ns),
        length: Nanos::from_secs(u64::from(run.window_s)),
        windows: run.windows,
        transactions: run.transactions.clone(),
        system: series(run, &run.system),
        clients: run.clients.clone(),
        servers: run
            .servers
            .iter()
            .map(|server| ServerWindows {
                server: server.server.clone(),
                tier: server.tier.clone(),
                cores: Some(server.cores),
                utilization: server.utilization.clone(),
                own: server.own.as_ref().map(|own| series(run, own)),
            })
            .collect(),
        ..WindowTable::default()
    }
}

fn series(run: &TpcwRun, series: &TransactionSeries) -> TransactionWindows {
    let matrix = |data: &[f64]| Matrix::from_row_major(run.windows, run.transactions.len(), data.to_vec());
    let outbound = series.outbound.iter().map(|outbound| OutboundWindows {
        callee: outbound.callee.clone(),
        counts: matrix(&outbound.counts),
        time_s: matrix(&outbound.time_s),
    });
    TransactionWindows {
        counts: matrix(&series.counts),
        response_s: matrix(&series.response_s),
        outbound: outbound.collect(),
    }
}
