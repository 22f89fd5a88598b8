//! Runs every estimator on the same windows.

use super::combined::{Estimate, combine, from_response, from_slopes};
use super::cross_validation::{HeldOut, common_roots, response_errors, standard_errors, utilization_errors};
use super::design::Design;
use super::least_squares::fit_on;
use super::regression::{Slopes, Weighted, scaled_non_negative, scaled_slopes};
use super::response::{Discipline, Totals, ratio_error, relative_covariance};
use super::{Estimator, ModelSettings};

/// Slopes that explain a smaller share of the work are so diluted that predictions of utilization are unreliable; then only
/// response times are compared.
const TRUSTED_MIN: f64 = 0.5;

/// Maximum variance inflation for predictions of utilization to be reliable: a dilution bias of about two standard errors.
const INFLATION_MAX: f64 = 5.0;

/// Number of standard errors by which first come, first served must predict better than processor sharing to be
/// selected: CPUs share their time unless a server processes one transaction at a time.
const BETTER_MIN: f64 = 1.5;

/// Estimates by every estimator that applies, with their errors on held-out windows.
pub(crate) struct Candidates {
    slopes: Option<Slopes>,
    by_estimator: Vec<ScoredCandidate>,
    /// Errors of plain least squares, the same way.
    pub(crate) least_squares: Option<HeldOut>,
    /// Root mean square of the weights, to convert weighted errors to percent.
    pub(crate) weight: f64,
}

/// An estimator that applies.
pub(crate) struct ScoredCandidate {
    estimator: Estimator,
    pub(crate) estimate: Estimate,
    pub(crate) utilization: Option<HeldOut>,
    pub(crate) response: Option<HeldOut>,
}

impl ScoredCandidate {
    fn folds(&self) -> usize {
        self.response.as_ref().map_or(0, |errors| errors.folds.len())
    }
}

/// Adds the excess error of `a` over `b` in each fold, if both are known.
fn add_deviances(sums: &mut [f64], a: &Option<HeldOut>, b: &Option<HeldOut>) {
    let (Some(a), Some(b)) = (a, b) else { return };
    sums.iter_mut().zip(a.deviances_beyond(b)).for_each(|(sum, more)| *sum += more);
}

impl Candidates {
    /// Estimates and scores all estimators except plain least squares. Every type must occur.
    pub(crate) fn new(design: &Design, settings: &ModelSettings) -> Candidates {
        let weighted = Weighted::new(design);
        let mut candidates = Candidates {
            slopes: scaled_slopes(design, &weighted, settings.constant_scale_percent),
            by_estimator: Vec::new(),
            least_squares: None,
            weight: 1.0,
        };
        let start = scaled_non_negative(design, &weighted)
            .or_else(|| proportions(design, Discipline::ProcessorSharing));
        let Some(start) = start else { return candidates };
        let roots = common_roots(design, &start);
        candidates.weight = (roots.iter().map(|root| root * root).sum::<f64>() / roots.len() as f64).sqrt();
        let columns: Vec<usize> = (0..design.types()).collect();
        candidates.least_squares =
            utilization_errors(design, settings.folds, &roots, |rest| Some(fit_on(rest, &columns).demand));
        candidates.add_slopes(design, &weighted, settings, &roots);
        if design.has_responses() && design.types() >= 2 {
            candidates.add_responses(design, settings, &roots);
        }
        candidates
    }

    fn add_slopes(&mut self, design: &Design, weighted: &Weighted, settings: &ModelSettings, roots: &[f64]) {
        let Some(demand) = scaled_non_negative(design, weighted) else { return };
        let estimate = match design.types() {
            1 => single(design, &demand),
            _ => from_slopes(&demand, self.slopes.as_ref()),
        };
        let utilization = utilization_errors(design, settings.folds, roots, |rest| {
            scaled_non_negative(rest, &Weighted::new(rest))
        });
        self.push(Estimator::ScaledLeastSquares, estimate, utilization, None);
    }

