//! The contents of slices in a comparable representation: names instead of handles, in a fixed order.

use crate::{FlushBatch, View};
use laggard_engine::{RequestSlice, SliceFacts, TraceAttributes};
use laggard_model::{
    Loss, Losses, Names, OperationId, ReplicaId, SampleRecord, Sink, SpanAttributes, SpanRecord, Status,
    Timestamp,
};
use std::collections::BTreeMap;

/// The contents of some slices.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct SliceContents {
    pub(super) requests: Vec<String>,
    pub(super) counts: [u64; 3],
    pub(super) losses: BTreeMap<&'static str, u64>,
    pub(super) clocks: BTreeMap<(String, String), (i64, i64, u64)>,
    pub(super) texts: Vec<(u128, String)>,
    pub(super) call_records: u64,
}

impl SliceContents {
    pub(super) fn from_slices<'a>(slices: impl IntoIterator<Item = &'a RequestSlice>) -> SliceContents {
        let mut out = SliceContents::default();
        for slice in slices {
            out.requests.extend((0..slice.requests.len()).map(|index| request(slice, index)));
            out.add_facts(&slice.facts, &slice.names);
        }
        out.requests.sort();
        out.texts.sort();
        out
    }

    fn add_facts(&mut self, facts: &SliceFacts, names: &Names) {
        let more = [facts.traces, facts.rows, facts.spans];
        self.counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        for (loss, found) in facts.losses.iter() {
            *self.losses.entry(loss.name()).or_default() += found.count;
        }
        for ((caller, callee), bounds) in facts.clocks.pairs() {
            let name = |replica: ReplicaId| names.replica_name(replica).to_owned();
            let known = self.clocks.entry((name(caller), name(callee))).or_insert((i64::MIN, i64::MAX, 0));
            *known = (known.0.max(bounds.low_ns), known.1.min(bounds.high_ns), known.2 + bounds.calls);
        }
        self.texts.extend(facts.texts.iter().map(|(trace, text)| (trace.value(), text.to_string())));
        self.call_records += facts.origins.call_records;
    }
}

fn request(slice: &RequestSlice, index: usize) -> String {
    let request = &slice.requests[index];
    let structure = &slice.structures[request.structure as usize];
    let calls = &slice.calls;
    let node = |node: usize| {
        let call = request.first_call as usize + node;
        let operation: OperationId = structure.operation[node];
        let (key, replica) = (slice.names.operation_key(operation), calls.replica[call]);
        let (own, inclusive, path) =
            (calls.self_time.get(call), calls.inclusive_time.get(call), calls.path_time.get(call));
        // Stores of earlier versions do not record the outcomes of calls.
        let status = match calls.status[call] {
            Status::Unset => String::new(),
            status => format!(" {status:?}"),
        };
        format!(
            "{key:?} {:?} {} {} {} {} {}{status}",
            structure.parent[node],
            structure.order_group[node],
            slice.names.replica_name(replica),
            own.ns(),
            inclusive.ns(),
            path.ns()
        )
    };
    let nodes: Vec<String> = (0..structure.len()).map(node).collect();
    let (start, trace) = (request.start.unix_ns(), request.trace);
    let of_it = (request.status, request.complete, request.adjusted_count);
    // Stores of earlier versions have no attributes.
    let attributes = match slice.names.attribute_set_text(request.attributes) {
        "" => String::new(),
        text => format!(" {text:?}"),
    };
    format!("{start} {trace} {of_it:?} [{}]{attributes}", nodes.join("; "))
}

/// The contents of flush batches when they are assembled at once.
pub(super) fn expected(batches: &[FlushBatch]) -> SliceContents {
    let mut all = crate::segments::SpanTable::default();
    let mut notes = SliceFacts::default();
    for batch in batches {
        let (names, rows, texts) = (batch.names.clone(), batch.spans.clone(), batch.texts.clone());
        let (attributes, threads) = (batch.attributes.clone(), batch.threads.clone());
        let table = crate::segments::SpanTable { names, rows, texts, attributes, threads };
        all = crate::segments::SpanTable::merge(vec![all, table]);
        notes.losses.merge(&batch.losses);
        notes.origins.merge(&batch.origins);
    }
    notes.texts = all.texts;
    let attributes = TraceAttributes::from_texts(&all.attributes, &mut all.names);
    let slice = RequestSlice::assemble(all.names, all.rows, &attributes, notes);
    SliceContents::from_slices([&slice])
}

/// All results of a view about requests.
pub(super) async fn answered(view: &View) -> SliceContents {
    let slices = view.requests(Timestamp::MIN, Timestamp::MAX).await.unwrap();
    SliceContents::from_slices(slices.iter().map(|slice| &**slice))
}

/// A sink that collects everything as text.
#[derive(Default)]
pub(super) struct TextSink {
    pub(super) samples: Vec<String>,
    pub(super) spans: Vec<String>,
    pub(super) losses: Losses,
}

impl Sink for TextSink {
    fn span(&mut self, span: &SpanRecord<'_>) {
        // As in the expected texts of stores without attributes.
        let none = format!(", attributes: {:?}", SpanAttributes::default());
        self.spans.push(format!("{span:?}").replace(&none, ""));
    }

    fn call(&mut self, _call: &laggard_model::CallRecord<'_>) {
        panic!("calls are rebuilt before they are stored");
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.samples.push(format!("{sample:?}"));
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }
}
