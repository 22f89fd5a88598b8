//! Localization of injected faults. `lab/experiments/examples/localization_accuracy.rs` measures more of them.

use crate::generated::{InjectedFault, TotalScores, run};
use laggard_align::localize::{LocalizeRules, LocalizeSettings};

#[test]
fn injected_steps_are_told() {
    let settings = LocalizeSettings::default();
    for fault in [InjectedFault::LongWait, InjectedFault::Quota, InjectedFault::SplitByQuota] {
        let tally = run(fault, 0.03, 4, TotalScores::Yes, &settings);
        assert!(tally.recall() >= 0.9, "{fault:?}: {tally:?}");
        assert!(tally.unrelated() <= 0.1, "{fault:?}: {tally:?}");
    }
}

#[test]
fn extra_waits_like_the_jitter_are_mostly_told_by_executions_together() {
    let settings = LocalizeSettings::default();
    let together = run(InjectedFault::ExtraWaits, 0.03, 3, TotalScores::Yes, &settings);
    assert!(together.recall() >= 0.7, "{together:?}");
    assert!(
        together.recall() >= run(InjectedFault::ExtraWaits, 0.03, 3, TotalScores::No, &settings).recall()
    );
}

#[test]
fn a_moved_wait_is_little_time() {
    let settings = LocalizeSettings::default();
    let moved = run(InjectedFault::MovedWait, 0.03, 3, TotalScores::No, &settings);
    assert!(moved.time_us < 0.2 * run(InjectedFault::LongWait, 0.03, 3, TotalScores::No, &settings).time_us);
}

#[test]
fn robust_rules_tell_a_fraction_of_what_the_paper_tells_of_normal_executions() {
    let paper = LocalizeSettings { rules: LocalizeRules::Paper, ..LocalizeSettings::default() };
    let reported =
        |settings: &LocalizeSettings| run(InjectedFault::None, 0.03, 3, TotalScores::Yes, settings).time_us;
    assert!(reported(&LocalizeSettings::default()) < 0.25 * reported(&paper));
}
