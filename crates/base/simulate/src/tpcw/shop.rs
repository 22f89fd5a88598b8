//! Clients, transactions and servers in motion.

use super::catalog::MIXES;
use super::measure::{Completed, WindowSums};
use super::plan::{PhaseCosts, Plan};
use super::settings::TpcwSettings;
use crate::queueing::{Event, Network, Station, WorkSource};
use crate::random::{Random, Stream};

/// State of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    /// Nothing: its population is smaller now.
    Away,
    Thinking,
    MainPage,
    Call,
    Objects,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    mix: u8,
    activity: Activity,
    /// Number within its mix.
    number: u32,
    kind: u16,
    server: u16,
    calls_left: u16,
    began: f64,
    call_began: f64,
    call_s: f64,
}

/// The shop at a moment.
pub(crate) struct Shop<'a> {
    settings: &'a TpcwSettings,
    plan: &'a Plan,
    network: Network,
    clients: Vec<Client>,
    /// First client of each mix; clients of a mix follow each other.
    first: [u32; MIXES],
    /// How many clients each mix should have.
    target: [u32; MIXES],
    /// Cumulative probabilities of the types by mix.
    choices: [Vec<f64>; MIXES],
    work: WorkSource,
    think: Random,
    choice: Random,
    amount: Random,
    /// Probability of a miss, and when it was so.
    miss: f64,
    miss_at: f64,
    /// The window that runs.
    window: usize,
    /// By front server.
    pub(crate) sums: Vec<WindowSums>,
}

