//! The targets of a fault: selected once, from the seed.

use crate::Scenario;
use crate::components::{
    BEGIN, CHECK_ACCESS, CHUNK_STORE, COUNT, FRONT_END, MAIL_LOGIC, METADATA, NODES, QUEUE_WAIT, READ_CHUNK,
    READ_ENTRY, ROUTE_REQUEST, SCAN_ATTACHMENTS, TRANSACTION, WRITE_CHUNK,
};
use crate::hosts::NodeIndex;
use crate::operations::{Cost, OperationIndex};
use crate::random::{Random, Stream};
use crate::settings::Settings;
use crate::system::{CategoryIndex, System};
use laggard_model::SpanKind;

/// The entry operation that lists, and the one that writes.
pub(crate) const LISTS: usize = 0;
pub(crate) const WRITES: usize = 2;
/// The strength of a mild fault relative to a full one.
const MILD: f64 = 1.0 / 3.0;

/// Target of a fault.
#[derive(Clone, Debug)]
pub(crate) struct FaultPlan {
    pub(crate) scenario: Scenario,
    /// 1, or a third for a mild fault: multiplies every extra time.
    pub(crate) strength: f64,
    /// The operations it slows; empty when it slows all on some hosts.
    pub(crate) culprits: Vec<OperationIndex>,
    /// The nodes it is limited to, ascending; empty when it is everywhere.
    pub(crate) nodes: Vec<NodeIndex>,
    /// By category: whether the fault concerns it.
    pub(crate) categories: Vec<bool>,
    /// By category: the one that its requests belong to on the nodes of the fault.
    pub(crate) upgraded: Vec<Option<CategoryIndex>>,
}

impl FaultPlan {
    /// Chooses what the scenario hits; adds the categories of an upgrade to the system.
    pub(crate) fn new(settings: &Settings, system: &mut System) -> FaultPlan {
        let scenario = settings.scenario;
        let mut random = Random::new(settings.seed, Stream::FaultPlan, &[scenario as u64]);
        let strength = if settings.mild { MILD } else { 1.0 };
        let upgraded = match scenario {
            Scenario::CodeBugNewOperation => add_upgraded(system, strength),
            _ => vec![None; system.categories.len()],
        };
        let culprits = culprits(scenario, system);
        let nodes = pick_nodes(scenario, system, &mut random);
        let categories = pick_categories(scenario, system, &culprits, &mut random);
        FaultPlan { scenario, strength, culprits, nodes, categories, upgraded }
    }

    /// Whether the fault is on this node.
    pub(crate) fn hits_node(&self, node: NodeIndex) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// Sends calls elsewhere than an even balance would: component to node, for one request.
    pub(crate) fn redirect(&self, entry: usize, nodes: &mut [NodeIndex; COUNT], random: &mut Random) {
        let unbalanced = self.scenario == Scenario::LoadImbalance && entry == WRITES;
        if unbalanced && random.chance(0.6) {
            nodes[CHUNK_STORE] = self.nodes[random.index(self.nodes.len())];
        }
    }

    /// The true category of a request, by the nodes it visits.
    pub(crate) fn category(&self, base: CategoryIndex, nodes: &[NodeIndex; COUNT]) -> CategoryIndex {
        match self.upgraded[base] {
            Some(upgraded) if self.hits_node(nodes[MAIL_LOGIC]) => upgraded,
            _ => base,
        }
    }
}

/// The operations that a scenario slows.
fn culprits(scenario: Scenario, system: &System) -> Vec<OperationIndex> {
    let names: &[(usize, &str)] = match scenario {
        Scenario::Quiet | Scenario::HeavyTail | Scenario::SlowHost => &[],
        Scenario::ThreadPool => &[(CHUNK_STORE, QUEUE_WAIT)],
        Scenario::RandomDevice => &[(FRONT_END, QUEUE_WAIT)],
        Scenario::Bursts => &[(TRANSACTION, BEGIN)],
        Scenario::Misconfiguration => &[(CHUNK_STORE, READ_CHUNK)],
        Scenario::Failover => &[(CHUNK_STORE, WRITE_CHUNK)],
        Scenario::CodeBug => &[(MAIL_LOGIC, CHECK_ACCESS)],
        Scenario::CodeBugNewOperation => &[(MAIL_LOGIC, SCAN_ATTACHMENTS)],
        Scenario::LoadImbalance => &[(CHUNK_STORE, WRITE_CHUNK), (CHUNK_STORE, QUEUE_WAIT)],
        Scenario::Uniform => &[(METADATA, READ_ENTRY)],
        Scenario::OneOfTwo => &[(FRONT_END, ROUTE_REQUEST)],
        Scenario::FortyOfHundred => &[(CHUNK_STORE, READ_CHUNK)],
    };
    let find = |&(component, name)| system.operations.find(component, name, SpanKind::Internal);
    names.iter().filter_map(find).collect()
}

