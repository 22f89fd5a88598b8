//! Limits what recording may take of the host's CPUs: beyond it, recording pauses until the average is within it.

use std::time::{Duration, Instant};

/// CPU time of recording one event in nanoseconds: more than was measured (`docs/manual/agent.md`).
pub const EVENT_COST_NS: f64 = 1_000.0;

/// Estimates the cost of recording from the number of events.
pub(crate) struct CpuBudget {
    /// Most of all CPUs, as a share.
    share_max: f64,
    cpus: usize,
    /// The last observation while recording.
    last: Option<(Instant, u64)>,
    resume_at: Option<Instant>,
}

/// Whether to record or to pause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum BudgetDecision {
    Record,
    /// Recording took this share of the CPUs, which is beyond the limit.
    Pause {
        share: f64,
    },
    /// It pauses already.
    StayPaused,
}

impl CpuBudget {
    pub(crate) fn new(share_max: f64, cpus: usize) -> CpuBudget {
        CpuBudget { share_max, cpus: cpus.max(1), last: None, resume_at: None }
    }

    /// Decides by the number of events recorded so far.
    pub(crate) fn decide(&mut self, at: Instant, events: u64) -> BudgetDecision {
        if let Some(resume_at) = self.resume_at {
            if at < resume_at {
                return BudgetDecision::StayPaused;
            }
            self.resume_at = None;
            self.last = None;
        }
        let Some((before, events_before)) = self.last.replace((at, events)) else {
            return BudgetDecision::Record;
        };
        let elapsed = at.saturating_duration_since(before);
        let available_ns = elapsed.as_nanos() as f64 * self.cpus as f64;
        let used_ns = events.saturating_sub(events_before) as f64 * EVENT_COST_NS;
        if used_ns <= available_ns * self.share_max {
            return BudgetDecision::Record;
        }
        // So long that the average over both is the limit.
        let pause_ns = used_ns / (self.share_max * self.cpus as f64) - elapsed.as_nanos() as f64;
        self.resume_at = at.checked_add(Duration::from_nanos(pause_ns as u64));
        BudgetDecision::Pause { share: used_ns / available_ns.max(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events in a second of two CPUs that take this share of them.
    fn events(share: f64) -> u64 {
        (share * 2e9 / EVENT_COST_NS) as u64
    }

    #[test]
    fn recording_never_pauses_within_the_cpu_budget() {
        let (start, mut budget) = (Instant::now(), CpuBudget::new(0.03, 2));
        for second in 0..100 {
            let decision = budget.decide(start + Duration::from_secs(second), second * events(0.0299));
            assert_eq!(decision, BudgetDecision::Record, "{second}");
        }
    }

    #[test]
    fn recording_beyond_the_cpu_budget_pauses_until_the_average_recovers() {
        let (start, mut budget) = (Instant::now(), CpuBudget::new(0.03, 2));
        let (mut recorded, mut paused) = (0, false);
        for second in 0..3_000 {
            recorded += if paused { 0 } else { events(0.24) };
            paused = match budget.decide(start + Duration::from_secs(second), recorded) {
                BudgetDecision::Record => false,
                BudgetDecision::Pause { share } => {
                    assert!((0.23..0.25).contains(&share), "{share}");
                    true
                }
                BudgetDecision::StayPaused => true,
            };
        }
        let share = recorded as f64 * EVENT_COST_NS / (3_000.0 * 2e9);
        assert!((0.02..=0.0301).contains(&share), "{share}");
    }
}
