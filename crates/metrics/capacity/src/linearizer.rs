//! Approximate mean value analysis of several classes: Schweitzer's fixed point, and the Linearizer (Chandy and
//! Neuse 1982), which estimates how the shares of a class's clients change when one client leaves.
//!
//! Queues before several cores need, besides the mean queue, the probability that an arriving client finds an idle
//! core. It is taken from the shape of random arrivals with the mean number of busy cores that the network without that
//! client has; the busy cores of that network follow from its throughputs, which the Linearizer computes anyway.

use crate::classes::{ClassNetwork, ClassSolution, ClassStation};
use crate::idle::RandomArrivals;
use crate::network::{Algorithm, Service};

/// Number of estimates of the change by a client's departure; more add nothing (Chandy and Neuse 1982).
const ROUNDS: usize = 3;

/// Iterations of a fixed point at most; the last one is used beyond.
const ITERATIONS_MAX: usize = 20_000;

/// Relative change of a residence time at which a fixed point is reached.
const TOLERANCE: f64 = 1e-8;

/// Schweitzer's and Bard's fixed point: the shares stay as they are when a client leaves.
pub(crate) fn schweitzer(network: &ClassNetwork) -> ClassSolution {
    let all_clients = population(network, None);
    let shares =
        fixed_point(network, &all_clients, ClientShares::initial(network), &DepartureShift::none(network));
    ClassSolution::from_residences(network, &shares.residence_s, Algorithm::Schweitzer)
}

pub(crate) fn linearizer(network: &ClassNetwork) -> ClassSolution {
    let all_clients = population(network, None);
    let mut shift = DepartureShift::none(network);
    let mut shares = fixed_point(network, &all_clients, ClientShares::initial(network), &shift);
    for _ in 1..ROUNDS {
        let mut next = DepartureShift::none(network);
        for leaving in (0..all_clients.len()).filter(|class| all_clients[*class] > 0.0) {
            let fewer = population(network, Some(leaving));
            let after_departure = fixed_point(network, &fewer, shares.clone(), &shift);
            next.set(leaving, &fewer, &after_departure, &shares);
        }
        shift = next;
        shares = fixed_point(network, &all_clients, shares, &shift);
    }
    ClassSolution::from_residences(network, &shares.residence_s, Algorithm::Linearizer)
}

fn population(network: &ClassNetwork, leaving: Option<usize>) -> Vec<f64> {
    let clients = network.classes().iter().map(|class| class.clients as f64);
    clients
        .enumerate()
        .map(|(index, clients)| clients - f64::from(u8::from(leaving == Some(index))))
        .collect()
}

/// Per client of a class, at one population vector.
#[derive(Clone)]
struct ClientShares {
    /// Mean share of time of a client of each class at each station, `[station][class]`; the rest is think time.
    share: Vec<Vec<f64>>,
    /// Transactions a second a client of the class makes.
    rate: Vec<f64>,
    /// Residence times, `[station][class]`.
    residence_s: Vec<Vec<f64>>,
}

/// How shares and rates change when a client of a class leaves.
struct DepartureShift {
    /// `[leaving][station][class]`.
    share: Vec<Vec<Vec<f64>>>,
    /// `[leaving][class]`.
    rate: Vec<Vec<f64>>,
}

impl DepartureShift {
    fn none(network: &ClassNetwork) -> DepartureShift {
        let (classes, stations) = (network.classes().len(), network.stations().len());
        DepartureShift {
            share: vec![vec![vec![0.0; classes]; stations]; classes],
            rate: vec![vec![0.0; classes]; classes],
        }
    }

    fn set(
        &mut self,
        leaving: usize,
        fewer: &[f64],
        after_departure: &ClientShares,
        all_clients: &ClientShares,
    ) {
        for class in (0..fewer.len()).filter(|class| fewer[*class] > 0.0) {
            self.rate[leaving][class] = after_departure.rate[class] - all_clients.rate[class];
            for station in 0..all_clients.share.len() {
                self.share[leaving][station][class] =
                    after_departure.share[station][class] - all_clients.share[station][class];
            }
        }
    }
}

impl ClientShares {
    /// Starting point: no waiting.
    fn initial(network: &ClassNetwork) -> ClientShares {
        let residence_s: Vec<Vec<f64>> =
            network.stations().iter().map(|station| station.demands_s.clone()).collect();
        let mut shares = ClientShares { share: residence_s.clone(), rate: Vec::new(), residence_s };
        shares.update(network, 1.0);
        shares
    }

    /// Shares and rates from the residence times; `weight` of the new in the mean with the old.
    fn update(&mut self, network: &ClassNetwork, weight: f64) {
        for (class, kind) in network.classes().iter().enumerate() {
            let response_s: f64 = self.residence_s.iter().map(|station| station[class]).sum();
            let rate = 1.0 / (kind.think_s + response_s);
            match self.rate.get_mut(class) {
                Some(old) => *old += weight * (rate - *old),
                None => self.rate.push(rate),
            }
            for (share, residence_s) in self.share.iter_mut().zip(&self.residence_s) {
                share[class] += weight * (residence_s[class] * rate - share[class]);
            }
        }
    }
}

