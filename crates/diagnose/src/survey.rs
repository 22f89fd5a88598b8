//! First pass: which categories are there, how many requests has each, and what was lost in assembly.

use laggard_assembly::{ClockAgreement, Request, ShapePosition, ShapeRule, Shaper, assemble};
use laggard_engine::Fold;
use laggard_localize::RequestRow;
use laggard_model::{AdjustedCount, Fingerprint, Losses, Nanos, ServiceId, SpanRow, Timestamp, TraceId};
use std::collections::BTreeMap;

/// Groups complete requests by the shape of their call tree.
pub struct SurveyFold<'a> {
    /// How shapes are compared.
    pub rule: ShapeRule,
    /// Stable fingerprint of every operation, by handle.
    pub operations: &'a [Fingerprint],
    /// Service of every operation, by handle.
    pub services: &'a [ServiceId],
    /// Requests that start before this are left out.
    pub since: Timestamp,
    /// Requests that start after this are left out.
    pub until: Timestamp,
    /// Only requests whose entry is of this service.
    pub service: Option<ServiceId>,
    /// What a request stands for whose entry does not tell.
    pub assumed_count: Option<AdjustedCount>,
}

/// What one part of the traces amounts to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Survey {
    /// Categories by id.
    pub categories: BTreeMap<Fingerprint, SurveyedCategory>,
    /// Traces seen.
    pub traces: u64,
    /// Spans kept after duplicates were dropped.
    pub spans: u64,
    /// Complete and partial requests inside the window.
    pub requests: u64,
    /// Partial ones among them.
    pub partial: u64,
    /// Complete requests whose weight is told (and not assumed).
    pub weights_told: u64,
    /// Repairs and doubts of assembly.
    pub losses: Losses,
    /// What is known of the clocks.
    pub clocks: ClockAgreement,
}

/// One category.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SurveyedCategory {
    /// The tree's positions.
    pub positions: Vec<ShapePosition>,
    /// Its requests; by start, then trace, once finished.
    pub requests: Vec<RequestRow>,
}

impl SurveyFold<'_> {
    /// One request as the methods see it.
    pub(crate) fn row(&self, request: &Request, trace: TraceId) -> RequestRow {
        let count = request.adjusted_count.or(self.assumed_count);
        RequestRow {
            start: request.start,
            trace,
            latency_ns: request.tree.latency().ns(),
            weight: count.unwrap_or(AdjustedCount::ONE).get(),
        }
    }

    /// Whether a request that starts then, at an entry of this operation, is asked for.
    pub(crate) fn wants(&self, start: Timestamp, entry: laggard_model::OperationId) -> bool {
        let in_window = (self.since..=self.until).contains(&start);
        in_window && self.service.is_none_or(|service| self.services[entry.index()] == service)
    }
}

impl Fold for SurveyFold<'_> {
    type Partial = Survey;
    type Output = Survey;

    fn start(&self) -> Survey {
        Survey::default()
    }

    fn add(&self, partial: &mut Survey, trace: &[SpanRow]) {
        let assembled = assemble(trace);
        partial.traces += 1;
        partial.spans += assembled.spans;
        partial.losses.merge(&assembled.losses);
        partial.clocks.merge(assembled.clocks);
        let mut shaper = Shaper::new(self.rule, self.operations);
        for request in &assembled.requests {
            if !self.wants(request.start, request.tree.operation[0]) {
                continue;
            }
            partial.requests += 1;
            if !request.complete {
                partial.partial += 1;
                continue;
            }
            let shape = shaper.shape(&request.tree);
            partial.weights_told += u64::from(request.adjusted_count.is_some());
            let row = self.row(request, trace[0].trace);
            file(&mut partial.categories, shape.fingerprint, shape.positions, &[row]);
        }
    }

    fn merge(&self, into: &mut Survey, later: Survey) {
        for (id, category) in later.categories {
            file(&mut into.categories, id, category.positions, &category.requests);
        }
        into.traces += later.traces;
        into.spans += later.spans;
        into.requests += later.requests;
        into.partial += later.partial;
        into.weights_told += later.weights_told;
        into.losses.merge(&later.losses);
        into.clocks.merge(later.clocks);
    }

    fn finish(&self, mut partial: Survey) -> Survey {
        for category in partial.categories.values_mut() {
            category.requests.sort_unstable_by_key(order);
        }
        partial
    }
}

/// Requests by start; the rest makes the order whole.
pub(crate) fn order(request: &RequestRow) -> (Timestamp, TraceId, u64, u32) {
    (request.start, request.trace, request.latency_ns, request.weight.to_bits())
}

/// Files requests under their shape. Two shapes with one fingerprint would be two categories: the positions
/// are compared, and the later shape moves to the next free id.
fn file(
    categories: &mut BTreeMap<Fingerprint, SurveyedCategory>,
    mut id: Fingerprint,
    positions: Vec<ShapePosition>,
    requests: &[RequestRow],
) {
    while categories.get(&id).is_some_and(|known| known.positions != positions) {
        id = Fingerprint::from_value(id.value().wrapping_add(1));
    }
    let category = categories.entry(id).or_default();
    category.positions = positions;
    category.requests.extend_from_slice(requests);
}

/// The length of the window that a set of requests covers.
pub(crate) fn extent(survey: &Survey) -> Option<(Timestamp, Timestamp, Nanos)> {
    let starts = || survey.categories.values().flat_map(|category| &category.requests).map(|row| row.start);
    let (first, last) = (starts().min()?, starts().max()?);
    Some((first, last, last.since(first).magnitude()))
}
