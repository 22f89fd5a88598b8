//! Slices of requests: five to fifteen bytes a call, where memory takes 29.

use super::facts::{put_facts, read_facts};
use super::{put_names, read_names};
use crate::{CallColumns, RequestSlice, SlicedRequest, TreeStructure};
use laggard_model::{
    AdjustedCount, AttributeSetId, Names, Nanos, OperationId, ReplicaId, Status, Timestamp, TraceId,
};
use laggard_wire::{Malformed, PackedReader, Unpacked, put_difference, put_varint};

/// Least bytes of a node of a structure (operation, parent, order group), of a request (head, start, trace, structure), and of a
/// call (head, replica, inclusive time).
const NODE_BYTES_MIN: usize = 3;
const REQUEST_BYTES_MIN: usize = 3 + size_of::<u128>();
const CALL_BYTES_MIN: usize = 3;

/// Bits of the first byte of a request and of a call, above the number of the status.
const STATUS: u8 = 3;
const REQUEST_COMPLETE: u8 = 1 << 2;
const REQUEST_HAS_COUNT: u8 = 1 << 3;
const REQUEST_HAS_ATTRIBUTES: u8 = 1 << 4;
/// The self time is the inclusive time, as it is of calls that call nothing.
const CALL_SELF_IS_INCLUSIVE: u8 = 1 << 2;
/// The time on the critical path is the self time, or it is 0.
const CALL_PATH_IS_SELF: u8 = 1 << 3;
const CALL_PATH_IS_ZERO: u8 = 1 << 4;

/// Appends a slice. Calls are written in the order of the requests.
pub(crate) fn put_slice(out: &mut Vec<u8>, slice: &RequestSlice) {
    put_names(out, &slice.names);
    put_facts(out, &slice.facts);
    put_structures(out, &slice.structures);
    put_requests(out, &slice.requests);
    out.reserve(8 * slice.calls.replica.len());
    for request in &slice.requests {
        let calls = slice.structures[request.structure as usize].len();
        (0..calls).for_each(|node| put_call(out, &slice.calls, request.first_call as usize + node));
    }
}

/// A slice that was appended. Its calls are in the order of its requests, without gaps.
pub(crate) fn read_slice(from: &mut PackedReader<'_>) -> Unpacked<RequestSlice> {
    let names = read_names(from)?;
    let facts = read_facts(from, &names)?;
    let structures = read_structures(from, &names)?;
    let requests = read_requests(from, &names, &structures)?;
    let last = requests.last();
    let calls = last.map_or(0, |last| last.first_call as usize + structures[last.structure as usize].len());
    let calls = read_calls(from, &names, calls)?;
    Ok(RequestSlice { names, structures, requests, calls, facts })
}

fn put_structures(out: &mut Vec<u8>, structures: &[TreeStructure]) {
    put_varint(out, structures.len() as u64);
    for structure in structures {
        put_varint(out, structure.len() as u64);
        for node in 0..structure.len() {
            put_varint(out, structure.operation[node].index() as u64);
            // 0 for the first node, else how far back the caller is.
            put_varint(out, structure.parent[node].map_or(0, |parent| (node - parent as usize) as u64));
            put_varint(out, u64::from(structure.order_group[node]));
        }
    }
}

fn read_structures(from: &mut PackedReader<'_>, names: &Names) -> Unpacked<Vec<TreeStructure>> {
    let mut structures = Vec::new();
    for _ in 0..from.count(1 + NODE_BYTES_MIN)? {
        let nodes = from.count(NODE_BYTES_MIN)?;
        let mut structure = TreeStructure {
            operation: Vec::with_capacity(nodes),
            parent: Vec::with_capacity(nodes),
            order_group: Vec::with_capacity(nodes),
        };
        for node in 0..nodes {
            structure.operation.push(OperationId::from_index(from.index(names.operations())?));
            let back = from.index(node + 1)?;
            structure.parent.push(caller(&structure.parent, node, back)?);
            structure.order_group.push(from.number_u32()?);
        }
        if structure.is_empty() {
            return Err(Malformed);
        }
        structures.push(structure);
    }
    Ok(structures)
}

/// The caller of a node in depth-first pre-order: only the first has none, and that of another is the node before it or one above
/// that.
fn caller(parents: &[Option<u32>], node: usize, back: usize) -> Unpacked<Option<u32>> {
    if node == 0 {
        return Ok(None);
    }
    let caller = if back > 0 { (node - back) as u32 } else { return Err(Malformed) };
    let mut above = Some(node as u32 - 1);
    while above != Some(caller) {
        above = parents[above.ok_or(Malformed)? as usize];
    }
    Ok(above)
}