/// Iterates until the residence times converge.
fn fixed_point(
    network: &ClassNetwork,
    clients: &[f64],
    start: ClientShares,
    shift: &DepartureShift,
) -> ClientShares {
    let departure_change: Vec<Vec<StationContent>> =
        (0..network.stations().len()).map(|index| shift.content_changes(network, index, clients)).collect();
    let mut shares = start;
    for iteration in 0..ITERATIONS_MAX {
        let mut change: f64 = 0.0;
        for (index, station) in network.stations().iter().enumerate() {
            let view = StationView::new(station, &shares, index, clients);
            for (class, departure_change) in departure_change[index].iter().enumerate() {
                let residence_s = view.residence_s(class, *departure_change);
                let old = &mut shares.residence_s[index][class];
                change = change.max((residence_s - *old).abs() / residence_s.max(f64::MIN_POSITIVE));
                *old = residence_s;
            }
        }
        // Half steps end an oscillation between two points.
        shares.update(network, if iteration < 50 { 1.0 } else { 0.5 });
        if change < TOLERANCE {
            break;
        }
    }
    shares
}

/// Clients and busy cores at a station, summed over its replicas.
#[derive(Clone, Copy, Default)]
struct StationContent {
    /// Mean clients there.
    clients: f64,
    /// Mean busy cores.
    busy: f64,
}

impl DepartureShift {
    /// By class of a departing client: how the content of a station changes because the other clients then behave
    /// differently.
    fn content_changes(&self, network: &ClassNetwork, index: usize, clients: &[f64]) -> Vec<StationContent> {
        let demands_s = &network.stations()[index].demands_s;
        let change = |arriving: usize| {
            let mut content = StationContent::default();
            for (class, count) in clients.iter().enumerate() {
                let others = (count - f64::from(u8::from(class == arriving))).max(0.0);
                content.clients += others * self.share[arriving][index][class];
                content.busy += others * self.rate[arriving][class] * demands_s[class];
            }
            content
        };
        (0..clients.len()).map(change).collect()
    }
}

/// One station in an iteration.
struct StationView<'a> {
    station: &'a ClassStation,
    /// With all clients present.
    all: StationContent,
    /// A client's own part, by class; nothing of a class without clients.
    own: Vec<StationContent>,
    idle: IdleCores,
}

impl<'a> StationView<'a> {
    fn new(
        station: &'a ClassStation,
        shares: &ClientShares,
        index: usize,
        clients: &[f64],
    ) -> StationView<'a> {
        let own: Vec<StationContent> = (0..clients.len())
            .map(|class| match clients[class] > 0.0 {
                true => StationContent {
                    clients: shares.share[index][class],
                    busy: shares.rate[class] * station.demands_s[class],
                },
                false => StationContent::default(),
            })
            .collect();
        let mut all = StationContent::default();
        for (content, count) in own.iter().zip(clients) {
            all.clients += count * content.clients;
            all.busy += count * content.busy;
        }
        let cores = station.cores().unwrap_or(1.0);
        let idle = IdleCores::new(all.busy / f64::from(station.replicas), cores);
        StationView { station, all, own, idle }
    }

    /// Residence time of a class whose client finds all others; `left` is the change by its departure.
    fn residence_s(&self, class: usize, departure_change: StationContent) -> f64 {
        let demand_s = self.station.demands_s[class];
        let Service::Queue { cores } = self.station.service else { return demand_s };
        let replicas = f64::from(self.station.replicas);
        let clients =
            (self.all.clients - self.own[class].clients + departure_change.clients).max(0.0) / replicas;
        let busy = (self.all.busy - self.own[class].busy + departure_change.busy).max(0.0) / replicas;
        // No client is served faster than alone, regardless of the estimates.
        demand_s * ((1.0 + clients + self.idle.at(busy)) / cores).max(1.0)
    }
}

/// Idle cores as a function of the busy ones, linearized at one point.
struct IdleCores {
    cores: f64,
    busy: f64,
    value: f64,
    slope: f64,
}

/// Change of the busy cores, as a part of the idle ones, up to which the slope is good enough.
const NEAR: f64 = 0.02;

impl IdleCores {
    fn new(busy: f64, cores: f64) -> IdleCores {
        if cores <= 1.0 {
            return IdleCores { cores, busy, value: 0.0, slope: 0.0 };
        }
        let value = RandomArrivals::new(busy, cores).idle_after_arrival;
        let step = NEAR * (cores - busy).max(0.0);
        let lower = RandomArrivals::new((busy - step).max(0.0), cores).idle_after_arrival;
        let slope = if step > 0.0 { (value - lower) / step.min(busy).max(f64::MIN_POSITIVE) } else { 0.0 };
        IdleCores { cores, busy, value, slope }
    }

    fn at(&self, busy: f64) -> f64 {
        if self.cores <= 1.0 {
            return 0.0;
        }
        if (busy - self.busy).abs() <= NEAR * (self.cores - self.busy) {
            return (self.value + self.slope * (busy - self.busy)).max(0.0);
        }
        RandomArrivals::new(busy, self.cores).idle_after_arrival
    }
}
