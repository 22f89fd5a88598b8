//! Selects the estimator.

use super::candidates::{Candidates, ScoredCandidate, estimator};
use super::combined::Estimate;
use super::cross_validation::HeldOut;
use super::design::Design;
use super::response::Discipline;
use super::{Candidate, Estimator, EstimatorChoice, ModelSettings};
use crate::TransactionModel;

/// Minimum disagreement that is reported.
const DISAGREEMENT_MIN: f64 = 0.1;

/// Number of standard errors by which the combination must predict worse than slopes alone to be rejected.
const WORSE_MIN: f64 = 2.0;

pub(crate) struct Choice {
    pub(crate) estimator: Estimator,
    /// `None`: plain least squares is used.
    pub(crate) estimate: Option<Estimate>,
    pub(crate) reason: String,
    pub(crate) cautions: Vec<String>,
}

impl Candidates {
    /// Selects the estimator.
    pub(crate) fn choose(&self, design: &Design, settings: &ModelSettings) -> Choice {
        let (preferred, reason) = self.preferred(design);
        let (mut estimator, mut reason, mut cautions) = (preferred, reason, Vec::new());
        if let EstimatorChoice::Only(wanted) = settings.choice {
            if wanted == Estimator::LeastSquares || self.get(wanted).is_some() {
                (estimator, reason) = (wanted, "It was requested.".to_owned());
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
        Choice { estimator, estimate, reason, cautions }
    }

    fn preferred(&self, design: &Design) -> (Estimator, String) {
        let has = |estimator| self.get(estimator).is_some();
        if design.types() == 1 && has(Estimator::ScaledLeastSquares) {
            let reason = "With one transaction type its demand follows from utilization and throughput.";
            return (Estimator::ScaledLeastSquares, reason.into());
        }
        let Some(discipline) = self.likelier_discipline() else {
            if has(Estimator::ScaledLeastSquares) {
                let reason = "There are no response times, and scaled slopes correct least squares for the dilution at \
                              high load.";
                return (Estimator::ScaledLeastSquares, reason.into());
            }
            return (Estimator::LeastSquares, "Nothing else applies to these windows.".into());
        };
        let Some(combined) = self.get(Estimator::Combined) else {
            let reason = format!(
                "Utilization does not determine single demands here, and response times behave as under {}.",
                phrase(discipline)
            );
            return (estimator(discipline), reason);
        };
        self.combined_or_slopes(combined, discipline)
    }

    /// The combination, unless slopes alone predict held-out utilization significantly better: among estimators that
    /// predict equally well, the combination has the smaller variance.
    fn combined_or_slopes(&self, combined: &ScoredCandidate, discipline: Discipline) -> (Estimator, String) {
        let slopes = self.get(Estimator::ScaledLeastSquares);
        let worse = match (&combined.utilization, slopes.and_then(|slopes| slopes.utilization.as_ref())) {
            (Some(combined), Some(slopes)) => combined.standard_errors_worse(slopes),
            _ => 0.0,
        };
        if worse > WORSE_MIN && self.is_utilization_reliable() {
            let reason = format!(
                "Slopes alone predict the utilization of held-out windows better than together with response times, by \
                 {worse:.1} standard errors."
            );
            return (Estimator::ScaledLeastSquares, reason);
        }
        let agreement = match self.is_utilization_reliable() {
            true => format!(
                "slopes alone do not predict the utilization of held-out windows better ({:+.1} standard errors), \
                 and are less certain",
                worse
            ),
            false => {
                "the load is so high that utilization hardly depends on what completes in a window".to_owned()
            }
        };
        let reason = format!("Response times behave as under {}; {agreement}.", phrase(discipline));
        (Estimator::Combined, reason)
    }

    /// All estimators with their scores.
    pub(crate) fn candidate_list(
        &self,
        design: &Design,
        least_squares: &TransactionModel,
        selected: Estimator,
    ) -> Vec<Candidate> {
        let percent = |held_out: &Option<HeldOut>| {
            let mean = held_out.as_ref().map_or(f64::NAN, |errors| errors.total() / errors.values as f64);
            design.percent(mean.sqrt() / self.weight)
        };
        let candidate_list = |estimator: Estimator| {
            let outcome = if estimator == selected { "chosen" } else { "not chosen" }.to_owned();
            if estimator == Estimator::LeastSquares {
                return Candidate {
                    estimator,
                    demand_s: least_squares.demand_s.clone(),
                    utilization_error_percent: percent(&self.least_squares),
                    response_error: f64::NAN,
                    outcome,
                };
            }
            let Some(scored) = self.get(estimator) else { return not_applicable(estimator, design) };
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
        Estimator::ALL.into_iter().map(candidate_list).collect()
    }
}

fn not_applicable(estimator: Estimator, design: &Design) -> Candidate {
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

fn phrase(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::ProcessorSharing => "processor sharing",
        Discipline::FirstComeFirstServed => "first come, first served",
    }
}
