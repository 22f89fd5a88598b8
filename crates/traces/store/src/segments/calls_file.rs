//! The files of calls (one row per call) and of call trees without times (one row per node).

use super::columns;
use super::error::SegmentError;
use super::name_columns::{NameColumns, OperationReader, read_statuses};
use super::table::{self, BATCH_ROWS, Column, EncodedFile, FileRanges, TableWriter};
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::DataType;
use laggard_engine::{CallColumns, DurationColumn, RequestSlice, TreeStructure};
use laggard_model::{Names, Nanos, ReplicaId, Status};
use std::sync::Arc;

/// Rows of one row group.
const ROWS_PER_GROUP: usize = 1 << 20;

fn call_columns() -> [Column; 7] {
    [
        Column::number("request", DataType::UInt32).derived(),
        Column::number("node", DataType::UInt32).derived(),
        Column::text("replica"),
        Column::number("self_ns", DataType::UInt64),
        Column::number("inclusive_ns", DataType::UInt64),
        Column::number("path_ns", DataType::UInt64),
        Column::text("status"),
    ]
}

/// Writes the calls of a slice. Its calls are in the order of its requests, without gaps.
pub(crate) fn encode_calls(slice: &RequestSlice) -> Result<EncodedFile, SegmentError> {
    let mut writer = TableWriter::new(&call_columns(), table::properties(ROWS_PER_GROUP))?;
    let known = NameColumns::new(&slice.names);
    let mut call_nodes = call_nodes(slice);
    let calls = slice.calls.replica.len();
    for start in (0..calls).step_by(BATCH_ROWS) {
        let end = (start + BATCH_ROWS).min(calls);
        let (requests, nodes) = call_nodes.by_ref().take(end - start).unzip::<u32, u32, Vec<_>, Vec<_>>();
        let replicas = slice.calls.replica[start..end].iter().map(|replica| replica.index() as i32).collect();
        let statuses = slice.calls.status[start..end].iter().map(|&status| status as i32).collect();
        let times = |times: &DurationColumn| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(times.range(start..end).map(Nanos::ns)))
        };
        writer.write(vec![
            Arc::new(UInt32Array::from(requests)),
            Arc::new(UInt32Array::from(nodes)),
            columns::text_column(replicas, &known.replicas)?,
            times(&slice.calls.self_time),
            times(&slice.calls.inclusive_time),
            times(&slice.calls.path_time),
            columns::text_column(statuses, &known.statuses)?,
        ])?;
    }
    writer.finish()
}

/// Request and node of every call.
fn call_nodes(slice: &RequestSlice) -> impl Iterator<Item = (u32, u32)> + '_ {
    let length = |structure: u32| slice.structures[structure as usize].len() as u32;
    let of_request = move |(index, request): (u32, &laggard_engine::SlicedRequest)| {
        (0..length(request.structure)).map(move |node| (index, node))
    };
    (0..).zip(&slice.requests).flat_map(of_request)
}

/// Reads calls; replicas are added to `names`.
pub(crate) fn decode_calls(ranges: FileRanges, names: &mut Names) -> Result<CallColumns, SegmentError> {
    let metadata = table::footer(&ranges)?;
    let rows = usize::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    let mut out = CallColumns {
        replica: Vec::with_capacity(rows),
        status: Vec::with_capacity(rows),
        self_time: DurationColumn::with_capacity(rows),
        inclusive_time: DurationColumn::with_capacity(rows),
        path_time: DurationColumn::with_capacity(rows),
    };
    for batch in table::batches(ranges, metadata, &call_columns(), None)? {
        let batch = batch?;
        let texts = columns::texts(&batch, "replica")?;
        let replicas: Vec<ReplicaId> =
            (0..texts.values.len()).map(|index| names.replica(texts.values.value(index))).collect();
        out.replica.extend(texts.keys.iter().map(|&key| replicas[key as usize]));
        match columns::texts_if_present(&batch, "status")? {
            Some(texts) => {
                let statuses = read_statuses(texts.values)?;
                out.status.extend(texts.keys.iter().map(|&key| statuses[key as usize]));
            }
            None => out.status.resize(out.replica.len(), Status::Unset),
        }
        let times = |into: &mut DurationColumn, name| -> Result<(), SegmentError> {
            into.extend(columns::numbers::<UInt64Type>(&batch, name)?.iter().map(|&ns| Nanos::from_ns(ns)));
            Ok(())
        };
        times(&mut out.self_time, "self_ns")?;
        times(&mut out.inclusive_time, "inclusive_ns")?;
        times(&mut out.path_time, "path_ns")?;
    }
    Ok(out)
}

