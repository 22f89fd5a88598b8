//! Handles of one set of names in another.

use laggard_model::{AttributeSetId, Names, OperationId, ReplicaId};

/// A map from the handles of one set of names to those of another.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandleMap {
    pub(crate) operations: Vec<OperationId>,
    pub(crate) replicas: Vec<ReplicaId>,
    pub(crate) attribute_sets: Vec<AttributeSetId>,
}

impl HandleMap {
    /// Adds names to `into` and maps each handle to its handle there.
    pub(crate) fn new(into: &mut Names, from: &Names) -> HandleMap {
        let attribute_sets = (0..from.attribute_sets())
            .map(|index| into.attribute_set(from.attribute_set_text(AttributeSetId::from_index(index))))
            .collect();
        let operations = (0..from.operations())
            .map(|index| into.operation(from.operation_key(OperationId::from_index(index))))
            .collect();
        let replicas = (0..from.replicas())
            .map(|index| into.replica(from.replica_name(ReplicaId::from_index(index))))
            .collect();
        HandleMap { operations, replicas, attribute_sets }
    }

    /// The names that are used, and the map to their handles; that of any other is the first one, or the empty set.
    pub(crate) fn used(names: &Names, used: &UsedNames) -> (Names, HandleMap) {
        let mut own = Names::new();
        let set = |index| own.attribute_set(names.attribute_set_text(AttributeSetId::from_index(index)));
        let attribute_sets = map_used(&used.attribute_sets, AttributeSetId::default(), set);
        let operation = |index| own.operation(names.operation_key(OperationId::from_index(index)));
        let operations = map_used(&used.operations, OperationId::from_index(0), operation);
        let replica = |index| own.replica(names.replica_name(ReplicaId::from_index(index)));
        let replicas = map_used(&used.replicas, ReplicaId::from_index(0), replica);
        (own, HandleMap { operations, replicas, attribute_sets })
    }

    /// The same names with handles in the order of their texts, and the map to these handles. What is equal otherwise is often
    /// ordered by handle, and must not depend on the order in which spans were read.
    pub(crate) fn sorted(names: &Names) -> (Names, HandleMap) {
        let mut operations: Vec<OperationId> = (0..names.operations()).map(OperationId::from_index).collect();
        operations.sort_by_key(|&id| {
            let key = names.operation_key(id);
            (key.service, key.operation, key.kind.name())
        });
        let mut replicas: Vec<ReplicaId> = (0..names.replicas()).map(ReplicaId::from_index).collect();
        replicas.sort_by_key(|&id| names.replica_name(id));
        let mut attribute_sets: Vec<AttributeSetId> =
            (0..names.attribute_sets()).map(AttributeSetId::from_index).collect();
        attribute_sets.sort_by_key(|&id| names.attribute_set_text(id));
        let mut sorted = Names::new();
        for id in operations {
            sorted.operation(names.operation_key(id));
        }
        for id in replicas {
            sorted.replica(names.replica_name(id));
        }
        for id in attribute_sets {
            sorted.attribute_set(names.attribute_set_text(id));
        }
        let map = HandleMap::new(&mut sorted, names);
        (sorted, map)
    }

    /// The map to the handles of another map's target.
    pub(crate) fn then(mut self, next: &HandleMap) -> HandleMap {
        self.operations.iter_mut().for_each(|id| *id = next.operation(*id));
        self.replicas.iter_mut().for_each(|id| *id = next.replica(*id));
        self.attribute_sets.iter_mut().for_each(|id| *id = next.attribute_set(*id));
        self
    }

    /// Handles that stay what they are.
    pub(crate) fn identity(names: &Names) -> HandleMap {
        HandleMap {
            operations: (0..names.operations()).map(OperationId::from_index).collect(),
            replicas: (0..names.replicas()).map(ReplicaId::from_index).collect(),
            attribute_sets: (0..names.attribute_sets()).map(AttributeSetId::from_index).collect(),
        }
    }

    pub(crate) fn operation(&self, id: OperationId) -> OperationId {
        self.operations[id.index()]
    }

    pub(crate) fn replica(&self, id: ReplicaId) -> ReplicaId {
        self.replicas[id.index()]
    }

    pub(crate) fn attribute_set(&self, id: AttributeSetId) -> AttributeSetId {
        self.attribute_sets[id.index()]
    }
}

/// Which of some names are used, by handle.
pub(crate) struct UsedNames {
    pub(crate) operations: Vec<bool>,
    pub(crate) replicas: Vec<bool>,
    pub(crate) attribute_sets: Vec<bool>,
}

fn map_used<T: Copy>(used: &[bool], other: T, mut map: impl FnMut(usize) -> T) -> Vec<T> {
    used.iter().enumerate().map(|(index, &is_used)| if is_used { map(index) } else { other }).collect()
}
