//! Ordinary days: systems that simply run, with everything that makes times vary when nothing is wrong, and faults
//! injected into them.
//!
//! ```text
//! Profile + seed ─► System (services, operations, who calls whom)
//!                ─► Schedule (load, replicas, releases, pauses, jobs: functions of absolute time)
//!                              │
//! arrivals ─────────────► Drawing ─► DayRequest (spans, what a fault added)
//! ```

mod profile;
mod request;
mod schedule;
mod settings;
mod system;
mod target;
mod write;

pub use profile::{PROFILES, Profile};
pub use request::{DayRequest, DaySpan};
pub use settings::{DayFault, DayFaultKind, DaySettings, LossOnset};
pub use write::{DayFaultTruth, DayOutput, DaySummary, WrittenDayTruth, generate_day};

use crate::Error;
use crate::random::{Random, Stream};
use laggard_model::{Attribute, AttributeText};
use request::Drawing;
use schedule::Schedule;
use system::System;
use target::{FaultTarget, TENANTS};

const SECOND: i64 = 1_000_000_000;

/// A day, ready to draw requests.
#[derive(Clone, Debug)]
pub struct Day {
    settings: DaySettings,
    system: System,
    schedule: Schedule,
    fault: Option<(DayFault, FaultTarget)>,
    /// The service and number of the replica whose spans are lost, where losses set in at one replica only.
    lossy: Option<(usize, usize)>,
    /// The attribute of the requests of every tenant.
    tenants: Vec<AttributeText>,
}

/// Target of a fault, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DayTruth {
    /// The service and the operation; for an edge those of the callee.
    pub operation: (String, String),
    /// The service and the operation of the caller, for an edge.
    pub caller: Option<(String, String)>,
    /// The replicas, for a fault of one replica: more than one when a release replaced it.
    pub replicas: Vec<String>,
    /// The tenant, for a fault of one tenant.
    pub tenant: Option<String>,
}

impl Day {
    /// A day of some settings.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting outside its range, and for a fault that the system cannot have.
    pub fn new(settings: &DaySettings) -> Result<Day, Error> {
        settings.check()?;
        let system = System::new(&settings.profile, settings.seed);
        let fault = match settings.fault {
            Some(fault) => Some((fault, FaultTarget::choose(&fault, &system)?)),
            None => None,
        };
        let schedule = Schedule::new(settings, &system);
        let tenants = (0..TENANTS).map(|tenant| {
            let mut text = AttributeText::default();
            text.add(Attribute { key: "tenant", service: "", value: &tenant_name(tenant) });
            text
        });
        let lossy = settings.loss_onset.filter(|onset| onset.one_replica);
        let lossy = lossy.map(|_| lossy_replica(&system, settings.seed));
        Ok(Day { settings: settings.clone(), tenants: tenants.collect(), system, schedule, fault, lossy })
    }

    /// The operations and replicas hit by the fault, if there is one.
    pub fn truth(&self) -> Option<DayTruth> {
        let (_, target) = self.fault.as_ref()?;
        let name = |index: usize| {
            let operation = &self.system.operations[index];
            (self.system.services[operation.service].name.to_owned(), operation.name.clone())
        };
        let service = self.system.operations[target.operation].service;
        let instances = self.schedule.instances.iter();
        Some(DayTruth {
            operation: name(target.operation),
            caller: target.caller.map(name),
            replicas: target.slot.map_or_else(Vec::new, |slot| {
                let hit = instances.filter(|instance| instance.service == service && instance.slot == slot);
                hit.map(|instance| instance.name.clone()).collect()
            }),
            tenant: target.tenant.map(tenant_name),
        })
    }

    /// The requests, in order of their start.
    pub fn requests(&self) -> impl Iterator<Item = DayRequest> + '_ {
        self.arrivals().into_iter().map(|arrival| {
            let path = [arrival.start as u64, arrival.number];
            Drawing::draw(self, arrival.job, arrival.start, &path)
        })
    }

    /// A Poisson process whose rate follows the load, and the starts of jobs.
    fn arrivals(&self) -> Vec<Arrival> {
        let first = self.settings.start_unix_ns.div_euclid(SECOND);
        let end = self.settings.start_unix_ns + i64::from(self.settings.window_s) * SECOND;
        let mut arrivals = Vec::new();
        for second in first..=end.div_euclid(SECOND) {
            let mut random = Random::new(self.settings.seed, Stream::Arrivals, &[second as u64]);
            let rate = self.schedule.rate(second * SECOND);
            let mut offset = random.exponential(1.0 / rate);
            let mut number = 0;
            while offset < 1.0 {
                let start = second * SECOND + (offset * SECOND as f64) as i64;
                arrivals.push(Arrival { start, number, job: None });
                offset += random.exponential(1.0 / rate);
                number += 1;
            }
        }
        for &(job, period) in &self.system.jobs {
            let numbers = self.settings.start_unix_ns.div_euclid(period)..=end.div_euclid(period);
            let starts = numbers.map(|number| number * period);
            arrivals.extend(starts.map(|start| Arrival { start, number: u64::MAX, job: Some(job) }));
        }
        arrivals.retain(|arrival| (self.settings.start_unix_ns..end).contains(&arrival.start));
        arrivals.sort_unstable();
        arrivals
    }

    /// The entry of a uniform random number.
    fn entry(&self, unit: f64) -> usize {
        let entries = &self.system.entries;
        entries.iter().find(|&&(_, until)| unit < until).unwrap_or(&entries[entries.len() - 1]).0
    }

    /// Probability that a span of an instance that starts at a time is lost.
    fn loss_at(&self, instance: u32, start: i64) -> f64 {
        let always = self.settings.lost_spans;
        let Some(onset) = self.settings.loss_onset else { return always };
        let instance = &self.schedule.instances[instance as usize];
        let here = self.lossy.is_none_or(|lossy| lossy == (instance.service, instance.slot));
        let since = self.settings.start_unix_ns + i64::from(onset.since_s) * SECOND;
        if here && start >= since { always.max(onset.probability) } else { always }
    }

    /// The fault, while it lasts.
    fn fault_at(&self, time: i64) -> Option<(&DayFault, &FaultTarget)> {
        let (fault, target) = self.fault.as_ref()?;
        let since = self.settings.start_unix_ns + i64::from(fault.since_s) * SECOND;
        let until = self.settings.start_unix_ns + i64::from(fault.until_s) * SECOND;
        (since..until).contains(&time).then_some((fault, target))
    }
}

/// A service and the number of one of its replicas; one with several replicas if there is any.
fn lossy_replica(system: &System, seed: u64) -> (usize, usize) {
    let mut random = Random::new(seed, Stream::FaultPlan, &[u64::MAX]);
    let replicated: Vec<usize> =
        (0..system.services.len()).filter(|&service| system.services[service].replicas > 1).collect();
    let service = match replicated.is_empty() {
        true => random.index(system.services.len()),
        false => replicated[random.index(replicated.len())],
    };
    (service, random.index(system.services[service].replicas))
}

fn tenant_name(tenant: usize) -> String {
    format!("tenant-{tenant}")
}

/// When a request enters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Arrival {
    start: i64,
    /// Its number among the requests of its second.
    number: u64,
    /// The job, when it starts on its own.
    job: Option<usize>,
}
