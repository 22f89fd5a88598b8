//! Series by server, and by transaction type and callee within it.

use crate::points::Series;
use laggard_model::Measure;
use std::collections::BTreeMap;

/// The subject of samples: a server of a tier, or the whole system if both names are empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ServerKey<'s> {
    pub(crate) tier: &'s str,
    pub(crate) server: &'s str,
}

impl ServerKey<'_> {
    pub(crate) const SYSTEM: ServerKey<'static> = ServerKey { tier: "", server: "" };

    /// Its description in cautions.
    pub(crate) fn description(&self) -> String {
        match (self.server, self.tier) {
            ("", "") => "the system".to_owned(),
            ("", tier) => format!("tier {tier}"),
            (server, _) => server.to_owned(),
        }
    }
}

/// All series of one server.
#[derive(Debug, Default)]
pub(crate) struct ServerSeries<'s> {
    /// Series about transactions, by type.
    pub(crate) transactions: BTreeMap<&'s str, Vec<&'s Series>>,
    /// Series about outbound calls, by callee and transaction type.
    pub(crate) calls: BTreeMap<&'s str, BTreeMap<&'s str, Vec<&'s Series>>>,
    pub(crate) utilization: Vec<&'s Series>,
    pub(crate) cpu_seconds: Vec<&'s Series>,
    pub(crate) cores: Vec<&'s Series>,
    pub(crate) clients: Vec<&'s Series>,
    pub(crate) memory: MemorySeries<'s>,
    pub(crate) network: Vec<&'s Series>,
    /// Machines that it runs on.
    pub(crate) machines: Vec<&'s Series>,
}

/// Series about the memory of a server.
#[derive(Debug, Default)]
pub(crate) struct MemorySeries<'s> {
    /// Share in use.
    pub(crate) used: Vec<&'s Series>,
    /// Bytes that could still be used.
    pub(crate) available: Vec<&'s Series>,
    /// Bytes of all memory.
    pub(crate) size: Vec<&'s Series>,
}

/// Groups series by server. A server with a tier in some series only belongs to that tier in all of them.
pub(crate) fn groups(series: &[Series]) -> BTreeMap<ServerKey<'_>, ServerSeries<'_>> {
    let tiers = tiers_of_servers(series);
    let mut groups: BTreeMap<ServerKey<'_>, ServerSeries<'_>> = BTreeMap::new();
    for series in series {
        let known = tiers.get(&*series.server).copied().flatten();
        let tier = if series.tier.is_empty() { known.unwrap_or("") } else { &*series.tier };
        groups.entry(ServerKey { tier, server: &series.server }).or_default().file(series);
    }
    groups
}

/// The only tier that each server names, if it is one.
fn tiers_of_servers(series: &[Series]) -> BTreeMap<&str, Option<&str>> {
    let mut tiers: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for series in series.iter().filter(|series| !series.server.is_empty() && !series.tier.is_empty()) {
        let tier = tiers.entry(&series.server).or_insert(Some(&series.tier));
        if *tier != Some(&series.tier) {
            *tier = None;
        }
    }
    tiers
}

impl<'s> ServerSeries<'s> {
    fn file(&mut self, series: &'s Series) {
        match series.measure {
            Measure::Utilization => self.utilization.push(series),
            Measure::CpuSecondsTotal => self.cpu_seconds.push(series),
            Measure::Cores => self.cores.push(series),
            Measure::Clients => self.clients.push(series),
            Measure::MemoryUtilization => self.memory.used.push(series),
            Measure::MemoryAvailable => self.memory.available.push(series),
            Measure::MemorySize => self.memory.size.push(series),
            Measure::NetworkUtilization => self.network.push(series),
            Measure::Machine => self.machines.push(series),
            Measure::Calls
            | Measure::CallsTotal
            | Measure::CallTime
            | Measure::CallSeconds
            | Measure::CallSecondsTotal => {
                let types = self.calls.entry(&series.callee).or_default();
                types.entry(&series.transaction).or_default().push(series);
            }
            _ => self.transactions.entry(&series.transaction).or_default().push(series),
        }
    }

    /// Whether the use of the CPU is measured here.
    pub(crate) fn has_utilization(&self) -> bool {
        !self.utilization.is_empty() || !self.cpu_seconds.is_empty()
    }

    /// Whether CPU use or cores are known.
    pub(crate) fn has_cpu(&self) -> bool {
        !(self.utilization.is_empty() && self.cpu_seconds.is_empty() && self.cores.is_empty())
    }

    /// The machine that it runs on, by the latest sample; of several then, the first by name.
    pub(crate) fn machine(&self) -> Option<&'s str> {
        let named = self
            .machines
            .iter()
            .filter_map(|series| Some((series.points.iter().map(|point| point.ns).max()?, &*series.callee)));
        named.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(a.1))).map(|(_, machine)| machine)
    }

    /// Samples about transactions.
    pub(crate) fn transaction_samples(&self) -> usize {
        self.transactions.values().flatten().map(|series| series.points.len()).sum()
    }

    /// Whether transactions are counted here.
    pub(crate) fn has_counts(&self) -> bool {
        self.transactions
            .values()
            .flatten()
            .any(|series| SeriesForm::from_measure(series.measure).is_some_and(SeriesForm::is_count))
    }
}

/// The kind of values of a series about transactions or calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum SeriesForm {
    /// Number per interval.
    Counts,
    /// Number since some start.
    Total,
    /// Number a second.
    Rate,
    /// One sample each.
    Event,
    /// Total time per interval.
    Seconds,
    /// Total time since some start.
    SecondsTotal,
    /// Mean time.
    Mean,
}

impl SeriesForm {
    pub(crate) const fn from_measure(measure: Measure) -> Option<SeriesForm> {
        match measure {
            Measure::Transactions | Measure::Calls => Some(SeriesForm::Counts),
            Measure::TransactionsTotal | Measure::CallsTotal => Some(SeriesForm::Total),
            Measure::TransactionRate => Some(SeriesForm::Rate),
            Measure::Completion => Some(SeriesForm::Event),
            Measure::ResponseSeconds | Measure::CallSeconds => Some(SeriesForm::Seconds),
            Measure::ResponseSecondsTotal | Measure::CallSecondsTotal => Some(SeriesForm::SecondsTotal),
            Measure::ResponseTime | Measure::CallTime => Some(SeriesForm::Mean),
            _ => None,
        }
    }

    pub(crate) const fn is_count(self) -> bool {
        matches!(self, SeriesForm::Counts | SeriesForm::Total | SeriesForm::Rate | SeriesForm::Event)
    }
}
