//! The arithmetic of the methods: matrices, robust principal component analysis, rank tests,
//! multiple testing, and robust summaries of a sample.
//!
//! Everything here is pure and synchronous: functions of slices and matrices that know no trace, no
//! file and no clock. Threads are used only where the caller passes their number, and never change a bit
//! of the answer. Shapes are `rows x columns` with 0-based indices; a matrix of request times has one
//! row per request and one column per position of the call tree.
//!
//! Degenerate samples (empty, all equal, one-sided) have a defined answer, stated at each function:
//! a p-value is 1 and a statistic is 0 where it cannot be computed.

mod cosine;
mod distributions;
mod f_distribution;
mod histogram;
mod implicit_ql;
mod levenshtein;
mod mann_whitney;
mod matrix;
mod multiple_testing;
mod nnls;
mod normal_equations;
mod principal_components;
mod quantiles;
mod ranks;
mod residual_limit;
mod robust_pca;
mod student;
mod summary;
mod symmetric;
mod thinning;
mod weighted;

pub use cosine::column_cosines;
pub use distributions::{binomial_upper_tail, normal_upper_tail, uniform_sum_lower_tail};
pub use f_distribution::f_upper_tail;
pub use histogram::{BinRule, Dissimilarity, HistogramBins, dissimilarities, jensen_shannon_distance};
pub use levenshtein::{levenshtein_matches, levenshtein_within};
pub use mann_whitney::{
    Alternative, EXACT_POOL_MAX, MannWhitney, PERMUTATION_POOL_MAX, mann_whitney, mann_whitney_asymptotic,
    mann_whitney_exact, mann_whitney_one_vs_rest, mann_whitney_permutation,
    weighted_mann_whitney_one_vs_rest,
};
pub use matrix::Matrix;
pub use multiple_testing::{benjamini_hochberg, harmonic_mean_p_value};
pub use nnls::{INTERVAL_LANES, NnlsSolver, NonNegativeFit, interval_residuals, nnls, residuals_upto};
pub use normal_equations::{NormalEquations, PrefixSums};
pub use principal_components::{PrincipalComponents, numerical_rank, principal_components};
pub use quantiles::{chi_square_quantile, chi_square_upper_tail, normal_quantile};
pub use residual_limit::{hall_buckley_eagleson_limit, jackson_mudholkar_limit};
pub use robust_pca::{RobustPca, RobustPcaSettings, outlier_pursuit, robust_pca};
pub use student::{student_quantile_95, student_upper_tail};
pub use summary::{
    coefficient_of_variation, mad, mean, median, median_of, quantile_nearest_rank, sample_std,
};
pub use symmetric::{Cholesky, Eigen, condition_number, symmetric_eigen};
pub use thinning::spread_evenly;
pub use weighted::{
    Weights, effective_sample_size, weighted_coefficient_of_variation, weighted_mad, weighted_mean,
    weighted_median, weighted_quantiles, weighted_sample_std,
};
