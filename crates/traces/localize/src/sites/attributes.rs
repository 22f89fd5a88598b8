//! Attributes of requests, tested as replicas are: which value do the requests have that are hit, and requests with which
//! value are slower at a site than others.
//!
//! Values are numbers of the caller's choosing. Requests of one value often come together, and so do slow requests: the
//! test therefore compares the requests that are hit with others of the same time only.

use crate::sites::culprits::{Culprit, CulpritSettings};
use crate::sites::group_sums::Grouped;
use crate::sites::judge::{SiteSettings, SiteSuspect, join_suspects};
use crate::sites::peers::{UnevenSite, uneven};
use crate::sites::per_category::Keyed;
use crate::sites::replica_change::find_changed_groups;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{OperationId, ReplicaId};
use laggard_parallel::parallel_map;
use laggard_settings::settings;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

settings! {
    group "combined";
    /// Thresholds of the tests of attributes.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct AttributeSettings {
        /// At least this share of the requests that are hit has the value of an attribute that is named
        hit_share_min ("attribute-hit-share-min"): f64 = 0.8, within(0.0, 1.0), "ours";
        /// Level of the test of each value after Benjamini–Hochberg over all values and suspects
        level ("attribute-level"): f64 = 0.01, within(0.0, 1.0), "ours";
    }
}

/// A request that calls a suspect's operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttributedRequest {
    /// Whether it is hit.
    pub is_hit: bool,
    /// Index into the list of sets of values.
    pub set: u32,
}

/// One value among the requests that call a suspect's operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AttributeTest {
    /// The value.
    pub value: u32,
    /// Requests that are hit.
    pub hits: u64,
    /// Those with the value.
    pub hits_with: u64,
    /// All requests.
    pub requests: u64,
    /// Those with the value.
    pub requests_with: u64,
    /// Requests that are not hit and have any value of the attribute: one of a service has none for requests that do not meet it.
    pub others_with_any: u64,
    /// Probability that by chance as many affected requests have the value, given the others of the same time.
    pub p_value: f64,
}

/// A value is tested if this share of the requests has it, and this share has not.
const SHARE_MIN: f64 = 0.03;

/// Requests that follow each other and are compared with each other, and at most how many such blocks there are.
const BLOCK_REQUESTS_MIN: usize = 20;
const BLOCKS_MAX: usize = 200;

impl AttributeTest {
    /// Share of the requests that are hit with the value, 0..1.
    pub fn hit_share(&self) -> f64 {
        self.hits_with as f64 / self.hits.max(1) as f64
    }

    /// Share of the other requests with the value, among those with any value of the attribute, 0..1.
    fn other_share(&self) -> f64 {
        (self.requests_with - self.hits_with) as f64 / self.others_with_any.max(1) as f64
    }

    /// Whether the value sets the requests that are hit apart from the others, given its p-value adjusted for all tests.
    pub fn is_distinctive(&self, p_adjusted: f64, settings: &AttributeSettings) -> bool {
        p_adjusted <= settings.level
            && self.hit_share() >= settings.hit_share_min
            && self.other_share() <= 0.5 * self.hit_share()
    }
}

/// Tests every value that nearly no requests have, nor nearly all that have any value of its attribute. `requests` are in order of
/// start; `sets` hold values, each ascending; `attributes` is the attribute of each value. `O(R · A + B² · V)` for R requests of A attributes, B ≤ 200 blocks and V tested values.
pub fn attribute_tests(
    requests: &[AttributedRequest],
    sets: &[Vec<u32>],
    attributes: &[u32],
) -> Vec<AttributeTest> {
    let counts = Counts::of(requests, sets);
    // A request that meets several values of one attribute, as versions of a service that both took part, counts once.
    let any_sets: Vec<Vec<u32>> = (sets.iter())
        .map(|set| {
            let mut any: Vec<u32> = set.iter().map(|&value| attributes[value as usize]).collect();
            any.sort_unstable();
            any.dedup();
            any
        })
        .collect();
    let any = Counts::of(requests, &any_sets);
    let hits: u64 = requests.iter().map(|request| u64::from(request.is_hit)).sum();
    let total = requests.len() as u64;
    let tested = counts.tested(total, |value| any.all(attributes[value as usize]));
    let length = requests.len().div_ceil(BLOCKS_MAX).max(BLOCK_REQUESTS_MIN);
    let mut expected = vec![Vec::new(); tested.len()];
    let mut observed = vec![0.0; tested.len()];
    for block in requests.chunks(length) {
        let block_hits: u64 = block.iter().map(|request| u64::from(request.is_hit)).sum();
        if block_hits == 0 {
            continue;
        }
        let within = Counts::of(block, sets);
        for (at, &value) in tested.iter().enumerate() {
            expected[at].push(within.all(value) as f64 / block.len() as f64);
            observed[at] += within.hits(value) as f64 / block_hits as f64;
        }
    }
    let test = |(at, &value): (usize, &u32)| AttributeTest {
        value,
        hits,
        hits_with: counts.hits(value),
        requests: total,
        requests_with: counts.all(value),
        others_with_any: {
            let attribute = attributes[value as usize];
            any.all(attribute) - any.hits(attribute)
        },
        p_value: upper_tail(&expected[at], observed[at]),
    };
    tested.iter().enumerate().map(test).collect()
}

