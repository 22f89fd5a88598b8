//! Burn rates: how fast an error budget is used up, as a multiple of what would use it up exactly at the end of its period.

use super::block::{Block, BlockCounts, Count, blocks_of, sum};
use laggard_model::{Nanos, Timestamp};
use laggard_numeric::binomial_upper_tail;
use serde::Serialize;
use utoipa::ToSchema;

/// Windows with burn rates, as in chapter 5 of Google's SRE workbook.
pub(super) const WINDOWS: [Nanos; 5] = [FIVE_MINUTES, HALF_HOUR, HOUR, SIX_HOURS, THREE_DAYS];
pub(super) const FIVE_MINUTES: Nanos = Nanos::from_secs(300);
pub(super) const HALF_HOUR: Nanos = Nanos::from_secs(1_800);
pub(super) const HOUR: Nanos = Nanos::from_secs(3_600);
pub(super) const SIX_HOURS: Nanos = Nanos::from_secs(6 * 3_600);
pub(super) const THREE_DAYS: Nanos = Nanos::from_secs(3 * 86_400);

/// The burn rate over one window.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct BurnRate {
    /// Length of the window, which ends now. It is made of blocks of five minutes: the current one is added to it.
    pub(crate) window_ns: u64,
    /// 1 uses up the budget in exactly its period; absent without complete requests.
    pub(crate) rate: Option<f64>,
    /// Complete requests.
    pub(crate) requests: u64,
    /// Bad ones among them.
    pub(crate) bad: u64,
}

/// The requests of the blocks of a window: the current block, and as many complete ones as the window has.
pub(super) fn window_count(counts: &BlockCounts, length: Nanos, now: Timestamp) -> Count {
    let last = Block::at(now);
    sum(counts, last.plus(-blocks_of(length))..=last)
}

/// The burn rate of some requests; `allowed` is the share of requests that may be bad.
pub(super) fn burn_rate(count: &Count, allowed: f64) -> Option<f64> {
    count.bad_share().map(|share| share / allowed)
}

/// Burn rates over all windows.
pub(super) fn burn_rates(counts: &BlockCounts, allowed: f64, now: Timestamp) -> Vec<BurnRate> {
    let rate_in = |window: Nanos| {
        let count = window_count(counts, window, now);
        BurnRate {
            window_ns: window.ns(),
            rate: burn_rate(&count, allowed),
            requests: count.requests,
            bad: count.bad,
        }
    };
    WINDOWS.into_iter().map(rate_in).collect()
}

/// Probability of at least this many bad requests if only the allowed share of them is bad (binomial). Requests that represent
/// different numbers of others count as fewer.
pub(super) fn chance(count: &Count, allowed: f64) -> f64 {
    let requests = count.effective_requests();
    let bad = count.bad_share().unwrap_or(0.0) * requests;
    binomial_upper_tail(requests.round() as u64, allowed, bad.round() as u64)
}
