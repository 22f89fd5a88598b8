//! A checked simulation, ready to draw requests.

use crate::Error;
use crate::components::COUNT;
use crate::faults::FaultPlan;
use crate::hosts::NodeIndex;
use crate::random::{Random, Stream};
use crate::request::Request;
use crate::settings::Settings;
use crate::system::System;
use std::sync::Arc;

/// Settings with everything that follows from them.
#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    pub(crate) settings: Settings,
    pub(crate) system: System,
    pub(crate) plan: FaultPlan,
}

/// When a request enters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Arrival {
    /// True time, since the Unix epoch.
    pub(crate) start_ns: i64,
    /// Which entry operation.
    pub(crate) entry: usize,
    /// Number among the requests of its entry.
    pub(crate) index: u32,
}

impl Simulation {
    pub(crate) fn new(settings: &Settings) -> Result<Simulation, Error> {
        settings.check()?;
        let mut system = System::new(settings);
        let plan = FaultPlan::new(settings, &mut system);
        Ok(Simulation { settings: settings.clone(), system, plan })
    }

    /// All requests in order of arrival: uniform over the period, as sampled ones out of many are.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        let settings = &self.settings;
        let window_ns = u64::from(settings.window_s) * 1_000_000_000;
        let mut arrivals = Vec::with_capacity(3 * settings.requests_per_service as usize);
        for entry in 0..3 {
            let path = [u64::from(settings.run), entry as u64];
            let mut random = Random::new(settings.seed, Stream::Arrivals, &path);
            for index in 0..settings.requests_per_service {
                let start_ns = settings.start_unix_ns + random.below(window_ns) as i64;
                arrivals.push(Arrival { start_ns, entry, index });
            }
        }
        arrivals.sort_unstable();
        arrivals
    }

    /// One replica of each component, evenly.
    pub(crate) fn pick_nodes(&self, random: &mut Random) -> [NodeIndex; COUNT] {
        std::array::from_fn(|component| {
            let replicas = &self.system.hosts.placement[component];
            replicas[random.index(replicas.len())]
        })
    }
}

/// The requests of some settings, in order of arrival.
#[derive(Clone, Debug)]
pub struct Requests {
    simulation: Arc<Simulation>,
    arrivals: std::vec::IntoIter<Arrival>,
}

/// Draws the requests of some settings in memory.
///
/// # Errors
/// [`Error::Setting`] when a setting is outside its range.
///
/// ```
/// use laggard_simulate::{Scenario, Settings, requests};
/// let settings = Settings { requests_per_service: 5, ..Settings::new(Scenario::Quiet, 1) };
/// let latencies: Vec<_> = requests(&settings)?.map(|request| request.latency()).collect();
/// assert_eq!(latencies.len(), 15);
/// # Ok::<(), laggard_simulate::Error>(())
/// ```
pub fn requests(settings: &Settings) -> Result<Requests, Error> {
    let simulation = Arc::new(Simulation::new(settings)?);
    let arrivals = simulation.arrivals().into_iter();
    Ok(Requests { simulation, arrivals })
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.arrivals.next().map(|arrival| Request::draw(&self.simulation, arrival))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.arrivals.size_hint()
    }
}

impl ExactSizeIterator for Requests {}