fn put_requests(out: &mut Vec<u8>, requests: &[SlicedRequest]) {
    put_varint(out, requests.len() as u64);
    let mut before_ns = 0;
    for request in requests {
        let has_attributes = request.attributes != AttributeSetId::default();
        let mut head = request.status as u8;
        head |= if request.complete { REQUEST_COMPLETE } else { 0 };
        head |= if request.adjusted_count.is_some() { REQUEST_HAS_COUNT } else { 0 };
        head |= if has_attributes { REQUEST_HAS_ATTRIBUTES } else { 0 };
        out.push(head);
        put_difference(out, before_ns, request.start.unix_ns());
        before_ns = request.start.unix_ns();
        out.extend_from_slice(&request.trace.value().to_le_bytes());
        put_varint(out, u64::from(request.structure));
        if let Some(count) = request.adjusted_count {
            out.extend_from_slice(&count.get().to_le_bytes());
        }
        if has_attributes {
            put_varint(out, request.attributes.index() as u64);
        }
    }
}

fn read_requests(
    from: &mut PackedReader<'_>,
    names: &Names,
    structures: &[TreeStructure],
) -> Unpacked<Vec<SlicedRequest>> {
    let count = from.count(REQUEST_BYTES_MIN)?;
    let mut requests = Vec::with_capacity(count);
    let (mut start_ns, mut next_call) = (0, 0_u32);
    for _ in 0..count {
        let head = from.byte()?;
        start_ns = from.difference(start_ns)?;
        let trace = TraceId::from_value(u128::from_le_bytes(from.array()?));
        let structure = from.index(structures.len())?;
        let adjusted_count = match head & REQUEST_HAS_COUNT {
            0 => None,
            _ => Some(AdjustedCount::new(f64::from(f32::from_le_bytes(from.array()?))).ok_or(Malformed)?),
        };
        let attributes = match head & REQUEST_HAS_ATTRIBUTES {
            0 => AttributeSetId::default(),
            _ => AttributeSetId::from_index(from.index(names.attribute_sets())?),
        };
        requests.push(SlicedRequest {
            start: Timestamp::from_unix_ns(start_ns),
            trace,
            structure: structure as u32,
            first_call: next_call,
            status: Status::from_number(head & STATUS).ok_or(Malformed)?,
            complete: head & REQUEST_COMPLETE != 0,
            adjusted_count,
            attributes,
        });
        let calls = u32::try_from(structures[structure].len()).map_err(|_| Malformed)?;
        next_call = next_call.checked_add(calls).ok_or(Malformed)?;
    }
    let order = |request: &SlicedRequest| (request.start, request.trace);
    if requests.is_sorted_by_key(order) { Ok(requests) } else { Err(Malformed) }
}

#[inline]
fn put_call(out: &mut Vec<u8>, calls: &CallColumns, index: usize) {
    let [own, inclusive, path] =
        [&calls.self_time, &calls.inclusive_time, &calls.path_time].map(|times| times.get(index).ns());
    let mut head = calls.status[index] as u8;
    head |= if own == inclusive { CALL_SELF_IS_INCLUSIVE } else { 0 };
    head |= match path {
        0 => CALL_PATH_IS_ZERO,
        same if same == own => CALL_PATH_IS_SELF,
        _ => 0,
    };
    out.push(head);
    put_varint(out, calls.replica[index].index() as u64);
    put_varint(out, inclusive);
    if head & CALL_SELF_IS_INCLUSIVE == 0 {
        put_varint(out, own);
    }
    if head & (CALL_PATH_IS_ZERO | CALL_PATH_IS_SELF) == 0 {
        put_varint(out, path);
    }
}

fn read_calls(from: &mut PackedReader<'_>, names: &Names, count: usize) -> Unpacked<CallColumns> {
    // Many requests may have one structure: their calls are counted before anything is reserved for them.
    if !from.holds(count as u64, CALL_BYTES_MIN) {
        return Err(Malformed);
    }
    let mut calls = CallColumns::with_capacity(count);
    for _ in 0..count {
        let head = from.byte()?;
        calls.replica.push(ReplicaId::from_index(from.index(names.replicas())?));
        calls.status.push(Status::from_number(head & STATUS).ok_or(Malformed)?);
        let inclusive = from.number()?;
        let own = if head & CALL_SELF_IS_INCLUSIVE == 0 { from.number()? } else { inclusive };
        let path = match head & (CALL_PATH_IS_ZERO | CALL_PATH_IS_SELF) {
            0 => from.number()?,
            CALL_PATH_IS_SELF => own,
            _ => 0,
        };
        calls.self_time.push(Nanos::from_ns(own));
        calls.inclusive_time.push(Nanos::from_ns(inclusive));
        calls.path_time.push(Nanos::from_ns(path));
    }
    Ok(calls)
}
