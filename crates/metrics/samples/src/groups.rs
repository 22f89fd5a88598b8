//! Series by server, and by transaction type and callee within it.

use crate::points::Series;
use laggard_model::Measure;
use std::collections::BTreeMap;

/// Where samples belong: a server of a tier, or the whole system when both names are empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Place<'s> {
    pub(crate) tier: &'s str,
    pub(crate) server: &'s str,
}

impl Place<'_> {
    pub(crate) const SYSTEM: Place<'static> = Place { tier: "", server: "" };

    /// As people name it, for cautions.
    pub(crate) fn words(&self) -> String {
        match (self.server, self.tier) {
            ("", "") => "the system".to_owned(),
            ("", tier) => format!("tier {tier}"),
            (server, _) => server.to_owned(),
        }
    }
}

/// Everything that is told of one place.
#[derive(Debug, Default)]
pub(crate) struct Group<'s> {
    /// Series about transactions, by type.
    pub(crate) transactions: BTreeMap<&'s str, Vec<&'s Series>>,
    /// Series about outbound calls, by callee and transaction type.
    pub(crate) calls: BTreeMap<&'s str, BTreeMap<&'s str, Vec<&'s Series>>>,
    pub(crate) utilization: Vec<&'s Series>,
    pub(crate) cpu_seconds: Vec<&'s Series>,
    pub(crate) cores: Vec<&'s Series>,
    pub(crate) clients: Vec<&'s Series>,
}

/// Files series by place. A server that names its tier in some series only is of that tier in all of them.
pub(crate) fn groups(series: &[Series]) -> BTreeMap<Place<'_>, Group<'_>> {
    let tiers = tiers_of_servers(series);
    let mut groups: BTreeMap<Place<'_>, Group<'_>> = BTreeMap::new();
    for series in series {
        let known = tiers.get(&*series.server).copied().flatten();
        let tier = if series.tier.is_empty() { known.unwrap_or("") } else { &*series.tier };
        groups.entry(Place { tier, server: &series.server }).or_default().file(series);
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

impl<'s> Group<'s> {
    fn file(&mut self, series: &'s Series) {
        match series.measure {
            Measure::Utilization => self.utilization.push(series),
            Measure::CpuSecondsTotal => self.cpu_seconds.push(series),
            Measure::Cores => self.cores.push(series),
            Measure::Clients => self.clients.push(series),
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

    /// Whether transactions are counted here.
    pub(crate) fn has_counts(&self) -> bool {
        self.transactions
            .values()
            .flatten()
            .any(|series| Form::of(series.measure).is_some_and(Form::is_count))
    }
}

/// How a series tells of transactions or of calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Form {
    /// Number in a stretch of time.
    Counts,
    /// Number since some start.
    Total,
    /// Number a second.
    Rate,
    /// One sample each.
    Event,
    /// Time of all in a stretch of time.
    Seconds,
    /// Time of all since some start.
    SecondsTotal,
    /// Mean time.
    Mean,
}

impl Form {
    pub(crate) const fn of(measure: Measure) -> Option<Form> {
        match measure {
            Measure::Transactions | Measure::Calls => Some(Form::Counts),
            Measure::TransactionsTotal | Measure::CallsTotal => Some(Form::Total),
            Measure::TransactionRate => Some(Form::Rate),
            Measure::Completion => Some(Form::Event),
            Measure::ResponseSeconds | Measure::CallSeconds => Some(Form::Seconds),
            Measure::ResponseSecondsTotal | Measure::CallSecondsTotal => Some(Form::SecondsTotal),
            Measure::ResponseTime | Measure::CallTime => Some(Form::Mean),
            _ => None,
        }
    }

    pub(crate) const fn is_count(self) -> bool {
        matches!(self, Form::Counts | Form::Total | Form::Rate | Form::Event)
    }
}
