//! Nodes: what runs on them, how their clocks err, how busy they are.

use crate::components::{COMPONENTS, FRONT_END, NODES};
use crate::random::{Random, Stream};
use crate::settings::Settings;

/// Position of a node.
pub(crate) type NodeIndex = u16;

/// The hundred nodes.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// `node000` to `node099`.
    pub(crate) names: Vec<String>,
    /// By component: the nodes it runs on, ascending.
    pub(crate) placement: Vec<Vec<NodeIndex>>,
    clocks: Vec<HostClock>,
    start_unix_ns: i64,
    /// Logarithm of the load, by node and minute.
    ln_load: Vec<f64>,
    minutes: usize,
}

/// How a clock errs: it shows `true time + offset + drift · (true time − start)`.
#[derive(Clone, Copy, Debug)]
struct HostClock {
    offset_ns: i64,
    /// Parts per billion.
    drift_ppb: i64,
}

const MINUTE_NS: i64 = 60_000_000_000;

impl Hosts {
    pub(crate) fn new(settings: &Settings) -> Hosts {
        let minutes = settings.window_s.div_ceil(60) as usize;
        let loads = (0..NODES as u64).flat_map(|node| ln_loads(settings, node, minutes));
        Hosts {
            names: (0..NODES).map(|node| format!("node{node:03}")).collect(),
            placement: (0..COMPONENTS.len()).map(|component| assign_hosts(settings, component)).collect(),
            clocks: (0..NODES as u64).map(|node| clock(settings, node)).collect(),
            start_unix_ns: settings.start_unix_ns,
            ln_load: loads.collect(),
            minutes,
        }
    }

    /// The time of a node's clock at a true time. Never runs backwards, so intervals that nest in true time nest on every clock.
    pub(crate) fn local_ns(&self, node: NodeIndex, true_ns: i64) -> i64 {
        let clock = self.clocks[usize::from(node)];
        let elapsed = i128::from(true_ns - self.start_unix_ns);
        let drift = (elapsed * i128::from(clock.drift_ppb)).div_euclid(1_000_000_000);
        true_ns + clock.offset_ns + drift as i64
    }

    /// Logarithm of the factor by which a node's load increases self times.
    pub(crate) fn ln_load(&self, node: NodeIndex, true_ns: i64) -> f64 {
        let minute = ((true_ns - self.start_unix_ns) / MINUTE_NS) as usize;
        self.ln_load[usize::from(node) * self.minutes + minute.min(self.minutes - 1)]
    }
}

fn assign_hosts(settings: &Settings, component: usize) -> Vec<NodeIndex> {
    let mut random = Random::new(settings.seed, Stream::Placement, &[component as u64]);
    let replicas = match component {
        FRONT_END => usize::from(settings.front_end_replicas),
        _ => COMPONENTS[component].replicas,
    };
    let nodes = random.sample(NODES, replicas);
    nodes.into_iter().map(|node| node as NodeIndex).collect()
}

fn clock(settings: &Settings, node: u64) -> HostClock {
    if !settings.clock_skew {
        return HostClock { offset_ns: 0, drift_ppb: 0 };
    }
    let mut random = Random::new(settings.seed, Stream::Clocks, &[node]);
    let offset_ns = random.between(-20e6, 20e6) as i64;
    HostClock { offset_ns, drift_ppb: random.between(-20e3, 20e3) as i64 }
}

fn ln_loads(settings: &Settings, node: u64, minutes: usize) -> Vec<f64> {
    let mut random = Random::new(settings.seed, Stream::HostLoad, &[u64::from(settings.run), node]);
    (0..minutes).map(|_| settings.host_load_sigma * random.normal()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn clocks_err_within_the_stated_bounds_and_never_run_backwards() {
        let settings = Settings::new(Scenario::Quiet, 4);
        let hosts = Hosts::new(&settings);
        let start = settings.start_unix_ns;
        for node in 0..NODES as NodeIndex {
            assert!((hosts.local_ns(node, start) - start).abs() <= 20_000_000);
            let hour = hosts.local_ns(node, start + 3_600_000_000_000) - hosts.local_ns(node, start);
            assert!((hour - 3_600_000_000_000).abs() <= 72_000_000, "{hour}");
            assert!((0..1_000).map(|ns| hosts.local_ns(node, start + ns)).is_sorted());
        }
        let exact = Hosts::new(&Settings { clock_skew: false, ..settings });
        assert_eq!(exact.local_ns(7, start + 12_345), start + 12_345);
    }

    #[test]
    fn components_run_on_as_many_nodes_as_stated() {
        let hosts = Hosts::new(&Settings::new(Scenario::Quiet, 4));
        let counts: Vec<usize> = hosts.placement.iter().map(Vec::len).collect();
        assert_eq!(counts, [10, 20, 30, 40, 40, 100, 60, 30, 20, 20, 20, 20]);
    }
}
