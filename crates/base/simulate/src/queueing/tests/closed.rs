//! Closed networks of any shape: the yardstick for mean value analysis.

use super::super::{Discipline, Event, Network, Station, WorkShape, WorkSource};
use crate::Error;
use crate::random::{Random, Stream};

/// Batches that the measured time is cut into for the standard errors.
const BATCHES: usize = 20;

/// Clients of several classes that think, visit stations, and think again.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ClosedNetwork {
    /// The stations.
    pub(super) stations: Vec<ClosedStation>,
    /// The classes of clients.
    pub(super) classes: Vec<ClosedClass>,
    /// Time that passes before anything is measured, in seconds, ≥ 0.
    pub(super) warm_up_s: f64,
    /// Time that is measured, in seconds, > 0.
    pub(super) measured_s: f64,
    /// Same seed, same numbers.
    pub(super) seed: u64,
}

/// A station, or several equal ones behind a balancer that picks one at random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ClosedStation {
    /// How it serves.
    pub(super) discipline: Discipline,
    /// Cores that share one queue, > 0: fractions for processor sharing only, lines round down.
    pub(super) cores: f64,
    /// Equal stations of this kind, ≥ 1.
    pub(super) replicas: u16,
}

/// Clients of one class.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ClosedClass {
    /// Clients.
    pub(super) clients: u32,
    /// Mean think time in seconds, ≥ 0, exponential.
    pub(super) think_s: f64,
    /// Visits of a transaction, in this order.
    pub(super) visits: Vec<Visit>,
}

/// Visits of a class to a station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Visit {
    /// Index of the station.
    pub(super) station: usize,
    /// Mean number of visits in a row per transaction, 0 to 1000; a fraction is a probability of one more.
    pub(super) visits: f64,
    /// Mean service time of a visit in seconds, ≥ 0.
    pub(super) service_s: f64,
    /// Its distribution.
    pub(super) shape: WorkShape,
}

/// A measured mean.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Estimate {
    /// The mean.
    pub(super) mean: f64,
    /// Its standard error, from batch means.
    pub(super) standard_error: f64,
}

/// Measurements.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ClosedRun {
    /// Transactions a second, by class.
    pub(super) throughput: Vec<Estimate>,
    /// Response time in seconds without thinking, by class; 0 when none completed.
    pub(super) response_s: Vec<Estimate>,
    /// Time a transaction spends at a station (all visits, waiting included) in seconds, by class and station.
    pub(super) residence_s: Vec<Vec<f64>>,
    /// Busy share of all cores and replicas, by station; mean busy servers for a pure delay.
    pub(super) utilization: Vec<f64>,
}

/// Simulates a closed network.
///
/// # Errors
/// [`Error::Setting`] for a number outside its range.
pub(super) fn simulate_closed(network: &ClosedNetwork) -> Result<ClosedRun, Error> {
    check(network)?;
    let mut run = Running::new(network);
    run.until(network.warm_up_s);
    let busy_before = run.busy_core_s();
    let mut batches = Vec::with_capacity(BATCHES);
    for batch in 1..=BATCHES {
        run.tally = ClassTally::new(network);
        run.until(network.warm_up_s + network.measured_s * batch as f64 / BATCHES as f64);
        batches.push(run.tally.clone());
    }
    let busy: Vec<f64> =
        run.busy_core_s().iter().zip(&busy_before).map(|(after, before)| after - before).collect();
    Ok(conclude(network, &batches, &busy))
}

