//! Comparison of the sites of the window, the baseline and slow periods.

use super::attributes::{self, AttributeValues, UnevenValue};
use super::slow_periods::{self, STANDING_PART};
use crate::call_gaps::{CallGaps, Side, call_gaps};
use crate::diagnose::question::DiagnoseQuestion;
use crate::diagnose::settings::BaselineChoice;
use crate::population::{Population, Selected, UnionNames};
use crate::site_calls::{SiteCall, site_calls};
use crate::site_fold::SiteFold;
use laggard_assembly::ShapeRule;
use laggard_engine::{ShapeCategory, incomplete_category};
use laggard_localize::{
    Incident, LatencyChange, Shifted, Site, SiteRequest, SiteSuspect, SiteTable, UsualLatency,
    WidespreadSlowdown, changed_replica_suspects, find_incidents, find_onset, join_suspects, latency_change,
    shifted_suspects, uneven_suspects,
};
use laggard_model::{AdjustedCount, Fingerprint, OperationId, ServiceId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Sites of the window, and their comparison among replicas, with the baseline, and over time.
pub(crate) struct SiteStudy {
    pub(crate) union: UnionNames,
    /// Calls that are not measured, by population.
    gaps: Vec<Option<Arc<CallGaps>>>,
    /// Whether the requests of each category of the window are incomplete.
    incomplete: Vec<bool>,
    /// Complete requests of the baseline.
    pub(crate) baseline_requests: usize,
    pub(crate) window: SiteTable,
    /// Sites of the baseline, if one was requested.
    pub(crate) baseline: Option<SiteTable>,
    /// Window and baseline in one table, for onsets; `None` if they are of different traces.
    timeline: Option<SiteTable>,
    /// Requests outside the window that are not in the baseline because they are in slow periods.
    pub(crate) left_out: usize,
    /// Slower than in the baseline.
    pub(crate) shifted: Vec<SiteSuspect>,
    /// Most operations are slower than in the baseline.
    pub(crate) widespread: Option<WidespreadSlowdown>,
    /// Slower on some replicas than on others, and not so in the baseline.
    pub(crate) uneven: Vec<SiteSuspect>,
    /// Operations of `uneven` whose replicas differ by too little to be found without the baseline.
    pub(crate) changed_replicas: BTreeSet<OperationId>,
    /// Operations that are uneven in the window and were so in the baseline.
    pub(crate) standing: Vec<OperationId>,
    /// Slow periods with their suspects; without any where nothing is slow, or no slower than in the baseline.
    pub(crate) incidents: Vec<(Incident, Vec<SiteSuspect>)>,
    /// Operations that are slower on some replicas than on others in periods only.
    pub(crate) uneven_in_periods: BTreeSet<OperationId>,
    pub(crate) change: Option<LatencyChange>,
    /// Mean latency in the baseline of each category of the window, nanoseconds; empty without a baseline.
    pub(crate) usual_latency_ns: Vec<f64>,
    /// Values of the requests' attributes.
    pub(crate) attributes: AttributeValues,
    /// Operations at which requests with one value are slower than the others.
    pub(crate) uneven_values: Vec<UnevenValue>,
}

/// The entry operation of every category, in unified handles.
fn entries(
    union: &UnionNames,
    populations: &[Population<'_>],
    threads: NonZeroUsize,
) -> BTreeMap<Fingerprint, OperationId> {
    let of_population = |(index, population): (usize, &Population<'_>)| {
        let operations = union.select(population, index).operations().to_vec();
        let shapes = population.requests.shapes(ShapeRule::Canonical, threads).categories().iter();
        let entry = move |category: &ShapeCategory| {
            let entry = category.positions.first()?;
            Some((category.id, operations[entry.operation.index()]))
        };
        shapes.filter_map(entry).collect::<Vec<_>>()
    };
    populations.iter().enumerate().flat_map(of_population).collect()
}

/// The compared tables in unified handles.
struct Tables {
    window: SiteTable,
    baseline: Option<SiteTable>,
    timeline: Option<SiteTable>,
    left_out: usize,
}

impl SiteStudy {
    pub(crate) fn new(question: &DiagnoseQuestion<'_>) -> SiteStudy {
        let window = question.window();
        let earlier = question.earlier();
        let populations: Vec<Population<'_>> = [Some(window), earlier].into_iter().flatten().collect();
        let union = UnionNames::from_populations(&populations);
        let gaps = gaps(question, &union, &populations);
        let fold = |index: usize| {
            let assumed = question.settings.sampling_probability.and_then(AdjustedCount::from_probability);
            let selected = union.select(&populations[index], index);
            let fold = SiteFold::new(selected.with_gaps(gaps[index].clone()), assumed, question.engine);
            question.engine.fold(fold.selected().range(), &fold)
        };
        let tables = match earlier {
            None => Tables { window: fold(0), baseline: None, timeline: None, left_out: 0 },
            Some(_) if question.baseline.is_some() => {
                Tables { window: fold(0), baseline: Some(fold(1)), timeline: None, left_out: 0 }
            }
            Some(_) => question.split(fold(1)),
        };
        let mut entries = entries(&union, &populations, question.engine.threads());
        let mut incomplete = BTreeSet::new();
        if gaps[0].as_ref().is_some_and(|gaps| gaps.uses_incomplete()) {
            for (index, &entry) in union.fingerprints().iter().enumerate() {
                entries.insert(incomplete_category(entry), OperationId::from_index(index));
                incomplete.insert(incomplete_category(entry));
            }
        }
        let mut study = SiteStudy { gaps, ..SiteStudy::compare(question, union, tables, &entries) };
        let categories = study.window.categories.iter();
        study.incomplete = categories.map(|category| incomplete.contains(category)).collect();
        study.baseline_requests = study.baseline.as_ref().map_or(0, |table| {
            let is_complete = |request: &&SiteRequest| {
                incomplete.is_empty() || !incomplete.contains(&table.categories[request.category as usize])
            };
            table.requests.iter().filter(is_complete).count()
        });
        study
    }

    fn compare(
        question: &DiagnoseQuestion<'_>,
        union: UnionNames,
        tables: Tables,
        entries: &BTreeMap<Fingerprint, OperationId>,
    ) -> SiteStudy {
        let (settings, threads) = (&question.settings.sites, question.engine.threads());
        let names = union.names();
        let services: Vec<ServiceId> =
            (0..names.operations()).map(|at| names.service_of(OperationId::from_index(at))).collect();
        let Tables { window, baseline, timeline, left_out } = tables;
        let shifted = baseline.as_ref().map_or_else(Shifted::default, |baseline| {
            shifted_suspects(baseline, &window, &services, settings, threads)
        });
        let usual =
            baseline.as_ref().map(|baseline| (baseline, UsualLatency::new(baseline, &window, entries)));
        let mut study = SiteStudy {
            shifted: shifted.suspects,
            widespread: shifted.widespread,
            uneven: uneven_suspects(&window, settings, threads),
            changed_replicas: BTreeSet::new(),
            standing: Vec::new(),
            incidents: Vec::new(),
            uneven_in_periods: BTreeSet::new(),
            change: usual.as_ref().map(|(baseline, usual)| latency_change(baseline, &window, usual)),
            usual_latency_ns: usual.as_ref().map_or_else(Vec::new, |(_, usual)| {
                window.categories.iter().map(|category| usual.of(category)).collect()
            }),
            attributes: AttributeValues::new(union.names()),
            uneven_values: Vec::new(),
            union,
            gaps: Vec::new(),
            incomplete: Vec::new(),
            baseline_requests: 0,
            window,
            baseline,
            timeline,
            left_out,
        };
        let mut before = Vec::new();
        if let Some(baseline) = &study.baseline {
            before = uneven_suspects(baseline, settings, threads);
            study.standing = remove_standing(&mut study.uneven, &before);
            let known: BTreeSet<OperationId> = study.uneven.iter().map(|known| known.operation).collect();
            let changed = changed_replica_suspects(baseline, &study.window, settings, threads);
            let operations = changed.iter().map(|suspect| suspect.operation);
            study.changed_replicas = operations.filter(|operation| !known.contains(operation)).collect();
            study.uneven.extend(changed);
            study.uneven = join_suspects(std::mem::take(&mut study.uneven));
            study.standing.retain(|operation| study.uneven.iter().all(|known| known.operation != *operation));
        }
        study.set_incidents(&before, &services, question);
        let explained = study.uneven.iter().map(|suspect| suspect.operation);
        let explained: BTreeSet<OperationId> = explained.chain(study.standing.iter().copied()).collect();
        study.uneven_values = attributes::uneven(
            &study.attributes,
            &study.window,
            study.baseline.as_ref(),
            study.union.names(),
            &explained,
            settings,
            threads,
        );
        study
    }

    /// Sets slow periods. `before` are operations that were uneven in the baseline.
    fn set_incidents(
        &mut self,
        before: &[SiteSuspect],
        services: &[ServiceId],
        question: &DiagnoseQuestion<'_>,
    ) {
        let (window, baseline) = (&self.window, self.baseline.as_ref());
        let mut found = match baseline {
            Some(baseline) => slow_periods::against_baseline(window, baseline, services, question),
            None => slow_periods::find(window, services, question),
        };
        let uneven = self.uneven.iter().chain(before).map(|suspect| suspect.operation).collect();
        let of_replicas = slow_periods::replica_periods(window, baseline, &uneven, question);
        let suspects = of_replicas.iter().flat_map(|(_, suspects)| suspects);
        self.uneven_in_periods = suspects.map(|suspect| suspect.operation).collect();
        slow_periods::add_replica_periods(&mut found, of_replicas);
        self.incidents = found;
    }

    /// The calls of the window at a site.
    pub(crate) fn window_calls(&self, question: &DiagnoseQuestion<'_>, site: Site) -> Vec<SiteCall> {
        site_calls(&self.selected(&question.window(), 0), &self.window, site)
    }

    /// The calls of the baseline at a site.
    pub(crate) fn baseline_calls(&self, question: &DiagnoseQuestion<'_>, site: Site) -> Vec<SiteCall> {
        let (Some(table), Some(earlier)) = (&self.baseline, question.earlier()) else { return Vec::new() };
        site_calls(&self.selected(&earlier, 1), table, site)
    }

    /// Whether intact calls of incomplete requests were compared.
    pub(crate) fn uses_incomplete(&self) -> bool {
        self.gaps[0].as_ref().is_some_and(|gaps| gaps.uses_incomplete())
    }

    /// Share of the time of the window's calls that is of calls that were not compared, 0 to 1.
    pub(crate) fn unmeasured_share(&self) -> f64 {
        self.gaps[0].as_ref().map_or(0.0, |gaps| gaps.unmeasured_share())
    }

    /// Whether a request of the window is complete. Incomplete ones are evidence, but are not counted.
    pub(crate) fn is_complete(&self, request: &SiteRequest) -> bool {
        !self.incomplete[request.category as usize]
    }

    /// The requests of a population, the window's being 0, with the calls that are not measured.
    pub(crate) fn selected<'a>(&'a self, population: &Population<'a>, index: usize) -> Selected<'a> {
        self.union.select(population, index).with_gaps(self.gaps[index].clone())
    }

    /// The spans of the baseline's requests.
    pub(crate) fn baseline_spans(&self, question: &DiagnoseQuestion<'_>) -> u64 {
        let (Some(table), Some(earlier)) = (&self.baseline, question.earlier()) else { return 0 };
        let spans = |row: &SiteRequest| earlier.requests.request(row.number as usize).calls();
        table.requests.iter().map(|row| spans(row) as u64).sum()
    }

    /// The value of an attribute by which requests differ at an operation.
    pub(crate) fn uneven_value(&self, operation: OperationId) -> Option<&UnevenValue> {
        self.uneven_values.iter().find(|one| one.found.suspect.operation == operation)
    }

    /// Whether window and baseline have enough requests to be compared.
    pub(crate) fn is_compared(&self, question: &DiagnoseQuestion<'_>) -> bool {
        let enough = question.settings.sites.change.requests_min;
        self.window.requests.len() >= enough
            && self.baseline.as_ref().is_some_and(|baseline| baseline.requests.len() >= enough)
    }

    /// `service operation`.
    pub(crate) fn operation_text(&self, operation: OperationId) -> String {
        let key = self.union.names().operation_key(operation);
        format!("{} {}", key.service, key.operation)
    }

    /// The onset of a site's slowness, if it lies inside the data.
    pub(crate) fn onset(&self, site: Site) -> Option<laggard_localize::Onset> {
        match (&self.timeline, &self.baseline) {
            (Some(timeline), _) => {
                // Up to the end of the window: later requests are not part of the question.
                let (first, last) = (self.window.requests.first()?.start, self.window.requests.last()?.start);
                let length = last.since(first).magnitude();
                find_onset(timeline, site, first.minus(length).minus(length), last)
            }
            (None, Some(_)) => find_onset(&self.window, site, Timestamp::MIN, Timestamp::MAX),
            (None, None) => None,
        }
    }
}

/// Calls that are not measured, by population.
fn gaps<'a>(
    question: &DiagnoseQuestion<'a>,
    union: &'a UnionNames,
    populations: &[Population<'a>],
) -> Vec<Option<Arc<CallGaps>>> {
    let selected: Vec<Selected<'_>> =
        populations.iter().enumerate().map(|(index, population)| union.select(population, index)).collect();
    let range = |index: usize, selected: &Selected<'a>| match (index, question.settings.baseline) {
        (1, BaselineChoice::Within { since, until }) => selected.range().requests().within(since, until),
        _ => selected.range(),
    };
    let sides = selected.iter().enumerate();
    let sides: Vec<Side<'_>> =
        sides.map(|(index, selected)| Side { selected, range: range(index, selected) }).collect();
    match call_gaps(&sides) {
        Some(gaps) => gaps.into_iter().map(Some).collect(),
        None => vec![None; populations.len()],
    }
}

impl<'a> DiagnoseQuestion<'a> {
    /// The requests of the window.
    pub(super) fn window(&self) -> Population<'a> {
        Population {
            requests: self.requests,
            since: self.settings.since,
            until: self.settings.until,
            attributes: &self.settings.attributes,
            selection: &self.settings.selection,
        }
    }

    /// The population of the baseline: traces of its own, or other requests of the same traces.
    pub(super) fn earlier(&self) -> Option<Population<'a>> {
        let selection = &self.settings.selection;
        let attributes = &self.settings.attributes[..];
        match (self.baseline, self.settings.baseline) {
            (Some(requests), BaselineChoice::Within { since, until }) => {
                Some(Population { requests, since, until, selection, attributes })
            }
            (Some(requests), _) => Some(Population { selection, attributes, ..Population::all(requests) }),
            (None, BaselineChoice::None) => None,
            (None, _) => Some(Population { selection, attributes, ..Population::all(self.requests) }),
        }
    }

    /// Splits one table into window and baseline.
    fn split(&self, timeline: SiteTable) -> Tables {
        let (since, until) = (self.settings.since, self.settings.until);
        let in_window = |request: &SiteRequest| (since..=until).contains(&request.start);
        let earlier = |request: &SiteRequest| match self.settings.baseline {
            BaselineChoice::Within { since, until } => (since..=until).contains(&request.start),
            BaselineChoice::Rest | BaselineChoice::None => true,
        };
        let mut baseline = timeline.only(|request| !in_window(request) && earlier(request));
        let left_out = match self.settings.baseline {
            BaselineChoice::Rest => leave_out_incidents(&mut baseline, &timeline, self),
            BaselineChoice::Within { .. } | BaselineChoice::None => 0,
        };
        Tables {
            window: timeline.only(in_window),
            baseline: Some(baseline),
            timeline: Some(timeline),
            left_out,
        }
    }
}

/// Removes requests in slow periods from the baseline "rest", unless they are most of it.
fn leave_out_incidents(
    baseline: &mut SiteTable,
    timeline: &SiteTable,
    question: &DiagnoseQuestion<'_>,
) -> usize {
    let incidents = find_incidents(timeline, &question.settings.sites.scan, question.engine.threads());
    let outside = |request: &SiteRequest| {
        !incidents.iter().any(|incident| (incident.since..incident.until).contains(&request.start))
    };
    let normal = baseline.only(outside);
    let left_out = baseline.requests.len() - normal.requests.len();
    if left_out == 0 || normal.requests.len() < left_out {
        return 0;
    }
    *baseline = normal;
    left_out
}

/// Removes culprits that were culprits in the baseline; returns operations without any left.
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