/// Requests by value.
struct Counts {
    all: Vec<u64>,
    hits: Vec<u64>,
}

impl Counts {
    fn of(requests: &[AttributedRequest], sets: &[Vec<u32>]) -> Counts {
        let values = sets.iter().flatten().max().map_or(0, |&last| last as usize + 1);
        let mut counts = Counts { all: vec![0; values], hits: vec![0; values] };
        for request in requests {
            for &value in &sets[request.set as usize] {
                counts.all[value as usize] += 1;
                counts.hits[value as usize] += u64::from(request.is_hit);
            }
        }
        counts
    }

    fn all(&self, value: u32) -> u64 {
        self.all[value as usize]
    }

    fn hits(&self, value: u32) -> u64 {
        self.hits[value as usize]
    }

    /// `with_any`: requests with any value of the attribute of a value.
    fn tested(&self, total: u64, with_any: impl Fn(u32) -> u64) -> Vec<u32> {
        let is_tested = |&(count, value): &(&u64, u32)| {
            let (count, with_any) = (*count as f64, with_any(value) as f64);
            (SHARE_MIN * total as f64..=(1.0 - SHARE_MIN) * with_any).contains(&count)
        };
        self.all.iter().zip(0..).filter(is_tested).map(|(_, value)| value).collect()
    }
}

/// `P(X >= at_least)` of the number of successes of independent trials of these probabilities: their distribution is
/// computed trial by trial. Part of a success does not count.
fn upper_tail(probabilities: &[f64], at_least: f64) -> f64 {
    let at_least = (at_least + 1e-9).floor() as usize;
    let mut distribution = vec![1.0];
    for &probability in probabilities {
        distribution.push(0.0);
        for successes in (0..distribution.len()).rev() {
            let before = if successes == 0 { 0.0 } else { distribution[successes - 1] };
            distribution[successes] = distribution[successes] * (1.0 - probability) + before * probability;
        }
    }
    distribution.iter().skip(at_least).sum::<f64>().min(1.0)
}

/// An attribute by which requests are compared at sites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeGroups {
    /// The group of every request; requests without a value are a group as well.
    pub groups: Vec<u32>,
    /// Number of groups.
    pub count: u32,
    /// The operations whose own time is compared, if the attribute describes one service; all otherwise.
    pub operations: Option<BTreeSet<OperationId>>,
}

/// A site at which requests of one group are slower than the others.
#[derive(Clone, PartialEq, Debug)]
pub struct UnevenAttribute {
    /// The operation with its figures.
    pub suspect: SiteSuspect,
    /// The group.
    pub group: u32,
    /// Time of its requests over that of the others (geometric means).
    pub factor: f64,
    /// p-value adjusted over all groups.
    pub p_adjusted: f64,
}

