//! MicroRank: personalized PageRank and weighted spectrum analysis.
//!
//! Yu et al.: MicroRank: End-to-End Latency Issue Localization with Extended Spectrum Analysis in Microservice
//! Environments. The Web Conference 2021, 3087–3098, doi:10.1145/3442381.3449905. Implemented from the paper;
//! constants that the paper leaves open are those of the authors' published program.

use super::labels::{Expectation, Labels};
use super::page_rank::{Graph, personalized_page_rank};
use super::ranked;
use crate::arm::Arm;
use crate::calls::{CaseCalls, RequestCalls};
use crate::case::{Answer, Case, Localizer};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Nodes are operations of single replicas, as in the paper. Expectations are learned from the baseline, else from
/// the window itself; normal requests are those of the window, or of the baseline when the window has none.
#[derive(Clone, Copy, Debug)]
pub struct MicroRank {
    /// Which requests count as abnormal.
    pub labels: Labels,
}

/// The detector calls for localization when more than this share of the requests is abnormal.
const ABNORMAL_SHARE_MIN: f64 = 0.01;
/// How much an abnormal request's brevity counts beside its rarity.
const BREVITY: f64 = 0.5;
/// Replaces zero counts.
const ALMOST_NONE: f64 = 1e-7;

/// A node's weighted spectrum: requests that are abnormal (`f`) or normal (`p`) and visit it (`e`) or do not (`n`).
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "the names are those of spectrum analysis")]
pub struct Spectrum {
    pub ef: f64,
    pub nf: f64,
    pub ep: f64,
}

/// D* with exponent 2, the paper's best formula: `ef² / (ep + nf)`.
pub fn dstar2(spectrum: Spectrum) -> f64 {
    spectrum.ef * spectrum.ef / (spectrum.ep + spectrum.nf).max(ALMOST_NONE)
}

impl Localizer for MicroRank {}

impl Arm<Case, Answer> for MicroRank {
    fn name(&self) -> &str {
        match self.labels {
            Labels::Published => "MicroRank",
            Labels::SlowestTwentieth => "MicroRank, slowest 5 %",
        }
    }

    fn detects(&self) -> bool {
        self.labels == Labels::Published
    }

    fn answer(&self, case: &Case) -> Result<Answer, String> {
        let calls = &case.calls;
        let usual = calls.baseline.as_ref().unwrap_or(&calls.target);
        let expectation = Expectation::learn(usual, self.labels);
        let is_abnormal = |request: &&Arc<RequestCalls>| expectation.is_exceeded(request);
        let (abnormal, mut normal): (Vec<_>, Vec<_>) = calls.target.iter().partition(is_abnormal);
        let share = abnormal.len() as f64 / calls.target.len().max(1) as f64;
        if share <= ABNORMAL_SHARE_MIN {
            return Ok(Answer::default());
        }
        if normal.is_empty() {
            normal = calls.baseline.iter().flatten().collect();
        }
        Ok(rank(calls, &abnormal, &normal))
    }
}

/// A node is an operation on a replica.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    operation: u32,
    replica: u32,
}

