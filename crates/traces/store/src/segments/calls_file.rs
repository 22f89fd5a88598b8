//! The files of calls and of forms: what requests did, a row a call, and the call trees they did it in.

use super::columns;
use super::failure::Failure;
use super::name_columns::{NameColumns, OperationsRead};
use super::table::{self, BATCH_ROWS, Encoded, Pieces, TableWriter, field, text_type};
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::{DataType, SchemaRef};
use laggard_engine::{CallColumns, RequestSlice, TreeForm};
use laggard_model::{Names, Nanos, ReplicaId};
use std::sync::Arc;

/// Rows of one row group.
const ROWS_PER_GROUP: usize = 1 << 20;

fn call_schema() -> SchemaRef {
    table::schema(vec![
        field("request", DataType::UInt32, false),
        field("node", DataType::UInt32, false),
        field("replica", text_type(), false),
        field("self_ns", DataType::UInt64, false),
        field("inclusive_ns", DataType::UInt64, false),
        field("path_ns", DataType::UInt64, false),
    ])
}

/// Columns that are read; the others follow from the requests and are for other programs.
const CALL_COLUMNS: [&str; 4] = ["replica", "self_ns", "inclusive_ns", "path_ns"];

/// Writes the calls of a slice. Its calls are in the order of its requests, without gaps.
pub(crate) fn encode_calls(slice: &RequestSlice) -> Result<Encoded, Failure> {
    let properties = table::with_dictionaries(table::properties(ROWS_PER_GROUP), &["replica"]);
    let counted = ["request", "node", "self_ns", "inclusive_ns", "path_ns"];
    let properties = table::with_deltas(properties, &counted);
    let mut writer = TableWriter::new(call_schema(), properties.build())?;
    let known = NameColumns::new(&slice.names);
    let mut places = places(slice);
    let calls = slice.calls.replica.len();
    for start in (0..calls).step_by(BATCH_ROWS) {
        let end = (start + BATCH_ROWS).min(calls);
        let (requests, nodes) = places.by_ref().take(end - start).unzip::<u32, u32, Vec<_>, Vec<_>>();
        let replicas = slice.calls.replica[start..end].iter().map(|replica| replica.index() as i32).collect();
        let times = |times: &[Nanos]| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(times[start..end].iter().map(|time| time.ns())))
        };
        writer.write(vec![
            Arc::new(UInt32Array::from(requests)),
            Arc::new(UInt32Array::from(nodes)),
            columns::text_column(replicas, &known.replicas)?,
            times(&slice.calls.self_time),
            times(&slice.calls.inclusive_time),
            times(&slice.calls.path_time),
        ])?;
    }
    writer.finish()
}

/// Request and node of every call.
fn places(slice: &RequestSlice) -> impl Iterator<Item = (u32, u32)> + '_ {
    let length = |form: u32| slice.forms[form as usize].len() as u32;
    let of_request = move |(at, request): (u32, &laggard_engine::SlicedRequest)| {
        (0..length(request.form)).map(move |node| (at, node))
    };
    (0..).zip(&slice.requests).flat_map(of_request)
}

/// Reads calls; replicas are added to `names`.
pub(crate) fn decode_calls(pieces: Pieces, names: &mut Names) -> Result<CallColumns, Failure> {
    let metadata = table::footer(&pieces)?;
    let rows = usize::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    let mut out = CallColumns {
        replica: Vec::with_capacity(rows),
        self_time: Vec::with_capacity(rows),
        inclusive_time: Vec::with_capacity(rows),
        path_time: Vec::with_capacity(rows),
    };
    for batch in table::batches(pieces, metadata, &CALL_COLUMNS, None)? {
        let batch = batch?;
        let texts = columns::texts(&batch, "replica")?;
        let replicas: Vec<ReplicaId> =
            (0..texts.values.len()).map(|at| names.replica(texts.values.value(at))).collect();
        out.replica.extend(texts.keys.iter().map(|&key| replicas[key as usize]));
        let times = |into: &mut Vec<Nanos>, name| -> Result<(), Failure> {
            into.extend(columns::numbers::<UInt64Type>(&batch, name)?.iter().map(|&ns| Nanos::from_ns(ns)));
            Ok(())
        };
        times(&mut out.self_time, "self_ns")?;
        times(&mut out.inclusive_time, "inclusive_ns")?;
        times(&mut out.path_time, "path_ns")?;
    }
    Ok(out)
}

