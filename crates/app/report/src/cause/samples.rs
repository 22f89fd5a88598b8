//! Evidence on the kind of cause from the CPU of the servers that the lead suspect runs on.
//!
//! Slow calls take longer by some seconds a second: if they compute for longer, so many more cores are in use. Fewer, and the
//! calls wait; more, and something else computes. How much CPU is in use beyond what transactions explain is the mean
//! residual of the time since the onset, of a straight line through CPU and transactions before it, of all these servers together.
//!
//! A server that is a process or a container uses no more CPU when others fill its machine. So where samples tell the machine, its CPU is
//! examined likewise, without what its servers use more.
//!
//! That no change is significant says nothing here: where the calls' additional time is too small to be seen in the CPU,
//! there is no evidence.

use crate::{
    CauseClass, CauseEvidence, ChangeReport, EvidenceSource, Report, Scope, ServerChanges, Suspect, Window,
    names, numbers,
};
use laggard_model::{Nanos, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Points that a line before the onset needs, and points since it.
const BEFORE_MIN: usize = 20;
const SINCE_MIN: usize = 3;
/// Quantile of the normal distribution for a one-sided level of 5 %.
const CERTAIN: f64 = 1.645;
/// Additional time is visible if it is at least this many standard errors of the CPU.
const VISIBLE: f64 = 3.0;
/// Calls compute for longer if more than the first part of their additional time is CPU, and wait if less than the second is.
const COMPUTES: f64 = 0.3;
const WAITS: f64 = 0.5;
/// Another process computes if the additional CPU is this multiple of the additional time, and this share of the servers' cores.
const MORE: f64 = 1.5;
const MORE_SHARE_MIN: f64 = 0.03;

/// Another process computes on a server that is not slow: minimum number of standard errors (there are many servers), and share of its cores.
const ELSEWHERE_ERRORS: f64 = 5.0;
const ELSEWHERE_SHARE_MIN: f64 = 0.1;

/// Other processes fill a machine if this share of its cores is in use, and this share of what is in use more is theirs.
const FULL: f64 = 0.8;
const THEIRS: f64 = 0.5;

/// CPU that something else uses on other servers than the slow replicas, while it uses none there: no evidence for a kind of cause,
/// but not what another process that slows down these replicas looks like. A process on the wrong machine, or names that are swapped.
pub(super) fn elsewhere(report: &Report, changes: &ChangeReport) -> Option<CauseEvidence> {
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out)?;
    if lead.scope != Scope::Replicas {
        return None;
    }
    let slow = SlowTime::of(report, lead)?;
    let of_slow = CpuOfCalls::from_suspect(report, lead, changes)?;
    let is_slow = |server: &ServerChanges| lead.replicas.contains(&server.server);
    let machines = machines_of(&servers_of(lead, changes)).unwrap_or_default();
    let share_of_slow = of_slow.more / of_slow.cores.max(f64::MIN_POSITIVE);
    let others = changes
        .servers
        .iter()
        .filter(|server| !is_slow(server) && !machines.contains(server.server.as_str()));
    let others = others.filter_map(|server| {
        let used = CoresUsed::since(&[server], slow)?;
        let share = used.more / used.cores.max(f64::MIN_POSITIVE);
        let is_shown = used.more > ELSEWHERE_ERRORS * used.error
            && share >= ELSEWHERE_SHARE_MIN
            && share_of_slow < share / 2.0;
        is_shown.then_some((share, server, used))
    });
    let is_unaffected = of_slow.more <= VISIBLE * of_slow.error || share_of_slow < MORE_SHARE_MIN;
    let (_, server, used) = others.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| is_unaffected)?;
    let text = format!(
        "CPU of {} is in use for {} more in each second than transactions explain, that of {} is not: if something else \
         computes, then not where the calls are slow.",
        names::quoted(&server.server),
        numbers::time_float(used.more * 1e9),
        super::servers(&of_slow.servers)
    );
    // It is evidence neither for nor against any kind of cause of the suspect.
    Some(CauseEvidence { class: CauseClass::ForeignLoad, weight: 0.0, source: EvidenceSource::Samples, text })
}

/// The part of the window in which a suspect is slow.
#[derive(Clone, Copy)]
struct SlowTime {
    /// Its onset, or the start of the window where it is unknown. It may be before the window.
    onset: Timestamp,
    since: Timestamp,
    until: Timestamp,
}

