//! The two passes over the traces that every method starts with.

use crate::gather::GatherFold;
use crate::slow::{InputFacts, SlowSettings};
use crate::survey::{Survey, SurveyFold};
use laggard_assembly::ShapeRule;
use laggard_engine::{LocalEngine, Traces};
use laggard_localize::{CategoryCalls, CategoryPosition, Mode};
use laggard_model::{AdjustedCount, Fingerprint, Loss, OperationId, ServiceId};
use std::collections::BTreeMap;

/// A question: the data, and what is asked of them.
pub(crate) struct Question<'a> {
    pub(crate) traces: &'a Traces,
    pub(crate) baseline: Option<&'a Traces>,
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
        let names = self.traces.names();
        let operations: Vec<OperationId> = (0..names.operations()).map(OperationId::from_index).collect();
        let fingerprints: Vec<Fingerprint> = operations.iter().map(|&id| names.fingerprint(id)).collect();
        let services: Vec<ServiceId> = operations.iter().map(|&id| names.service_of(id)).collect();
        let settings = self.settings;
        let fold = SurveyFold {
            rule: match settings.clouddiag.mode {
                Mode::Robust => ShapeRule::Canonical,
                Mode::Paper => ShapeRule::Exact,
            },
            operations: &fingerprints,
            services: &services,
            since: settings.since,
            until: settings.until,
            service: settings.service.as_deref().map(|wanted| find_service(self.traces, wanted)),
            assumed_count: settings.sampling_probability.and_then(AdjustedCount::of_probability),
        };
        let mut survey = self.engine.fold(self.traces, &fold);
        let wanted = wanted_categories(&survey, requests_min);
        let gather = GatherFold { survey: &fold, wanted: &wanted, time: settings.clouddiag.time };
        let mut categories = self.engine.fold(self.traces, &gather);
        let rows_max = settings.clouddiag.rows_max;
        let thinned: usize = categories.iter_mut().map(|category| category.thin(rows_max)).sum();
        survey.losses.add_many(Loss::RowLimit, thinned as u64, String::new);
        Scanned { survey, categories }
    }
}

/// A service nobody has is a handle no operation has.
fn find_service(traces: &Traces, wanted: &str) -> ServiceId {
    let names = traces.names();
    (0..names.services())
        .map(ServiceId::from_index)
        .find(|&id| names.service_name(id) == wanted)
        .unwrap_or_else(|| ServiceId::from_index(names.services()))
}

fn wanted_categories(survey: &Survey, requests_min: u64) -> BTreeMap<Fingerprint, Vec<CategoryPosition>> {
    survey
        .categories
        .iter()
        .filter(|(_, category)| category.requests.len() as u64 >= requests_min)
        .map(|(&id, category)| {
            let positions = category.positions.iter();
            let positions =
                positions.map(|at| CategoryPosition { operation: at.operation, parent: at.parent }).collect();
            (id, positions)
        })
        .collect()
}
