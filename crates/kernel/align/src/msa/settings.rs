//! Settings of the aligner.

use std::num::NonZeroUsize;

/// How two columns are compared when profiles are aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColumnScore {
    /// Log expectation (Edgar 2004) for states, which have no chemistry.
    LogExpectation,
    /// What the pairs of rows contribute to the sum of pairs; gaps only as far as known without examining pairs.
    SumOfPairs,
}

/// Settings of [`super::align`]; every default states its source.
#[derive(Clone, PartialEq, Debug)]
pub struct MsaSettings {
    /// Length of the words whose shared number makes the first distances; 1..=8. 3.
    pub word_length: usize,
    /// `theta` of the log expectation, in (0, 1): how likely two states of a column are equal because they belong
    /// together rather than by chance. 0.8, measured.
    pub theta: f32,
    /// Cost of the first column of a gap; >= `gap_next_cost`. 2.0, measured.
    pub gap_first_cost: f32,
    /// Cost of each further column of a gap; >= 0. 0.5, measured.
    pub gap_next_cost: f32,
    /// Most sweeps of refinement by either column score; 0 for none. 16 (Edgar 2004).
    pub sweeps_max: usize,
    /// Width of the band that is searched, as a share of the longer side, in (0, 1]. 0.2; it widens when the best
    /// path touches its edge.
    pub band_share: f64,
    /// Least half width of the band in columns. 48, ours.
    pub band_min: usize,
    /// Most work of refinement, in cells of tables; when it is used up the alignment is returned as it is and says so.
    /// 10 billion (about a minute), ours.
    pub refinement_work_max: u64,
    /// Threads; the answer does not depend on them.
    pub threads: NonZeroUsize,
}

impl Default for MsaSettings {
    fn default() -> MsaSettings {
        MsaSettings {
            word_length: 3,
            theta: 0.8,
            gap_first_cost: 2.0,
            gap_next_cost: 0.5,
            sweeps_max: 16,
            band_share: 0.2,
            band_min: 48,
            refinement_work_max: 10_000_000_000,
            threads: NonZeroUsize::MIN,
        }
    }
}
