//! Sites of the window, of the baseline and of slow periods, compared.

use crate::diagnose::question::Question;
use crate::diagnose::settings::BaselineChoice;
use crate::population::{Population, UnionNames};
use crate::site_fold::SiteFold;
use laggard_localize::{
    Incident, LatencyChange, Site, SiteRequest, SiteSuspect, SiteTable, find_incidents, find_onset,
    latency_change, shifted_suspects, uneven_suspects,
};
use laggard_model::{AdjustedCount, OperationId, ServiceId, Timestamp};
use std::collections::BTreeSet;

/// Sites of the window, and how they compare: among replicas, with the baseline, over time.
pub(crate) struct SiteStudy {
    pub(crate) union: UnionNames,
    pub(crate) window: SiteTable,
    /// Requests to compare with, if that was asked for.
    pub(crate) baseline: Option<SiteTable>,
    /// Window and baseline where they are of the same traces, for onsets.
    timeline: Option<SiteTable>,
    /// Requests outside the window that are no part of the baseline, for they lie in slow periods.
    pub(crate) left_out: usize,
    /// Slower than in the baseline.
    pub(crate) shifted: Vec<SiteSuspect>,
    /// Slower on some replicas than on others, and not so in the baseline.
    pub(crate) uneven: Vec<SiteSuspect>,
    /// Operations uneven in the window and in the baseline alike.
    pub(crate) standing: Vec<OperationId>,
    /// Slow periods, with what was slow in them.
    pub(crate) incidents: Vec<(Incident, Vec<SiteSuspect>)>,
    pub(crate) change: Option<LatencyChange>,
}

/// What is compared: tables in unified handles.
struct Tables {
    window: SiteTable,
    baseline: Option<SiteTable>,
    timeline: Option<SiteTable>,
    left_out: usize,
}

impl SiteStudy {
    pub(crate) fn new(question: &Question<'_>) -> SiteStudy {
        let window = question.window();
        let earlier = question.earlier();
        let populations: Vec<Population<'_>> = [Some(window), earlier].into_iter().flatten().collect();
        let union = UnionNames::from_populations(&populations);
        let fold = |at: usize| {
            let assumed = question.settings.sampling_probability.and_then(AdjustedCount::from_probability);
            let fold = SiteFold::new(union.select(&populations[at], at), assumed, question.engine);
            question.engine.fold(fold.selected().range(), &fold)
        };
        let tables = match earlier {
            None => Tables { window: fold(0), baseline: None, timeline: None, left_out: 0 },
            Some(_) if question.baseline.is_some() => {
                Tables { window: fold(0), baseline: Some(fold(1)), timeline: None, left_out: 0 }
            }
            Some(_) => question.split(fold(1)),
        };
        SiteStudy::compare(question, union, tables)
    }

    fn compare(question: &Question<'_>, union: UnionNames, tables: Tables) -> SiteStudy {
        let (settings, threads) = (&question.settings.sites, question.engine.threads());
        let names = union.names();
        let services: Vec<ServiceId> =
            (0..names.operations()).map(|at| names.service_of(OperationId::from_index(at))).collect();
        let Tables { window, baseline, timeline, left_out } = tables;
        let mut study = SiteStudy {
            shifted: baseline.as_ref().map_or_else(Vec::new, |baseline| {
                shifted_suspects(baseline, &window, &services, settings, threads)
            }),
            uneven: uneven_suspects(&window, settings, threads),
            standing: Vec::new(),
            incidents: Vec::new(),
            change: baseline.as_ref().map(|baseline| latency_change(baseline, &window)),
            union,
            window,
            baseline,
            timeline,
            left_out,
        };
        if let Some(baseline) = &study.baseline {
            let before = uneven_suspects(baseline, settings, threads);
            study.standing = remove_standing(&mut study.uneven, &before);
        } else {
            study.incidents = incidents(&study.window, &services, question);
        }
        study
    }

    /// `service operation`.
    pub(crate) fn operation_text(&self, operation: OperationId) -> String {
        let key = self.union.names().operation_key(operation);
        format!("{} {}", key.service, key.operation)
    }

    /// Since when a site is slow, where that lies inside what is known.
    pub(crate) fn onset(&self, site: Site) -> Option<laggard_localize::Onset> {
        match (&self.timeline, &self.baseline) {
            (Some(timeline), _) => {
                // Up to the end of the window: what comes after it, slow or not, is no part of the question.
                let (first, last) = (self.window.requests.first()?.start, self.window.requests.last()?.start);
                let length = last.since(first).magnitude();
                find_onset(timeline, site, first.minus(length).minus(length), last)
            }
            (None, Some(_)) => find_onset(&self.window, site, Timestamp::MIN, Timestamp::MAX),
            (None, None) => None,
        }
    }
}