impl SlowTime {
    fn of(report: &Report, lead: &Suspect) -> Option<SlowTime> {
        let Window { since, until } = report.window?;
        let onset = report.onset_of(lead).map_or(since, |onset| onset.at);
        Some(SlowTime { onset, since: onset.max(since), until })
    }
}

pub(super) fn evidence(report: &Report, changes: &ChangeReport) -> Option<CauseEvidence> {
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out)?;
    if let Some(machines) = CpuOfCalls::from_full_machines(report, lead, changes) {
        let text = machines.sentence_about_machines(lead);
        let (class, weight) = (CauseClass::ForeignLoad, 4.0);
        return Some(CauseEvidence { class, weight, source: EvidenceSource::Samples, text });
    }
    let cpu = CpuOfCalls::from_suspect(report, lead, changes)?;
    let (class, weight) = cpu.class(lead)?;
    let text = cpu.sentence(class, lead, &names::list(&cpu.servers, 3, 40));
    Some(CauseEvidence { class, weight, source: EvidenceSource::Samples, text })
}

/// The limitation that it is not known how many cores the servers of the lead suspect use.
pub(crate) fn without_cores(report: &Report, changes: &ChangeReport) -> Option<String> {
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out)?;
    let unknown = servers_of(lead, changes).into_iter().filter(|server| !server.cores_known);
    let unknown: Vec<String> = unknown.map(|server| server.server.clone()).collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "The CPU of {} is known only as a share of an unknown number of cores: it does not show whether slow calls \
             compute or wait.",
            super::servers(&unknown)
        )
    })
}

/// The servers that a suspect is slow on: its replicas by name, or those of its service by tier.
fn servers_of<'a>(lead: &Suspect, changes: &'a ChangeReport) -> Vec<&'a ServerChanges> {
    let replicas: BTreeSet<&str> = lead.replicas.iter().map(String::as_str).collect();
    let is_wanted = |server: &&ServerChanges| match replicas.is_empty() {
        true => server.tier == lead.service,
        false => replicas.contains(server.server.as_str()),
    };
    changes.servers.iter().filter(is_wanted).collect()
}

/// The machines that some servers run on; `None` if that of any is unknown.
fn machines_of<'a>(servers: &[&'a ServerChanges]) -> Option<BTreeSet<&'a str>> {
    servers.iter().map(|server| server.machine.as_deref()).collect()
}

/// The CPU of the servers that a suspect is slow on, since it is slow, in cores.
#[derive(Default)]
pub(crate) struct CpuOfCalls {
    /// The servers.
    pub(crate) servers: Vec<String>,
    /// Additional time of slow calls, seconds a second.
    lost: f64,
    /// CPU beyond what transactions explain.
    pub(crate) more: f64,
    /// Its standard error.
    error: f64,
    /// All cores of the servers, on average.
    pub(crate) cores: f64,
    /// CPU in use on average.
    pub(crate) busy: f64,
}

impl CpuOfCalls {
    /// `None` where the servers have too few samples before or since, or where it is not known how many cores are in use.
    pub(crate) fn from_suspect(
        report: &Report,
        lead: &Suspect,
        changes: &ChangeReport,
    ) -> Option<CpuOfCalls> {
        let slow = SlowTime::of(report, lead)?;
        let seconds = slow.until.since(slow.since).non_negative().map(|length| length.ns() as f64 / 1e9)?;
        let servers: Vec<&ServerChanges> = servers_of(lead, changes);
        if !servers.iter().all(|server| server.cores_known) {
            return None;
        }
        let used = CoresUsed::since(&servers, slow)?;
        let lost_ns: u64 = lead.affected.iter().map(|affected| affected.lost_ns).sum();
        Some(CpuOfCalls {
            lost: lost_ns as f64 / 1e9 / seconds.max(1.0),
            servers: used.servers,
            more: used.more,
            error: used.error,
            cores: used.cores,
            busy: used.busy,
        })
    }

