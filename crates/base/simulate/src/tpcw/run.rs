//! A run from settings to series.

use super::measure::{ServerSeries, TransactionSeries, WindowSums};
use super::plan::Plan;
use super::settings::{TierSettings, TpcwSettings};
use super::shop::Shop;
use super::truth::TpcwTruth;
use crate::Error;
use crate::random::{Random, Stream};

/// Measurements and ground truth.
#[derive(Clone, PartialEq, Debug)]
pub struct TpcwRun {
    /// Start of the first window, in nanoseconds since the Unix epoch.
    pub since_unix_ns: i64,
    /// Length of every window in seconds.
    pub window_s: u32,
    /// Number of windows `T`.
    pub windows: usize,
    /// Names of the transaction types, `n` of them, sorted by name.
    pub transactions: Vec<String>,
    /// Mean number of clients by window.
    pub clients: Vec<f64>,
    /// Transactions of the entire system.
    pub system: TransactionSeries,
    /// Front servers, then database servers.
    pub servers: Vec<ServerSeries>,
    /// Ground truth.
    pub truth: TpcwTruth,
}

/// Simulates. The same settings give the same numbers on every machine. Time grows with the number of
/// transactions: about a third of a microsecond each on one core.
///
/// # Errors
/// [`Error::Setting`] for a setting outside its range.
pub fn tpcw(settings: &TpcwSettings) -> Result<TpcwRun, Error> {
    settings.check()?;
    let mut sorted = settings.clone();
    sorted.transactions.sort_by(|a, b| a.name.cmp(&b.name));
    let plan = Plan::new(&sorted);
    let mut shop = Shop::new(&sorted, &plan);
    let load = play(&sorted, &plan, &mut shop);
    let own = std::mem::take(&mut shop.sums);
    let mut all = WindowSums::new(plan.phase.len(), sorted.transactions.len());
    own.iter().for_each(|sums| all.merge(sums));
    Ok(TpcwRun {
        since_unix_ns: sorted.start_unix_ns,
        window_s: sorted.window_s,
        windows: plan.phase.len(),
        transactions: sorted.transactions.iter().map(|transaction| transaction.name.clone()).collect(),
        clients: load.clients,
        system: all.series(),
        servers: servers(&sorted, load.utilization, own),
        truth: TpcwTruth::new(&sorted, &plan),
    })
}

/// By window.
struct Load {
    clients: Vec<f64>,
    /// By station, then window.
    utilization: Vec<Vec<f64>>,
}

/// Plays all windows.
fn play(settings: &TpcwSettings, plan: &Plan, shop: &mut Shop<'_>) -> Load {
    let window_s = f64::from(settings.window_s);
    let mut meters: Vec<Meter> = cores(settings)
        .into_iter()
        .enumerate()
        .map(|(station, cores)| Meter::new(settings, station, cores))
        .collect();
    let mut clients = Vec::new();
    let mut steps = plan.population.iter().peekable();
    for window in 0..plan.phase.len() {
        let (start_s, end_s) = (window as f64 * window_s, (window + 1) as f64 * window_s);
        // With a lag, what is called this window's utilization begins before the window, and ends before its end.
        let read_s = end_s - settings.utilization_lag_s;
        shop.begin_window(window);
        let (mut client_s, mut at_s) = (0.0, start_s);
        while let Some(step) = steps.next_if(|step| step.at_s < end_s) {
            advance(shop, &mut meters, at_s, step.at_s, read_s);
            client_s += f64::from(shop.clients()) * (step.at_s - at_s);
            at_s = step.at_s;
            shop.set_clients(step.mix, step.clients);
        }
        advance(shop, &mut meters, at_s, end_s, read_s);
        clients.push((client_s + f64::from(shop.clients()) * (end_s - at_s)) / window_s);
    }
    Load { clients, utilization: meters.into_iter().map(|meter| meter.utilization).collect() }
}

/// Lets the shop run, and reads the meters if their time comes.
fn advance(shop: &mut Shop<'_>, meters: &mut [Meter], from_s: f64, until_s: f64, read_s: f64) {
    if from_s < read_s && read_s <= until_s {
        shop.run_until(read_s);
        for (station, meter) in meters.iter_mut().enumerate() {
            meter.read(shop.busy_core_s(station), read_s);
        }
    }
    shop.run_until(until_s);
}

/// Measures the utilization of a station.
struct Meter {
    cores: f64,
    noise: f64,
    random: Random,
    /// The time and value of the last reading.
    read_s: f64,
    busy_core_s: f64,
    utilization: Vec<f64>,
}

impl Meter {
    fn new(settings: &TpcwSettings, station: usize, cores: f64) -> Meter {
        Meter {
            cores,
            noise: settings.utilization_noise,
            random: Random::new(settings.seed, Stream::Measurement, &[station as u64]),
            read_s: 0.0,
            busy_core_s: 0.0,
            utilization: Vec::new(),
        }
    }

    fn read(&mut self, busy_core_s: f64, now_s: f64) {
        let true_share = (busy_core_s - self.busy_core_s) / ((now_s - self.read_s) * self.cores);
        (self.busy_core_s, self.read_s) = (busy_core_s, now_s);
        self.utilization.push((true_share + self.noise * self.random.normal()).max(0.0));
    }
}

/// Of every station, front servers first.
fn cores(settings: &TpcwSettings) -> Vec<f64> {
    let cores_of = |tier: TierSettings| std::iter::repeat_n(tier.cores, usize::from(tier.servers));
    cores_of(settings.front).chain(cores_of(settings.database)).collect()
}

fn servers(settings: &TpcwSettings, utilization: Vec<Vec<f64>>, own: Vec<WindowSums>) -> Vec<ServerSeries> {
    let front = usize::from(settings.front.servers);
    let mut own = own.into_iter();
    let make = |(station, utilization): (usize, Vec<f64>)| {
        let (tier, number) = if station < front { ("front", station) } else { ("db", station - front) };
        ServerSeries {
            server: format!("{tier}-{}", number + 1),
            tier: tier.to_owned(),
            cores: cores(settings)[station],
            utilization,
            own: own.next().map(WindowSums::series),
        }
    };
    utilization.into_iter().enumerate().map(make).collect()
}
