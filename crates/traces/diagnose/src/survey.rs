//! First pass: the categories, and the requests of each.

use crate::attribute_filter::AttributeFilter;
use laggard_assembly::ShapePosition;
use laggard_engine::{Fold, RequestView, StructureShapes};
use laggard_localize::RequestRow;
use laggard_model::{AdjustedCount, Fingerprint, Losses, Names, Nanos, SparseVec, Timestamp, TraceId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Groups complete requests by the shape of their call tree.
pub struct SurveyFold<'a> {
    /// The shapes.
    pub shapes: &'a StructureShapes,
    /// Names behind the requests' handles.
    pub names: &'a Names,
    /// Whether requests of each structure are selected; `None` if all are.
    pub structures: Option<Arc<[bool]>>,
    /// Only requests with all of these attributes.
    pub attributes: &'a [AttributeFilter],
    /// Weight of requests that do not report one.
    pub assumed_count: Option<AdjustedCount>,
}

/// Categories and counts of requests.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Survey {
    /// Categories by id.
    pub categories: BTreeMap<Fingerprint, SurveyedCategory>,
    /// Complete and partial selected requests.
    pub requests: u64,
    /// Partial ones among them.
    pub partial: u64,
    /// Complete requests whose weight is recorded, not assumed.
    pub weights_known: u64,
    /// Losses of later passes.
    pub losses: Losses,
}

/// One category.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SurveyedCategory {
    /// The tree's positions.
    pub positions: Vec<ShapePosition>,
    /// Its requests; by start, then trace, once finished.
    pub requests: Vec<RequestRow>,
    /// The numbers of the requests, in the same order.
    pub numbers: Vec<u32>,
}

/// A survey before its categories have their ids.
#[derive(Default)]
pub struct PartialSurvey {
    /// By index of the shapes' category; those of later parts are joined only at the end, so that nothing is copied twice.
    categories: SparseVec<Vec<Members>>,
    requests: u64,
    partial: u64,
    weights_known: u64,
}

#[derive(Default)]
struct Members {
    requests: Vec<RequestRow>,
    numbers: Vec<u32>,
}

impl SurveyFold<'_> {
    fn row(&self, request: &RequestView<'_>) -> RequestRow {
        RequestRow {
            start: request.start(),
            trace: request.trace(),
            latency_ns: request.latency().ns(),
            weight: request.weight(self.assumed_count),
        }
    }

    fn includes(&self, request: &RequestView<'_>) -> bool {
        let text = || self.names.attribute_set_text(request.attributes());
        self.structures.as_ref().is_none_or(|structures| structures[request.structure()])
            && (self.attributes.is_empty() || AttributeFilter::all_match(self.attributes, text()))
    }
}

impl Fold for SurveyFold<'_> {
    type Partial = PartialSurvey;
    type Output = Survey;

    fn start(&self) -> PartialSurvey {
        PartialSurvey::default()
    }

    fn add(&self, partial: &mut PartialSurvey, request: &RequestView<'_>) {
        if !self.includes(request) {
            return;
        }
        partial.requests += 1;
        if !request.is_complete() {
            partial.partial += 1;
            return;
        }
        partial.weights_known += u64::from(request.adjusted_count().is_some());
        let category = self.shapes.category_of(request.structure());
        let parts = partial.categories.entry(category as u32);
        if parts.is_empty() {
            parts.push(Members::default());
        }
        let members = parts.last_mut().expect("a part was just added if there was none");
        members.requests.push(self.row(request));
        members.numbers.push(u32::try_from(request.number()).expect("fewer than 2^32 requests"));
    }

    fn merge(&self, into: &mut PartialSurvey, later: PartialSurvey) {
        for (category, members) in later.categories {
            into.categories.entry(category).extend(members);
        }
        into.requests += later.requests;
        into.partial += later.partial;
        into.weights_known += later.weights_known;
    }

    fn finish(&self, partial: PartialSurvey) -> Survey {
        let shapes = self.shapes.categories();
        let categories = (partial.categories.into_iter())
            .map(|(category, parts)| (&shapes[category as usize], Members::joined(parts)))
            .map(|(shape, members)| (shape.id, members.sorted(shape.positions.clone())))
            .collect();
        Survey {
            categories,
            requests: partial.requests,
            partial: partial.partial,
            weights_known: partial.weights_known,
            losses: Losses::none(),
        }
    }
}

impl Members {
    fn joined(parts: Vec<Members>) -> Members {
        let all = parts.iter().map(|part| part.requests.len()).sum();
        let mut joined = Members { requests: Vec::with_capacity(all), numbers: Vec::with_capacity(all) };
        for part in parts {
            joined.requests.extend(part.requests);
            joined.numbers.extend(part.numbers);
        }
        joined
    }

    /// Sorted by start and trace; the other keys only break ties.
    fn sorted(self, positions: Vec<ShapePosition>) -> SurveyedCategory {
        let Members { mut requests, mut numbers } = self;
        if !requests.is_sorted_by_key(order) {
            let mut pairs: Vec<(RequestRow, u32)> = requests.into_iter().zip(numbers).collect();
            pairs.sort_by_key(|(request, _)| order(request));
            (requests, numbers) = pairs.into_iter().unzip();
        }
        SurveyedCategory { positions, requests, numbers }
    }
}

/// Sort key: start, then keys that break ties.
fn order(request: &RequestRow) -> (Timestamp, TraceId, u64, u32) {
    (request.start, request.trace, request.latency_ns, request.weight.to_bits())
}

/// The length of the window that a set of requests covers.
pub(crate) fn extent(survey: &Survey) -> Option<(Timestamp, Timestamp, Nanos)> {
    let first =
        survey.categories.values().filter_map(|category| category.requests.first()).map(|row| row.start);
    let last =
        survey.categories.values().filter_map(|category| category.requests.last()).map(|row| row.start);
    let (first, last) = (first.min()?, last.max()?);
    Some((first, last, last.since(first).magnitude()))
}
