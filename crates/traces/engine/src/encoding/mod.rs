//! Names, facts, and slices as bytes, with names of their own: what partial results are made of when they leave a process.
//!
//! Decoding accepts any bytes. What cannot have been encoded is [`Malformed`]; memory stays within a small multiple of the bytes.
//! Lists begin with their length, numbers are varints, and differences are taken where neighbors are close.

mod facts;
mod slice;

pub(crate) use slice::{put_slice, read_slice};

use laggard_model::{AttributeSetId, Names, OperationId, OperationKey, ReplicaId, ServiceId, SpanKind};
use laggard_wire::{Malformed, PackedReader, Unpacked, put_text, put_varint};

/// Least bytes of an encoded operation: its service, kind, and the length of its text.
const OPERATION_BYTES_MIN: usize = 3;

/// Services once, then operations, replicas, and sets of attributes in the order of their handles.
fn put_names(out: &mut Vec<u8>, names: &Names) {
    put_varint(out, names.services() as u64);
    (0..names.services()).for_each(|index| put_text(out, names.service_name(ServiceId::from_index(index))));
    put_varint(out, names.operations() as u64);
    for id in (0..names.operations()).map(OperationId::from_index) {
        let key = names.operation_key(id);
        put_varint(out, names.service_of(id).index() as u64);
        out.push(key.kind as u8);
        put_text(out, key.operation);
    }
    put_varint(out, names.replicas() as u64);
    (0..names.replicas()).for_each(|index| put_text(out, names.replica_name(ReplicaId::from_index(index))));
    // Without the empty set, which all names have.
    put_varint(out, names.attribute_sets() as u64 - 1);
    for index in 1..names.attribute_sets() {
        put_text(out, names.attribute_set_text(AttributeSetId::from_index(index)));
    }
}

/// Names whose handles are those that were encoded.
fn read_names(from: &mut PackedReader<'_>) -> Unpacked<Names> {
    let mut names = Names::new();
    let services: Vec<&str> = (0..from.count(1)?).map(|_| from.text()).collect::<Unpacked<_>>()?;
    for index in 0..from.count(OPERATION_BYTES_MIN)? {
        let service = from.one_of(&services)?;
        let kind = SpanKind::from_number(i64::from(from.byte()?)).ok_or(Malformed)?;
        let id = names.operation(OperationKey { service, operation: from.text()?, kind });
        in_order(id.index(), index)?;
    }
    for index in 0..from.count(1)? {
        in_order(names.replica(from.text()?).index(), index)?;
    }
    for index in 0..from.count(1)? {
        in_order(names.attribute_set(from.text()?).index(), index + 1)?;
    }
    Ok(names)
}

/// A name that comes twice would have the handle of the first.
fn in_order(handle: usize, expected: usize) -> Unpacked<()> {
    if handle == expected { Ok(()) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_handles_and_come_once() {
        let mut names = Names::new();
        for (service, operation, kind) in
            [("b", "x", SpanKind::Server), ("a", "x", SpanKind::Client), ("b", "x", SpanKind::Client)]
        {
            names.operation(OperationKey { service, operation, kind });
        }
        names.replica("");
        names.replica("pod-1");
        names.attribute_set("tenant=a");
        let mut bytes = Vec::new();
        put_names(&mut bytes, &names);
        let read = read_names(&mut PackedReader::new(&bytes)).expect("just encoded");
        let keys = |names: &Names| -> Vec<(String, String, SpanKind)> {
            let keys =
                (0..names.operations()).map(|index| names.operation_key(OperationId::from_index(index)));
            keys.map(|key| (key.service.to_owned(), key.operation.to_owned(), key.kind)).collect()
        };
        assert_eq!(keys(&read), keys(&names));
        assert_eq!((read.services(), read.replicas(), read.attribute_sets()), (2, 2, 2));
        assert_eq!(read.replica_name(ReplicaId::from_index(1)), "pod-1");
        // No services, no operations, and the same replica twice.
        assert!(read_names(&mut PackedReader::new(&[0, 0, 2, 1, b'a', 1, b'a', 0])).is_err());
        // The empty set of attributes, which is not written.
        assert!(read_names(&mut PackedReader::new(&[0, 0, 0, 1, 0])).is_err());
    }
}
