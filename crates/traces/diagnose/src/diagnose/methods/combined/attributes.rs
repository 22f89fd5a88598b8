//! Attributes of requests: which of them the requests have that a suspect makes slow, and by which of them requests
//! differ at an operation.

use super::site_study::SiteStudy;
use crate::diagnose::answer::Suspect;
use laggard_localize::{
    AttributeGroups, AttributeTest, AttributedRequest, Site, SiteSettings, SiteTable, UnevenAttribute,
    attribute_tests, changed_attributes, uneven_attributes,
};
use laggard_model::{AttributeSetId, Names, OperationId, Timestamp, attributes_in};
use laggard_numeric::benjamini_hochberg;
use laggard_report::SuspectAttribute;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// All values of attributes that requests of a data set have.
pub(crate) struct AttributeValues {
    /// Ascending.
    pub(crate) values: Vec<AttributeValue>,
    /// The values of each set, ascending, by handle.
    pub(crate) sets: Vec<Vec<u32>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AttributeValue {
    pub(crate) key: String,
    /// The service it describes; empty for an attribute of requests.
    pub(crate) service: String,
    pub(crate) value: String,
}

/// An operation at which requests with one value are slower than the others.
pub(crate) struct UnevenValue {
    pub(crate) found: UnevenAttribute,
    /// Index into the values.
    pub(crate) value: u32,
}

/// Most values of an attribute: one with more identifies requests.
const VALUES_MAX: usize = 1000;
/// Most attributes by which operations are searched.
const SEARCHED_MAX: usize = 16;
/// A value is compared with the others if this share of the requests has it, and at least this number of requests.
const GROUP_SHARE_MIN: f64 = 0.03;
const GROUP_REQUESTS_MIN: usize = 20;
/// Most values named for one suspect.
const NAMED_MAX: usize = 3;
/// A value that at least this share of the requests since the onset has explains nothing: there are too few others.
const OF_ALL_MIN: f64 = 0.9;
/// The route is the same for all requests of most categories, and routes differ by nature.
const NOT_SEARCHED: &str = "route";
/// A value is standing when its factor in the baseline was at least this part of the current one, on the log scale.
const STANDING_PART: f64 = 0.5;

impl AttributeValues {
    /// The values of all sets; nothing for data without attributes.
    pub(crate) fn new(names: &Names) -> AttributeValues {
        let texts =
            || (0..names.attribute_sets()).map(|at| names.attribute_set_text(AttributeSetId::from_index(at)));
        let mut distinct: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for attribute in texts().flat_map(attributes_in) {
            distinct.entry((attribute.key, attribute.service)).or_default().insert(attribute.value);
        }
        distinct.retain(|_, values| values.len() <= VALUES_MAX);
        let mut values = Vec::new();
        let mut numbers: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
        for (&(key, service), of_key) in &distinct {
            for &value in of_key {
                numbers.insert((key, service, value), values.len() as u32);
                let [key, service, value] = [key, service, value].map(str::to_owned);
                values.push(AttributeValue { key, service, value });
            }
        }
        let number = |text| {
            let attributes = attributes_in(text);
            let mut set: Vec<u32> = attributes
                .filter_map(|one| numbers.get(&(one.key, one.service, one.value)).copied())
                .collect();
            set.sort_unstable();
            set
        };
        AttributeValues { sets: texts().map(number).collect(), values }
    }

    /// The attribute of each value, as a number.
    fn attributes(&self) -> Vec<u32> {
        let same = |a: &AttributeValue, b: &AttributeValue| (&a.key, &a.service) == (&b.key, &b.service);
        let numbered = self.values.chunk_by(same).zip(0..);
        numbered.flat_map(|(values, number)| values.iter().map(move |_| number)).collect()
    }

    /// Whether a set has a value.
    pub(super) fn has_value(&self, set: AttributeSetId, value: u32) -> bool {
        self.sets[set.index()].binary_search(&value).is_ok()
    }

    /// Values of the attributes by which requests are compared, by key and service: ranges of at least two indices.
    pub(crate) fn compared(&self) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
        let is_compared = |range: &std::ops::Range<u32>| {
            range.len() > 1 && self.values[range.start as usize].key != NOT_SEARCHED
        };
        self.by_key().filter(is_compared).take(SEARCHED_MAX)
    }

    /// Values by key and service: ranges of indices.
    fn by_key(&self) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
        let mut from = 0;
        let same = |a: &AttributeValue, b: &AttributeValue| a.key == b.key && a.service == b.service;
        self.values.chunk_by(same).map(move |values| {
            let range = from..from + values.len() as u32;
            from = range.end;
            range
        })
    }
}