fn form_schema() -> SchemaRef {
    table::schema(vec![
        field("form", DataType::UInt32, false),
        field("node", DataType::UInt32, false),
        field("parent", DataType::UInt32, true),
        field("order_group", DataType::UInt32, false),
        field("service", text_type(), false),
        field("operation", text_type(), false),
        field("kind", text_type(), false),
    ])
}

const FORM_COLUMNS: [&str; 6] = ["form", "parent", "order_group", "service", "operation", "kind"];

/// Writes the forms of a slice.
pub(crate) fn encode_forms(slice: &RequestSlice) -> Result<Encoded, Failure> {
    let properties = table::properties(ROWS_PER_GROUP);
    let properties = table::with_dictionaries(properties, &["service", "operation", "kind"]);
    let properties = table::with_deltas(properties, &["form", "node", "order_group"]);
    let mut writer = TableWriter::new(form_schema(), properties.build())?;
    let (names, known) = (&slice.names, NameColumns::new(&slice.names));
    let nodes: Vec<(u32, u32)> = (0..)
        .zip(&slice.forms)
        .flat_map(|(form, tree)| (0..tree.len() as u32).map(move |node| (form, node)))
        .collect();
    for nodes in nodes.chunks(BATCH_ROWS) {
        let tree = |form: u32| &slice.forms[form as usize];
        let operations = || nodes.iter().map(|&(form, node)| tree(form).operation[node as usize]);
        let parents = nodes.iter().map(|&(form, node)| tree(form).parent[node as usize]);
        let groups = nodes.iter().map(|&(form, node)| tree(form).order_group[node as usize]);
        let services = operations().map(|id| names.service_of(id).index() as i32).collect();
        let kinds = operations().map(|id| names.operation_key(id).kind as i32).collect();
        writer.write(vec![
            Arc::new(UInt32Array::from_iter_values(nodes.iter().map(|&(form, _)| form))),
            Arc::new(UInt32Array::from_iter_values(nodes.iter().map(|&(_, node)| node))),
            Arc::new(parents.collect::<UInt32Array>()),
            Arc::new(UInt32Array::from_iter_values(groups)),
            columns::text_column(services, &known.services)?,
            columns::text_column(operations().map(|id| id.index() as i32).collect(), &known.operations)?,
            columns::text_column(kinds, &known.kinds)?,
        ])?;
    }
    writer.finish()
}

/// Reads forms; operations are added to `names`.
pub(crate) fn decode_forms(pieces: Pieces, names: &mut Names) -> Result<Vec<TreeForm>, Failure> {
    let metadata = table::footer(&pieces)?;
    let mut forms: Vec<TreeForm> = Vec::new();
    for batch in table::batches(pieces, metadata, &FORM_COLUMNS, None)? {
        let batch = batch?;
        let numbers = columns::numbers::<UInt32Type>(&batch, "form")?;
        let parents = columns::optional_numbers::<UInt32Type>(&batch, "parent")?;
        let groups = columns::numbers::<UInt32Type>(&batch, "order_group")?;
        let mut operations = OperationsRead::new(&batch)?;
        for at in 0..batch.num_rows() {
            if numbers[at] as usize == forms.len() {
                forms.push(TreeForm::default());
            }
            let in_order = numbers[at] as usize + 1 == forms.len();
            let form = forms.last_mut().filter(|_| in_order);
            let form = form.ok_or_else(|| Failure::damaged("has forms out of order"))?;
            let parent = parents.is_valid(at).then(|| parents.value(at));
            if parent.map_or(!form.is_empty(), |parent| parent as usize >= form.len()) {
                return Err(Failure::damaged("has a node before its parent"));
            }
            form.operation.push(operations.at(at, names)?);
            form.parent.push(parent);
            form.order_group.push(groups[at]);
        }
    }
    Ok(forms)
}
