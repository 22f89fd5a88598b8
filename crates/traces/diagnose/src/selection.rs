//! Which kind of request is analyzed: by service, entry operation, or category.

use laggard_assembly::ShapeRule;
use laggard_engine::{RequestRange, Requests, TreeStructure};
use laggard_model::{Fingerprint, Names, SpanKind};
use laggard_settings::{SettingError, nearest};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Requests that match everything that is named; all of them if nothing is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestSelection {
    /// Service of the entry.
    pub service: Option<String>,
    /// Operation of the entry: `NAME` or `SERVICE:NAME`.
    pub operation: Option<String>,
    /// Beginning of the id of a category, as reports print it.
    pub category: Option<String>,
}

/// Commands of Redis that wait until there is work. A worker's spans of them have no parent; their time is no latency of anybody.
const BLOCKING_READS: [&str; 8] =
    ["BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP"];

/// Whether such a request only waits for work.
fn waits_for_work(structure: &TreeStructure, names: &Names) -> bool {
    let [operation] = structure.operation[..] else { return false };
    let key = names.operation_key(operation);
    let command = key.operation.split(' ').next().unwrap_or_default();
    key.kind == SpanKind::Client && BLOCKING_READS.contains(&command)
}

/// How many traces of a range only wait for work. They are no requests.
pub(crate) fn waits_for_work_in(range: &RequestRange<'_>) -> u64 {
    let requests = range.requests();
    let structures = requests.structures().iter();
    let waits: Vec<bool> = structures.map(|structure| waits_for_work(structure, requests.names())).collect();
    range.iter().filter(|request| waits[request.structure()]).count() as u64
}

/// Names listed where one is unknown.
const LISTED: usize = 5;

/// Nothing is named.
pub(crate) static ALL_REQUESTS: RequestSelection =
    RequestSelection { service: None, operation: None, category: None };

impl RequestSelection {
    /// Name and value of every part, for reports.
    pub(crate) fn rows(&self) -> [(&'static str, String); 3] {
        [("service", &self.service), ("operation", &self.operation), ("category", &self.category)]
            .map(|(name, value)| (name, value.clone().unwrap_or_default()))
    }

    /// Whether the requests of each call-tree structure are selected; `None` if all are.
    pub(crate) fn structures(
        &self,
        requests: &Requests,
        rule: ShapeRule,
        threads: NonZeroUsize,
    ) -> Option<Arc<[bool]>> {
        let names = requests.names();
        let waits = |structure: &TreeStructure| self.operation.is_none() && waits_for_work(structure, names);
        if *self == ALL_REQUESTS && !requests.structures().iter().any(waits) {
            return None;
        }
        let shapes = self.category.as_ref().map(|_| requests.shapes(rule, threads));
        let matches = |(index, structure): (usize, &laggard_engine::TreeStructure)| {
            let Some(&entry) = structure.operation.first() else { return false };
            let key = names.operation_key(entry);
            let category = shapes.map(|shapes| shapes.categories()[shapes.category_of(index)].id);
            !waits(structure)
                && self.service.as_deref().is_none_or(|service| service == key.service)
                && self.is_operation(key.service, key.operation)
                && category.is_none_or(|id| self.is_category(id))
        };
        Some(requests.structures().iter().enumerate().map(matches).collect())
    }

    fn is_operation(&self, service: &str, operation: &str) -> bool {
        let Some(requested) = self.operation.as_deref() else { return true };
        requested == operation
            || requested.strip_prefix(service).and_then(|rest| rest.strip_prefix(':')) == Some(operation)
    }

    fn is_category(&self, id: Fingerprint) -> bool {
        self.category.as_deref().is_none_or(|prefix| !prefix.is_empty() && id.to_string().starts_with(prefix))
    }

    /// Checks that some request enters at the operation, and that the id is of exactly one category. Sets without any
    /// request are not checked.
    ///
    /// # Errors
    /// An unknown name or an ambiguous id, with those that are near.
    pub(crate) fn check(
        &self,
        sets: &[&Requests],
        rule: ShapeRule,
        threads: NonZeroUsize,
    ) -> Result<(), SettingError> {
        if sets.iter().all(|requests| requests.is_empty()) {
            return Ok(());
        }
        if let Some(operation) = &self.operation {
            let entries = count(sets, |requests, structure| {
                let key = requests.names().operation_key(requests.structures()[structure].operation[0]);
                (key.service.to_owned(), key.operation.to_owned())
            });
            if !entries.keys().any(|(service, name)| self.is_operation(service, name)) {
                return Err(unknown_operation(operation, &entries));
            }
        }
        let Some(category) = &self.category else { return Ok(()) };
        let categories = count(sets, |requests, structure| {
            let shapes = requests.shapes(rule, threads);
            shapes.categories()[shapes.category_of(structure)].id
        });
        let ids: Vec<String> =
            (categories.keys()).filter(|id| self.is_category(**id)).map(|id| id.short()).collect();
        match ids.as_slice() {
            [_] => Ok(()),
            [] => {
                let frequent: Vec<String> = most_frequent(&categories).map(|id| id.short()).collect();
                Err(SettingError::new(format_args!(
                    "there is no category {category:?}; the most frequent are {}",
                    frequent.join(", ")
                )))
            }
            some => Err(SettingError::new(format_args!(
                "category {category:?} is ambiguous: {}",
                some.iter().take(LISTED).cloned().collect::<Vec<String>>().join(", ")
            ))),
        }
    }
}

/// Requests by something that their structure has.
fn count<K: Ord>(sets: &[&Requests], key: impl Fn(&Requests, usize) -> K) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    for requests in sets {
        let mut by_structure = vec![0_u64; requests.structures().len()];
        requests.all().iter().for_each(|request| by_structure[request.structure()] += 1);
        for (structure, &found) in by_structure.iter().enumerate().filter(|(_, found)| **found > 0) {
            *counts.entry(key(requests, structure)).or_default() += found;
        }
    }
    counts
}