    /// The CPU of the machines that the suspect's servers run on, if all of them are full since it is slow, and most of what is in use more is not
    /// of servers with samples of their own: `more` is that of other processes.
    pub(crate) fn from_full_machines(
        report: &Report,
        lead: &Suspect,
        changes: &ChangeReport,
    ) -> Option<CpuOfCalls> {
        let slow = SlowTime::of(report, lead)?;
        let machines = machines_of(&servers_of(lead, changes)).filter(|machines| !machines.is_empty())?;
        let mut all = CpuOfCalls::default();
        for machine in machines {
            let is_it = |server: &&ServerChanges| server.server == machine && server.cores_known;
            let whole: Vec<&ServerChanges> = changes.servers.iter().filter(is_it).collect();
            let runs_on_it = |server: &&ServerChanges| server.machine.as_deref() == Some(machine);
            let own: Vec<&ServerChanges> = changes.servers.iter().filter(runs_on_it).collect();
            if !own.iter().all(|server| server.cores_known) {
                return None;
            }
            let used = CoresUsed::since(&whole, slow)?;
            let more = used.more - CoresUsed::since(&own, slow)?.more.max(0.0);
            let is_full = used.busy >= FULL * used.cores
                && more >= THEIRS * used.more
                && more >= ELSEWHERE_SHARE_MIN * used.cores
                && more > VISIBLE * used.error;
            if !is_full {
                return None;
            }
            all.servers.extend(used.servers);
            all.more += more;
            all.error = all.error.hypot(used.error);
            all.cores += used.cores;
            all.busy += used.busy;
        }
        Some(all)
    }

    /// Whether more CPU is in use than noise explains, at a one-sided level of 5 %.
    pub(crate) fn is_increase(&self) -> bool {
        self.more > CERTAIN * self.error
    }

    fn class(&self, lead: &Suspect) -> Option<(CauseClass, f64)> {
        let margin = CERTAIN * self.error;
        let is_more = self.more - margin > MORE * self.lost && self.more > VISIBLE * self.error;
        if is_more && self.more >= MORE_SHARE_MIN * self.cores {
            return Some((CauseClass::ForeignLoad, 4.0));
        }
        // Other calls than before are another cause than the time they take.
        let is_other = lead.between.is_some() || !lead.behavior.is_empty();
        if self.lost <= VISIBLE * self.error || is_other {
            return None;
        }
        let is_everywhere = lead.scope == Scope::All;
        if self.more - margin > COMPUTES * self.lost {
            return Some(if is_everywhere { (CauseClass::Code, 3.0) } else { (CauseClass::Machine, 1.0) });
        }
        let waits = self.more + margin < WAITS * self.lost;
        // A caller waits for its dependency; and waits of only some requests or of one replica have their own evidence.
        let is_for_all = is_everywhere && lead.attributes.is_empty();
        let is_of_several = !super::traces::is_one_at_a_time(lead) && lead.attributes.is_empty();
        waits.then_some(match (lead.kind == "client", is_for_all) {
            (true, true) => (CauseClass::Dependency, 1.0),
            (false, true) => (CauseClass::Waiting, 3.0),
            (false, false) if is_of_several => (CauseClass::Waiting, 2.0),
            (_, false) => (CauseClass::Waiting, 1.0),
        })
    }

    fn sentence_about_machines(&self, lead: &Suspect) -> String {
        format!(
            "The CPU of {}, where {} runs, is {} busy: it is in use for {} more in each second than transactions and the servers on \
             it explain, so other processes compute there.",
            super::servers(&self.servers),
            names::quoted(&lead.service),
            numbers::share(self.busy / self.cores),
            numbers::time_float(self.more * 1e9),
        )
    }

    fn sentence(&self, class: CauseClass, lead: &Suspect, servers: &str) -> String {
        let operation = names::quoted(&lead.operation);
        let per_s = |cores: f64| numbers::time_float(cores * 1e9);
        let lost = per_s(self.lost);
        let more = match self.more > self.error {
            true => format!("for {} more", per_s(self.more)),
            false => "no longer".to_owned(),
        };
        let verdict = match class {
            CauseClass::ForeignLoad => "something else computes there",
            CauseClass::Waiting | CauseClass::Dependency => "the calls wait",
            _ => "the calls compute for longer",
        };
        format!(
            "Calls of {operation} take {lost} more in each second, and CPU of {servers} is in use {more} than \
             transactions explain: {verdict}."
        )
    }
}

/// The change of the CPU that servers use together, in cores.
struct CoresUsed {
    /// Those that are up since then.
    servers: Vec<String>,
    more: f64,
    error: f64,
    busy: f64,
    cores: f64,
}