fn check(network: &ClosedNetwork) -> Result<(), Error> {
    let error = |name, value: f64, allowed| Err(Error::Setting { name, value: value.to_string(), allowed });
    for station in &network.stations {
        let at_least = if station.discipline == Discipline::FirstComeFirstServed { 1.0 } else { 1e-3 };
        if !(station.cores >= at_least && station.cores <= 1e6) || station.replicas == 0 {
            return error("cores", station.cores, "at least 0.001 (a line: 1), and a replica");
        }
    }
    for class in &network.classes {
        if !(0.0..=1e9).contains(&class.think_s) {
            return error("think_s", class.think_s, "0 to 1e9");
        }
        for visit in &class.visits {
            let known = visit.station < network.stations.len() && visit.shape.is_valid();
            if !known || !(0.0..=1e3).contains(&visit.visits) || !(0.0..=1e9).contains(&visit.service_s) {
                return error(
                    "visits",
                    visit.visits,
                    "0 to 1000, of a station that exists, with a service time",
                );
            }
        }
        let spends =
            class.think_s + class.visits.iter().map(|visit| visit.visits * visit.service_s).sum::<f64>();
        if spends <= 0.0 {
            return error("think_s", class.think_s, "more than 0 for a class whose visits take no time");
        }
    }
    let is_measured = network.measured_s > 0.0 && network.measured_s <= 1e9;
    if !(0.0..=1e9).contains(&network.warm_up_s) || !is_measured {
        return error("measured_s", network.measured_s, "more than 0, at most 1e9");
    }
    Ok(())
}

/// Sums of one batch.
#[derive(Clone, Debug)]
struct ClassTally {
    completed: Vec<u64>,
    response_s: Vec<f64>,
    /// By class, then station.
    residence_s: Vec<Vec<f64>>,
}

impl ClassTally {
    fn new(network: &ClosedNetwork) -> ClassTally {
        let classes = network.classes.len();
        ClassTally {
            completed: vec![0; classes],
            response_s: vec![0.0; classes],
            residence_s: vec![vec![0.0; network.stations.len()]; classes],
        }
    }
}

/// Where a client is.
#[derive(Clone, Copy, Debug)]
struct Client {
    class: usize,
    /// Index into the class's visits.
    visit: usize,
    /// Visits of the same kind still to make after the present one.
    remaining: u32,
    /// When its transaction began.
    began: f64,
    /// When its present visit began.
    arrived: f64,
}

struct Running<'a> {
    settings: &'a ClosedNetwork,
    /// First of the stations of each kind.
    first: Vec<usize>,
    network: Network,
    clients: Vec<Client>,
    think: Random,
    choice: Random,
    work: Random,
    tally: ClassTally,
}

impl Running<'_> {
    fn new(settings: &ClosedNetwork) -> Running<'_> {
        let mut stations = Vec::new();
        let mut first = Vec::new();
        for kind in &settings.stations {
            first.push(stations.len());
            stations.extend((0..kind.replicas).map(|_| Station::new(kind.discipline, kind.cores)));
        }
        let stream = |stream| Random::new(settings.seed, stream, &[]);
        let mut running = Running {
            settings,
            first,
            network: Network::new(stations),
            clients: Vec::new(),
            think: stream(Stream::Think),
            choice: stream(Stream::Choice),
            work: stream(Stream::Work),
            tally: ClassTally::new(settings),
        };
        for (class, clients) in settings.classes.iter().map(|class| class.clients).enumerate() {
            for _ in 0..clients {
                let job = running.clients.len() as u32;
                running.clients.push(Client { class, visit: 0, remaining: 0, began: 0.0, arrived: 0.0 });
                running.start_thinking(job);
            }
        }
        running
    }

    fn until(&mut self, until: f64) {
        while let Some(event) = self.network.next_before(until) {
            match event {
                Event::Timer { job } => self.begin(job),
                Event::Departure { job, .. } => self.departed(job),
            }
        }
    }

    fn start_thinking(&mut self, job: u32) {
        let mean = self.settings.classes[self.clients[job as usize].class].think_s;
        let delay_s = self.think.exponential(mean);
        self.network.wait(job, delay_s);
    }

    fn begin(&mut self, job: u32) {
        self.clients[job as usize].began = self.network.now();
        self.enter(job, 0);
    }

    /// The first of the visits from this one on that happens, or the end of the transaction.
    fn enter(&mut self, job: u32, from: usize) {
        let visits = &self.settings.classes[self.clients[job as usize].class].visits;
        for (index, visit) in visits.iter().enumerate().skip(from) {
            let number = visit.visits as u32 + u32::from(self.choice.chance(visit.visits.fract()));
            if number > 0 {
                let client = &mut self.clients[job as usize];
                (client.visit, client.remaining) = (index, number - 1);
                return self.visit(job, *visit);
            }
        }
        self.complete(job);
    }

    fn visit(&mut self, job: u32, visit: Visit) {
        let replicas = usize::from(self.settings.stations[visit.station].replicas);
        let station = self.first[visit.station] + self.choice.index(replicas);
        let work_s = WorkSource::new(visit.shape).draw(&mut self.work, visit.service_s);
        self.clients[job as usize].arrived = self.network.now();
        self.network.send(job, station, work_s);
    }

    fn departed(&mut self, job: u32) {
        let client = self.clients[job as usize];
        let visit = self.settings.classes[client.class].visits[client.visit];
        self.tally.residence_s[client.class][visit.station] += self.network.now() - client.arrived;
        if client.remaining > 0 {
            self.clients[job as usize].remaining -= 1;
            self.visit(job, visit);
        } else {
            self.enter(job, client.visit + 1);
        }
    }

    fn complete(&mut self, job: u32) {
        let client = self.clients[job as usize];
        self.tally.completed[client.class] += 1;
        self.tally.response_s[client.class] += self.network.now() - client.began;
        self.start_thinking(job);
    }

    /// By kind of station.
    fn busy_core_s(&mut self) -> Vec<f64> {
        let kinds = self.settings.stations.iter().zip(&self.first);
        let ranges: Vec<_> = kinds.map(|(kind, &first)| first..first + usize::from(kind.replicas)).collect();
        ranges.into_iter().map(|range| range.map(|station| self.network.busy_core_s(station)).sum()).collect()
    }
}

