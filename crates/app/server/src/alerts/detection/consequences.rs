//! Findings that are only consequences of others: who calls what fails waits for another attempt, and leaves out the calls that
//! would come after it.

use super::super::evaluate::Finding;
use laggard_engine::Requests;
use laggard_model::OperationId;

/// What fails explains its callers if it hits at least this part of the requests that they do.
const REQUESTS_MIN: f64 = 0.1;

/// Whether a finding is explained by a failing operation that it calls directly or indirectly.
pub(super) fn is_explained(finding: &Finding, failing: &Finding, requests: &Requests) -> bool {
    failing.has_errors()
        && !finding.has_errors()
        && failing.requests_hit as f64 >= REQUESTS_MIN * finding.requests_hit as f64
        && calls(requests, finding, failing)
}

/// Whether an operation is above another in the call tree of some request.
fn calls(requests: &Requests, above: &Finding, below: &Finding) -> bool {
    let names = requests.names();
    let is = |id: OperationId, finding: &Finding| {
        let key = names.operation_key(id);
        key.service == finding.service && key.operation == finding.operation
    };
    requests.structures().iter().any(|tree| {
        let parent = |node: &usize| tree.parent[*node].map(|parent| parent as usize);
        (0..tree.len()).filter(|&node| is(tree.operation[node], below)).any(|node| {
            std::iter::successors(parent(&node), parent).any(|node| is(tree.operation[node], above))
        })
    })
}
