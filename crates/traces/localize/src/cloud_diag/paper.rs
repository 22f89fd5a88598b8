//! The steps of the paper (CloudDiag §4.2 and §4.3) where robust mode differs from it.

use super::SuspectOperation;
use super::evidence::{FlaggedPosition, OperationEvidence};
use super::mode::Steps;
use super::replicas::{Spread, test_replicas};
use laggard_model::OperationId;
use std::collections::BTreeSet;

pub(super) const STEPS: Steps = Steps {
    judges_tail: false,
    column_scale: |_, _, _| 1.0,
    is_flagged: |position, settings| position.cosine < settings.cosine_max,
    judge_flagged,
    compares_peers: false,
};

/// Every replica with a counted call at a flagged position is a culprit.
fn judge_flagged(
    evidence: &OperationEvidence<'_>,
    operation: OperationId,
    flagged: &BTreeSet<FlaggedPosition>,
) -> Option<SuspectOperation> {
    let pooled = evidence.pool(operation);
    let settings = evidence.settings;
    let (_, tests) = test_replicas(&pooled.observed, settings.replica_level, settings.replica_factor_min);
    let mut counted = pooled.counted.clone();
    counted.retain(|call| flagged.contains(&(call.category, call.position)));
    let holders = counted.iter().map(|call| call.replica).collect();
    evidence.suspect(operation, Spread::Localized, &holders, &tests, &pooled, counted)
}
