//! Slows down who guesses tokens: an address with many failed attempts has to wait.

use crate::listen::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Failed attempts of one address (IPv6: one /64) within [`PERIOD`]; further ones are refused until it is over.
const FAILURES_MAX: u32 = 10;
const PERIOD: Duration = Duration::from_secs(60);
/// Addresses with failed attempts that are remembered; with more, those that failed first are forgotten.
const ADDRESSES_MAX: usize = 10_000;

/// Failed attempts by address.
#[derive(Debug, Default)]
pub(super) struct FailureLimit {
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    since: Instant,
    count: u32,
}

impl FailureLimit {
    /// How long an address has to wait before its next attempt; `None` if it may now.
    pub(super) fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let failures = *self.failures().get(&network(address))?;
        let left = PERIOD.checked_sub(now.saturating_duration_since(failures.since))?;
        (failures.count >= FAILURES_MAX && !left.is_zero()).then_some(left)
    }

    /// Counts a failed attempt. Returns whether it is the one from which on the address has to wait.
    pub(super) fn failed(&self, address: IpAddr, now: Instant) -> bool {
        let mut all = self.failures();
        if all.len() >= ADDRESSES_MAX {
            all.retain(|_, failures| now.saturating_duration_since(failures.since) < PERIOD);
        }
        if all.len() >= ADDRESSES_MAX
            && let Some((&first, _)) = all.iter().min_by_key(|(_, failures)| failures.since)
        {
            all.remove(&first);
        }
        let failures = all.entry(network(address)).or_insert(Failures { since: now, count: 0 });
        if now.saturating_duration_since(failures.since) >= PERIOD {
            *failures = Failures { since: now, count: 0 };
        }
        failures.count = failures.count.saturating_add(1);
        failures.count == FAILURES_MAX
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<IpAddr, Failures>> {
        self.failures.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_waits_after_many_failed_attempts_and_others_do_not() {
        let (limit, start) = (FailureLimit::default(), Instant::now());
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let mut reached = Vec::new();
        for _ in 0..FAILURES_MAX {
            assert_eq!(limit.wait(one, start), None);
            reached.push(limit.failed(one, start));
        }
        assert_eq!(reached, [[false; FAILURES_MAX as usize - 1].as_slice(), &[true]].concat());
        assert_eq!(limit.wait(one, start + PERIOD / 4), Some(PERIOD / 4 * 3));
        assert_eq!(limit.wait(other, start), None);
        assert_eq!(limit.wait(one, start + PERIOD), None);
        limit.failed(one, start + PERIOD);
        assert_eq!(limit.wait(one, start + PERIOD), None, "the count starts again");
    }

    #[test]
    fn the_number_of_addresses_is_limited() {
        let (limit, start) = (FailureLimit::default(), Instant::now());
        for number in 0..=ADDRESSES_MAX as u32 {
            limit.failed(IpAddr::from(number.to_be_bytes()), start + Duration::from_nanos(u64::from(number)));
        }
        assert_eq!(limit.failures().len(), ADDRESSES_MAX);
        assert!(!limit.failures().contains_key(&IpAddr::from([0; 4])));
    }
}
