//! Every estimator on the same windows, and the choice among them.

use super::combined::{Estimate, combine, from_response, from_slopes};
use super::cross_validation::{HeldOut, common_roots, response_errors, standard_errors, utilization_errors};
use super::design::Design;
use super::least_squares::fit_on;
use super::regression::{Slopes, Weighted, scaled_non_negative, scaled_slopes};
use super::response::{Discipline, Totals, ratio_error, relative_covariance};
use super::{Candidate, Estimator, EstimatorChoice, ModelSettings};
use crate::TransactionModel;

/// Slopes that explain a smaller share of the work are diluted so much that predicting utilization says little of
/// demands: then only response times judge.
const TRUSTED_MIN: f64 = 0.5;

/// … and so do slopes that dilution may have biased by more than two standard errors.
const INFLATION_MAX: f64 = 5.0;

/// Standard errors by which first come, first served must predict better than processor sharing to be believed: CPUs share
/// their time unless a server takes one transaction after the other.
const BETTER_MIN: f64 = 1.5;

/// Standard errors by which the combination must predict worse than slopes alone before it is dropped.
const WORSE_MIN: f64 = 2.0;

/// Disagreement from which it is worth telling.
const DISAGREEMENT_MIN: f64 = 0.1;

/// Estimates by every estimator that applies, with their errors on held-out windows.
pub(crate) struct Candidates {
    slopes: Option<Slopes>,
    by_estimator: Vec<Scored>,
    least_squares: Option<HeldOut>,
    /// Root mean square of the weights, to turn weighted errors to percent.
    weight: f64,
}

/// An estimator that applies.
struct Scored {
    estimator: Estimator,
    estimate: Estimate,
    utilization: Option<HeldOut>,
    response: Option<HeldOut>,
}

impl Scored {
    fn folds(&self) -> usize {
        self.response.as_ref().map_or(0, |errors| errors.folds.len())
    }
}

/// Adds how much worse `a` is than `b` in each fold, if both are known.
fn add_deviances(sums: &mut [f64], a: &Option<HeldOut>, b: &Option<HeldOut>) {
    let (Some(a), Some(b)) = (a, b) else { return };
    sums.iter_mut().zip(a.deviances_beyond(b)).for_each(|(sum, more)| *sum += more);
}

/// The choice.
pub(crate) struct Choice {
    pub(crate) estimator: Estimator,
    /// None: plain least squares stands as it is.
    pub(crate) estimate: Option<Estimate>,
    pub(crate) reason: String,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) cautions: Vec<String>,
}

