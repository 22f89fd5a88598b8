//! What the calls of a suspect are compared with to see which are hit.

use super::hits::HitStudy;
use crate::diagnose::answer::{Evidence, Suspect};
use crate::site_calls::SiteCall;
use laggard_localize::{ComparedSite, FirstCalls, NormalCalls, Site, SiteTable, WindowCall};
use laggard_model::{Fingerprint, Timestamp};
use std::num::NonZeroUsize;

/// Normal calls in the window with which culprits are compared; with fewer, with the baseline.
const NORMAL_CALLS_MIN: usize = 20;
/// All calls of culprits may be hit together from this factor of their peers' median on: replicas differ by 10 % without a
/// fault.
const PEERS_FACTOR_MIN: f64 = 1.2;
/// The same against the baseline.
const BASELINE_FACTOR_MIN: f64 = 1.04;
/// Requests with one value of an attribute are all that is slow if they have this part of the excess.
const GROUP_PART_MIN: f64 = 0.6;

/// The reference for the calls of a suspect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reference {
    /// Calls in which no culprit took part.
    Peers,
    /// Calls of the same culprits, or of requests with the same value of an attribute, in the baseline.
    SameGroup,
    Baseline,
    /// Calls outside slow periods.
    OutsidePeriods,
    /// Most calls of the suspect themselves.
    Bulk,
}

