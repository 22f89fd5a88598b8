//! From judgments to alerts: what is pending, what fires, what is over. No clock, no files, no network.
//!
//! ```text
//! found ─► pending ── n of the last m looks ─► firing ── k looks in a row without it ─► resolved
//!             └─ not found in the last m looks ─► forgotten
//! ```

use super::judge::{Found, Judgment};
use laggard_model::{FingerprintBuilder, Nanos, Timestamp};
use laggard_params::Window;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// When alerts begin and end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// An operation fires once it was found so many times …
    pub fire_after: u32,
    /// … in so many looks; at most 32.
    pub fire_of: u32,
    /// It is over after so many looks in a row without it.
    pub resolve_after: u32,
    /// What lasts for so long is usual from then on.
    pub adapt_after: Nanos,
    /// An alert that could not be judged for so long is over, too.
    pub silent_after: Nanos,
}

/// Most alerts that are pending or firing, and that are remembered after their end.
pub const ALERTS_MAX: usize = 1_000;

/// What is known of one tenant's alerts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AlertBook {
    /// Pending and firing ones, by the time they were first found.
    pub active: Vec<Alert>,
    /// Those that are over, the latest last.
    pub over: Vec<Alert>,
    /// Operations that were found when there was no room.
    pub omitted: u64,
}

/// An operation that makes requests slow, over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Alert {
    /// Sixteen hexadecimal digits; another alert of the same operation has another id.
    pub id: String,
    /// What it is doing.
    pub state: AlertState,
    /// When it was first found, by the server's clock.
    pub first_ns: i64,
    /// Since when requests are slow, by their own clocks, as far as that can be told.
    pub since_ns: i64,
    /// When it began to fire.
    pub fired_ns: Option<i64>,
    /// When it was over.
    pub resolved_ns: Option<i64>,
    /// Why it was over, in a sentence.
    pub ended: Option<String>,
    /// When it was last looked at.
    pub judged_ns: i64,
    /// The latest finding.
    pub found: Found,
    /// The window of that finding.
    pub window: Span,
    /// What that was compared with.
    pub baseline: Span,
    /// The end of the last baseline without it.
    pub healthy_ns: i64,
    /// The last looks, the latest in the lowest bit: whether it was found.
    pub looks: u32,
    /// Looks in a row without it.
    pub healthy_looks: u32,
    /// What receivers were told, by their names.
    pub told: BTreeMap<String, Told>,
}

/// A stretch of time, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Span {
    /// Its start.
    pub since_ns: i64,
    /// Its end.
    pub until_ns: i64,
}

impl From<Window> for Span {
    fn from(window: Window) -> Span {
        Span { since_ns: window.since.unix_ns(), until_ns: window.until.unix_ns() }
    }
}

/// What an alert is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlertState {
    /// It was found, but not often enough.
    Pending,
    /// Somebody should know.
    Firing,
    /// It is over.
    Resolved,
}

/// What a receiver was told last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Told {
    /// The state it was told.
    pub state: AlertState,
    /// When.
    pub at_ns: i64,
}

impl Alert {
    /// Whether it is about this operation.
    pub fn is_about(&self, found: &Found) -> bool {
        self.found.service == found.service && self.found.operation == found.operation
    }

    fn new(found: Found, judgment: &Judgment, at: Timestamp) -> Alert {
        let mut id = FingerprintBuilder::new();
        id.bytes(found.service.as_bytes());
        id.bytes(found.operation.as_bytes());
        id.bytes(&at.unix_ns().to_le_bytes());
        let id = id.finish().to_string()[..16].to_owned();
        // Without a better answer: it was not there before the window.
        let since_ns = found.onset_ns.unwrap_or(judgment.window.since.unix_ns());
        Alert {
            id,
            state: AlertState::Pending,
            first_ns: at.unix_ns(),
            since_ns,
            fired_ns: None,
            resolved_ns: None,
            ended: None,
            judged_ns: at.unix_ns(),
            found,
            window: judgment.window.into(),
            baseline: judgment.baseline.into(),
            healthy_ns: judgment.baseline.until.unix_ns(),
            looks: 1,
            healthy_looks: 0,
            told: BTreeMap::new(),
        }
    }

    /// Notes one look.
    fn look(&mut self, judgment: &Judgment, at: Timestamp) {
        let found = judgment.found.iter().find(|found| self.is_about(found));
        if found.is_none() && !judgment.is_complete {
            return;
        }
        self.judged_ns = at.unix_ns();
        self.looks = self.looks << 1 | u32::from(found.is_some());
        self.healthy_looks = if found.is_some() { 0 } else { self.healthy_looks.saturating_add(1) };
        if let Some(found) = found {
            self.found = found.clone();
            self.window = judgment.window.into();
            self.baseline = judgment.baseline.into();
        }
    }

