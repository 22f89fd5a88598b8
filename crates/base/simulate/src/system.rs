//! The system under observation: operations, hosts, categories.

use crate::call_tree::{TreeShape, grow};
use crate::hosts::Hosts;
use crate::operations::Operations;
use crate::random::{Random, Stream};
use crate::settings::Settings;
use laggard_model::SpanKind;

/// Position of a category in [`System::categories`].
pub(crate) type CategoryIndex = usize;

/// Requests with the same call tree.
#[derive(Clone, Debug)]
pub(crate) struct Category {
    /// Which of the three entry operations.
    pub(crate) entry: usize,
    /// The call tree.
    pub(crate) shape: TreeShape,
    /// Latency of a request of size 1 on hosts of average load, without pauses or faults: within a few
    /// percent the category's median latency.
    pub(crate) nominal_ns: f64,
}

/// Everything that does not change from request to request.
#[derive(Clone, Debug)]
pub(crate) struct System {
    pub(crate) operations: Operations,
    pub(crate) hosts: Hosts,
    /// All categories, those of one entry in a row, most popular first.
    pub(crate) categories: Vec<Category>,
    /// By popularity rank: the share of requests up to and including it.
    popularity: Vec<f64>,
}

impl System {
    /// The system of some settings; depends on the seed, the services and the sizes only.
    pub(crate) fn new(settings: &Settings) -> System {
        let mut operations = Operations::new(settings.seed);
        let mut categories = Vec::new();
        for (entry, name) in settings.entry_services().entry_operations().into_iter().enumerate() {
            grow_entry(settings, &mut operations, &mut categories, entry, name);
        }
        System {
            operations,
            hosts: Hosts::new(settings),
            categories,
            popularity: zipf(usize::from(settings.categories_per_service), settings.zipf_exponent),
        }
    }

    /// A category of an entry, by popularity.
    pub(crate) fn pick_category(&self, entry: usize, random: &mut Random) -> CategoryIndex {
        let u = random.unit();
        let rank = self.popularity.partition_point(|&share| share <= u);
        entry * self.popularity.len() + rank.min(self.popularity.len() - 1)
    }

    /// A category from its call tree.
    pub(crate) fn category(operations: &Operations, entry: usize, shape: TreeShape) -> Category {
        let costs = shape.operation.iter().map(|&index| operations.get(index).cost.nominal_ns());
        let nominal_ns = costs.sum();
        Category { entry, shape, nominal_ns }
    }
}

fn grow_entry(
    settings: &Settings,
    operations: &mut Operations,
    categories: &mut Vec<Category>,
    entry: usize,
    name: &str,
) {
    let first = categories.len();
    let mut random = Random::new(settings.seed, Stream::Categories, &[entry as u64]);
    while categories.len() < first + usize::from(settings.categories_per_service) {
        let shape = grow(operations, &mut random, name, entry == 2);
        if categories[first..].iter().all(|other| other.shape != shape) {
            categories.push(System::category(operations, entry, shape));
        }
    }
}

/// Cumulative shares of a Zipf distribution over `count` ranks.
fn zipf(count: usize, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=count).map(|rank| libm::exp(-exponent * libm::log(rank as f64))).collect();
    let total: f64 = weights.iter().sum();
    let mut reached = 0.0;
    let cumulative = weights.iter().map(|weight| {
        reached += weight / total;
        reached
    });
    cumulative.collect()
}

impl System {
    /// `service operation` of a position's calls from the entry down.
    pub(crate) fn path(&self, shape: &TreeShape, node: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut here = node;
        loop {
            let operation = self.operations.get(shape.operation[here]);
            path.push(format!("{} {}", operation.service(), operation.name));
            if here == 0 {
                path.reverse();
                return path;
            }
            here = usize::from(shape.parent[here]);
        }
    }

    /// Whether a position is the caller's side of a remote call.
    pub(crate) fn is_send(&self, shape: &TreeShape, node: usize) -> bool {
        self.operations.get(shape.operation[node]).kind == SpanKind::Client
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use std::collections::HashSet;

    #[test]
    fn zipf_shares_by_hand() {
        // Weights 1 and 1/2: two thirds and the rest.
        let shares = zipf(2, 1.0);
        assert!((shares[0] - 2.0 / 3.0).abs() < 1e-12 && (shares[1] - 1.0).abs() < 1e-12);
        assert!(zipf(4, 0.0).iter().zip([0.25, 0.5, 0.75, 1.0]).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn a_system_has_distinct_categories_over_eight_to_ten_components() {
        let system = System::new(&Settings::new(Scenario::Quiet, 1));
        assert_eq!(system.categories.len(), 120);
        let mut components = 0;
        for category in &system.categories {
            let used: HashSet<usize> =
                category.shape.operation.iter().map(|&o| system.operations.get(o).component).collect();
            components += used.len();
        }
        let mean = components as f64 / 120.0;
        assert!((8.0..=10.5).contains(&mean), "{mean}");
    }

    #[test]
    fn the_scenario_does_not_change_the_system() {
        let quiet = Settings::new(Scenario::CodeBug, 9).baseline();
        let (a, b) = (System::new(&quiet), System::new(&Settings::new(Scenario::CodeBug, 9)));
        assert!(a.categories.iter().zip(&b.categories).all(|(a, b)| a.shape == b.shape));
        assert_eq!(a.hosts.placement, b.hosts.placement);
    }
}
