//! Published methods on a recording, for comparison: MicroRank and TraceRCA, which are given the time of the fault and all normal
//! operation before it.

use crate::CampaignError;
use crate::recording::Recording;
use crate::shift::Kind;
use crate::truth::FaultTruth;
use laggard_evaluate::{
    Case, Localizer, OperationName, Question, Shop, Truth, judge, localizers, read_traces,
};
use laggard_simulate::DayTruth;
use laggard_system::available_threads;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The methods, by the beginnings of their names.
const PEERS: [&str; 2] = ["MicroRank", "TraceRCA"];

/// The answer of a method.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PeerAnswer {
    pub(crate) method: String,
    /// The first name of its ranking; empty if it names nothing.
    pub(crate) first: String,
    /// Whether that is right; of a harmless day, whether nothing is named.
    pub(crate) is_right: bool,
    /// Why it has no answer.
    pub(crate) error: Option<String>,
}

/// Runs the methods.
///
/// # Errors
/// When the spans cannot be read.
pub(crate) fn answers(recording: &Recording, truth: &FaultTruth) -> Result<Vec<PeerAnswer>, CampaignError> {
    let mut paths = recording.messages("history", Kind::Traces)?;
    paths.extend(recording.messages("fault", Kind::Traces)?);
    let threads = available_threads();
    let shop = Shop::new(read_traces(&paths, threads)?, threads);
    let conditions = &recording.conditions;
    let began_ns = conditions.began_ns - conditions.moved_ns;
    let ended_ns = conditions.ended_ns - conditions.moved_ns;
    let case = shop.case(
        recording.name(),
        Truth::Quiet,
        |ns| (began_ns..ended_ns).contains(&ns),
        |ns| ns < began_ns,
    );
    let methods = localizers(None);
    let peers = methods.iter().filter(|method| PEERS.iter().any(|name| method.name().starts_with(name)));
    Ok(peers.map(|method| answer(method.as_ref(), &case, truth)).collect())
}

fn answer(method: &dyn Localizer, case: &Case, truth: &FaultTruth) -> PeerAnswer {
    let mut out = PeerAnswer { method: method.name().to_owned(), ..PeerAnswer::default() };
    match method.answer(case) {
        Err(error) => out.error = Some(error),
        Ok(answer) => {
            let operation =
                answer.operations.first().map(|name| format!("{} {}", name.service, name.operation));
            let replica = answer.replicas.first().map(|name| format!("on {name}"));
            out.first = operation.into_iter().chain(replica).collect::<Vec<_>>().join(" ");
            out.is_right = if truth.is_harmless() {
                answer.is_empty()
            } else {
                truth.all().iter().any(|truth| judge(&with_truth(case, truth), method, &answer).right)
            };
        }
    }
    out
}

fn with_truth(case: &Case, truth: &FaultTruth) -> Case {
    Case {
        name: case.name.clone(),
        target: case.target.clone(),
        baseline: case.baseline.clone(),
        calls: case.calls.clone(),
        truth: case_truth(case, truth),
        question: Question::Explain,
    }
}

/// A service without an operation is named by any of its operations; a machine by nothing.
fn case_truth(case: &Case, truth: &FaultTruth) -> Truth {
    let named = |service: &str, operation: &str| (service.to_owned(), operation.to_owned());
    match (&truth.edge, &truth.service, &truth.operation) {
        (Some((caller, callee)), _, _) => Truth::Fault(DayTruth {
            operation: named(callee, ""),
            caller: Some(named(caller, "")),
            replicas: truth.replicas.clone(),
            tenant: None,
        }),
        (None, Some(service), Some(operation)) => Truth::Fault(DayTruth {
            operation: named(service, operation),
            caller: None,
            replicas: truth.replicas.clone(),
            tenant: truth.tenant.clone(),
        }),
        (None, service, _) => {
            let is_of =
                |name: &&OperationName| service.as_ref().is_some_and(|service| name.service == *service);
            let culprits = case.calls.names.operations.iter().filter(is_of).cloned().collect();
            Truth::Operations { culprits, replicas: truth.replicas.iter().cloned().collect::<BTreeSet<_>>() }
        }
    }
}