    fn end(&mut self, at: Timestamp, why: &str) {
        self.state = AlertState::Resolved;
        self.resolved_ns = Some(at.unix_ns());
        self.ended = Some(why.to_owned());
    }

    fn looks_of(&self, last: u32) -> u32 {
        let mask = if last >= u32::BITS { u32::MAX } else { (1 << last) - 1 };
        (self.looks & mask).count_ones()
    }
}

/// What one look changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Ids of alerts that began to fire.
    pub fired: Vec<String>,
    /// Ids of those that are over.
    pub resolved: Vec<String>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.fired.is_empty() && self.resolved.is_empty()
    }
}

impl AlertBook {
    /// Takes what a look found. `at` is the server's clock.
    pub fn take(&mut self, judgment: &Judgment, rules: Rules, at: Timestamp) -> Changes {
        self.active.iter_mut().for_each(|alert| alert.look(judgment, at));
        for found in &judgment.found {
            if self.active.iter().any(|alert| alert.is_about(found)) {
                continue;
            }
            if self.active.len() >= ALERTS_MAX {
                self.omitted += 1;
                continue;
            }
            self.active.push(Alert::new(found.clone(), judgment, at));
        }
        self.advance(rules, at)
    }

    /// Ends what could not be judged for too long; for looks that judged nothing.
    pub fn pass(&mut self, rules: Rules, at: Timestamp) -> Changes {
        self.advance(rules, at)
    }

    fn advance(&mut self, rules: Rules, at: Timestamp) -> Changes {
        let mut changes = Changes::default();
        for alert in &mut self.active {
            alert.advance(rules, at);
            if alert.fired_ns == Some(at.unix_ns()) {
                changes.fired.push(alert.id.clone());
            }
        }
        let (over, active): (Vec<Alert>, Vec<Alert>) = std::mem::take(&mut self.active)
            .into_iter()
            .partition(|alert| alert.state == AlertState::Resolved);
        self.active = active;
        // What never fired was no alert.
        let over = over.into_iter().filter(|alert| alert.fired_ns.is_some());
        self.over.extend(over.inspect(|alert| changes.resolved.push(alert.id.clone())));
        let surplus = self.over.len().saturating_sub(ALERTS_MAX);
        self.over.drain(..surplus);
        changes
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.over.is_empty()
    }

    /// Alerts that fire.
    pub fn firing(&self) -> impl Iterator<Item = &Alert> {
        self.active.iter().filter(|alert| alert.state == AlertState::Firing)
    }

    /// The end of the last baseline that none of these operations had touched: what shows whether they still are slow.
    pub fn healthy_until<'a>(&self, mut wanted: impl FnMut(&Alert) -> bool + 'a) -> Option<Timestamp> {
        let of = self.active.iter().filter(|alert| wanted(alert)).map(|alert| alert.healthy_ns);
        of.min().map(Timestamp::from_unix_ns)
    }

    /// Whether an alert about this operation fired or was pending in a stretch of time.
    pub fn was_about(&self, found: &Found, window: Window) -> bool {
        let mut known = self.over.iter().chain(&self.active).filter(|alert| alert.is_about(found));
        known.any(|alert| {
            let until = alert.resolved_ns.unwrap_or(i64::MAX);
            alert.since_ns <= window.until.unix_ns() && until >= window.since.unix_ns()
        })
    }
}

impl Alert {
    fn advance(&mut self, rules: Rules, at: Timestamp) {
        let age = |since_ns: i64| Nanos::from_ns(at.unix_ns().saturating_sub(since_ns).max(0) as u64);
        if age(self.judged_ns) >= rules.silent_after {
            return self.end(at, "there were too few requests to judge it by");
        }
        match self.state {
            AlertState::Pending if self.looks_of(rules.fire_of) >= rules.fire_after => {
                self.state = AlertState::Firing;
                self.fired_ns = Some(at.unix_ns());
            }
            AlertState::Pending if self.looks_of(rules.fire_of) == 0 => {
                self.end(at, "it was not found again");
            }
            AlertState::Firing if self.healthy_looks >= rules.resolve_after => {
                self.end(at, "it makes requests slower no more");
            }
            AlertState::Firing if self.fired_ns.is_some_and(|fired| age(fired) >= rules.adapt_after) => {
                self.end(at, "it lasted so long that it counts as usual now");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
