//! Operations and how long they take.

use crate::components::{COMPONENTS, FRONT_END, STORAGE};
use crate::random::{Random, Stream};
use laggard_model::{Fingerprint, SpanKind};
use std::collections::HashMap;

/// Position of an operation in [`Operations`].
pub(crate) type OperationIndex = u16;

/// One operation of one component.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// The component that runs it.
    pub(crate) component: usize,
    pub(crate) name: String,
    /// Its role.
    pub(crate) kind: SpanKind,
    /// How long it takes.
    pub(crate) cost: Cost,
}

/// The distribution of an operation's self time: lognormal, times the request's size to a power.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Logarithm of the median, in nanoseconds.
    pub(crate) ln_median: f64,
    /// Standard deviation of the logarithm.
    pub(crate) sigma: f64,
    /// Power of the request's size.
    pub(crate) size_exponent: f64,
}

/// All operations, in order of first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operations {
    all: Vec<Operation>,
    index: HashMap<(usize, String, SpanKind), OperationIndex>,
    seed: u64,
}

impl Operations {
    pub(crate) fn new(seed: u64) -> Operations {
        Operations { seed, ..Operations::default() }
    }

    /// The index of an operation, made on first use.
    pub(crate) fn intern(&mut self, component: usize, name: &str, kind: SpanKind) -> OperationIndex {
        if let Some(&found) = self.index.get(&(component, name.to_owned(), kind)) {
            return found;
        }
        let new = OperationIndex::try_from(self.all.len()).expect("the component table is small");
        let cost = draw_cost(self.seed, component, name, kind);
        self.all.push(Operation { component, name: name.to_owned(), kind, cost });
        self.index.insert((component, name.to_owned(), kind), new);
        new
    }

    /// Overrides the random values of an operation.
    pub(crate) fn set_cost(&mut self, index: OperationIndex, cost: Cost) {
        self.all[usize::from(index)].cost = cost;
    }

    /// An operation by name and its component, when some call tree uses it.
    pub(crate) fn find(&self, component: usize, name: &str, kind: SpanKind) -> Option<OperationIndex> {
        self.index.get(&(component, name.to_owned(), kind)).copied()
    }

    pub(crate) fn get(&self, index: OperationIndex) -> &Operation {
        &self.all[usize::from(index)]
    }
}

impl Operation {
    /// The service name.
    pub(crate) fn service(&self) -> &'static str {
        COMPONENTS[self.component].name
    }
}

impl Cost {
    /// Mean self time of a request of size 1, in nanoseconds.
    pub(crate) fn nominal_ns(&self) -> f64 {
        libm::exp(self.ln_median + 0.5 * self.sigma * self.sigma)
    }
}

/// Depends on the names only, so that an operation costs the same whichever call tree used it first.
fn draw_cost(seed: u64, component: usize, name: &str, kind: SpanKind) -> Cost {
    let name_hash = Fingerprint::from_bytes(name.as_bytes()).value() as u64;
    let mut random = Random::new(seed, Stream::Operations, &[component as u64, name_hash, kind as u64]);
    let ln_median = match kind {
        // A remote call's self time is the network's: it must outlast what clocks disagree on.
        SpanKind::Client => random.ln_log_uniform(200e3, 1.5e6),
        _ if STORAGE.contains(&name) => libm::log(2e6),
        _ => random.ln_log_uniform(20e3, 1.5e6),
    };
    let sigma = random.between(0.1, 0.45);
    let size_exponent = [0.0, 0.3, 0.6][random.index(3)];
    // What the front end waits for before it has read the request cannot depend on the request's size.
    let is_entry_wait = component == FRONT_END && name == crate::components::QUEUE_WAIT;
    Cost { ln_median, sigma, size_exponent: if is_entry_wait { 0.0 } else { size_exponent } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_costs_the_same_whenever_it_is_first_used() {
        let mut forth = Operations::new(5);
        let mut back = Operations::new(5);
        let a = forth.intern(1, "A", SpanKind::Internal);
        forth.intern(1, "B", SpanKind::Internal);
        back.intern(1, "B", SpanKind::Internal);
        let again = back.intern(1, "A", SpanKind::Internal);
        assert_ne!(a, again);
        assert_eq!(forth.get(a).cost.ln_median, back.get(again).cost.ln_median);
        assert_eq!(forth.intern(1, "A", SpanKind::Internal), a);
        assert_ne!(forth.intern(1, "A", SpanKind::Server), a);
        assert_eq!(forth.find(2, "A", SpanKind::Internal), None);
    }
}