impl CoresUsed {
    /// `None` where there are too few points. Servers come and go, and a release replaces all of them, so that few are up both before and
    /// since: they are compared as one.
    fn since(servers: &[&ServerChanges], slow: SlowTime) -> Option<CoresUsed> {
        let SlowTime { onset, since, until } = slow;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for point in joint_points(servers) {
            if point.end <= onset {
                before.push(point);
            } else if point.start >= since && point.start <= until {
                after.push(point);
            }
        }
        if before.len() < BEFORE_MIN || after.len() < SINCE_MIN {
            return None;
        }
        let line = Line::through(&before);
        let residuals: Vec<f64> = before.iter().map(|point| line.residual(point)).collect();
        let count = after.len() as f64;
        let mean = |value: &dyn Fn(&Point) -> f64| after.iter().map(value).sum::<f64>() / count;
        let variance =
            variance(&residuals) * dependence(&residuals) * (1.0 / count + 1.0 / before.len() as f64);
        let is_up = |server: &&&ServerChanges| {
            points(server).any(|point| point.start >= since && point.start <= until)
        };
        Some(CoresUsed {
            servers: servers.iter().filter(is_up).map(|server| server.server.clone()).collect(),
            more: mean(&|point| line.residual(point)),
            error: variance.sqrt(),
            busy: mean(&|point| point.busy),
            cores: mean(&|point| point.cores),
        })
    }
}

/// An interval of one server, or of several together.
#[derive(Clone, Copy)]
struct Point {
    start: Timestamp,
    end: Timestamp,
    /// Transactions a second.
    rate: f64,
    /// Cores in use.
    busy: f64,
    /// All cores.
    cores: f64,
}

fn points(server: &ServerChanges) -> impl Iterator<Item = Point> + '_ {
    let series = &server.series;
    let step = Nanos::from_ns((series.step_s * 1e9).max(0.0) as u64);
    let values = series.observed.iter().zip(&series.transactions_per_s).enumerate();
    values.filter_map(move |(index, (utilization, rate))| {
        let start = series.since.plus(Nanos::from_ns(step.ns().saturating_mul(index as u64)));
        let busy = (*utilization)? * server.cores;
        Some(Point { start, end: start.plus(step), rate: (*rate)?, busy, cores: server.cores })
    })
}

/// Sums over servers, of the intervals for which each server has a point that is up then: from its first point to its last.
fn joint_points(servers: &[&ServerChanges]) -> Vec<Point> {
    let mut lives: Vec<(Timestamp, Timestamp)> = Vec::new();
    let mut sums: BTreeMap<Timestamp, (usize, Point)> = BTreeMap::new();
    for server in servers {
        let own: Vec<Point> = points(server).collect();
        lives.extend(own.first().zip(own.last()).map(|(first, last)| (first.start, last.start)));
        for point in own {
            let (count, sum) =
                sums.entry(point.start).or_insert((0, Point { rate: 0.0, busy: 0.0, cores: 0.0, ..point }));
            *count += 1;
            sum.rate += point.rate;
            sum.busy += point.busy;
            sum.cores += point.cores;
        }
    }
    let up = |time: Timestamp| lives.iter().filter(|(first, last)| (first..=last).contains(&&time)).count();
    sums.into_values().filter(|(count, sum)| *count == up(sum.start)).map(|(_, sum)| sum).collect()
}

/// Least squares; level where the rate does not vary.
struct Line {
    rate_mean: f64,
    mean: f64,
    slope: f64,
}

impl Line {
    fn through(points: &[Point]) -> Line {
        let count = points.len() as f64;
        let rate_mean = points.iter().map(|point| point.rate).sum::<f64>() / count;
        let mean = points.iter().map(|point| point.busy).sum::<f64>() / count;
        let squares: f64 = points.iter().map(|point| (point.rate - rate_mean).powi(2)).sum();
        let products: f64 = points.iter().map(|point| (point.rate - rate_mean) * (point.busy - mean)).sum();
        let slope = if squares > 0.0 { (products / squares).max(0.0) } else { 0.0 };
        Line { rate_mean, mean, slope }
    }

    fn residual(&self, point: &Point) -> f64 {
        point.busy - self.mean - self.slope * (point.rate - self.rate_mean)
    }
}

/// Of residuals, whose mean is 0, with two parameters fitted.
fn variance(residuals: &[f64]) -> f64 {
    residuals.iter().map(|residual| residual.powi(2)).sum::<f64>() / (residuals.len() as f64 - 2.0).max(1.0)
}

/// How much less a mean of dependent values says: `(1 + r) / (1 - r)` of an autoregression with first autocorrelation `r` (Bayley &
/// Hammersley, *Supplement to the Journal of the Royal Statistical Society* 8, 1946).
fn dependence(residuals: &[f64]) -> f64 {
    let all: f64 = residuals.iter().map(|residual| residual.powi(2)).sum();
    let pairs: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let r = if all > 0.0 { (pairs / all).clamp(0.0, 0.9) } else { 0.0 };
    (1.0 + r) / (1.0 - r)
}