fn conclude(network: &ClosedNetwork, batches: &[ClassTally], busy_core_s: &[f64]) -> ClosedRun {
    let batch_s = network.measured_s / batches.len() as f64;
    let classes = 0..network.classes.len();
    let completed = |class: usize| batches.iter().map(|batch| batch.completed[class]).sum::<u64>() as f64;
    let throughput = classes.clone().map(|class| {
        let rates: Vec<f64> = batches.iter().map(|batch| batch.completed[class] as f64 / batch_s).collect();
        estimate(&rates)
    });
    let response = classes.clone().map(|class| {
        let with_any = batches.iter().filter(|batch| batch.completed[class] > 0);
        let means = with_any.map(|batch| batch.response_s[class] / batch.completed[class] as f64);
        let total: f64 = batches.iter().map(|batch| batch.response_s[class]).sum();
        let mean = total / completed(class).max(1.0);
        Estimate { mean, ..estimate(&means.collect::<Vec<f64>>()) }
    });
    let residence = classes.clone().map(|class| {
        let residence_s_at =
            |station: usize| batches.iter().map(|batch| batch.residence_s[class][station]).sum::<f64>();
        (0..network.stations.len())
            .map(|station| residence_s_at(station) / completed(class).max(1.0))
            .collect()
    });
    let utilization = network.stations.iter().zip(busy_core_s).map(|(station, busy_s)| {
        let cores = match station.discipline {
            Discipline::ProcessorSharing => station.cores,
            Discipline::FirstComeFirstServed => station.cores.floor(),
            Discipline::Delay => 1.0,
        };
        busy_s / (network.measured_s * cores * f64::from(station.replicas))
    });
    ClosedRun {
        throughput: throughput.collect(),
        response_s: response.collect(),
        residence_s: residence.collect(),
        utilization: utilization.collect(),
    }
}

/// Mean of the batches and its standard error; 0 where there is nothing.
fn estimate(values: &[f64]) -> Estimate {
    let count = values.len() as f64;
    if values.len() < 2 {
        return Estimate { mean: values.first().copied().unwrap_or(0.0), standard_error: 0.0 };
    }
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Estimate { mean, standard_error: (variance / count).sqrt() }
}
