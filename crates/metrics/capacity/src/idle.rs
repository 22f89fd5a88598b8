//! Number of clients at a queue with several cores and random arrivals (M/M/c).

/// The shape of an M/M/c queue: `p(j) ∝ Aʲ / Π min(i, c)`. `cores` may be a fraction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RandomArrivals {
    /// Mean number of clients, waiting and in service; infinite at saturation.
    pub(crate) clients: f64,
    /// `Σ_{j+1<c} (c − 1 − j) p(j)`: cores that would still be idle after one more arrival.
    pub(crate) idle_after_arrival: f64,
    /// Chance that an arriving client finds no idle core: Erlang's C for whole cores.
    pub(crate) wait: f64,
}

/// Beyond it sums are scaled down together.
const LARGE: f64 = 1e250;

impl RandomArrivals {
    /// With `busy` cores busy on average, `A`, and `cores` in all. From saturation on, nothing is idle.
    pub(crate) fn new(busy: f64, cores: f64) -> RandomArrivals {
        if busy >= cores {
            return RandomArrivals { clients: f64::INFINITY, idle_after_arrival: 0.0, wait: 1.0 };
        }
        let last = cores.ceil() as usize - 1;
        let mut sums = ArrivalSums { all: 0.0, clients: 0.0, idle: 0.0, idle_after_arrival: 0.0 };
        let mut weight = 1.0;
        for j in 0..=last {
            if j > 0 {
                weight *= busy / j as f64;
            }
            sums.add(j as f64, weight, cores);
            if sums.all > LARGE {
                sums.scale(1.0 / LARGE);
                weight /= LARGE;
            }
        }
        sums.close(last as f64, weight, busy / cores, cores - busy)
    }
}

/// Sums over the numbers of clients with an idle core, not normalized.
struct ArrivalSums {
    all: f64,
    clients: f64,
    idle: f64,
    idle_after_arrival: f64,
}

impl ArrivalSums {
    fn add(&mut self, j: f64, weight: f64, cores: f64) {
        self.all += weight;
        self.clients += j * weight;
        self.idle += (cores - j) * weight;
        self.idle_after_arrival += (cores - 1.0 - j).max(0.0) * weight;
    }

    fn scale(&mut self, factor: f64) {
        self.all *= factor;
        self.clients *= factor;
        self.idle *= factor;
        self.idle_after_arrival *= factor;
    }

    /// Adds the geometric tail behind the last number with an idle core.
    fn close(self, last: f64, weight: f64, ratio: f64, idle_cores: f64) -> RandomArrivals {
        let tail = weight * ratio / (1.0 - ratio);
        let all = self.all + tail;
        let clients = self.clients + tail * (last + 1.0 / (1.0 - ratio));
        RandomArrivals {
            clients: clients / all,
            // The mean number of idle cores is known, c − A; it normalizes better than the tail near saturation.
            idle_after_arrival: idle_cores * self.idle_after_arrival / self.idle,
            wait: tail / all,
        }
    }
}
