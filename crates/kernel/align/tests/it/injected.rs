//! Localization of injected faults. `lab/experiments/examples/localization_accuracy.rs` measures more of them.

use crate::generated::{InjectedFault, Pooling, run};
use laggard_align::localize::{LocalizeRules, LocalizeSettings};

#[test]
fn injected_steps_are_reported() {
    let settings = LocalizeSettings::default();
    for fault in [InjectedFault::LongWait, InjectedFault::Quota, InjectedFault::SplitByQuota] {
        let counts = run(fault, 0.03, 4, Pooling::Together, &settings);
        assert!(counts.recall() >= 0.9, "{fault:?}: {counts:?}");
        assert!(counts.unrelated() <= 0.1, "{fault:?}: {counts:?}");
    }
}

#[test]
fn extra_waits_similar_to_the_jitter_are_mostly_reported_by_pooled_executions() {
    let settings = LocalizeSettings::default();
    let together = run(InjectedFault::ExtraWaits, 0.03, 3, Pooling::Together, &settings);
    assert!(together.recall() >= 0.7, "{together:?}");
    assert!(
        together.recall() >= run(InjectedFault::ExtraWaits, 0.03, 3, Pooling::Separate, &settings).recall()
    );
}

#[test]
fn a_moved_wait_has_little_excess() {
    let settings = LocalizeSettings::default();
    let moved = run(InjectedFault::MovedWait, 0.03, 3, Pooling::Separate, &settings);
    assert!(
        moved.time_us < 0.2 * run(InjectedFault::LongWait, 0.03, 3, Pooling::Separate, &settings).time_us
    );
}

#[test]
fn robust_rules_report_fewer_deviations_of_normal_executions_than_the_paper_rules() {
    let paper = LocalizeSettings { rules: LocalizeRules::Paper, ..LocalizeSettings::default() };
    let reported =
        |settings: &LocalizeSettings| run(InjectedFault::None, 0.03, 3, Pooling::Together, settings).time_us;
    assert!(reported(&LocalizeSettings::default()) < 0.25 * reported(&paper));
}
