//! Names are interned once; arrays hold handles.

use crate::{Fingerprint, FingerprintBuilder, SpanKind};
use std::collections::HashMap;

/// Handle of a service, valid only for its [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ServiceId(u32);

/// Handle of an operation (service, name, kind), valid only for its [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationId(u32);

/// Handle of a replica name, valid only for its [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplicaId(u32);

/// Handle of a set of attributes, valid only for its [`Names`]. The default is the empty set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AttributeSetId(u32);

macro_rules! handle {
    ($($name:ident),*) => {$(
        impl $name {
            /// Position in arrays indexed by this handle.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The handle of a position.
            ///
            /// # Panics
            /// When the position does not fit 32 bits.
            pub fn from_index(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 distinct names"))
            }
        }
    )*};
}
handle!(ServiceId, OperationId, ReplicaId, AttributeSetId);

/// The identity of an operation: OpenTelemetry's span name within a service, by role.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperationKey<'a> {
    /// The service's name.
    pub service: &'a str,
    /// The operation's name.
    pub operation: &'a str,
    /// The span kind.
    pub kind: SpanKind,
}

/// The names of one data set: services, operations, replicas, and sets of attributes. Handles are assigned in order of first
/// appearance and are dense.
#[derive(Clone, Debug, Default)]
pub struct Names {
    services: Interner,
    texts: Interner,
    replicas: Interner,
    /// Without the empty set, whose handle is 0.
    attribute_sets: Interner,
    operations: Vec<Operation>,
    operation_index: HashMap<(ServiceId, u32, SpanKind), OperationId, BuildFast>,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    service: ServiceId,
    text: u32,
    kind: SpanKind,
}

impl Names {
    /// No names yet.
    pub fn new() -> Names {
        Names::default()
    }

    /// The handle of an operation, made on first sight.
    pub fn operation(&mut self, key: OperationKey<'_>) -> OperationId {
        let service = ServiceId(self.services.intern(key.service));
        let text = self.texts.intern(key.operation);
        let operations = &mut self.operations;
        *self.operation_index.entry((service, text, key.kind)).or_insert_with(|| {
            operations.push(Operation { service, text, kind: key.kind });
            OperationId::from_index(operations.len() - 1)
        })
    }

    /// The handle of a replica, made on first sight.
    pub fn replica(&mut self, name: &str) -> ReplicaId {
        ReplicaId(self.replicas.intern(name))
    }

    /// The handle of a set of attributes, a text of [`AttributeText`](crate::AttributeText).
    pub fn attribute_set(&mut self, text: &str) -> AttributeSetId {
        match text {
            "" => AttributeSetId::default(),
            text => AttributeSetId(self.attribute_sets.intern(text) + 1),
        }
    }

    /// The handle of a set of attributes, if it has one already.
    pub fn find_attribute_set(&self, text: &str) -> Option<AttributeSetId> {
        match text {
            "" => Some(AttributeSetId::default()),
            text => self.attribute_sets.find(text).map(|number| AttributeSetId(number + 1)),
        }
    }

    /// A set of attributes as text, for [`attributes_in`](crate::attributes_in).
    pub fn attribute_set_text(&self, id: AttributeSetId) -> &str {
        id.0.checked_sub(1).map_or("", |number| self.attribute_sets.text(number))
    }

    /// How many sets of attributes there are, with the empty one.
    pub fn attribute_sets(&self) -> usize {
        self.attribute_sets.len() + 1
    }

    /// The handle of an operation, if it has one already.
    pub fn find_operation(&self, key: OperationKey<'_>) -> Option<OperationId> {
        let (service, text) = self.services.find(key.service).zip(self.texts.find(key.operation))?;
        self.operation_index.get(&(ServiceId(service), text, key.kind)).copied()
    }

    /// The handle of a replica, if it has one already.
    pub fn find_replica(&self, name: &str) -> Option<ReplicaId> {
        self.replicas.find(name).map(ReplicaId)
    }

    /// Whether an operation has a handle already.
    pub fn has_operation(&self, key: OperationKey<'_>) -> bool {
        self.find_operation(key).is_some()
    }

