//! Personalized PageRank on a graph of operations and requests.

use std::collections::{BTreeMap, BTreeSet};

/// Damping, weight of the call graph, and iterations (MicroRank, section 4.2 and the authors' program).
const DAMPING: f64 = 0.85;
const CALL_GRAPH: f64 = 0.01;
const ITERATIONS: usize = 25;

/// The operation–request graph of some requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// By request: the distinct nodes it visits, ascending.
    pub(super) visited: Vec<Vec<u32>>,
    /// By request: its calls, repetitions included.
    pub(super) calls: Vec<usize>,
    /// Caller to callees, nodes.
    pub(super) callees: BTreeMap<u32, BTreeSet<u32>>,
}

impl Graph {
    /// By request: one over the number of requests that visit the same nodes, normalized to 1 in all.
    pub(super) fn rarity(&self) -> Vec<f64> {
        let mut kinds: BTreeMap<&[u32], f64> = BTreeMap::new();
        for visited in &self.visited {
            *kinds.entry(visited).or_default() += 1.0;
        }
        normalized(self.visited.iter().map(|visited| 1.0 / kinds[&visited[..]]).collect())
    }

    /// By request: one over its number of calls, normalized: a short slow request is more informative.
    pub(super) fn brevity(&self) -> Vec<f64> {
        normalized(self.calls.iter().map(|&calls| 1.0 / calls.max(1) as f64).collect())
    }
}

fn normalized(mut values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum.max(f64::MIN_POSITIVE));
    values
}

/// The weight of every node, largest 1: a walk from requests to the nodes they visit, along calls (rarely), and
/// back to the requests that visit a node, which restarts at the requests by their preference.
///
/// `visited` holds the distinct nodes (below `nodes`) of every request, `preference` one weight a request.
/// `O(25 · visits)`.
pub fn personalized_page_rank(
    nodes: usize,
    visited: &[Vec<u32>],
    callees: &BTreeMap<u32, BTreeSet<u32>>,
    preference: &[f64],
) -> Vec<f64> {
    let mut visitors = vec![0.0_f64; nodes];
    visited.iter().flatten().for_each(|&node| visitors[node as usize] += 1.0);
    let start = 1.0 / (nodes + visited.len()).max(1) as f64;
    let mut of_node = vec![start; nodes];
    let mut of_request = vec![start; visited.len()];
    for _ in 0..ITERATIONS {
        let mut next = vec![0.0; nodes];
        for (request, visited) in visited.iter().enumerate() {
            let share = of_request[request] / visited.len().max(1) as f64;
            visited.iter().for_each(|&node| next[node as usize] += DAMPING * share);
        }
        for (&caller, callees) in callees {
            let share = DAMPING * CALL_GRAPH * of_node[caller as usize] / callees.len() as f64;
            callees.iter().for_each(|&callee| next[callee as usize] += share);
        }
        let back = |visited: &Vec<u32>| -> f64 {
            visited.iter().map(|&node| of_node[node as usize] / visitors[node as usize]).sum()
        };
        of_request = visited
            .iter()
            .zip(preference)
            .map(|(visited, &preference)| DAMPING * back(visited) + (1.0 - DAMPING) * preference)
            .collect();
        of_node = next;
        scale_to_one(&mut of_node);
        scale_to_one(&mut of_request);
    }
    of_node
}

fn scale_to_one(values: &mut [f64]) {
    let largest = values.iter().copied().fold(0.0, f64::max);
    if largest > 0.0 {
        values.iter_mut().for_each(|value| *value /= largest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_visited_by_every_request_outweighs_others() {
        // Requests {0, 1} and {0, 2}: by symmetry 1 and 2 are equal; 0 gets what both get.
        let visited = vec![vec![0, 1], vec![0, 2]];
        let weights = personalized_page_rank(3, &visited, &BTreeMap::new(), &[0.5, 0.5]);
        assert_eq!(weights[0], 1.0);
        assert!((weights[1] - 0.5).abs() < 1e-12 && (weights[2] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn preferred_requests_raise_the_rank_of_their_nodes() {
        let visited = vec![vec![0, 1], vec![0, 2]];
        let weights = personalized_page_rank(3, &visited, &BTreeMap::new(), &[0.9, 0.1]);
        assert!(weights[1] > weights[2], "{weights:?}");
    }

    #[test]
    fn a_callee_gains_a_little_rank() {
        let visited = vec![vec![0, 1, 2]];
        let calls = BTreeMap::from([(0, BTreeSet::from([2]))]);
        let weights = personalized_page_rank(3, &visited, &calls, &[1.0]);
        // In the fixed point node 1 has x = d/3 · r and node 2 has x + d · 0.01 · node 0: 1 % of 0.85 more, before
        // scaling by the largest.
        assert_eq!(weights[2], 1.0);
        assert!(weights[1] < 1.0 && weights[1] > 0.97, "{weights:?}");
    }

    #[test]
    fn rarity_and_brevity_by_hand() {
        let graph = Graph {
            visited: vec![vec![0, 1], vec![0, 1], vec![0]],
            calls: vec![2, 2, 1],
            callees: BTreeMap::new(),
        };
        // Kinds of 2, 2 and 1 requests: 1/2, 1/2, 1 of 2. Calls: 1/2, 1/2, 1 of 2.
        assert_eq!(graph.rarity(), [0.25, 0.25, 0.5]);
        assert_eq!(graph.brevity(), [0.25, 0.25, 0.5]);
    }
}
