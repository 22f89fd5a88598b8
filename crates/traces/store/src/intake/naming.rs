//! One table of names for all open traces.

use laggard_engine::Batch;
use laggard_model::{Loss, Losses, Names, OperationId, OperationKey, ReplicaId};
use std::sync::Arc;

// Limit: distinct operations, and distinct replicas, of open traces in the store | `name_limit`: pooled as `(other)`
/// Most distinct operations, and most distinct replicas, among open traces.
pub(crate) const NAMES_MAX: usize = 200_000;

/// Most bytes of all names together.
const NAMES_BYTES_MAX: usize = 64 << 20;

/// The name that replaces names beyond the limits.
const OTHER: &str = "(other)";

/// The names of all open traces.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    /// Shared with flush batches in progress, which are packed without a lock.
    pub(super) names: Arc<Names>,
    /// Length of all names that were added.
    bytes: usize,
}

impl NameTable {
    /// A table of the names that a [`NameCopier`] copied.
    pub(super) fn from_names(names: Names) -> NameTable {
        let operations = (0..names.operations())
            .map(|index| key_bytes(names.operation_key(OperationId::from_index(index))));
        let replicas =
            (0..names.replicas()).map(|index| names.replica_name(ReplicaId::from_index(index)).len());
        let bytes = operations.chain(replicas).sum();
        NameTable { names: Arc::new(names), bytes }
    }

    /// How full it is, by the fuller half.
    pub(super) fn len(&self) -> usize {
        self.names.operations().max(self.names.replicas())
    }

    /// Whether it is almost full by bytes of names.
    pub(super) fn is_heavy(&self) -> bool {
        self.bytes > NAMES_BYTES_MAX / 2
    }
}

fn key_bytes(key: OperationKey<'_>) -> usize {
    key.service.len() + key.operation.len()
}

/// The handles of a batch's names in the store's table.
pub(super) struct BatchHandles {
    operations: Vec<OperationId>,
    replicas: Vec<ReplicaId>,
}

/// The handles of the pooled names that replace names beyond the limit.
#[derive(Default)]
struct PooledHandles {
    operations: Vec<bool>,
    replicas: Vec<bool>,
}

impl BatchHandles {
    /// Adds a batch's names to the table, up to its limit; counts rows with names beyond it.
    pub(super) fn new(table: &mut NameTable, batch: &Batch, losses: &mut Losses) -> BatchHandles {
        let mut naming = NameImport { table, pooled: PooledHandles::default(), limit: NAMES_MAX };
        let map = naming.map(&batch.names);
        naming.count(batch, losses);
        map
    }

    pub(super) fn operation(&self, id: OperationId) -> OperationId {
        self.operations[id.index()]
    }

    pub(super) fn replica(&self, id: ReplicaId) -> ReplicaId {
        self.replicas[id.index()]
    }
}

struct NameImport<'a> {
    table: &'a mut NameTable,
    pooled: PooledHandles,
    limit: usize,
}

