//! What could not be followed, counted until the end.

use laggard_model::{KernelTime, Loss, Losses};

/// How often, and when first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    count: u64,
    first: Option<KernelTime>,
}

impl Count {
    pub(super) fn add(&mut self, time: KernelTime) {
        self.count += 1;
        self.first.get_or_insert(time);
    }

    fn tell(self, loss: Loss, losses: &mut Losses) {
        let at = self.first.unwrap_or_default().ns();
        losses.add_many(loss, self.count, || format!("at {at} ns"));
    }
}

/// All counts of one builder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) implied: Count,
    pub(super) unknown_waker: Count,
    pub(super) unbalanced: Count,
    pub(super) time_went_back: Count,
    pub(super) beyond_limit: Count,
    pub(super) better_wakeups: Count,
}

impl Tally {
    pub(super) fn tell(self, losses: &mut Losses) {
        self.implied.tell(Loss::ImpliedSwitch, losses);
        self.unknown_waker.tell(Loss::UnknownWaker, losses);
        self.unbalanced.tell(Loss::UnbalancedContext, losses);
        self.time_went_back.tell(Loss::TimeWentBack, losses);
        self.beyond_limit.tell(Loss::GraphLimit, losses);
        self.better_wakeups.tell(Loss::LateWakeups, losses);
    }
}