impl Candidates {
    /// Estimates and scores everything but plain least squares, on types that all occur.
    pub(crate) fn new(design: &Design, settings: &ModelSettings) -> Candidates {
        let weighted = Weighted::new(design);
        let mut candidates = Candidates {
            slopes: scaled_slopes(design, &weighted, settings.constant_scale_percent),
            by_estimator: Vec::new(),
            least_squares: None,
            weight: 1.0,
        };
        let start =
            scaled_non_negative(design, &weighted).or_else(|| shape(design, Discipline::ProcessorSharing));
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
                (shape(design, discipline), relative_covariance(design, discipline))
            else {
                continue;
            };
            let estimate = from_response(&demand, &covariance, utilization_of(design));
            let utilization =
                utilization_errors(design, settings.folds, roots, |rest| shape(rest, discipline));
            let response = response_errors(design, settings.folds, discipline);
            self.push(estimator(discipline), estimate, utilization, response);
        }
        let Some(discipline) = self.likelier_discipline() else { return };
        let (Some(estimate), true) = (combined(design, discipline, settings), self.slopes.is_some()) else {
            return;
        };
        // Held out, the combination is that of the other windows.
        let utilization = utilization_errors(design, settings.folds, roots, |rest| {
            combined(rest, discipline, settings)
                .map(|estimate| estimate.demand)
                .or_else(|| shape(rest, discipline))
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
        self.by_estimator.push(Scored { estimator, estimate, utilization, response });
    }

    fn get(&self, estimator: Estimator) -> Option<&Scored> {
        self.by_estimator.iter().find(|scored| scored.estimator == estimator)
    }

    /// Processor sharing or first come, first served: which predicts held-out windows better, response times and (unless
    /// diluted) utilization together.
    fn likelier_discipline(&self) -> Option<Discipline> {
        let sharing = self.get(Estimator::ProcessorSharing)?;
        let Some(first_come) = self.get(Estimator::FirstComeFirstServed) else {
            return Some(Discipline::ProcessorSharing);
        };
        let mut differences = vec![0.0; first_come.folds()];
        add_deviances(&mut differences, &first_come.response, &sharing.response);
        if self.utilization_judges() {
            add_deviances(&mut differences, &first_come.utilization, &sharing.utilization);
        }
        let is_first_come = standard_errors(&differences) < -BETTER_MIN;
        Some(if is_first_come { Discipline::FirstComeFirstServed } else { Discipline::ProcessorSharing })
    }

    fn utilization_judges(&self) -> bool {
        self.slopes
            .as_ref()
            .is_some_and(|slopes| slopes.explained >= TRUSTED_MIN && slopes.inflation <= INFLATION_MAX)
    }

    /// The estimator that answers.
    pub(crate) fn choose(
        &self,
        design: &Design,
        least_squares: &TransactionModel,
        settings: &ModelSettings,
    ) -> Choice {
        let (favoured, reason) = self.favoured(design);
        let (mut estimator, mut reason, mut cautions) = (favoured, reason, Vec::new());
        if let EstimatorChoice::Only(wanted) = settings.choice {
            if wanted == Estimator::LeastSquares || self.get(wanted).is_some() {
                (estimator, reason) = (wanted, "It was asked for.".to_owned());
            } else {
                cautions.push(format!("The estimator {} does not apply to these windows.", wanted.name()));
            }
        }
        let estimate = self.get(estimator).map(|scored| scored.estimate.clone());
        if let Some(combined) = self.get(Estimator::Combined)
            && combined.estimate.disagreement >= DISAGREEMENT_MIN
        {
            cautions.push(format!(
                "Response times and utilization disagree about demands by about {:.0} %: part of the response times \
                 may be spent elsewhere than on the CPU.",
                100.0 * combined.estimate.disagreement
            ));
        }
        let candidates = self.listed(design, least_squares, estimator);
        Choice { estimator, estimate, reason, candidates, cautions }
    }

    fn favoured(&self, design: &Design) -> (Estimator, String) {
        let has = |estimator| self.get(estimator).is_some();
        if design.types() == 1 && has(Estimator::ScaledLeastSquares) {
            let reason = "With one transaction type its demand follows from utilization and throughput.";
            return (Estimator::ScaledLeastSquares, reason.into());
        }
        let Some(discipline) = self.likelier_discipline() else {
            if has(Estimator::ScaledLeastSquares) {
                let reason = "There are no response times to compare with, and scaled slopes are least squares but for \
                              the dilution of high load.";
                return (Estimator::ScaledLeastSquares, reason.into());
            }
            return (Estimator::LeastSquares, "Nothing else applies to these windows.".into());
        };
        let Some(combined) = self.get(Estimator::Combined) else {
            let reason = format!(
                "Utilization says too little of single demands here, and response times behave as under {}.",
                phrase(discipline)
            );
            return (estimator(discipline), reason);
        };
        self.combined_or_slopes(combined, discipline)
    }

    /// The combination, unless slopes alone predict held-out utilization better by more than one standard error: of
    /// estimators that predict alike, the one with the smaller variance.
    fn combined_or_slopes(&self, combined: &Scored, discipline: Discipline) -> (Estimator, String) {
        let slopes = self.get(Estimator::ScaledLeastSquares);
        let worse = match (&combined.utilization, slopes.and_then(|slopes| slopes.utilization.as_ref())) {
            (Some(combined), Some(slopes)) => combined.standard_errors_worse(slopes),
            _ => 0.0,
        };
        if worse > WORSE_MIN && self.utilization_judges() {
            let reason = format!(
                "Slopes alone predict the utilization of held-out windows better than together with response times, by \
                 {worse:.1} standard errors."
            );
            return (Estimator::ScaledLeastSquares, reason);
        }
        let alike = match self.utilization_judges() {
            true => format!(
                "slopes alone do not predict the utilization of held-out windows better ({:+.1} standard errors), \
                 and are less certain",
                worse
            ),
            false => {
                "the load is so high that what completes in a window hardly tells its utilization".to_owned()
            }
        };
        let reason = format!("Response times behave as under {}; {alike}.", phrase(discipline));
        (Estimator::Combined, reason)
    }

    /// All estimators with their scores.
    fn listed(&self, design: &Design, least_squares: &TransactionModel, chosen: Estimator) -> Vec<Candidate> {
        let percent = |held_out: &Option<HeldOut>| {
            let mean = held_out.as_ref().map_or(f64::NAN, |errors| errors.total() / errors.values as f64);
            design.percent(mean.sqrt() / self.weight)
        };
        let listed = |estimator: Estimator| {
            let outcome = if estimator == chosen { "chosen" } else { "not chosen" }.to_owned();
            if estimator == Estimator::LeastSquares {
                return Candidate {
                    estimator,
                    demand_s: least_squares.demand_s.clone(),
                    utilization_error_percent: percent(&self.least_squares),
                    response_error: f64::NAN,
                    outcome,
                };
            }
            let Some(scored) = self.get(estimator) else { return absent(estimator, design) };
            let response = scored.response.as_ref();
            Candidate {
                estimator,
                demand_s: scored.estimate.demand.clone(),
                utilization_error_percent: percent(&scored.utilization),
                response_error: response
                    .map_or(f64::NAN, |errors| (errors.total() / errors.values as f64).sqrt()),
                outcome,
            }
        };
        Estimator::ALL.into_iter().map(listed).collect()
    }
}

fn absent(estimator: Estimator, design: &Design) -> Candidate {
    let needs_responses = !matches!(estimator, Estimator::LeastSquares | Estimator::ScaledLeastSquares);
    let outcome = match (needs_responses, design.has_responses(), design.types()) {
        (true, false, _) => "no response times",
        (true, true, 1) => "one transaction type only",
        (true, true, _) if estimator == Estimator::FirstComeFirstServed => "a demand would not be positive",
        _ => "the windows do not determine it",
    };
    Candidate {
        estimator,
        demand_s: Vec::new(),
        utilization_error_percent: f64::NAN,
        response_error: f64::NAN,
        outcome: outcome.into(),
    }
}

fn combined(design: &Design, discipline: Discipline, settings: &ModelSettings) -> Option<Estimate> {
    let slopes = scaled_slopes(design, &Weighted::new(design), settings.constant_scale_percent)?;
    let covariance = relative_covariance(design, discipline)?;
    combine(design, &shape(design, discipline)?, &covariance, &slopes, utilization_of(design))
}

fn shape(design: &Design, discipline: Discipline) -> Option<Vec<f64>> {
    if !design.has_responses() {
        return None;
    }
    Totals::of(design).demands(discipline)
}

fn utilization_of(design: &Design) -> f64 {
    design.mean_work() / design.capacity_s
}

fn estimator(discipline: Discipline) -> Estimator {
    match discipline {
        Discipline::ProcessorSharing => Estimator::ProcessorSharing,
        Discipline::FirstComeFirstServed => Estimator::FirstComeFirstServed,
    }
}

fn phrase(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::ProcessorSharing => "processor sharing",
        Discipline::FirstComeFirstServed => "first come, first served",
    }
}

/// `W / X`, the demand of the only type, needs no slope.
fn single(design: &Design, demand: &[f64]) -> Estimate {
    let error = ratio_error(design).unwrap_or(f64::INFINITY);
    Estimate { demand: demand.to_vec(), standard_error: vec![error], disagreement: 0.0 }
}
