//! Merging slices, and removing traces from a slice.

use crate::handles::HandleMap;
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
        let (names, map) = HandleMap::used(&self.names, retained.iter().map(|request| request.attributes));
        let mut builder = SliceBuilder { facts: self.facts.clone(), ..SliceBuilder::default() };
        let traces: HashSet<TraceId> = match self.facts.texts.is_empty() {
            true => HashSet::new(),
            false => retained.iter().map(|request| request.trace).collect(),
        };
        builder.facts.texts.retain(|(trace, _)| traces.contains(trace));
        builder.add_requests(self, &map, retained.into_iter());
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
            into.self_time.extend_from_slice(&from.self_time[calls.clone()]);
            into.inclusive_time.extend_from_slice(&from.inclusive_time[calls.clone()]);
            into.path_time.extend_from_slice(&from.path_time[calls]);
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
        self.traces += later.traces;
        self.rows += later.rows;
        self.spans += later.spans;
        self.losses.merge(&later.losses);
        self.clocks.merge(later.clocks.renamed(|replica| map.replica(replica)));
        self.origins.merge(&later.origins);
        self.texts.extend(later.texts.iter().cloned());
        self.extent = join(self.extent, later.extent);
    }
}