impl<'a> Question<'a> {
    /// The requests of the window.
    fn window(&self) -> Population<'a> {
        Population {
            requests: self.requests,
            since: self.settings.since,
            until: self.settings.until,
            service: self.settings.service.as_deref(),
        }
    }

    /// Where the baseline is found: in traces of its own, or somewhere in the same traces.
    fn earlier(&self) -> Option<Population<'a>> {
        let service = self.settings.service.as_deref();
        match (self.baseline, self.settings.baseline) {
            (Some(requests), BaselineChoice::Within { since, until }) => {
                Some(Population { requests, since, until, service })
            }
            (Some(requests), _) => Some(Population { service, ..Population::all(requests) }),
            (None, BaselineChoice::None) => None,
            (None, _) => Some(Population { service, ..Population::all(self.requests) }),
        }
    }

    /// Window and baseline out of one table.
    fn split(&self, timeline: SiteTable) -> Tables {
        let (since, until) = (self.settings.since, self.settings.until);
        let asked = |request: &SiteRequest| (since..=until).contains(&request.start);
        let earlier = |request: &SiteRequest| match self.settings.baseline {
            BaselineChoice::Within { since, until } => (since..=until).contains(&request.start),
            BaselineChoice::Rest | BaselineChoice::None => true,
        };
        let mut baseline = timeline.only(|request| !asked(request) && earlier(request));
        let left_out = match self.settings.baseline {
            BaselineChoice::Rest => leave_out_incidents(&mut baseline, &timeline, self),
            BaselineChoice::Within { .. } | BaselineChoice::None => 0,
        };
        Tables { window: timeline.only(asked), baseline: Some(baseline), timeline: Some(timeline), left_out }
    }
}

/// What is "the rest" may hold other incidents. Nobody asked to be compared with those; unless they are most of it.
fn leave_out_incidents(baseline: &mut SiteTable, timeline: &SiteTable, question: &Question<'_>) -> usize {
    let incidents = find_incidents(timeline, &question.settings.sites.scan, question.engine.threads());
    let outside = |request: &SiteRequest| {
        !incidents.iter().any(|incident| (incident.since..incident.until).contains(&request.start))
    };
    let kept = baseline.only(outside);
    let left_out = baseline.requests.len() - kept.requests.len();
    if left_out == 0 || kept.requests.len() < left_out {
        return 0;
    }
    *baseline = kept;
    left_out
}

/// A culprit is standing when it was this part as slow before, on the log scale.
const STANDING_PART: f64 = 0.5;

/// Removes culprits that were culprits before; returns operations of which none is left.
fn remove_standing(uneven: &mut Vec<SiteSuspect>, before: &[SiteSuspect]) -> Vec<OperationId> {
    for suspect in uneven.iter_mut() {
        let Some(known) = before.iter().find(|known| known.operation == suspect.operation) else { continue };
        suspect.culprits.retain(|culprit| {
            let earlier = known.culprits.iter().find(|earlier| earlier.replica == culprit.replica);
            earlier.is_none_or(|earlier| earlier.factor.ln() < STANDING_PART * culprit.factor.ln())
        });
    }
    let standing: BTreeSet<OperationId> = uneven
        .iter()
        .filter(|suspect| suspect.culprits.is_empty())
        .map(|suspect| suspect.operation)
        .collect();
    uneven.retain(|suspect| !suspect.culprits.is_empty());
    standing.into_iter().collect()
}

/// Slow periods, each compared with the time outside all of them.
fn incidents(
    window: &SiteTable,
    services: &[ServiceId],
    question: &Question<'_>,
) -> Vec<(Incident, Vec<SiteSuspect>)> {
    let settings = &question.settings.sites;
    let found = find_incidents(window, &settings.scan, question.engine.threads());
    let within = |incident: &Incident, request: &SiteRequest| {
        (incident.since..incident.until).contains(&request.start)
    };
    if found.is_empty() {
        return Vec::new();
    }
    let outside = window.only(|request| !found.iter().any(|incident| within(incident, request)));
    let study = |incident: &Incident| {
        let inside = window.only(|request| within(incident, request));
        let mut suspects = shifted_suspects(&outside, &inside, services, settings, question.engine.threads());
        let total: f64 = suspects.iter().map(|suspect| suspect.excess_ns).sum();
        suspects.retain(|suspect| suspect.excess_ns >= settings.share_min * total);
        // Requests are numbered anew inside; what is kept of them is of the whole window again.
        let numbers: Vec<u32> = (window.requests.iter().enumerate())
            .filter(|(_, request)| within(incident, request))
            .map(|(at, _)| at as u32)
            .collect();
        for suspect in &mut suspects {
            suspect.hit.iter_mut().for_each(|request| *request = numbers[*request as usize]);
        }
        let onset = suspects.first().and_then(|lead| {
            let length = incident.until.since(incident.since).magnitude();
            find_onset(window, lead.sites[0], incident.since.minus(length), incident.until)
        });
        (Incident { onset, ..incident.clone() }, suspects)
    };
    found.iter().map(study).collect()
}