impl Shop<'_> {
    pub(crate) fn new<'a>(settings: &'a TpcwSettings, plan: &'a Plan) -> Shop<'a> {
        let front = (0..settings.front.servers)
            .map(|_| Station::contended(settings.front.cores, settings.contention));
        let database = (0..settings.database.servers)
            .map(|_| Station::new(settings.database_discipline, settings.database.cores));
        let mut first = [0; MIXES];
        let mut clients = Vec::new();
        for (mix, first) in first.iter_mut().enumerate() {
            *first = clients.len() as u32;
            clients.extend((0..plan.clients_max[mix]).map(|number| Client::away(mix, number)));
        }
        let stream = |stream| Random::new(settings.seed, stream, &[]);
        let sums = WindowSums::new(plan.phase.len(), settings.transactions.len());
        Shop {
            settings,
            plan,
            network: Network::new(front.chain(database).collect()),
            clients,
            first,
            target: [0; MIXES],
            choices: std::array::from_fn(|mix| cumulative(settings, mix)),
            work: WorkSource::new(settings.work),
            think: stream(Stream::Think),
            choice: stream(Stream::Choice),
            amount: stream(Stream::Work),
            miss: 1.0,
            miss_at: 0.0,
            window: 0,
            sums: vec![sums; usize::from(settings.front.servers)],
        }
    }

    /// Core seconds that a station has used so far; front servers come first.
    pub(crate) fn busy_core_s(&mut self, station: usize) -> f64 {
        self.network.busy_core_s(station)
    }

    /// A window begins: its background load, its costs.
    pub(crate) fn begin_window(&mut self, window: usize) {
        self.window = window;
        let share = self.plan.background[window];
        for station in 0..usize::from(self.settings.front.servers) {
            self.network.set_background(station, share);
        }
    }

    /// Sets the number of clients of a mix. Those too many leave when they would start their next transaction.
    pub(crate) fn set_clients(&mut self, mix: usize, clients: u32) {
        let before = std::mem::replace(&mut self.target[mix], clients);
        for job in self.first[mix] + before..self.first[mix] + clients.max(before) {
            if self.clients[job as usize].activity == Activity::Away {
                self.start_thinking(job);
            }
        }
    }

    /// Clients there should be now.
    pub(crate) fn clients(&self) -> u32 {
        self.target.iter().sum()
    }

    pub(crate) fn run_until(&mut self, until_s: f64) {
        while let Some(event) = self.network.next_before(until_s) {
            match event {
                Event::Timer { job } => self.begin(job),
                Event::Departure { job, .. } => self.departed(job),
            }
        }
    }

    fn costs(&self) -> &PhaseCosts {
        &self.plan.costs[self.plan.phase[self.window]]
    }

    fn start_thinking(&mut self, job: u32) {
        self.clients[job as usize].activity = Activity::Thinking;
        let delay_s = self.think.exponential(self.settings.think_s);
        self.network.wait(job, delay_s);
    }

    fn begin(&mut self, job: u32) {
        let client = self.clients[job as usize];
        if client.number >= self.target[usize::from(client.mix)] {
            self.clients[job as usize].activity = Activity::Away;
            return;
        }
        let point = self.choice.unit();
        let choices = &self.choices[usize::from(client.mix)];
        let kind = choices.partition_point(|&upper| upper <= point).min(choices.len() - 1);
        let server = self.choice.below(u64::from(self.settings.front.servers)) as u16;
        self.clients[job as usize] = Client {
            activity: Activity::MainPage,
            kind: kind as u16,
            server,
            calls_left: self.settings.transactions[kind].calls as u16,
            began: self.network.now(),
            call_s: 0.0,
            ..client
        };
        let mean_s = self.costs().main_s[kind] * self.cache_factor();
        self.serve(job, usize::from(server), mean_s);
    }

    fn serve(&mut self, job: u32, station: usize, mean_s: f64) {
        let work_s = self.work.draw(&mut self.amount, mean_s);
        self.network.send(job, station, work_s);
    }

    /// Factor of a transaction's cost due to the cache: the miss probability decays with transactions and
    /// grows back to 1 with time.
    fn cache_factor(&mut self) -> f64 {
        let Some(cache) = self.settings.cache else { return 1.0 };
        let retained = libm::exp((self.miss_at - self.network.now()) / cache.ttl_s);
        self.miss = 1.0 - (1.0 - self.miss) * retained;
        self.miss_at = self.network.now();
        let missed = self.choice.chance(self.miss);
        self.miss -= self.miss / cache.size;
        if missed { 1.0 + cache.miss_extra } else { 1.0 }
    }

    fn departed(&mut self, job: u32) {
        match self.clients[job as usize].activity {
            Activity::MainPage => self.call_or_answer(job),
            Activity::Call => {
                let now = self.network.now();
                let client = &mut self.clients[job as usize];
                client.call_s += now - client.call_began;
                self.call_or_answer(job);
            }
            Activity::Objects => self.start_thinking(job),
            Activity::Away | Activity::Thinking => unreachable!("a client at no station does not depart"),
        }
    }

    fn call_or_answer(&mut self, job: u32) {
        let now = self.network.now();
        let client = &mut self.clients[job as usize];
        if client.calls_left == 0 {
            return self.answer(job);
        }
        client.calls_left -= 1;
        client.activity = Activity::Call;
        client.call_began = now;
        let kind = usize::from(client.kind);
        let server = self.choice.below(u64::from(self.settings.database.servers)) as usize;
        let mean_s = self.costs().call_s[kind];
        self.serve(job, usize::from(self.settings.front.servers) + server, mean_s);
    }

    /// The main page is there: the transaction counts, and its objects are fetched.
    fn answer(&mut self, job: u32) {
        let now = self.network.now();
        let client = &mut self.clients[job as usize];
        client.activity = Activity::Objects;
        let (kind, server) = (usize::from(client.kind), usize::from(client.server));
        let calls = self.settings.transactions[kind].calls;
        let completed = Completed { kind, response_s: now - client.began, calls, call_s: client.call_s };
        self.sums[server].add(self.window, completed);
        let mean_s = self.costs().objects_s[kind];
        if mean_s > 0.0 {
            self.serve(job, server, mean_s);
        } else {
            self.start_thinking(job);
        }
    }
}

impl Client {
    fn away(mix: usize, number: u32) -> Client {
        Client {
            mix: mix as u8,
            activity: Activity::Away,
            number,
            kind: 0,
            server: 0,
            calls_left: 0,
            began: 0.0,
            call_began: 0.0,
            call_s: 0.0,
        }
    }
}

/// Cumulative probabilities of the types in a mix.
fn cumulative(settings: &TpcwSettings, mix: usize) -> Vec<f64> {
    let shares = settings.transactions.iter().map(|transaction| transaction.mix_percent[mix]);
    let total: f64 = shares.clone().sum();
    shares
        .scan(0.0, |sum, share| {
            *sum += share / total;
            Some(*sum)
        })
        .collect()
}