impl HitStudy<'_> {
    pub(super) fn reference(&self, suspect: &Suspect) -> Reference {
        let has = |kind: Evidence| suspect.evidence.contains(&kind);
        // A difference to the peers that is small was found because it is new; the peers alone do not show it.
        if self.study.changed_replicas.contains(&suspect.operation) || self.value(suspect).is_some() {
            Reference::SameGroup
        } else if !suspect.culprits.is_empty() {
            Reference::Peers
        } else if self.study.is_compared(self.question) {
            Reference::Baseline
        } else if has(Evidence::Period) && !has(Evidence::Dispersion) && !has(Evidence::Pattern) {
            Reference::OutsidePeriods
        } else {
            Reference::Bulk
        }
    }

    /// The value of an attribute whose requests are all that is slow at the suspect's operation, in a comparison with a
    /// baseline.
    fn value(&self, suspect: &Suspect) -> Option<u32> {
        if !suspect.culprits.is_empty() || !self.study.is_compared(self.question) {
            return None;
        }
        let uneven = self.study.uneven_value(suspect.operation)?;
        let shifted = self.study.shifted.iter().find(|shifted| shifted.operation == suspect.operation);
        let excess_ns = shifted.map_or(0.0, |shifted| shifted.excess_ns);
        (uneven.found.suspect.excess_ns >= GROUP_PART_MIN * excess_ns).then_some(uneven.value)
    }

    /// Whether a call is one of the suspect's culprits or of requests with the value of its attribute.
    fn is_in_group(&self, suspect: &Suspect, value: Option<u32>, table: &SiteTable, call: &SiteCall) -> bool {
        match value {
            Some(value) => {
                let request = &table.requests[call.request as usize];
                self.study.attributes.has_value(request.attributes, value)
            }
            None => {
                let set = &table.sets[call.set as usize];
                suspect.culprits.iter().any(|culprit| set.contains(culprit))
            }
        }
    }

    /// Whether a call of the baseline was on a replica that had just started: it does not show what is normal for it.
    fn was_warming_up(&self, baseline: &SiteTable, call: &SiteCall) -> bool {
        let start = baseline.requests[call.request as usize].start;
        let first_calls =
            self.earlier_first_calls.get_or_init(|| FirstCalls::new(baseline, None, NonZeroUsize::MIN));
        let replicas = &baseline.sets[call.set as usize];
        replicas.iter().any(|&replica| first_calls.is_warming_up(replica, start))
    }

    pub(super) fn compared(
        &self,
        suspect: &Suspect,
        site: Site,
        calls: &[SiteCall],
        reference: Reference,
    ) -> ComparedSite {
        let window = &self.study.window;
        let request = |call: &SiteCall| &window.requests[call.request as usize];
        let value = self.value(suspect);
        let is_in_group = |call: &SiteCall| self.is_in_group(suspect, value, window, call);
        let periods = self.periods(suspect);
        let onset = suspect.onset.as_ref();
        let onset = onset.map_or(Timestamp::MIN, |onset| onset.earliest);
        let has = |kind: Evidence| suspect.evidence.contains(&kind);
        let only_in_periods = has(Evidence::Period) && !has(Evidence::Baseline);
        let culprits_in_periods = self.study.uneven_in_periods.contains(&suspect.operation);
        let in_period = |call: &SiteCall| periods.iter().any(|period| period.contains(&request(call).start));
        let since_onset = |call: &SiteCall| request(call).start >= onset;
        let is_judged = |call: &SiteCall| match reference {
            Reference::Peers if culprits_in_periods => is_in_group(call) && in_period(call),
            Reference::Peers | Reference::SameGroup => is_in_group(call) && since_onset(call),
            Reference::Baseline if only_in_periods => in_period(call),
            Reference::Baseline => since_onset(call),
            Reference::OutsidePeriods => in_period(call),
            Reference::Bulk => true,
        };
        let known = |is_normal: &dyn Fn(&SiteCall) -> bool| -> Vec<(u32, f32)> {
            let normal = calls.iter().filter(|call| is_normal(call));
            normal.map(|call| (request(call).category, call.time_ns)).collect()
        };
        let of_others =
            || Some(known(&|call| !is_in_group(call))).filter(|normal| normal.len() >= NORMAL_CALLS_MIN);
        let in_baseline = |wanted: &dyn Fn(&SiteTable, &SiteCall) -> bool| self.in_baseline(site, wanted);
        let normal = match reference {
            Reference::Peers => of_others().map(NormalCalls::Known).or_else(|| in_baseline(&|_, _| true)),
            Reference::SameGroup => in_baseline(&|table, call| {
                self.is_in_group(suspect, value, table, call) && !self.was_warming_up(table, call)
            })
            .filter(|normal| matches!(normal, NormalCalls::Known(calls) if calls.len() >= NORMAL_CALLS_MIN))
            .or_else(|| of_others().map(NormalCalls::Known))
            .or_else(|| in_baseline(&|_, _| true)),
            Reference::Baseline => in_baseline(&|_, _| true),
            Reference::OutsidePeriods => {
                let periods =
                    || self.study.incidents.iter().map(|(incident, _)| incident.since..incident.until);
                let within = |start| periods().any(|period| period.contains(&start));
                let outside = known(&|call| !within(request(call).start));
                Some(if outside.is_empty() { NormalCalls::New } else { NormalCalls::Known(outside) })
            }
            Reference::Bulk => None,
        };
        let judged = |call: &SiteCall| WindowCall {
            request: call.request,
            category: request(call).category,
            time_ns: call.time_ns,
            is_judged: is_judged(call),
        };
        ComparedSite {
            calls: calls.iter().map(judged).collect(),
            normal: normal.unwrap_or(NormalCalls::Bulk),
            factor_min: match reference {
                Reference::Peers => Some(PEERS_FACTOR_MIN),
                Reference::SameGroup | Reference::Baseline | Reference::OutsidePeriods => {
                    Some(BASELINE_FACTOR_MIN)
                }
                Reference::Bulk => None,
            },
        }
    }

    /// The slow periods in which the suspect is one.
    fn periods(&self, suspect: &Suspect) -> Vec<std::ops::Range<Timestamp>> {
        let named = self.study.incidents.iter().filter(|(_, suspects)| {
            suspects.iter().any(|in_period| in_period.operation == suspect.operation)
        });
        named.map(|(incident, _)| incident.since..incident.until).collect()
    }

    /// The wanted calls of a site in the baseline, by number of their category in the window.
    fn in_baseline(&self, site: Site, wanted: &dyn Fn(&SiteTable, &SiteCall) -> bool) -> Option<NormalCalls> {
        if !self.study.is_compared(self.question) {
            return None;
        }
        let (baseline, window) = (self.study.baseline.as_ref()?, &self.study.window);
        let unknown = window.categories.len();
        let number = |(index, id): (usize, &Fingerprint)| {
            window.categories.binary_search(id).unwrap_or(unknown + index) as u32
        };
        let numbers: Vec<u32> = baseline.categories.iter().enumerate().map(number).collect();
        let calls = self.study.baseline_calls(self.question, site);
        let category = |call: &SiteCall| baseline.requests[call.request as usize].category as usize;
        let calls = calls.iter().filter(|call| wanted(baseline, call));
        let known: Vec<(u32, f32)> = calls.map(|call| (numbers[category(call)], call.time_ns)).collect();
        Some(if known.is_empty() { NormalCalls::New } else { NormalCalls::Known(known) })
    }
}