/// Operations at which requests of one group are slower than the others of their category; the largest excess first.
/// `without` are operations whose differences are explained already.
pub fn uneven_attributes(
    table: &SiteTable,
    attribute: &AttributeGroups,
    without: &BTreeSet<OperationId>,
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Vec<UnevenAttribute> {
    let (sites, sets) = (attribute.sites(table, without), attribute.sets());
    let keyed = Keyed::new(table);
    let search = |&(site, rows): &(Site, &[Observation])| {
        let group = |row: &Observation| attribute.groups[row.request as usize];
        let grouped: Vec<Observation> =
            rows.iter().map(|row| Observation { set: group(row), ..*row }).collect();
        // A version may well follow another one.
        uneven(&keyed, &sets, site, &grouped, sites.len(), &settings.culprits, 0.0)
    };
    let total = table.latency_total_ns();
    let found = parallel_map(&sites, threads, search).into_iter().flatten();
    by_operation(found.filter(|site| site.excess_ns >= settings.uneven_share_min * total))
}

/// Operations at which requests of one group became slower than the others since the baseline; the largest excess first.
pub fn changed_attributes(
    (baseline, before): (&SiteTable, &AttributeGroups),
    (window, now): (&SiteTable, &AttributeGroups),
    without: &BTreeSet<OperationId>,
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Vec<UnevenAttribute> {
    let sites: Vec<(Site, &[Observation])> = now.sites(window, without);
    let sets = now.sets();
    let (baseline, window) = (Keyed::new(baseline), Keyed::new(window));
    let before = Grouped { table: &baseline, sets: &sets, by_request: Some(&before.groups) };
    let now = Grouped { table: &window, sets: &sets, by_request: Some(&now.groups) };
    let level = VALUES_LEVEL_PART * settings.culprits.level;
    let culprits = CulpritSettings { level, ..settings.culprits };
    by_operation(find_changed_groups(&before, &now, &sites, &culprits, threads).into_iter())
}

/// Values are compared at this part of the level of replicas: requests of one tenant come in bursts of a kind that the
/// parts of a window show too few of.
const VALUES_LEVEL_PART: f64 = 0.3;

impl AttributeGroups {
    /// The sites that are compared.
    fn sites<'a>(
        &self,
        table: &'a SiteTable,
        without: &BTreeSet<OperationId>,
    ) -> Vec<(Site, &'a [Observation])> {
        let compared = |site: &Site| {
            let operation = site.operation();
            let is_own = self.operations.as_ref().is_none_or(|own| own.contains(&operation));
            is_own && !without.contains(&operation) && !matches!(site, Site::Chain(_))
        };
        table.by_site().filter(|(site, _)| compared(site)).collect()
    }

    /// One set for each group.
    fn sets(&self) -> Vec<Vec<ReplicaId>> {
        (0..self.count).map(|group| vec![ReplicaId::from_index(group as usize)]).collect()
    }
}

/// One suspect per operation and group, the largest excess first.
fn by_operation(found: impl Iterator<Item = UnevenSite>) -> Vec<UnevenAttribute> {
    let mut out: Vec<UnevenAttribute> = Vec::new();
    for site in found {
        // Several groups that differ are no single cause.
        let [culprit] = site.culprits[..] else { continue };
        let suspect = suspect(&site, &culprit);
        let group = culprit.replica.index() as u32;
        let known =
            out.iter_mut().find(|known| known.suspect.operation == suspect.operation && known.group == group);
        match known {
            Some(known) => {
                let joined = join_suspects(vec![known.suspect.clone(), suspect]);
                joined.into_iter().for_each(|joined| known.suspect = joined);
            }
            None => out.push(UnevenAttribute {
                suspect,
                group,
                factor: culprit.factor,
                p_adjusted: culprit.p_adjusted,
            }),
        }
    }
    out.sort_by(|a, b| {
        b.suspect
            .excess_ns
            .total_cmp(&a.suspect.excess_ns)
            .then(a.suspect.operation.cmp(&b.suspect.operation))
    });
    out
}

fn suspect(site: &UnevenSite, culprit: &Culprit) -> SiteSuspect {
    SiteSuspect {
        operation: site.site.operation(),
        sites: vec![site.site],
        shift: None,
        slow_calls: None,
        culprits: Vec::new(),
        excess_ns: site.excess_ns,
        effect_ns: site.excess_ns / site.observations.max(1) as f64,
        factor: culprit.factor,
        hit: site.requests.clone(),
        is_end_unknown: matches!(site.site, Site::Link { .. }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of 600 requests of which every third is hit; `set` is the set of a request by its number. Values 0 and 1 are of one
    /// attribute, 2 of another.
    fn tests(sets: &[Vec<u32>], set: impl Fn(u32) -> u32) -> Vec<AttributeTest> {
        let request = |number: u32| AttributedRequest { is_hit: number.is_multiple_of(3), set: set(number) };
        let requests: Vec<AttributedRequest> = (0..600).map(request).collect();
        attribute_tests(&requests, sets, &[0, 0, 1])
    }

    fn distinctive(tests: &[AttributeTest]) -> Vec<u32> {
        let settings = AttributeSettings::default();
        let named = tests.iter().filter(|test| test.is_distinctive(test.p_value, &settings));
        named.map(|test| test.value).collect()
    }

    #[test]
    fn a_value_of_the_requests_that_are_hit_is_distinctive() {
        let found = tests(&[vec![0], vec![1]], |number| u32::from(number % 3 != 0));
        assert_eq!(distinctive(&found), [0]);
        assert_eq!((found[0].hits_with, found[0].requests_with, found[0].others_with_any), (200, 200, 400));
        let found = tests(&[vec![0], vec![1]], |number| number % 2);
        assert_eq!(distinctive(&found), [0; 0], "hit or not");
    }

    #[test]
    fn the_only_value_of_a_service_that_slow_requests_meet_is_not_distinctive() {
        // All requests that meet the service have value 2, and only these are hit.
        let found = tests(&[vec![0, 2], vec![0]], |number| u32::from(number % 3 != 0));
        assert_eq!(distinctive(&found), [0; 0]);
        // Nine in ten of them have value 0, whether they are hit or not.
        let sets = [vec![0], vec![1], vec![]];
        let found = tests(&sets, |number| match number % 3 {
            2 => 2,
            _ => u32::from(number % 30 < 3),
        });
        assert_eq!(distinctive(&found), [0; 0]);
    }
}