/// The nodes that a fault is limited to: some replicas of the culprits' component, or any node.
fn pick_nodes(scenario: Scenario, system: &System, random: &mut Random) -> Vec<NodeIndex> {
    let (component, count) = match scenario {
        Scenario::RandomDevice => (FRONT_END, 4),
        Scenario::Bursts => (TRANSACTION, 3),
        Scenario::Failover | Scenario::LoadImbalance => (CHUNK_STORE, 5),
        Scenario::CodeBug | Scenario::CodeBugNewOperation => (MAIL_LOGIC, 9),
        Scenario::OneOfTwo => (FRONT_END, 1),
        Scenario::FortyOfHundred => (CHUNK_STORE, 40),
        Scenario::SlowHost => return vec![random.index(NODES) as NodeIndex],
        _ => return Vec::new(),
    };
    let replicas = &system.hosts.placement[component];
    let count = count.min(replicas.len());
    random.sample(replicas.len(), count).into_iter().map(|position| replicas[position]).collect()
}

/// The categories that a fault concerns: a share of those that call a culprit (CloudDiag's cases), or all.
fn pick_categories(
    scenario: Scenario,
    system: &System,
    culprits: &[OperationIndex],
    random: &mut Random,
) -> Vec<bool> {
    let share = match scenario {
        Scenario::ThreadPool => 0.30,
        Scenario::RandomDevice => 0.40,
        Scenario::Bursts => 0.17,
        _ => return vec![true; system.categories.len()],
    };
    let eligible: Vec<CategoryIndex> = (0..system.categories.len())
        .filter(|&position| {
            let category = &system.categories[position];
            let calls_culprit = category.shape.operation.iter().any(|called| culprits.contains(called));
            calls_culprit && (scenario == Scenario::ThreadPool || category.entry == WRITES)
        })
        .collect();
    let candidates = match scenario {
        Scenario::ThreadPool => eligible.len(),
        _ => system.categories.iter().filter(|category| category.entry == WRITES).count(),
    };
    let count = ((candidates as f64 * share).round() as usize).max(1);
    let mut hit = vec![false; system.categories.len()];
    random.sample(eligible.len(), count).into_iter().for_each(|position| hit[eligible[position]] = true);
    hit
}

/// Adds, for every category that enters the logic, the category of the upgraded program, which calls a new
/// operation first in every method of the logic. It takes about 20 ms times the strength of the fault.
fn add_upgraded(system: &mut System, strength: f64) -> Vec<Option<CategoryIndex>> {
    let new = system.operations.intern(MAIL_LOGIC, SCAN_ATTACHMENTS, SpanKind::Internal);
    let cost = Cost { ln_median: libm::log(20e6 * strength), sigma: 0.2, size_exponent: 0.0 };
    system.operations.set_cost(new, cost);
    let mut upgraded = Vec::new();
    for base in 0..system.categories.len() {
        let category = &system.categories[base];
        let in_logic = |operation: OperationIndex| {
            let operation = system.operations.get(operation);
            operation.component == MAIL_LOGIC && operation.kind == SpanKind::Server
        };
        let shape = category.shape.with_first_callee(new, in_logic);
        let changed = shape.len() > category.shape.len();
        let variant = System::category(&system.operations, category.entry, shape);
        upgraded.push(changed.then_some(system.categories.len()));
        system.categories.extend(changed.then_some(variant));
    }
    let added = system.categories.len() - upgraded.len();
    upgraded.extend(std::iter::repeat_n(None, added));
    upgraded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(scenario: Scenario) -> (FaultPlan, System) {
        let settings = Settings::new(scenario, 11);
        let mut system = System::new(&settings);
        (FaultPlan::new(&settings, &mut system), system)
    }

    fn hit(plan: &FaultPlan) -> usize {
        plan.categories.iter().filter(|hit| **hit).count()
    }

    #[test]
    fn every_culprit_exists_on_its_stated_hosts() {
        for scenario in Scenario::ALL {
            let (plan, system) = plan(scenario);
            let replicated = scenario.scope() == crate::FaultScope::Replicas;
            assert_eq!(replicated, !plan.nodes.is_empty(), "{}", scenario.name());
            let nameless = [Scenario::Quiet, Scenario::HeavyTail, Scenario::SlowHost].contains(&scenario);
            assert_eq!(nameless, plan.culprits.is_empty(), "{}", scenario.name());
            for &culprit in &plan.culprits {
                let used = |category: &crate::system::Category| category.shape.operation.contains(&culprit);
                assert!(system.categories.iter().filter(|category| used(category)).count() >= 20);
            }
        }
    }

    #[test]
    fn fault_shares_match_the_cases() {
        assert_eq!(hit(&plan(Scenario::RandomDevice).0), 16);
        assert_eq!(hit(&plan(Scenario::Bursts).0), 7);
        let (thread_pool, system) = plan(Scenario::ThreadPool);
        let culprit = thread_pool.culprits[0];
        let using = system.categories.iter().filter(|c| c.shape.operation.contains(&culprit)).count();
        assert_eq!(hit(&thread_pool), (using as f64 * 0.3).round() as usize);
        assert_eq!(plan(Scenario::RandomDevice).0.nodes.len(), 4);
        assert_eq!(plan(Scenario::Bursts).0.nodes.len(), 3);
    }

    #[test]
    fn an_upgrade_adds_one_category_for_each() {
        let (plan, system) = plan(Scenario::CodeBugNewOperation);
        assert_eq!(system.categories.len(), 240);
        let base = &system.categories[0].shape;
        let upgraded = &system.categories[plan.upgraded[0].unwrap()].shape;
        assert!(upgraded.len() > base.len() && upgraded.operation.contains(&plan.culprits[0]));
    }
}