    fn add_responses(&mut self, design: &Design, settings: &ModelSettings, roots: &[f64]) {
        for discipline in [Discipline::ProcessorSharing, Discipline::FirstComeFirstServed] {
            let (Some(demand), Some(covariance)) =
                (proportions(design, discipline), relative_covariance(design, discipline))
            else {
                continue;
            };
            let estimate = from_response(&demand, &covariance, mean_utilization(design));
            let utilization =
                utilization_errors(design, settings.folds, roots, |rest| proportions(rest, discipline));
            let response = response_errors(design, settings.folds, discipline);
            self.push(estimator(discipline), estimate, utilization, response);
        }
        let Some(discipline) = self.likelier_discipline() else { return };
        let (Some(estimate), true) = (combined(design, discipline, settings), self.slopes.is_some()) else {
            return;
        };
        // For held-out windows, the combination is fitted to the other windows.
        let utilization = utilization_errors(design, settings.folds, roots, |rest| {
            combined(rest, discipline, settings)
                .map(|estimate| estimate.demand)
                .or_else(|| proportions(rest, discipline))
        });
        self.push(Estimator::Combined, estimate, utilization, None);
    }

    fn push(
        &mut self,
        estimator: Estimator,
        estimate: Estimate,
        utilization: Option<HeldOut>,
        response: Option<HeldOut>,
    ) {
        self.by_estimator.push(ScoredCandidate { estimator, estimate, utilization, response });
    }

    /// An estimator, if it applies.
    pub(crate) fn get(&self, estimator: Estimator) -> Option<&ScoredCandidate> {
        self.by_estimator.iter().find(|scored| scored.estimator == estimator)
    }

    /// Processor sharing or first come, first served: which predicts held-out windows better, response times and (unless
    /// diluted) utilization together.
    pub(crate) fn likelier_discipline(&self) -> Option<Discipline> {
        let sharing = self.get(Estimator::ProcessorSharing)?;
        let Some(first_come) = self.get(Estimator::FirstComeFirstServed) else {
            return Some(Discipline::ProcessorSharing);
        };
        let mut differences = vec![0.0; first_come.folds()];
        add_deviances(&mut differences, &first_come.response, &sharing.response);
        if self.is_utilization_reliable() {
            add_deviances(&mut differences, &first_come.utilization, &sharing.utilization);
        }
        let is_first_come = standard_errors(&differences) < -BETTER_MIN;
        Some(if is_first_come { Discipline::FirstComeFirstServed } else { Discipline::ProcessorSharing })
    }

    /// Whether the bias of slopes by dilution is so small that predictions of utilization can rank estimators.
    pub(crate) fn is_utilization_reliable(&self) -> bool {
        self.slopes
            .as_ref()
            .is_some_and(|slopes| slopes.explained >= TRUSTED_MIN && slopes.inflation <= INFLATION_MAX)
    }
}

fn combined(design: &Design, discipline: Discipline, settings: &ModelSettings) -> Option<Estimate> {
    let slopes = scaled_slopes(design, &Weighted::new(design), settings.constant_scale_percent)?;
    let covariance = relative_covariance(design, discipline)?;
    combine(design, &proportions(design, discipline)?, &covariance, &slopes, mean_utilization(design))
}

fn proportions(design: &Design, discipline: Discipline) -> Option<Vec<f64>> {
    if !design.has_responses() {
        return None;
    }
    Totals::from_design(design).demands(discipline)
}

fn mean_utilization(design: &Design) -> f64 {
    design.mean_work() / design.capacity_s
}

pub(crate) fn estimator(discipline: Discipline) -> Estimator {
    match discipline {
        Discipline::ProcessorSharing => Estimator::ProcessorSharing,
        Discipline::FirstComeFirstServed => Estimator::FirstComeFirstServed,
    }
}

/// With a single type its demand is `W / X`, without a regression.
fn single(design: &Design, demand: &[f64]) -> Estimate {
    let error = ratio_error(design).unwrap_or(f64::INFINITY);
    Estimate { demand: demand.to_vec(), standard_error: vec![error], disagreement: 0.0 }
}
