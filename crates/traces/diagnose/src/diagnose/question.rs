//! A question to a method, and the two passes over the requests that every method begins with.

use crate::call_collector::CallCollector;
use crate::diagnose::answer::{MethodAnswer, SurveyResult};
use crate::diagnose::settings::DiagnoseSettings;
use crate::survey::{SurveyFold, SurveyedCategory};
use laggard_assembly::ShapeRule;
use laggard_engine::{LocalEngine, Requests};
use laggard_localize::Mode;
use laggard_model::{AdjustedCount, Fingerprint, Loss};
use laggard_report::InputFacts;
use laggard_settings::SettingError;
use std::fmt;

/// A method of `diagnose`: what a row of [`METHODS`](crate::METHODS) selects.
#[derive(Clone, Copy)]
pub struct DiagnoseMethod {
    name: &'static str,
    uses_baseline: bool,
    answer: fn(&DiagnoseQuestion<'_>) -> MethodAnswer,
}

impl DiagnoseMethod {
    pub(crate) const fn new(
        name: &'static str,
        uses_baseline: bool,
        answer: fn(&DiagnoseQuestion<'_>) -> MethodAnswer,
    ) -> DiagnoseMethod {
        DiagnoseMethod { name, uses_baseline, answer }
    }

    /// The value of `--method`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Whether the method compares with a baseline; other methods ignore one.
    pub const fn uses_baseline(self) -> bool {
        self.uses_baseline
    }

    pub(crate) fn answer(self, question: &DiagnoseQuestion<'_>) -> MethodAnswer {
        (self.answer)(question)
    }
}

/// Names of methods are unique.
impl PartialEq for DiagnoseMethod {
    fn eq(&self, other: &DiagnoseMethod) -> bool {
        self.name == other.name
    }
}

impl Eq for DiagnoseMethod {}

impl fmt::Debug for DiagnoseMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// The data, and the settings of the question.
pub(crate) struct DiagnoseQuestion<'a> {
    pub(crate) requests: &'a Requests,
    pub(crate) baseline: Option<&'a Requests>,
    pub(crate) facts: &'a InputFacts,
    pub(crate) settings: &'a DiagnoseSettings,
    pub(crate) engine: LocalEngine,
}

impl DiagnoseQuestion<'_> {
    /// The rule by which requests of one category have the same shape.
    fn shape_rule(&self) -> ShapeRule {
        match self.settings.clouddiag.mode {
            Mode::Robust => ShapeRule::Canonical,
            Mode::Paper => ShapeRule::Exact,
        }
    }

    /// Checks that the names of the selection exist.
    pub(crate) fn check_selection(&self) -> Result<(), SettingError> {
        let sets: Vec<&Requests> = [Some(self.requests), self.baseline].into_iter().flatten().collect();
        self.settings.selection.check(&sets, self.shape_rule(), self.engine.threads())
    }

    /// Surveys all requests of the window, and collects the calls of categories with at least `requests_min` requests.
    pub(crate) fn survey(&self, requests_min: u64) -> SurveyResult {
        let settings = self.settings;
        let rule = self.shape_rule();
        let shapes = self.requests.shapes(rule, self.engine.threads());
        let fold = SurveyFold {
            shapes,
            names: self.requests.names(),
            attributes: &settings.attributes,
            structures: settings.selection.structures(self.requests, rule, self.engine.threads()),
            assumed_count: settings.sampling_probability.and_then(AdjustedCount::from_probability),
        };
        let range = self.requests.within(settings.since, settings.until);
        let mut survey = self.engine.fold(range, &fold);
        let selected: Vec<(Fingerprint, &SurveyedCategory)> = (survey.categories.iter())
            .filter(|(_, category)| category.requests.len() as u64 >= requests_min)
            .map(|(&id, category)| (id, category))
            .collect();
        let sizes = selected.iter().map(|(_, category)| (category.requests.len(), category.positions.len()));
        let gather = CallCollector {
            requests: self.requests,
            shapes,
            rows_max: rows_within(sizes, settings.clouddiag.rows_max, settings.clouddiag.values_max),
            time: settings.clouddiag.time,
        };
        let categories = self.engine.map(&selected, |&(id, category)| gather.category(id, category));
        let thinned: u64 = categories.iter().map(|category| category.left_out).sum();
        survey.losses.add_many(Loss::RowLimit, thinned, String::new);
        SurveyResult { survey, categories, rule }
    }
}

/// The most rows, up to `rows_max`, with which matrices of so many rows and columns have no more than `values_max`
/// values; at least [`ROWS_MIN`].
fn rows_within(
    sizes: impl Iterator<Item = (usize, usize)> + Clone,
    rows_max: usize,
    values_max: usize,
) -> usize {
    let values = |most: usize| sizes.clone().map(|(rows, columns)| rows.min(most) * columns).sum::<usize>();
    let (mut fits, mut too_many) = (ROWS_MIN, rows_max + 1);
    while fits + 1 < too_many {
        let middle = usize::midpoint(fits, too_many);
        if values(middle) <= values_max { fits = middle } else { too_many = middle }
    }
    fits.min(rows_max)
}

/// No matrix is cut to fewer rows than this to make all of them fit.
const ROWS_MIN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_matrices_are_cut_until_all_fit() {
        let sizes = [(10_000, 10), (1_000, 20), (50, 100)];
        let rows = |rows_max, values_max| rows_within(sizes.into_iter(), rows_max, values_max);
        assert_eq!(rows(20_000, 1_000_000), 20_000, "all fit");
        assert_eq!(rows(5_000, 1_000_000), 5_000);
        assert_eq!(rows(20_000, 65_000), 4_000, "4,000 x 10 + 1,000 x 20 + 50 x 100");
        assert_eq!(rows(20_000, 35_000), 1_000, "1,000 x 30 + 50 x 100");
        assert_eq!(rows(20_000, 1), ROWS_MIN);
        assert_eq!(rows(20, 1), 20, "rows_max is smaller");
    }
}