/// Operations of the window at which requests with one value of an attribute are slower than the others, unless their
/// replicas explain it or the baseline shows the same; one per operation.
pub(super) fn uneven(
    values: &AttributeValues,
    window: &SiteTable,
    baseline: Option<&SiteTable>,
    names: &Names,
    explained: &BTreeSet<OperationId>,
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Vec<UnevenValue> {
    let mut out: Vec<UnevenValue> = Vec::new();
    for range in values.compared() {
        let Some(grouping) = Grouping::new(values, range, window) else { continue };
        let search = |table: &SiteTable| {
            let groups = grouping.groups(values, table, names);
            uneven_attributes(table, &groups, explained, settings, threads)
        };
        let mut found = search(window);
        let before = if found.is_empty() { Vec::new() } else { baseline.map_or_else(Vec::new, search) };
        let is_standing = |now: &UnevenAttribute| {
            let same = |then: &&UnevenAttribute| {
                then.suspect.operation == now.suspect.operation && then.group == now.group
            };
            before.iter().find(same).is_some_and(|then| then.factor.ln() >= STANDING_PART * now.factor.ln())
        };
        found.retain(|found| !is_standing(found));
        if let Some(baseline) = baseline {
            let before = grouping.groups(values, baseline, names);
            let now = grouping.groups(values, window, names);
            found.extend(changed_attributes(
                (baseline, &before),
                (window, &now),
                explained,
                settings,
                threads,
            ));
        }
        out.extend(found.into_iter().filter_map(|found| {
            let value = *grouping.values.get(found.group.checked_sub(1)? as usize)?;
            Some(UnevenValue { found, value })
        }));
    }
    out.sort_by(|a, b| {
        let key = |one: &UnevenValue| (one.found.suspect.operation, one.value);
        b.found.suspect.excess_ns.total_cmp(&a.found.suspect.excess_ns).then(key(a).cmp(&key(b)))
    });
    let mut operations = BTreeSet::new();
    out.retain(|one| operations.insert(one.found.suspect.operation));
    out
}

/// The frequent values of an attribute. Group 0 has the other requests, group `n` those of the n-th value.
struct Grouping {
    service: String,
    values: Vec<u32>,
}

impl Grouping {
    /// `None` when there are fewer than two groups.
    fn new(values: &AttributeValues, range: std::ops::Range<u32>, window: &SiteTable) -> Option<Grouping> {
        let mut counts = vec![0; range.len()];
        for request in &window.requests {
            for &value in values.sets[request.attributes.index()].iter().filter(|value| range.contains(value))
            {
                counts[(value - range.start) as usize] += 1;
            }
        }
        let enough = ((GROUP_SHARE_MIN * window.requests.len() as f64) as usize).max(GROUP_REQUESTS_MIN);
        let frequent: Vec<u32> =
            range.clone().filter(|value| counts[(value - range.start) as usize] >= enough).collect();
        let in_frequent: usize = frequent.iter().map(|value| counts[(value - range.start) as usize]).sum();
        let has_others = in_frequent < window.requests.len();
        let service = values.values[range.start as usize].service.clone();
        (frequent.len() + usize::from(has_others) > 1).then_some(Grouping { service, values: frequent })
    }

    fn groups(&self, values: &AttributeValues, table: &SiteTable, names: &Names) -> AttributeGroups {
        let group_of: Vec<u32> = (values.sets.iter())
            .map(|set| {
                let mut own = self.values.iter().zip(1..).filter(|(value, _)| set.contains(value));
                // With two values, as of two versions that both took part, a request belongs to neither.
                match (own.next(), own.next()) {
                    (Some((_, group)), None) => group,
                    _ => 0,
                }
            })
            .collect();
        let is_of = |at: &OperationId| names.operation_key(*at).service == self.service;
        AttributeGroups {
            groups: table.requests.iter().map(|request| group_of[request.attributes.index()]).collect(),
            count: self.values.len() as u32 + 1,
            operations: (!self.service.is_empty())
                .then(|| (0..names.operations()).map(OperationId::from_index).filter(is_of).collect()),
        }
    }
}

/// Whether requests with one version or zone of the operation's service are slower there than the others.
pub(super) fn differs_by_service(study: &SiteStudy, operation: OperationId) -> bool {
    study.uneven_values.iter().any(|one| {
        one.found.suspect.operation == operation
            && !study.attributes.values[one.value as usize].service.is_empty()
    })
}

/// Names the attributes that set the requests hit by each suspect apart from the others that call its operation.
pub(super) fn name_attributes(suspects: &mut [Suspect], study: &SiteStudy, settings: &SiteSettings) {
    let values = &study.attributes;
    if values.values.is_empty() {
        return;
    }
    let attributes = values.attributes();
    let operations: Vec<OperationId> = suspects.iter().map(|suspect| suspect.operation).collect();
    let tests: Vec<(usize, AttributeTest)> = (suspects.iter().enumerate())
        .flat_map(|(at, suspect)| {
            let requests: Vec<AttributedRequest> =
                requests_of(suspect, study).into_iter().map(|(_, request)| request).collect();
            attribute_tests(&requests, &values.sets, &attributes).into_iter().map(move |test| (at, test))
        })
        .collect();
    let found_by_time = |at: usize, value: u32| {
        let is_same =
            |one: &&UnevenValue| one.found.suspect.operation == operations[at] && one.value == value;
        study.uneven_values.iter().find(is_same)
    };
    // Of an operation that is slow for one value only requests with this value are hit: that they have it shows nothing.
    let by_hits = tests.iter().filter(|(at, test)| found_by_time(*at, test.value).is_none());
    let p_values: Vec<f64> = by_hits.map(|(_, test)| test.p_value).collect();
    let mut adjusted = benjamini_hochberg(&p_values).into_iter();
    for (at, test) in &tests {
        let by_time = found_by_time(*at, test.value);
        let p_value = match by_time {
            Some(one) => one.found.p_adjusted,
            None => adjusted.next().expect("one for each value that was not found by time"),
        };
        let is_different = by_time.is_some() || test.is_distinctive(p_value, &settings.attributes);
        if is_different && !is_of_all_since_onset(&suspects[*at], test.value, study) {
            let AttributeValue { key, service, value } = values.values[test.value as usize].clone();
            suspects[*at].attributes.push(SuspectAttribute {
                key,
                value,
                service: (!service.is_empty()).then_some(service),
                requests_hit: test.hits_with,
                requests: test.requests_with,
                hit_share: test.hit_share(),
                share: test.requests_with as f64 / test.requests as f64,
                factor: by_time.map(|one| one.found.factor),
                p_value,
            });
        }
    }
    for suspect in suspects {
        let lift = |one: &SuspectAttribute| one.hit_share - one.share;
        suspect.attributes.sort_by(|a, b| {
            lift(b).total_cmp(&lift(a)).then_with(|| (&a.key, &a.value).cmp(&(&b.key, &b.value)))
        });
        suspect.attributes.truncate(NAMED_MAX);
    }
}

/// Whether nearly all requests since the onset have a value, so that there are no others to compare them with. Values of a
/// service, such as its version, are retained, since a new version is a likely cause.
fn is_of_all_since_onset(suspect: &Suspect, value: u32, study: &SiteStudy) -> bool {
    let Some(onset) = suspect.onset.as_ref().map(|onset| onset.at) else { return false };
    let values = &study.attributes;
    if !values.values[value as usize].service.is_empty() {
        return false;
    }
    let calls = requests_of(suspect, study);
    let has_value =
        |request: &AttributedRequest| values.sets[request.set as usize].binary_search(&value).is_ok();
    let since = calls.iter().filter(|(start, _)| *start >= onset).map(|(_, request)| has_value(request));
    let since: Vec<bool> = since.collect();
    let with = since.iter().filter(|has_value| **has_value).count();
    !since.is_empty() && with as f64 >= OF_ALL_MIN * since.len() as f64
}

/// The requests of the window that call a suspect's operation, in order of start.
fn requests_of(suspect: &Suspect, study: &SiteStudy) -> Vec<(Timestamp, AttributedRequest)> {
    let requests = &study.window.requests;
    let is_here = |site: &Site| match *site {
        Site::Operation(operation) | Site::Chain(operation) => operation == suspect.operation,
        Site::Link { caller, callee } => caller == suspect.operation || callee == suspect.operation,
    };
    let rows = study.window.by_site().filter(|(site, _)| is_here(site)).flat_map(|(_, rows)| rows);
    let mut calls: Vec<u32> = rows.map(|row| row.request).collect();
    calls.sort_unstable();
    calls.dedup();
    let hit = suspect.hits.as_ref().map_or(&[][..], |figures| &figures.hit);
    let request = |&at: &u32| {
        let request = &requests[at as usize];
        let (is_hit, set) = (hit.binary_search(&at).is_ok(), request.attributes.index() as u32);
        (request.start, AttributedRequest { is_hit, set })
    };
    calls.iter().map(request).collect()
}
