//! The breakdown of the latency of each transaction type (equation 6).

use crate::sample_summary::cell;
use laggard_capacity::{OutboundTime, latency_parts};
use laggard_report::TransactionLatency;
use laggard_samples::WindowTable;

/// The breakdown, and the number of windows left out because calls took longer than their transactions.
pub(super) struct Breakdown {
    pub(super) rows: Vec<TransactionLatency>,
    pub(super) overlapping: u64,
}

/// Means over the windows, weighted by transactions. `demands_s` are those of the front tier.
pub(super) fn breakdown(table: &WindowTable, windows: &[usize], demands_s: &[f64]) -> Breakdown {
    let mut result = Breakdown { rows: Vec::new(), overlapping: 0 };
    for (column, name) in table.transactions.iter().enumerate() {
        let callees = table.system.outbound.len();
        let mut sum = TransactionLatency {
            transaction: name.clone(),
            count: 0,
            response_s: 0.0,
            service_s: 0.0,
            queueing_s: 0.0,
            callees_s: vec![0.0; callees],
        };
        let mut transactions = 0.0;
        for &window in windows {
            let count = cell(&table.system.counts, window, column);
            let response_s = cell(&table.system.response_s, window, column);
            if !(count > 0.0 && response_s.is_finite()) {
                continue;
            }
            let calls = outbound(table, window, column);
            match latency_parts(response_s, count, demands_s[column], &calls) {
                Some(parts) => {
                    transactions += count;
                    sum.response_s += count * parts.response_s;
                    sum.service_s += count * parts.service_s;
                    sum.queueing_s += count * parts.queueing_s;
                    let pairs = sum.callees_s.iter_mut().zip(&parts.callees_s);
                    pairs.for_each(|(sum, part)| *sum += count * part);
                }
                None => result.overlapping += 1,
            }
        }
        if transactions > 0.0 {
            let mean = |value: &mut f64| *value /= transactions;
            [&mut sum.response_s, &mut sum.service_s, &mut sum.queueing_s].into_iter().for_each(mean);
            sum.callees_s.iter_mut().for_each(mean);
            sum.count = transactions.round() as u64;
            result.rows.push(sum);
        }
    }
    result
}

/// The outbound calls; calls with unknown number or time count as none.
fn outbound(table: &WindowTable, window: usize, column: usize) -> Vec<OutboundTime> {
    let calls_of = |outbound: &laggard_samples::OutboundWindows| {
        let calls = cell(&outbound.counts, window, column);
        let time_s = cell(&outbound.time_s, window, column);
        match calls.is_finite() && time_s.is_finite() {
            true => OutboundTime { calls, time_s },
            false => OutboundTime { calls: 0.0, time_s: 0.0 },
        }
    };
    table.system.outbound.iter().map(calls_of).collect()
}
