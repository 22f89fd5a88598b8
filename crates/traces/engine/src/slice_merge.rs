//! Merging slices, and removing traces from a slice.

use crate::handles::{HandleMap, UsedNames};
use crate::slice::{RequestSlice, SliceFacts, SlicedRequest};
use crate::slice_builder::{SliceBuilder, join};
use laggard_model::{Names, TraceId};
use std::collections::HashSet;

impl RequestSlice {
    /// One slice of several, whose names may differ. Requests of one trace that is in two slices stay two.
    pub fn merge<'a>(slices: impl IntoIterator<Item = &'a RequestSlice>) -> RequestSlice {
        let mut names = Names::new();
        let mut builder = SliceBuilder::default();
        for slice in slices {
            let map = HandleMap::new(&mut names, &slice.names);
            builder.facts.merge(&slice.facts, &map);
            builder.add_requests(slice, &map, slice.requests.iter());
        }
        builder.finish(names)
    }

    /// The requests of traces for which `retain` is true; for traces that were assembled again because spans of
    /// them arrived late. Of the facts, only the numbers of traces and spans are reduced by the removed requests
    /// (orphan spans stay counted); the rest is unchanged.
    pub fn retain_traces(&self, retain: impl Fn(TraceId) -> bool) -> RequestSlice {
        let mut builder = SliceBuilder { facts: self.facts.clone(), ..SliceBuilder::default() };
        let retained = self.requests.iter().filter(|request| retain(request.trace));
        builder.add_requests(self, &HandleMap::identity(&self.names), retained);
        let left_out = self.requests.iter().filter(|request| !retain(request.trace));
        let mut traces = HashSet::new();
        for request in left_out {
            traces.insert(request.trace);
            let calls = self.structures[request.structure as usize].len() as u64;
            builder.facts.spans = builder.facts.spans.saturating_sub(calls);
            builder.facts.rows = builder.facts.rows.saturating_sub(calls);
        }
        builder.facts.traces = builder.facts.traces.saturating_sub(traces.len() as u64);
        builder.facts.texts.retain(|(trace, _)| retain(*trace));
        builder.finish(self.names.clone())
    }

    /// Some requests, with the names of all, but only their own sets of attributes. Facts stay those of all.
    pub(crate) fn retain_requests(&self, retain: impl Fn(&SlicedRequest) -> bool) -> RequestSlice {
        let retained: Vec<&SlicedRequest> = self.requests.iter().filter(|request| retain(request)).collect();
        let mut used = UsedNames {
            operations: vec![true; self.names.operations()],
            replicas: vec![true; self.names.replicas()],
            attribute_sets: vec![false; self.names.attribute_sets()],
        };
        retained.iter().for_each(|request| used.attribute_sets[request.attributes.index()] = true);
        self.with_requests(&retained, &used)
    }

    /// Some requests, and their names only. Facts stay those of all.
    pub(crate) fn retain_requests_with_their_names(
        &self,
        retain: impl Fn(&SlicedRequest) -> bool,
    ) -> RequestSlice {
        let retained: Vec<&SlicedRequest> = self.requests.iter().filter(|request| retain(request)).collect();
        let mut used = UsedNames {
            operations: vec![false; self.names.operations()],
            replicas: vec![false; self.names.replicas()],
            attribute_sets: vec![false; self.names.attribute_sets()],
        };
        for request in &retained {
            used.attribute_sets[request.attributes.index()] = true;
            let operations = &self.structures[request.structure as usize].operation;
            operations.iter().for_each(|operation| used.operations[operation.index()] = true);
            let calls = request.first_call as usize..request.first_call as usize + operations.len();
            self.calls.replica[calls].iter().for_each(|replica| used.replicas[replica.index()] = true);
        }
        for ((caller, callee), _) in self.facts.clocks.pairs() {
            [caller, callee].into_iter().for_each(|replica| used.replicas[replica.index()] = true);
        }
        self.with_requests(&retained, &used)
    }

    /// Some of its requests, with the names that they use.
    fn with_requests(&self, requests: &[&SlicedRequest], used: &UsedNames) -> RequestSlice {
        let (names, map) = HandleMap::used(&self.names, used);
        let mut builder = SliceBuilder::default();
        builder.facts.merge_but_texts(&self.facts, &map);
        if !self.facts.texts.is_empty() {
            let traces: HashSet<TraceId> = requests.iter().map(|request| request.trace).collect();
            let texts = self.facts.texts.iter().filter(|(trace, _)| traces.contains(trace));
            builder.facts.texts.extend(texts.cloned());
        }
        builder.add_requests(self, &map, requests.iter().copied());
        builder.finish(names)
    }
}

impl SliceBuilder {
    /// Adds requests of a slice.
    fn add_requests<'a>(
        &mut self,
        slice: &RequestSlice,
        map: &HandleMap,
        requests: impl Iterator<Item = &'a SlicedRequest>,
    ) {
        let mut numbers: Vec<Option<u32>> = vec![None; slice.structures.len()];
        let mut exchanged = Vec::new();
        for request in requests {
            let structure = &slice.structures[request.structure as usize];
            let number = *numbers[request.structure as usize]
                .get_or_insert_with(|| self.structures.number_of(structure, &map.operations, &mut exchanged));
            let calls = request.first_call as usize..request.first_call as usize + structure.len();
            let first_call = self.calls.next();
            let (into, from) = (&mut self.calls, &slice.calls);
            into.replica.extend(from.replica[calls.clone()].iter().map(|&replica| map.replica(replica)));
            into.status.extend_from_slice(&from.status[calls.clone()]);
            into.self_time.extend(from.self_time.range(calls.clone()));
            into.inclusive_time.extend(from.inclusive_time.range(calls.clone()));
            into.path_time.extend(from.path_time.range(calls));
            self.requests.push(SlicedRequest {
                structure: number,
                first_call,
                attributes: map.attribute_set(request.attributes),
                ..*request
            });
        }
    }
}

impl SliceFacts {
    pub(crate) fn merge(&mut self, later: &SliceFacts, map: &HandleMap) {
        self.merge_but_texts(later, map);
        self.texts.extend(later.texts.iter().cloned());
    }

    /// The same where texts are looked up in the slices.
    pub(crate) fn merge_but_texts(&mut self, later: &SliceFacts, map: &HandleMap) {
        self.traces += later.traces;
        self.rows += later.rows;
        self.spans += later.spans;
        self.losses.merge(&later.losses);
        self.clocks.merge(later.clocks.renamed(|replica| map.replica(replica)));
        self.origins.merge(&later.origins);
        self.extent = join(self.extent, later.extent);
    }
}