fn rank(calls: &CaseCalls, abnormal: &[&Arc<RequestCalls>], normal: &[&Arc<RequestCalls>]) -> Answer {
    let mut nodes = Vec::new();
    let mut index = HashMap::new();
    let failing = weigh(&mut nodes, &mut index, abnormal, Preference::Abnormal);
    let passing = weigh(&mut nodes, &mut index, normal, Preference::Normal);
    let mut of_operation: BTreeMap<u32, f64> = BTreeMap::new();
    let mut of_replica: BTreeMap<u32, f64> = BTreeMap::new();
    for (position, weight) in
        failing.weight.iter().enumerate().filter(|(position, _)| failing.visitors[*position] > 0.0)
    {
        let passing_part = passing.weight[position] * passing.visitors[position];
        let score = dstar2(Spectrum {
            ef: weight * failing.visitors[position],
            nf: weight * (abnormal.len() as f64 - failing.visitors[position]),
            ep: if passing.visitors[position] > 0.0 { passing_part } else { ALMOST_NONE },
        });
        let node: Node = nodes[position];
        let best = |scores: &mut BTreeMap<u32, f64>, id: u32| {
            let known = scores.entry(id).or_default();
            *known = known.max(score);
        };
        best(&mut of_operation, node.operation);
        best(&mut of_replica, node.replica);
    }
    let names = &calls.names;
    Answer {
        operations: ranked(of_operation)
            .into_iter()
            .map(|operation| names.operations[operation as usize].clone())
            .collect(),
        replicas: ranked(of_replica)
            .into_iter()
            .map(|replica| names.replicas[replica as usize].clone())
            .collect(),
        ..Answer::default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Preference {
    Abnormal,
    Normal,
}

/// By node; as long as the nodes known when it was made, padded with zeros.
struct Weights {
    weight: Vec<f64>,
    visitors: Vec<f64>,
}

fn weigh(
    nodes: &mut Vec<Node>,
    index: &mut HashMap<Node, u32>,
    requests: &[&Arc<RequestCalls>],
    preference: Preference,
) -> Weights {
    let mut graph = Graph::default();
    for request in requests {
        let nodes: Vec<u32> = (request.calls.iter())
            .map(|call| Node { operation: call.operation, replica: call.replica })
            .map(|node| *index.entry(node).or_insert_with(|| push(nodes, node)))
            .collect();
        for (call, &node) in request.calls.iter().zip(&nodes) {
            if let Some(parent) = call.parent {
                graph.callees.entry(nodes[parent as usize]).or_default().insert(node);
            }
        }
        graph.calls.push(nodes.len());
        graph.visited.push(distinct(nodes));
    }
    let preference = match preference {
        Preference::Normal => graph.rarity(),
        Preference::Abnormal => mixed(&graph.brevity(), &graph.rarity()),
    };
    let mut weight = personalized_page_rank(nodes.len(), &graph.visited, &graph.callees, &preference);
    // The authors scale by the mean weight of the graph's nodes, which makes two graphs comparable.
    let mut visitors = vec![0.0; nodes.len()];
    graph.visited.iter().flatten().for_each(|&node| visitors[node as usize] += 1.0);
    let nodes = visitors.iter().filter(|&&visitors| visitors > 0.0).count();
    let mean = weight.iter().sum::<f64>() / nodes.max(1) as f64;
    weight.iter_mut().for_each(|weight| *weight *= mean);
    Weights { weight, visitors }
}

fn push(nodes: &mut Vec<Node>, node: Node) -> u32 {
    nodes.push(node);
    nodes.len() as u32 - 1
}

fn distinct(mut nodes: Vec<u32>) -> Vec<u32> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn mixed(brevity: &[f64], rarity: &[f64]) -> Vec<f64> {
    brevity.iter().zip(rarity).map(|(brevity, rarity)| BREVITY * brevity + (1.0 - BREVITY) * rarity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Call, NameTable};
    use crate::case::OperationName;

    #[test]
    fn dstar2_by_hand() {
        // 3² / (1 + 0.5) = 6; a node that abnormal requests alone visit, all of them, has almost nothing below.
        assert_eq!(dstar2(Spectrum { ef: 3.0, nf: 0.5, ep: 1.0 }), 6.0);
        assert!(dstar2(Spectrum { ef: 1.0, nf: 0.0, ep: ALMOST_NONE }) > 1e6);
    }

    /// A request that enters at operation 0 and calls another on a replica.
    fn request(operation: u32, replica: u32) -> Arc<RequestCalls> {
        let call =
            |operation, replica, parent| Call { operation, replica, parent, self_ns: 1, inclusive_ns: 1 };
        Arc::new(RequestCalls {
            start_ns: 0,
            calls: vec![call(0, 0, None), call(operation, replica, Some(0))],
        })
    }

    #[test]
    fn operations_visited_only_by_abnormal_requests_rank_first() {
        let mut names = NameTable::default();
        for operation in ["enter", "fine", "slow"] {
            names.operation(OperationName::new("s", operation));
        }
        ["a", "b", "c"].iter().for_each(|replica| {
            names.replica(replica);
        });
        let calls = CaseCalls { names: Arc::new(names), ..CaseCalls::default() };
        // Operation 2 on replica b: nf and ep are nothing, so that its score is boundless. The entry, which all
        // requests visit, has 9 w² / 3 w'.
        let abnormal = [request(2, 1), request(2, 1), request(2, 1)];
        let normal = [request(1, 2), request(1, 2), request(1, 1)];
        let answer = rank(&calls, &abnormal.each_ref(), &normal.each_ref());
        assert_eq!(answer.operations[0].operation, "slow");
        assert_eq!(answer.replicas[0], "b");
    }
}