fn most_frequent<K: Ord>(counts: &BTreeMap<K, u64>) -> impl Iterator<Item = &K> {
    let mut all: Vec<(&K, u64)> = counts.iter().map(|(key, &requests)| (key, requests)).collect();
    all.sort_by_key(|&(_, requests)| std::cmp::Reverse(requests));
    all.into_iter().take(LISTED).map(|(key, _)| key)
}

/// Names that contain what was written, and the nearest; else the most frequent.
fn unknown_operation(written: &str, entries: &BTreeMap<(String, String), u64>) -> SettingError {
    let names: Vec<&str> = entries.keys().map(|(_, operation)| operation.as_str()).collect();
    let lower = written.to_lowercase();
    let similar = entries.keys().filter(|(_, operation)| {
        operation.to_lowercase().contains(&lower) || Some(operation.as_str()) == nearest(written, &names)
    });
    let text = |(service, operation): &(String, String)| format!("{service}:{operation}");
    let similar: Vec<String> = similar.take(LISTED).map(text).collect();
    let hint = match similar.is_empty() {
        true => {
            let frequent: Vec<String> = most_frequent(entries).map(text).collect();
            format!("the most frequent are {}", frequent.join(", "))
        }
        false => format!("did you mean {}?", similar.join(" or ")),
    };
    SettingError::new(format_args!("no request enters at operation {written:?}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_engine::{RequestSlice, SliceFacts, TraceAttributes};
    use laggard_model::{OperationKey, TraceId};

    #[test]
    fn polling_reads_are_not_requests() {
        let traces = ["1 - BLPOP@w 0..9 client", "1 - take@w 0..9 internal\n2 1 BLPOP@w 1..2 client"];
        let slice = |(number, text): (usize, &str)| {
            let laggard_testkit::ParsedSpans { mut rows, mut names } = laggard_testkit::parse_spans(text);
            let read = OperationKey { service: "s", operation: "BLPOP", kind: SpanKind::Client };
            let read = names.operation(read);
            for row in &mut rows {
                row.trace = TraceId::from_value(1 + number as u128);
                if row.kind == SpanKind::Client {
                    row.operation = read;
                }
            }
            let facts = SliceFacts::default();
            Arc::new(RequestSlice::assemble(names, rows, &TraceAttributes::default(), facts))
        };
        let threads = NonZeroUsize::MIN;
        let requests = Requests::from_slices(traces.into_iter().enumerate().map(slice).collect(), threads);
        let selected = |selection: &RequestSelection| {
            let structures = selection.structures(&requests, ShapeRule::Canonical, threads);
            let is_selected = |structure: usize| structures.as_ref().is_none_or(|all| all[structure]);
            requests.all().iter().filter(|request| is_selected(request.structure())).count()
        };
        assert_eq!(selected(&ALL_REQUESTS), 1, "within a request, waiting is part of its latency");
        assert_eq!(waits_for_work_in(&requests.all()), 1);
        let named = RequestSelection { operation: Some("BLPOP".to_owned()), ..ALL_REQUESTS.clone() };
        assert_eq!(selected(&named), 1, "who names it wants it");
    }
}
