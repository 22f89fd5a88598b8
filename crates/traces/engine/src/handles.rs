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
        let operations = (0..from.operations())
            .map(|at| into.operation(from.operation_key(OperationId::from_index(at))))
            .collect();
        let replicas = (0..from.replicas())
            .map(|at| into.replica(from.replica_name(ReplicaId::from_index(at))))
            .collect();
        let attribute_sets = (0..from.attribute_sets())
            .map(|at| into.attribute_set(from.attribute_set_text(AttributeSetId::from_index(at))))
            .collect();
        HandleMap { operations, replicas, attribute_sets }
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
