//! The passes over requests that every method starts with.

use crate::simulated::{THREADS, incident};
use laggard_assembly::ShapeRule;
use laggard_diagnose::{CallCollector, Survey, SurveyFold};
use laggard_engine::{LocalEngine, Requests, contract};
use laggard_localize::{CategoryCalls, TimeKind};
use laggard_simulate::{Scenario, Settings};

fn quiet() -> Requests {
    let settings =
        Settings { requests_per_service: 60, categories_per_service: 3, ..Settings::new(Scenario::Quiet, 3) };
    incident(&settings).traces
}

fn surveyed(requests: &Requests) -> Survey {
    let shapes = requests.shapes(ShapeRule::Canonical, THREADS);
    let names = requests.names();
    let fold = SurveyFold { shapes, names, structures: None, attributes: &[], assumed_count: None };
    contract::check(&fold, requests.all());
    LocalEngine::new(THREADS).fold(requests.all(), &fold)
}

fn gathered(requests: &Requests, survey: &Survey, rows_max: usize) -> Vec<CategoryCalls> {
    let shapes = requests.shapes(ShapeRule::Canonical, THREADS);
    let gather = CallCollector { requests, shapes, rows_max, time: TimeKind::SelfTime };
    survey.categories.iter().map(|(&id, category)| gather.category(id, category)).collect()
}

#[test]
fn the_survey_obeys_the_laws_and_gathers_every_call_once() {
    let requests = quiet();
    let survey = surveyed(&requests);
    assert_eq!(survey.requests, 180);
    let gathered = gathered(&requests, &survey, 0);
    let calls: usize = gathered.iter().map(|category| category.calls.len()).sum();
    assert_eq!(calls as u64, requests.spans());
    for category in &gathered {
        assert!(category.requests.is_sorted_by_key(|request| (request.start, request.trace)));
        assert!(category.calls.is_sorted_by_key(|call| (call.request, call.position)));
    }
}

#[test]
fn gathering_a_sample_equals_thinning_all_requests() {
    let requests = quiet();
    let survey = surveyed(&requests);
    for rows_max in [1, 7, 19, 20, 1000] {
        let mut thinned = gathered(&requests, &survey, 0);
        let left_out: usize = thinned.iter_mut().map(|category| category.thin(rows_max)).sum();
        assert_eq!(gathered(&requests, &survey, rows_max), thinned, "at most {rows_max}");
        assert_eq!(left_out == 0, rows_max >= 60);
        let stand_for: f64 =
            thinned.iter().map(|category| category.one_in() * category.requests.len() as f64).sum();
        assert_eq!(stand_for.round() as usize, 180, "all requests are stood for");
    }
}