impl NameImport<'_> {
    fn map(&mut self, names: &Names) -> BatchHandles {
        let operations = (0..names.operations())
            .map(|index| self.operation(names.operation_key(OperationId::from_index(index))))
            .collect();
        let replicas = (0..names.replicas())
            .map(|index| self.replica(names.replica_name(ReplicaId::from_index(index))))
            .collect();
        BatchHandles { operations, replicas }
    }

    fn operation(&mut self, key: OperationKey<'_>) -> OperationId {
        if let Some(known) = self.table.names.find_operation(key) {
            self.pooled.operations.push(false);
            return known;
        }
        let full = self.is_full(self.table.names.operations(), key_bytes(key));
        self.pooled.operations.push(full);
        let key = if full { OperationKey { service: OTHER, operation: OTHER, ..key } } else { key };
        self.table.bytes += key_bytes(key);
        // A flush batch that is being packed may share the table: then this copies it, once.
        Arc::make_mut(&mut self.table.names).operation(key)
    }

    fn replica(&mut self, name: &str) -> ReplicaId {
        if let Some(known) = self.table.names.find_replica(name) {
            self.pooled.replicas.push(false);
            return known;
        }
        let full = self.is_full(self.table.names.replicas(), name.len());
        self.pooled.replicas.push(full);
        let name = if full { OTHER } else { name };
        self.table.bytes += name.len();
        Arc::make_mut(&mut self.table.names).replica(name)
    }

    fn is_full(&self, names: usize, more_bytes: usize) -> bool {
        names >= self.limit || self.table.bytes + more_bytes > NAMES_BYTES_MAX
    }

    fn count(&self, batch: &Batch, losses: &mut Losses) {
        let pooled = &self.pooled;
        if !pooled.operations.contains(&true) && !pooled.replicas.contains(&true) {
            return;
        }
        let rows = batch.spans.iter().map(|row| (row.operation, row.replica));
        let rows = rows.chain(batch.calls.iter().map(|row| (row.operation, row.host)));
        for (operation, replica) in rows {
            let key = || batch.names.operation_key(operation);
            if pooled.operations[operation.index()] {
                losses.add(Loss::NameLimit, || format!("{} {}", key().service, key().operation));
            }
            if pooled.replicas[replica.index()] {
                losses.add(Loss::NameLimit, || batch.names.replica_name(replica).to_owned());
            }
        }
    }
}

/// Copies names that rows use from one table into another, in order of first use.
pub(super) struct NameCopier<'a> {
    from: &'a Names,
    pub(super) to: Names,
    operations: Vec<Option<OperationId>>,
    replicas: Vec<Option<ReplicaId>>,
}

impl<'a> NameCopier<'a> {
    pub(super) fn new(from: &'a Names) -> NameCopier<'a> {
        let (operations, replicas) = (vec![None; from.operations()], vec![None; from.replicas()]);
        NameCopier { from, to: Names::new(), operations, replicas }
    }

    pub(super) fn operation(&mut self, id: OperationId) -> OperationId {
        let (from, to) = (self.from, &mut self.to);
        *self.operations[id.index()].get_or_insert_with(|| to.operation(from.operation_key(id)))
    }

    pub(super) fn replica(&mut self, id: ReplicaId) -> ReplicaId {
        let (from, to) = (self.from, &mut self.to);
        *self.replicas[id.index()].get_or_insert_with(|| to.replica(from.replica_name(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_are_pooled_and_counted() {
        let mut batch = Batch::default();
        for name in ["a", "b", "c"] {
            batch.names.replica(name);
        }
        let mut table = NameTable::default();
        let mut naming = NameImport { table: &mut table, pooled: PooledHandles::default(), limit: 2 };
        let map = naming.map(&batch.names);
        let spans = [0, 1, 2, 2]
            .map(|index| crate::random_batches::span(1, index as u64 + 1, ReplicaId::from_index(index)));
        batch.names.operation(crate::random_batches::KEY);
        batch.spans = spans.to_vec();
        naming.pooled.operations.push(false);
        let mut losses = Losses::none();
        naming.count(&batch, &mut losses);
        assert_eq!(losses.count(Loss::NameLimit), 2);
        assert_eq!(table.names.replica_name(map.replica(ReplicaId::from_index(2))), OTHER);
        assert_eq!(table.names.replica_name(map.replica(ReplicaId::from_index(1))), "b");
    }

    #[test]
    fn the_bytes_of_names_are_bounded_too() {
        let mut table = NameTable { bytes: NAMES_BYTES_MAX - 10, ..NameTable::default() };
        let mut naming = NameImport { table: &mut table, pooled: PooledHandles::default(), limit: 1000 };
        naming.replica("short");
        naming.replica("longer than ten bytes");
        assert_eq!(naming.pooled.replicas, [false, true]);
        assert!(table.is_heavy() && !NameTable::from_names(Names::new()).is_heavy());
    }
}
