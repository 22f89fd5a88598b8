//! The two passes over the requests that every method starts with.

use crate::gather::Gather;
use crate::slow::{InputFacts, SlowSettings};
use crate::survey::{Survey, SurveyFold, SurveyedCategory};
use laggard_assembly::ShapeRule;
use laggard_engine::{LocalEngine, Requests};
use laggard_localize::{CategoryCalls, Mode};
use laggard_model::{AdjustedCount, Fingerprint, Loss, ServiceId};

/// A question: the data, and what is asked of them.
pub(crate) struct Question<'a> {
    pub(crate) requests: &'a Requests,
    pub(crate) baseline: Option<&'a Requests>,
    pub(crate) facts: &'a InputFacts,
    pub(crate) settings: &'a SlowSettings,
    pub(crate) engine: LocalEngine,
}

/// What the passes found.
pub(crate) struct Scanned {
    /// All categories, with their latencies.
    pub(crate) survey: Survey,
    /// Those of enough requests, with their calls, by id; at most `rows_max` requests each.
    pub(crate) categories: Vec<CategoryCalls>,
}

impl Question<'_> {
    /// Surveys all requests that were asked for, and gathers the calls of categories with at least so many.
    pub(crate) fn scan(&self, requests_min: u64) -> Scanned {
        let settings = self.settings;
        let rule = match settings.clouddiag.mode {
            Mode::Robust => ShapeRule::Canonical,
            Mode::Paper => ShapeRule::Exact,
        };
        let shapes = self.requests.shapes(rule, self.engine.threads());
        let fold = SurveyFold {
            shapes,
            names: self.requests.names(),
            service: settings.service.as_deref().map(|wanted| find_service(self.requests, wanted)),
            assumed_count: settings.sampling_probability.and_then(AdjustedCount::of_probability),
        };
        let range = self.requests.within(settings.since, settings.until);
        let mut survey = self.engine.fold(range, &fold);
        let gather = Gather {
            requests: self.requests,
            shapes,
            rows_max: settings.clouddiag.rows_max,
            time: settings.clouddiag.time,
        };
        let wanted: Vec<(Fingerprint, &SurveyedCategory)> = (survey.categories.iter())
            .filter(|(_, category)| category.requests.len() as u64 >= requests_min)
            .map(|(&id, category)| (id, category))
            .collect();
        let categories = self.engine.map(&wanted, |&(id, category)| gather.category(id, category));
        let left_out = |(all, kept): (&(Fingerprint, &SurveyedCategory), &CategoryCalls)| {
            all.1.requests.len() - kept.requests.len()
        };
        let thinned: usize = wanted.iter().zip(&categories).map(left_out).sum();
        survey.losses.add_many(Loss::RowLimit, thinned as u64, String::new);
        Scanned { survey, categories }
    }
}

/// A service nobody has is a handle no operation has.
fn find_service(requests: &Requests, wanted: &str) -> ServiceId {
    let names = requests.names();
    (0..names.services())
        .map(ServiceId::from_index)
        .find(|&id| names.service_name(id) == wanted)
        .unwrap_or_else(|| ServiceId::from_index(names.services()))
}
