//! Units of requests, with what the tables of requests, calls, and structures derive from them.

use crate::bounds::Bounds;
use crate::names::{NameTexts, Texts, attributes_json};
use crate::rows::TablePart;
use crate::stored::StoredTables;
use datafusion::arrow::array::ArrayRef;
use laggard_engine::{RequestSlice, TreeStructure, UnitId};
use laggard_model::{AttributeSetId, FingerprintBuilder, Names, OperationId, TraceId};
use laggard_store::{PlannedUnits, UnreadableSegment};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// A unit that is still to be read.
#[derive(Clone)]
pub(crate) struct UnitPart {
    units: Arc<PlannedUnits>,
    unit: UnitId,
}

/// The units within bounds. Late spans are read for it.
pub(super) async fn parts(
    tables: &StoredTables,
    bounds: &Bounds,
) -> Result<Vec<UnitPart>, UnreadableSegment> {
    let units = Arc::new(tables.view().plan_units(bounds.window.clone()).await?);
    tables.note(&units.late_facts().losses);
    Ok(units.ids().map(|unit| UnitPart { units: Arc::clone(&units), unit }).collect())
}

impl TablePart for UnitPart {
    fn unit(&self) -> Option<UnitId> {
        Some(self.unit)
    }
}

impl UnitPart {
    pub(super) async fn read(&self, with_calls: bool) -> Result<Arc<Unit>, UnreadableSegment> {
        Ok(Arc::new(Unit::new(self.units.requests(self.unit, with_calls).await?)))
    }
}

type Lazy<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

/// Requests that were read.
pub(crate) struct Unit {
    pub(super) slice: Arc<RequestSlice>,
    names: Lazy<NameTexts>,
    structures: Lazy<(Vec<String>, Texts)>,
    attributes: Lazy<Vec<Option<String>>>,
    numbers: Lazy<Vec<u32>>,
    received: HashMap<TraceId, usize>,
}

/// A value that is computed from a slice when it is first needed.
fn lazy<T: 'static>(slice: &Arc<RequestSlice>, compute: fn(&RequestSlice) -> T) -> Lazy<T> {
    let slice = Arc::clone(slice);
    LazyLock::new(Box::new(move || compute(&slice)))
}

impl Unit {
    fn new(slice: Arc<RequestSlice>) -> Unit {
        let received =
            slice.facts.texts.iter().enumerate().map(|(index, (trace, _))| (*trace, index)).collect();
        Unit {
            names: lazy(&slice, |slice| NameTexts::new(&slice.names)),
            structures: lazy(&slice, structure_ids),
            attributes: lazy(&slice, |slice| {
                let sets = 0..slice.names.attribute_sets();
                let text = |index| slice.names.attribute_set_text(AttributeSetId::from_index(index));
                sets.map(|index| attributes_json(text(index))).collect()
            }),
            numbers: lazy(&slice, request_numbers),
            received,
            slice,
        }
    }

    pub(super) fn names(&self) -> &NameTexts {
        &self.names
    }

    /// The id of a trace as it was received, if that is another text.
    pub(super) fn received(&self, trace: TraceId) -> Option<&str> {
        self.received.get(&trace).map(|&index| &*self.slice.facts.texts[index].1)
    }

    /// Ids of structures, by their numbers in the slice.
    pub(super) fn structure_ids(&self) -> &[String] {
        &self.structures.0
    }

    pub(super) fn structures(&self, numbers: impl Iterator<Item = u32>) -> ArrayRef {
        self.structures.1.column(numbers.map(|number| number as usize))
    }

    pub(super) fn attributes(&self, set: AttributeSetId) -> Option<&str> {
        self.attributes[set.index()].as_deref()
    }

    /// The number of a request within its trace, by start.
    pub(super) fn number(&self, request: usize) -> i64 {
        i64::from(self.numbers[request])
    }

    /// The structure of a request.
    pub(super) fn structure_of(&self, request: usize) -> &TreeStructure {
        &self.slice.structures[self.slice.requests[request].structure as usize]
    }

    /// What a request calls first: its entry.
    pub(super) fn entry_of(&self, request: usize) -> OperationId {
        self.structure_of(request).operation[0]
    }
}

/// A trace is in one unit, so that its requests can be numbered there.
fn request_numbers(slice: &RequestSlice) -> Vec<u32> {
    let mut next: HashMap<TraceId, u32> = HashMap::with_capacity(slice.requests.len());
    let requests = slice.requests.iter();
    requests
        .map(|request| {
            let next = next.entry(request.trace).or_default();
            *next += 1;
            *next - 1
        })
        .collect()
}

fn structure_ids(slice: &RequestSlice) -> (Vec<String>, Texts) {
    let ids: Vec<String> =
        slice.structures.iter().map(|structure| structure_id(structure, &slice.names)).collect();
    let texts = Texts::new(ids.iter());
    (ids, texts)
}

/// The same for equal call trees of all segments.
fn structure_id(structure: &TreeStructure, names: &Names) -> String {
    let mut builder = FingerprintBuilder::new();
    for node in 0..structure.len() {
        builder.fingerprint(names.fingerprint(structure.operation[node]));
        builder.word(structure.parent[node].map_or(u64::MAX, u64::from));
        builder.word(u64::from(structure.order_group[node]));
    }
    builder.finish().short()
}
