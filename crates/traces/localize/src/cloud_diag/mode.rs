//! The steps in which the modes of CloudDiag differ.

use super::SuspectOperation;
use super::decompose::{self, PositionFinding};
use super::evidence::{FlaggedPosition, OperationEvidence};
use super::paper;
use super::settings::{CloudDiagSettings, Mode};
use laggard_model::OperationId;
use laggard_numeric::Matrix;
use std::collections::BTreeSet;

/// Judges an operation that robust PCA flagged at some positions.
type JudgeFlagged =
    fn(&OperationEvidence<'_>, OperationId, &BTreeSet<FlaggedPosition>) -> Option<SuspectOperation>;

pub(super) struct Steps {
    /// Whether the tail of the latency makes a category anomalous.
    pub(super) judges_tail: bool,
    /// The divisor of a column of the request matrix before its decomposition.
    pub(super) column_scale: fn(&Matrix, usize, &PositionFinding) -> f64,
    /// Whether a position is anomalous.
    pub(super) is_flagged: fn(&PositionFinding, &CloudDiagSettings) -> bool,
    pub(super) judge_flagged: JudgeFlagged,
    /// Whether replicas that are slow all the time are suspects.
    pub(super) compares_peers: bool,
}

const ROBUST: Steps = Steps {
    judges_tail: true,
    column_scale: decompose::column_scale,
    is_flagged: decompose::is_flagged,
    judge_flagged: |evidence, operation, flagged| evidence.judge_flagged(operation, flagged),
    compares_peers: true,
};

impl Mode {
    pub(super) fn steps(self) -> &'static Steps {
        match self {
            Mode::Robust => &ROBUST,
            Mode::Paper => &paper::STEPS,
        }
    }
}
