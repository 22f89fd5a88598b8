//! How a fault delays the calls of one request.

use crate::Scenario;
use crate::components::{CHUNK_STORE, FRONT_END, MAIL_LOGIC, TRANSACTION};
use crate::faults::{FaultPlan, LISTS};
use crate::operations::OperationIndex;
use crate::random::Random;
use crate::request::Draft;
use crate::settings::Settings;
use crate::system::System;

const MILLISECOND_NS: f64 = 1e6;

impl FaultPlan {
    /// Adds the fault's extra times to a request whose undisturbed self times are drawn. The numbers are
    /// those of the papers' cases as the reference workload states them.
    pub(crate) fn inject(
        &self,
        settings: &Settings,
        system: &System,
        draft: &mut Draft<'_>,
        random: &mut Random,
    ) {
        if !self.categories[draft.category] {
            return;
        }
        let nominal_ns = system.categories[draft.category].nominal_ns;
        match self.scenario {
            Scenario::Quiet | Scenario::HeavyTail => {}
            Scenario::ThreadPool => self.queue_for_threads(draft, random, 5.5 * nominal_ns),
            Scenario::RandomDevice => self.wait(draft, random, FRONT_END, 0.6, 3.0 * nominal_ns),
            Scenario::Bursts => self.wait(draft, random, TRANSACTION, 0.7, 8.0 * nominal_ns),
            Scenario::Failover => self.wait(draft, random, CHUNK_STORE, 0.5, 300.0 * MILLISECOND_NS),
            Scenario::Misconfiguration => {
                if draft.entry == LISTS && random.chance(0.4) {
                    self.each_culprit(draft, |self_ns| self_ns * 3.0);
                }
            }
            Scenario::CodeBug => self.each_culprit_on(draft, MAIL_LOGIC, 20.0 * MILLISECOND_NS),
            Scenario::OneOfTwo => self.each_culprit_on(draft, FRONT_END, 20.0 * MILLISECOND_NS),
            Scenario::FortyOfHundred => self.each_culprit_on(draft, CHUNK_STORE, 20.0 * MILLISECOND_NS),
            Scenario::CodeBugNewOperation => mark_new_operation(draft, &self.culprits),
            Scenario::LoadImbalance => {
                if self.hits_node(draft.nodes[CHUNK_STORE]) {
                    let wait_ns = 15.0 * MILLISECOND_NS;
                    self.each_culprit(draft, |self_ns| self_ns * 2.0 + random.exponential(wait_ns));
                }
            }
            Scenario::Uniform => self.each_culprit(draft, |self_ns| self_ns * settings.uniform_increase),
            Scenario::SlowHost => self.slow_everything(system, draft, settings.slow_host_factor - 1.0),
        }
    }

    /// One request in five waits, in one to three of its calls together, for an exponential time.
    fn queue_for_threads(&self, draft: &mut Draft<'_>, random: &mut Random, mean_ns: f64) {
        if !random.chance(0.2) {
            return;
        }
        let waits = draft.positions(&self.culprits);
        let total_ns = random.exponential(mean_ns);
        let count = 1 + random.index(3);
        let chosen = random.sample(waits.len(), count);
        let shares: Vec<f64> = chosen.iter().map(|_| random.between(0.5, 1.5)).collect();
        let all: f64 = shares.iter().sum();
        for (&index, share) in chosen.iter().zip(shares) {
            draft.add_extra(waits[index], total_ns * share / all * self.strength);
        }
    }

    /// Each call of a culprit on the fault's nodes waits, with this probability, for an exponential time.
    fn wait(
        &self,
        draft: &mut Draft<'_>,
        random: &mut Random,
        component: usize,
        probability: f64,
        mean_ns: f64,
    ) {
        if !self.hits_node(draft.nodes[component]) {
            return;
        }
        for call in draft.positions(&self.culprits) {
            if random.chance(probability) {
                draft.add_extra(call, random.exponential(mean_ns) * self.strength);
            }
        }
    }

    /// Adds to each call of a culprit what `extra_ns` makes of its self time.
    fn each_culprit(&self, draft: &mut Draft<'_>, mut extra_ns: impl FnMut(f64) -> f64) {
        for call in draft.positions(&self.culprits) {
            let extra = extra_ns(draft.self_ns[call] as f64) * self.strength;
            draft.add_extra(call, extra);
        }
    }

    /// Adds the same to each call of a culprit, if the component's node of this request has the fault.
    fn each_culprit_on(&self, draft: &mut Draft<'_>, component: usize, extra_ns: f64) {
        if self.hits_node(draft.nodes[component]) {
            self.each_culprit(draft, |_| extra_ns);
        }
    }

    fn slow_everything(&self, system: &System, draft: &mut Draft<'_>, share: f64) {
        for call in 0..draft.self_ns.len() {
            let component = system.operations.get(draft.shape.operation[call]).component;
            if self.hits_node(draft.nodes[component]) {
                draft.add_extra(call, draft.self_ns[call] as f64 * share * self.strength);
            }
        }
    }
}

/// All of a new operation's time is the fault's; it was drawn with the other self times.
fn mark_new_operation(draft: &mut Draft<'_>, culprits: &[OperationIndex]) {
    for call in draft.positions(culprits) {
        let self_ns = std::mem::take(&mut draft.self_ns[call]);
        draft.add_extra(call, self_ns as f64);
    }
}
