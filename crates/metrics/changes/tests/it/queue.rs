//! A small simulator of one server with known demands: processor sharing or first come, first served; open or
//! closed; one core or several. It is event-driven, so that counts and times are exact.

use laggard_changes::Observations;
use laggard_numeric::Matrix;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// The service discipline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Discipline {
    /// All jobs at once, with equal shares.
    ProcessorSharing,
    /// One job after the other.
    FirstComeFirstServed,
}

/// The arrival process.
#[derive(Clone, Debug)]
pub(crate) enum Arrivals {
    /// Poisson arrivals with a rate per second for each type, times a load factor per window (repeated; empty for 1).
    Open { rates: Vec<f64>, load: Vec<f64> },
    /// A number of clients for each type, with an exponential think time between transactions.
    Closed { clients: Vec<usize>, think_s: f64 },
}

/// A server and its load.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) demand_s: Vec<f64>,
    pub(crate) discipline: Discipline,
    pub(crate) arrivals: Arrivals,
    pub(crate) cores: usize,
    /// Coefficient of variation of service times: 1 exponential, below 1 Erlang, above 1 hyperexponential.
    pub(crate) service_cv: f64,
    /// Mean time of each type spent elsewhere, which is part of the response time; exponential.
    pub(crate) elsewhere_s: Vec<f64>,
    /// Constant share of the CPU used by another process.
    pub(crate) overhead: f64,
    pub(crate) seed: u64,
}

impl Queue {
    /// One core, processor sharing, exponential service.
    pub(crate) fn open(demand_s: &[f64], rates: &[f64], seed: u64) -> Queue {
        Queue {
            demand_s: demand_s.to_vec(),
            discipline: Discipline::ProcessorSharing,
            arrivals: Arrivals::Open { rates: rates.to_vec(), load: Vec::new() },
            cores: 1,
            service_cv: 1.0,
            elsewhere_s: vec![0.0; demand_s.len()],
            overhead: 0.0,
            seed,
        }
    }

    /// `windows` windows of `window_s` seconds, after a warm-up of twenty.
    pub(crate) fn observe(&self, windows: usize, window_s: f64) -> Observations {
        let mut run = SimulatedRun::new(self, window_s);
        run.advance((windows + WARM_UP) as f64 * window_s);
        run.observations(windows)
    }
}

const WARM_UP: usize = 20;

struct Job {
    kind: usize,
    arrived_s: f64,
    elsewhere_s: f64,
}

/// Future events by time. Times are stored as bits: positive floats sort like integers.
type Pending = BinaryHeap<Reverse<(u64, usize)>>;

struct SimulatedRun<'a> {
    queue: &'a Queue,
    window_s: f64,
    random: Random,
    now_s: f64,
    /// Next arrival by type (open) or of a thinking client (closed).
    arrivals: Pending,
    /// Jobs in service: virtual finishing time (processor sharing) or time of completion (first come).
    serving: Pending,
    waiting: VecDeque<(usize, f64)>,
    jobs: Vec<Job>,
    /// Attained service of a job that has been present from the start.
    virtual_s: f64,
    busy_s: BTreeMap<usize, f64>,
    counts: BTreeMap<(usize, usize), f64>,
    response_s: BTreeMap<(usize, usize), f64>,
}