    /// Whether a replica has a handle already.
    pub fn has_replica(&self, name: &str) -> bool {
        self.replicas.find(name).is_some()
    }

    /// The key of an operation.
    pub fn operation_key(&self, id: OperationId) -> OperationKey<'_> {
        let found = self.operations[id.index()];
        OperationKey {
            service: self.services.text(found.service.0),
            operation: self.texts.text(found.text),
            kind: found.kind,
        }
    }

    /// The service of an operation.
    pub fn service_of(&self, id: OperationId) -> ServiceId {
        self.operations[id.index()].service
    }

    /// The name of a service.
    pub fn service_name(&self, id: ServiceId) -> &str {
        self.services.text(id.0)
    }

    /// The name of a replica; empty for spans that gave none.
    pub fn replica_name(&self, id: ReplicaId) -> &str {
        self.replicas.text(id.0)
    }

    /// How many services there are.
    pub fn services(&self) -> usize {
        self.services.len()
    }

    /// How many operations there are.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// How many replica names there are.
    pub fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// A stable hash of an operation's key.
    pub fn fingerprint(&self, id: OperationId) -> Fingerprint {
        let key = self.operation_key(id);
        let mut builder = FingerprintBuilder::new();
        builder.bytes(key.service.as_bytes());
        builder.bytes(key.operation.as_bytes());
        builder.word(key.kind as u64);
        builder.finish()
    }
}

/// Text to dense numbers, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    index: HashMap<Box<str>, u32, BuildFast>,
    texts: Vec<Box<str>>,
    /// The last lookup: spans of one resource arrive in runs.
    last: u32,
}

impl Interner {
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if self.texts.get(self.last as usize).is_some_and(|last| &**last == text) {
            return self.last;
        }
        if let Some(&found) = self.index.get(text) {
            self.last = found;
            return found;
        }
        let new = u32::try_from(self.texts.len()).expect("fewer than 2^32 distinct names");
        self.texts.push(text.into());
        self.index.insert(text.into(), new);
        self.last = new;
        new
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.index.get(text).copied()
    }

    pub(crate) fn text(&self, id: u32) -> &str {
        &self.texts[id as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }
}

/// The standard library's keyed hash costs more than the rest of interning, and its random keys are
/// not needed: an input that makes names collide only slows down its own reading.
#[derive(Clone, Debug, Default)]
struct BuildFast;

impl std::hash::BuildHasher for BuildFast {
    type Hasher = Fast;
    fn build_hasher(&self) -> Fast {
        Fast(0)
    }
}

#[derive(Debug)]
struct Fast(u64);

impl Fast {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl std::hash::Hasher for Fast {
    fn finish(&self) -> u64 {
        let z = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0_u8; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
    }

    fn write_u8(&mut self, byte: u8) {
        self.word(u64::from(byte));
    }

    fn write_u32(&mut self, word: u32) {
        self.word(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.word(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_get_equal_handles_and_kinds_differ() {
        let mut names = Names::new();
        let key = OperationKey { service: "cart", operation: "Add", kind: SpanKind::Server };
        let server = names.operation(key);
        let client = names.operation(OperationKey { kind: SpanKind::Client, ..key });
        assert_eq!((names.operation(key), names.find_operation(key)), (server, Some(server)));
        assert_ne!(server, client);
        assert_eq!(names.operation_key(client).kind, SpanKind::Client);
        assert_eq!(names.service_of(server), names.service_of(client));
        assert_eq!((names.services(), names.operations()), (1, 2));
        assert_ne!(names.fingerprint(server), names.fingerprint(client));
    }

    #[test]
    fn interning_survives_many_similar_names() {
        let mut names = Names::new();
        let ids: Vec<_> = (0..2000).map(|i| names.replica(&format!("datanode{i:05}"))).collect();
        for (i, &id) in ids.iter().enumerate() {
            assert_eq!(names.replica_name(id), format!("datanode{i:05}"));
            assert_eq!(names.replica(&format!("datanode{i:05}")), id);
        }
    }
}
