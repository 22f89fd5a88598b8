//! The folds obey the laws that let an engine split them anywhere.

use crate::simulated::{THREADS, incident};
use laggard_assembly::ShapeRule;
use laggard_diagnose::{GatherFold, SurveyFold};
use laggard_engine::{LocalEngine, contract};
use laggard_localize::{CategoryPosition, TimeKind};
use laggard_model::{Fingerprint, OperationId, ServiceId, Timestamp};
use laggard_simulate::{Scenario, Settings};
use std::collections::BTreeMap;

#[test]
fn survey_and_gather_obey_the_laws_of_folds() {
    let settings =
        Settings { requests_per_service: 60, categories_per_service: 3, ..Settings::new(Scenario::Quiet, 3) };
    let traces = incident(&settings).traces;
    let names = traces.names();
    let ids: Vec<OperationId> = (0..names.operations()).map(OperationId::from_index).collect();
    let operations: Vec<Fingerprint> = ids.iter().map(|&id| names.fingerprint(id)).collect();
    let services: Vec<ServiceId> = ids.iter().map(|&id| names.service_of(id)).collect();
    let survey = SurveyFold {
        rule: ShapeRule::Canonical,
        operations: &operations,
        services: &services,
        since: Timestamp::MIN,
        until: Timestamp::MAX,
        service: None,
        assumed_count: None,
    };
    contract::check(&survey, &traces);
    let surveyed = LocalEngine::new(THREADS).fold(&traces, &survey);
    assert_eq!(surveyed.requests, 180);
    let wanted: BTreeMap<Fingerprint, Vec<CategoryPosition>> = (surveyed.categories.iter())
        .map(|(&id, category)| {
            let positions = category.positions.iter();
            let position = |at: &laggard_assembly::ShapePosition| CategoryPosition {
                operation: at.operation,
                parent: at.parent,
            };
            (id, positions.map(position).collect())
        })
        .collect();
    let gather = GatherFold { survey: &survey, wanted: &wanted, time: TimeKind::SelfTime };
    contract::check(&gather, &traces);
    let gathered = LocalEngine::new(THREADS).fold(&traces, &gather);
    let calls: usize = gathered.iter().map(|category| category.calls.len()).sum();
    assert_eq!(calls as u64, traces.spans(), "every call of every request is gathered once");
}
