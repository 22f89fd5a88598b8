//! Figures of a group of requests: their number, errors, and latencies.

use laggard_engine::RequestView;
use laggard_model::Status;
use serde::Serialize;
use utoipa::ToSchema;

/// Latencies of a group as they come.
#[derive(Clone, Default)]
pub(crate) struct Latencies {
    errors: u64,
    ns: Vec<u64>,
}

/// Figures of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Figures {
    /// Requests.
    pub(crate) requests: u64,
    /// Those whose entry failed.
    pub(crate) errors: u64,
    /// Median latency; absent without requests.
    pub(crate) p50_ns: Option<u64>,
    /// 99th percentile of the latency (nearest rank).
    pub(crate) p99_ns: Option<u64>,
}

impl Latencies {
    pub(crate) fn add(&mut self, request: &RequestView<'_>) {
        self.errors += u64::from(request.status() == Status::Error);
        self.ns.push(request.latency().ns());
    }

    pub(crate) fn figures(mut self) -> Figures {
        Figures {
            requests: self.ns.len() as u64,
            errors: self.errors,
            p50_ns: quantile(&mut self.ns, 50),
            p99_ns: quantile(&mut self.ns, 99),
        }
    }
}

/// The `ceil(n * percent / 100)`-th smallest; `None` of nothing. The order of the values is lost.
pub(crate) fn quantile(values: &mut [u64], percent: usize) -> Option<u64> {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable(rank - 1).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_by_nearest_rank() {
        let mut values: Vec<u64> = (1..=200).rev().collect();
        assert_eq!((quantile(&mut values, 50), quantile(&mut values, 99)), (Some(100), Some(198)));
        assert_eq!((quantile(&mut [7], 50), quantile(&mut [7], 99)), (Some(7), Some(7)));
        assert_eq!(quantile(&mut [], 50), None);
    }
}
