//! Second pass: the calls of the categories that are judged.

use crate::survey::{self, SurveyFold};
use laggard_assembly::{Shape, Shaper, assemble};
use laggard_engine::Fold;
use laggard_localize::{Call, CategoryCalls, CategoryPosition, RequestRow, TimeKind};
use laggard_model::{CallTree, Fingerprint, SpanRow};
use std::collections::BTreeMap;

/// Collects the calls of every category with at least `requests_min` requests.
pub struct GatherFold<'a> {
    /// The first pass's rules; the same requests are looked at again.
    pub survey: &'a SurveyFold<'a>,
    /// Categories to collect.
    pub wanted: &'a BTreeMap<Fingerprint, Vec<CategoryPosition>>,
    /// Which time of a call is kept.
    pub time: TimeKind,
}

/// Requests of one category as they come, each with its calls.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Gathered {
    requests: Vec<RequestRow>,
    /// Calls of request i: `calls[ends[i - 1]..ends[i]]`.
    ends: Vec<usize>,
    calls: Vec<Call>,
}

impl Fold for GatherFold<'_> {
    type Partial = BTreeMap<Fingerprint, Gathered>;
    type Output = Vec<CategoryCalls>;

    fn start(&self) -> Self::Partial {
        BTreeMap::new()
    }

    fn add(&self, partial: &mut Self::Partial, trace: &[SpanRow]) {
        let assembled = assemble(trace);
        let mut shaper = Shaper::new(self.survey.rule, self.survey.operations);
        for request in &assembled.requests {
            if !request.complete || !self.survey.wants(request.start, request.tree.operation[0]) {
                continue;
            }
            let shape = shaper.shape(&request.tree);
            if !self.wanted.contains_key(&shape.fingerprint) {
                continue;
            }
            let gathered = partial.entry(shape.fingerprint).or_default();
            gathered.requests.push(self.survey.row(request, trace[0].trace));
            gathered.add_calls(&request.tree, &shape, self.time);
        }
    }

    fn merge(&self, into: &mut Self::Partial, later: Self::Partial) {
        for (id, theirs) in later {
            let mine = into.entry(id).or_default();
            let calls_before = mine.calls.len();
            mine.requests.extend(theirs.requests);
            mine.ends.extend(theirs.ends.iter().map(|end| end + calls_before));
            mine.calls.extend(theirs.calls);
        }
    }

    fn finish(&self, partial: Self::Partial) -> Vec<CategoryCalls> {
        partial
            .into_iter()
            .map(|(id, gathered)| gathered.into_category(id, self.wanted[&id].clone()))
            .collect()
    }
}

impl Gathered {
    fn add_calls(&mut self, tree: &CallTree, shape: &Shape, time: TimeKind) {
        let first = self.calls.len();
        for node in 0..tree.len() {
            let time_ns = match time {
                TimeKind::SelfTime => tree.self_time[node].ns(),
                TimeKind::Inclusive => tree.inclusive_time[node].ns(),
            };
            self.calls.push(Call {
                request: 0,
                position: shape.position_of[node],
                replica: tree.replica[node],
                time_ns,
            });
        }
        self.calls[first..].sort_by_key(|call| call.position);
        self.ends.push(self.calls.len());
    }

    /// Puts requests in order, numbers them and lays their calls out in that order.
    fn into_category(self, id: Fingerprint, positions: Vec<CategoryPosition>) -> CategoryCalls {
        let mut order: Vec<usize> = (0..self.requests.len()).collect();
        order.sort_unstable_by_key(|&at| (survey::order(&self.requests[at]), at));
        let mut out =
            CategoryCalls { id, positions, requests: vec![], calls: Vec::with_capacity(self.calls.len()) };
        for (row, &at) in order.iter().enumerate() {
            let from = if at == 0 { 0 } else { self.ends[at - 1] };
            out.requests.push(self.requests[at]);
            out.calls.extend(
                self.calls[from..self.ends[at]].iter().map(|call| Call { request: row as u32, ..*call }),
            );
        }
        out
    }
}
