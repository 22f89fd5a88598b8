//! Runs every estimator on the same windows.

use super::combined::{Estimate, combine, from_response, from_slopes};
use super::constant::ConstantShare;
use super::cross_validation::{
    Fold, HeldOut, common_roots, folds, response_errors, standard_errors, utilization_errors,
};
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

/// Which errors on held-out windows are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scores {
    /// Those of every estimator, for a report.
    All,
    /// Those on which the selection of an estimator depends.
    Deciding,
}

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
    /// Estimates by all estimators except plain least squares, of which only the errors are computed. Every type must occur.
    pub(crate) fn new(design: &Design, settings: &ModelSettings, scores: Scores) -> Candidates {
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
        let held_out = HeldOutScores { design, folds: &folds(design, settings.folds), roots: &roots, scores };
        if scores == Scores::All {
            let columns: Vec<usize> = (0..design.types()).collect();
            candidates.least_squares = held_out.utilization(|fold| Some(fit_on(&fold.rest, &columns).demand));
        }
        let has_responses = design.has_responses() && design.types() >= 2;
        candidates.add_slopes(&held_out, &weighted, has_responses, settings.constant_scale_percent);
        if has_responses {
            candidates.add_responses(&held_out, settings);
        }
        candidates
    }

    fn add_slopes(
        &mut self,
        held_out: &HeldOutScores<'_>,
        weighted: &Weighted,
        has_rival: bool,
        scale_percent: f64,
    ) {
        let design = held_out.design;
        let Some(demand) = scaled_non_negative(design, weighted) else { return };
        let estimate = match design.types() {
            1 => single(design, &demand, scale_percent),
            _ => from_slopes(&demand, self.slopes.as_ref()),
        };
        let utilization = held_out.if_needed(has_rival, |all| {
            all.utilization(|fold| scaled_non_negative(&fold.rest, fold.weighted()))
        });
        self.push(Estimator::ScaledLeastSquares, estimate, utilization, None);
    }

    fn add_responses(&mut self, held_out: &HeldOutScores<'_>, settings: &ModelSettings) {
        let design = held_out.design;
        let has_rival = proportions(design, Discipline::FirstComeFirstServed).is_some();
        for discipline in [Discipline::ProcessorSharing, Discipline::FirstComeFirstServed] {
            let (Some(demand), Some(covariance)) =
                (proportions(design, discipline), relative_covariance(design, discipline))
            else {
                continue;
            };
            let estimate = from_response(&demand, &covariance, mean_utilization(design));
            let utilization = held_out
                .if_needed(has_rival, |all| all.utilization(|fold| proportions(&fold.rest, discipline)));
            let response =
                held_out.if_needed(has_rival, |all| response_errors(design, all.folds, discipline));
            self.push(estimator(discipline), estimate, utilization, response);
        }
        let Some(discipline) = self.likelier_discipline() else { return };
        let Some(estimate) = combined(design, self.slopes.as_ref(), discipline) else { return };
        // For held-out windows, the combination is fitted to the other windows.
        let utilization = held_out.utilization(|fold| {
            let slopes = scaled_slopes(&fold.rest, fold.weighted(), settings.constant_scale_percent);
            combined(&fold.rest, slopes.as_ref(), discipline)
                .map(|estimate| estimate.demand)
                .or_else(|| proportions(&fold.rest, discipline))
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

/// The windows of a design in folds.
struct HeldOutScores<'a> {
    design: &'a Design,
    folds: &'a [Fold],
    /// Roots of the windows' weights.
    roots: &'a [f64],
    scores: Scores,
}

impl HeldOutScores<'_> {
    fn utilization(&self, estimate: impl Fn(&Fold) -> Option<Vec<f64>>) -> Option<HeldOut> {
        utilization_errors(self.design, self.folds, self.roots, estimate)
    }

    /// The errors of an estimator, unless it has no rival, so that they decide nothing, and nothing is reported.
    fn if_needed(&self, has_rival: bool, errors: impl Fn(&Self) -> Option<HeldOut>) -> Option<HeldOut> {
        (has_rival || self.scores == Scores::All).then(|| errors(self)).flatten()
    }
}

fn combined(design: &Design, slopes: Option<&Slopes>, discipline: Discipline) -> Option<Estimate> {
    let covariance = relative_covariance(design, discipline)?;
    combine(design, &proportions(design, discipline)?, &covariance, slopes?, mean_utilization(design))
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

/// With a single type its demand is `W / X`, without a regression. Its error is that of the work without the constant, which
/// does not vary with the count: `W / X` of part of the windows differs with their count alone.
fn single(design: &Design, demand: &[f64], scale_percent: f64) -> Estimate {
    let share = ConstantShare::new(design, demand, scale_percent).quantile(0.5);
    let constant = share * design.mean_work();
    let work = design.work.iter().map(|work| (work - constant) / (1.0 - share)).collect();
    let error = ratio_error(&Design { work, ..design.clone() }).unwrap_or(f64::INFINITY);
    Estimate { demand: demand.to_vec(), standard_error: vec![error], disagreement: 0.0 }
}
