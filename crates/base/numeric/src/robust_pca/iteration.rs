//! The loop of the inexact augmented Lagrangian.

use std::num::NonZeroUsize;

use pulp::Arch;

use super::block::{BlockStep, soft_factor};
use super::shrinkage::Shrinkage;
use super::stripes::StripeState;
use super::{RobustPca, RobustPcaSettings, Sparsity};
use crate::Matrix;

/// A pass that moves on overwrites the parts whose residual it measures. Once the residual is within this
/// multiple of the squared growth of the tolerance, it is therefore measured first. An iteration shrinks
/// it by about the growth; should it ever leap, some iterations more than needed are done.
const PROBE_WITHIN: f64 = 1.1;

/// Up to this many elements the residual is always measured first: it costs nothing worth saving, and
/// only in small matrices does the residual leap.
const PROBE_ALWAYS_UP_TO: usize = 4096;

/// The penalty grows to at most this multiple of its first value (Lin, Chen, Ma 2009).
const PENALTY_GROWTH_MAX: f64 = 1e7;

/// A matrix to decompose, neither empty nor zero, with at least as many rows as columns.
pub(super) struct Decomposition {
    state: StripeState,
    arch: Arch,
    rows: usize,
    cols: usize,
    lambda: f64,
    sparsity: Sparsity,
    growth: f64,
    tolerance: f64,
    iterations_max: u32,
    threads: NonZeroUsize,
}

/// The penalty `mu` over the iterations.
#[derive(Clone, Copy)]
struct Penalty {
    mu: f64,
    mu_max: f64,
}

impl Decomposition {
    pub(super) fn new(
        matrix: Matrix,
        lambda: f64,
        sparsity: Sparsity,
        settings: &RobustPcaSettings,
    ) -> Decomposition {
        let defaults = RobustPcaSettings::default();
        let (rows, cols) = (matrix.rows(), matrix.cols());
        let is_growth = settings.growth.is_finite() && settings.growth > 1.0;
        Decomposition {
            state: StripeState::new(matrix.into_data(), cols),
            arch: Arch::new(),
            rows,
            cols,
            lambda,
            sparsity,
            growth: if is_growth { settings.growth } else { defaults.growth },
            tolerance: if settings.tolerance > 0.0 { settings.tolerance } else { defaults.tolerance },
            iterations_max: settings.iterations_max.max(1),
            threads: settings.threads,
        }
    }

    /// `largest` is the largest absolute value of the matrix.
    pub(super) fn solve(mut self, largest: f64) -> RobustPca {
        let (arch, cols) = (self.arch, self.cols);
        self.state.pass(self.threads, |block, sums, scratch| block.begin(arch, cols, sums, scratch));
        let gram = self.state.gram();
        let norm = gram.trace().sqrt();
        let spectral = Shrinkage::spectral_norm(gram);
        let mut penalty = Penalty::new(spectral);
        // The state starts with X = M, and the multiplier Y/mu is to be that times:
        let ratio = 1.0 / (spectral.max(largest / self.lambda) * penalty.mu);
        self.advance(&Shrinkage::to_zero(), BlockStep { ratio, cut: self.lambda / penalty.mu });
        let is_small = self.rows * self.cols <= PROBE_ALWAYS_UP_TO;
        let probe_below = PROBE_WITHIN * self.growth * self.growth * self.tolerance;
        let mut residual = f64::INFINITY;
        for iteration in 1.. {
            let shrinkage = Shrinkage::new(self.state.gram(), 1.0 / penalty.mu);
            let is_last = iteration == self.iterations_max;
            let is_close = is_small || residual <= probe_below;
            if is_last || is_close && self.probe(&shrinkage) <= self.tolerance * norm {
                return self.conclude(&shrinkage, iteration, norm);
            }
            let next = penalty.grown(self.growth);
            residual = self
                .advance(&shrinkage, BlockStep { ratio: penalty.mu / next.mu, cut: self.lambda / next.mu })
                / norm;
            penalty = next;
        }
        unreachable!("the last iteration returns")
    }

    /// One iteration in which the state moves on; returns `|M - L - E|_F` of the parts it moved on from.
    fn advance(&mut self, shrinkage: &Shrinkage, step: BlockStep) -> f64 {
        let (arch, threads) = (self.arch, self.threads);
        match self.sparsity {
            Sparsity::Entries => self.state.pass(threads, |block, sums, scratch| {
                block.advance_entries(arch, shrinkage, step, sums, scratch);
            }),
            Sparsity::Rows => self.state.pass(threads, |block, sums, scratch| {
                block.advance_rows(arch, shrinkage, step, sums, scratch);
            }),
            Sparsity::Columns => return self.advance_columns(shrinkage, step),
        }
        self.state.residual_norm()
    }

    /// The same in two passes, as a column is shrunk by the norm of all of it.
    fn advance_columns(&mut self, shrinkage: &Shrinkage, step: BlockStep) -> f64 {
        let arch = self.arch;
        self.state.pass(self.threads, |block, sums, scratch| {
            block.measure_columns(arch, shrinkage, step, sums, scratch);
        });
        let residual = self.state.residual_norm();
        let norms = self.state.column_norms();
        let factors: Vec<f64> = norms.iter().map(|&norm| soft_factor(norm, step.cut)).collect();
        self.state.pass(self.threads, |block, sums, scratch| {
            block.shrink_columns(arch, &factors, sums, scratch);
        });
        residual
    }

    /// `|M - L - E|_F` of the current parts.
    fn probe(&mut self, shrinkage: &Shrinkage) -> f64 {
        let arch = self.arch;
        self.state.pass(self.threads, |block, sums, scratch| block.probe(arch, shrinkage, sums, scratch));
        self.state.residual_norm()
    }

    fn conclude(mut self, shrinkage: &Shrinkage, iterations: u32, norm: f64) -> RobustPca {
        let arch = self.arch;
        self.state.pass(self.threads, |block, sums, scratch| block.conclude(arch, shrinkage, sums, scratch));
        let residual = self.state.residual_norm() / norm;
        RobustPca {
            low_rank: Matrix::from_row_major(self.rows, self.cols, self.state.x),
            sparse: Matrix::from_row_major(self.rows, self.cols, self.state.e),
            iterations,
            residual,
            rank: shrinkage.numerical_rank(),
            converged: residual <= self.tolerance,
            singular_values: shrinkage.singular_values.clone(),
            non_finite: 0,
        }
    }
}

impl Penalty {
    fn new(spectral: f64) -> Penalty {
        let mu = 1.25 / spectral;
        Penalty { mu, mu_max: PENALTY_GROWTH_MAX * mu }
    }

    fn grown(self, growth: f64) -> Penalty {
        Penalty { mu: (self.mu * growth).min(self.mu_max), ..self }
    }
}