impl<'a> SimulatedRun<'a> {
    fn new(queue: &'a Queue, window_s: f64) -> SimulatedRun<'a> {
        let mut run = SimulatedRun {
            queue,
            window_s,
            random: Random(queue.seed),
            now_s: 0.0,
            arrivals: Pending::new(),
            serving: Pending::new(),
            waiting: VecDeque::new(),
            jobs: Vec::new(),
            virtual_s: 0.0,
            busy_s: BTreeMap::new(),
            counts: BTreeMap::new(),
            response_s: BTreeMap::new(),
        };
        match &queue.arrivals {
            Arrivals::Open { rates, .. } => (0..rates.len()).for_each(|kind| run.plan_arrival(kind)),
            Arrivals::Closed { clients, .. } => {
                for (kind, &count) in clients.iter().enumerate() {
                    (0..count).for_each(|_| run.plan_arrival(kind));
                }
            }
        }
        run
    }

    fn plan_arrival(&mut self, kind: usize) {
        let delay_s = match &self.queue.arrivals {
            Arrivals::Open { rates, load } => {
                let window = (self.now_s / self.window_s) as usize;
                let factor = if load.is_empty() { 1.0 } else { load[window % load.len()] };
                self.random.exponential(1.0 / (rates[kind] * factor))
            }
            Arrivals::Closed { think_s, .. } => self.random.exponential(*think_s),
        };
        self.arrivals.push(Reverse(((self.now_s + delay_s).to_bits(), kind)));
    }

    fn advance(&mut self, until_s: f64) {
        loop {
            let arrival_s = self.arrivals.peek().map_or(f64::INFINITY, |next| f64::from_bits(next.0.0));
            let completion_s = self.next_completion();
            let next_s = arrival_s.min(completion_s);
            self.pass(next_s.min(until_s));
            if next_s >= until_s {
                return;
            }
            if arrival_s <= completion_s { self.arrive() } else { self.complete() }
        }
    }

    /// Service speed of one job.
    fn speed(&self) -> f64 {
        match self.queue.discipline {
            Discipline::ProcessorSharing => (self.queue.cores as f64 / self.serving.len() as f64).min(1.0),
            Discipline::FirstComeFirstServed => 1.0,
        }
    }

    fn next_completion(&self) -> f64 {
        let Some(Reverse((bits, _))) = self.serving.peek() else { return f64::INFINITY };
        let completion = f64::from_bits(*bits);
        match self.queue.discipline {
            Discipline::ProcessorSharing => {
                self.now_s + (completion - self.virtual_s).max(0.0) / self.speed()
            }
            Discipline::FirstComeFirstServed => completion,
        }
    }

    /// Advances the time, adding busy time by window.
    fn pass(&mut self, to_s: f64) {
        let busy = self.serving.len().min(self.queue.cores) as f64;
        while self.now_s < to_s {
            let window = (self.now_s / self.window_s + 1e-9) as usize;
            let end_s = to_s.min((window + 1) as f64 * self.window_s);
            *self.busy_s.entry(window).or_default() += busy * (end_s - self.now_s);
            if !self.serving.is_empty() {
                self.virtual_s += self.speed() * (end_s - self.now_s);
            }
            self.now_s = end_s;
        }
    }

    fn arrive(&mut self) {
        let Reverse((_, kind)) = self.arrivals.pop().expect("there is an arrival");
        if matches!(self.queue.arrivals, Arrivals::Open { .. }) {
            self.plan_arrival(kind);
        }
        let service_s = self.random.service(self.queue.demand_s[kind], self.queue.service_cv);
        let elsewhere_s = self.random.exponential(self.queue.elsewhere_s[kind]);
        let job = self.jobs.len();
        self.jobs.push(Job { kind, arrived_s: self.now_s, elsewhere_s });
        match self.queue.discipline {
            Discipline::ProcessorSharing => {
                self.serving.push(Reverse(((self.virtual_s + service_s).to_bits(), job)));
            }
            Discipline::FirstComeFirstServed if self.serving.len() < self.queue.cores => {
                self.serving.push(Reverse(((self.now_s + service_s).to_bits(), job)));
            }
            Discipline::FirstComeFirstServed => self.waiting.push_back((job, service_s)),
        }
    }

    fn complete(&mut self) {
        let Reverse((_, index)) = self.serving.pop().expect("there is a completion");
        if let Some((next, service_s)) = self.waiting.pop_front() {
            self.serving.push(Reverse(((self.now_s + service_s).to_bits(), next)));
        }
        let job = &self.jobs[index];
        let key = ((self.now_s / self.window_s) as usize, job.kind);
        *self.counts.entry(key).or_default() += 1.0;
        *self.response_s.entry(key).or_default() += self.now_s - job.arrived_s + job.elsewhere_s;
        if matches!(self.queue.arrivals, Arrivals::Closed { .. }) {
            self.plan_arrival(job.kind);
        }
    }

    fn observations(&self, windows: usize) -> Observations {
        let types = self.queue.demand_s.len();
        let capacity_s = self.window_s * self.queue.cores as f64;
        let (mut counts, mut response_s) = (Matrix::zeros(windows, types), Matrix::zeros(windows, types));
        for t in 0..windows {
            for j in 0..types {
                let key = (t + WARM_UP, j);
                let count = self.counts.get(&key).copied().unwrap_or(0.0);
                counts.set(t, j, count);
                response_s.set(t, j, self.response_s.get(&key).map_or(f64::NAN, |sum| sum / count));
            }
        }
        let busy = |t: usize| self.busy_s.get(&(t + WARM_UP)).copied().unwrap_or(0.0);
        let utilization = |t: usize| (busy(t) / capacity_s + self.queue.overhead).min(1.0);
        Observations {
            window_s: self.window_s,
            windows: (0..windows).collect(),
            counts,
            utilization: (0..windows).map(utilization).collect(),
            response_s,
            cores: self.queue.cores as f64,
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.uniform()).ln() * mean
    }

    /// Erlang below a coefficient of variation of 1, balanced hyperexponential above.
    fn service(&mut self, mean: f64, cv: f64) -> f64 {
        if cv > 1.0 {
            let square = cv * cv;
            let share = 0.5 * (1.0 + ((square - 1.0) / (square + 1.0)).sqrt());
            let is_first = self.uniform() < share;
            let share = if is_first { share } else { 1.0 - share };
            return self.exponential(mean / (2.0 * share));
        }
        let stages = (1.0 / (cv * cv)).round().max(1.0) as usize;
        (0..stages).map(|_| self.exponential(mean / stages as f64)).sum()
    }
}
