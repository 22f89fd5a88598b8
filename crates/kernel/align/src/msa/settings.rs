//! Settings of the aligner.

use std::num::NonZeroUsize;

/// The score of two columns in the alignment of profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColumnScore {
    /// Log expectation (Edgar 2004), with no similarity between different states.
    LogExpectation,
    /// The sum of pairs, with gap costs estimated from the columns instead of pairs of rows.
    SumOfPairs,
}

/// Settings of [`super::align`]; every default states its source.
#[derive(Clone, PartialEq, Debug)]
pub struct MsaSettings {
    /// Length of the words from which the first distances are computed; 1..=8. 3.
    pub word_length: usize,
    /// `theta` of the log expectation, in (0, 1): the probability that two states of a column are equal because they
    /// correspond, rather than by chance. 0.8, measured.
    pub theta: f32,
    /// Cost of the first column of a gap; >= `gap_next_cost`. 2.0, measured.
    pub gap_first_cost: f32,
    /// Cost of each further column of a gap; >= 0. 0.5, measured.
    pub gap_next_cost: f32,
    /// Maximum number of refinement sweeps by either column score; 0 for none. 16 (Edgar 2004).
    pub sweeps_max: usize,
    /// Width of the searched band, as a share of the longer side, in (0, 1]. 0.2; it widens if the best
    /// path touches its edge.
    pub band_share: f64,
    /// Minimum half width of the band in columns. 48, unpublished.
    pub band_min: usize,
    /// Maximum work of refinement, in table cells; then the alignment is returned as it is ([`super::RefinementEnd::Work`]).
    /// 10 billion (about a minute), unpublished.
    pub refinement_work_max: u64,
    /// Number of threads; the result does not depend on it.
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