fn structure_columns() -> [Column; 7] {
    [
        Column::number("structure", DataType::UInt32),
        Column::number("node", DataType::UInt32).derived(),
        Column::plain("parent", DataType::UInt32).optional(),
        Column::number("order_group", DataType::UInt32),
        Column::text("service"),
        Column::text("operation"),
        Column::text("kind"),
    ]
}

/// Writes the tree structures of a slice.
pub(crate) fn encode_structures(slice: &RequestSlice) -> Result<EncodedFile, SegmentError> {
    let mut writer = TableWriter::new(&structure_columns(), table::properties(ROWS_PER_GROUP))?;
    let (names, known) = (&slice.names, NameColumns::new(&slice.names));
    let nodes: Vec<(u32, u32)> = (0..)
        .zip(&slice.structures)
        .flat_map(|(structure, tree)| (0..tree.len() as u32).map(move |node| (structure, node)))
        .collect();
    for nodes in nodes.chunks(BATCH_ROWS) {
        let tree = |structure: u32| &slice.structures[structure as usize];
        let operations = || nodes.iter().map(|&(structure, node)| tree(structure).operation[node as usize]);
        let parents = nodes.iter().map(|&(structure, node)| tree(structure).parent[node as usize]);
        let groups = nodes.iter().map(|&(structure, node)| tree(structure).order_group[node as usize]);
        let services = operations().map(|id| names.service_of(id).index() as i32).collect();
        let kinds = operations().map(|id| names.operation_key(id).kind as i32).collect();
        writer.write(vec![
            Arc::new(UInt32Array::from_iter_values(nodes.iter().map(|&(structure, _)| structure))),
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

/// Reads tree structures; operations are added to `names`.
pub(crate) fn decode_structures(
    ranges: FileRanges,
    names: &mut Names,
) -> Result<Vec<TreeStructure>, SegmentError> {
    let metadata = table::footer(&ranges)?;
    let mut structures: Vec<TreeStructure> = Vec::new();
    for batch in table::batches(ranges, metadata, &structure_columns(), None)? {
        let batch = batch?;
        let numbers = columns::numbers::<UInt32Type>(&batch, "structure")?;
        let parents = columns::optional_numbers::<UInt32Type>(&batch, "parent")?;
        let groups = columns::numbers::<UInt32Type>(&batch, "order_group")?;
        let mut operations = OperationReader::new(&batch)?;
        for index in 0..batch.num_rows() {
            if numbers[index] as usize == structures.len() {
                structures.push(TreeStructure::default());
            }
            let in_order = numbers[index] as usize + 1 == structures.len();
            let structure = structures.last_mut().filter(|_| in_order);
            let structure = structure.ok_or_else(|| SegmentError::damaged("has call trees out of order"))?;
            let parent = parents.is_valid(index).then(|| parents.value(index));
            if parent.map_or(!structure.is_empty(), |parent| parent as usize >= structure.len()) {
                return Err(SegmentError::damaged("has a node before its parent"));
            }
            structure.operation.push(operations.at(index, names)?);
            structure.parent.push(parent);
            structure.order_group.push(groups[index]);
        }
    }
    Ok(structures)
}
