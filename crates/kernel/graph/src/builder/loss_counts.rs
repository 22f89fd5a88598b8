//! Counts of events that could not be followed.

use laggard_model::{KernelTime, Loss, Losses};

/// A count, and the time of the first occurrence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossCount {
    count: u64,
    first: Option<KernelTime>,
}

impl LossCount {
    pub(super) fn add(&mut self, time: KernelTime) {
        self.count += 1;
        self.first.get_or_insert(time);
    }

    fn report(self, loss: Loss, losses: &mut Losses) {
        let first_ns = self.first.unwrap_or_default().ns();
        losses.add_many(loss, self.count, || format!("at {first_ns} ns"));
    }
}

/// All loss counts of one builder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossCounts {
    pub(super) implied: LossCount,
    pub(super) unknown_waker: LossCount,
    pub(super) unbalanced: LossCount,
    pub(super) time_went_back: LossCount,
    pub(super) beyond_limit: LossCount,
    pub(super) better_wakeups: LossCount,
}

impl LossCounts {
    pub(super) fn report(self, losses: &mut Losses) {
        self.implied.report(Loss::ImpliedSwitch, losses);
        self.unknown_waker.report(Loss::UnknownWaker, losses);
        self.unbalanced.report(Loss::UnbalancedContext, losses);
        self.time_went_back.report(Loss::TimeWentBack, losses);
        self.beyond_limit.report(Loss::GraphLimit, losses);
        self.better_wakeups.report(Loss::LateWakeups, losses);
    }
}
