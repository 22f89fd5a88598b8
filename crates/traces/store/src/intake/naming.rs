//! The names of a day: one table for all open traces, which limits how many names the store gets.

use laggard_engine::Batch;
use laggard_model::{Loss, Losses, Names, OperationId, OperationKey, ReplicaId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

// Limit: distinct operations, and distinct replicas, that the store gets within a day | `name_limit`: pooled as `(other)`
/// Most distinct operations, and most distinct replicas. More would make every answer large and slow.
pub(crate) const NAMES_MAX: usize = 50_000;

// Limit: distinct operations of one service that the store gets within a day | `name_limit`: pooled as its `(other)`
/// Most distinct operations of one service: names with the ids of single requests are not to displace others.
const OPERATIONS_OF_SERVICE_MAX: u32 = 5_000;

/// A name that has not been used for so long does not count any longer.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Most bytes of all names together.
const NAMES_BYTES_MAX: usize = 64 << 20;

/// The name that replaces names beyond the limits.
const OTHER: &str = "(other)";

/// The names of all open traces, and of others that were used lately.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    /// Shared with flush batches in progress, which are packed without a lock.
    pub(super) names: Arc<Names>,
    /// When each was last used, on the monotonic clock.
    operations_used: Vec<Duration>,
    replicas_used: Vec<Duration>,
    /// Operations by service.
    of_service: HashMap<Box<str>, u32>,
    /// Length of all names that were added.
    bytes: usize,
    /// The time of what is added now.
    pub(super) now: Duration,
}

impl NameTable {
    /// How full it is, by the fuller half.
    pub(super) fn len(&self) -> usize {
        self.names.operations().max(self.names.replicas())
    }

    /// Whether it is almost full by bytes of names.
    pub(super) fn is_heavy(&self) -> bool {
        self.bytes > NAMES_BYTES_MAX / 2
    }

    /// Copies the names of this table: those that the caller copies, and then those that were used lately.
    pub(super) fn copier(&self) -> NameCopier {
        NameCopier::new(self.names.clone())
    }

    /// Replaces the table by what was copied from it, and the names that were used lately.
    pub(super) fn replace(&mut self, mut copied: NameCopier) {
        let is_recent = |used: &Duration| self.now.saturating_sub(*used) < FORGOTTEN_AFTER;
        let mut operations_used: Vec<(OperationId, Duration)> = Vec::new();
        let mut replicas_used: Vec<(ReplicaId, Duration)> = Vec::new();
        for (index, used) in self.operations_used.iter().enumerate() {
            let id = OperationId::from_index(index);
            if copied.operations[index].is_some() || is_recent(used) {
                operations_used.push((copied.operation(id), *used));
            }
        }
        for (index, used) in self.replicas_used.iter().enumerate() {
            let id = ReplicaId::from_index(index);
            if copied.replicas[index].is_some() || is_recent(used) {
                replicas_used.push((copied.replica(id), *used));
            }
        }
        let mut table = NameTable { now: self.now, ..NameTable::default() };
        operations_used.sort_unstable_by_key(|(id, _)| *id);
        replicas_used.sort_unstable_by_key(|(id, _)| *id);
        for (id, used) in operations_used {
            let key = copied.to.operation_key(id);
            table.count_operation(key, used);
        }
        for (id, used) in replicas_used {
            table.bytes += copied.to.replica_name(id).len();
            table.replicas_used.push(used);
        }
        *self = NameTable { names: Arc::new(copied.to), ..table };
    }

    fn count_operation(&mut self, key: OperationKey<'_>, used: Duration) {
        self.bytes += key_bytes(key);
        self.operations_used.push(used);
        match self.of_service.get_mut(key.service) {
            Some(count) => *count += 1,
            None => {
                self.of_service.insert(key.service.into(), 1);
            }
        }
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
        let limits = NameLimits { all: NAMES_MAX, of_service: OPERATIONS_OF_SERVICE_MAX };
        let mut naming = NameImport { table, pooled: PooledHandles::default(), limits };
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

/// Most operations and replicas, and operations of one service.
struct NameLimits {
    all: usize,
    of_service: u32,
}

struct NameImport<'a> {
    table: &'a mut NameTable,
    pooled: PooledHandles,
    limits: NameLimits,
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
            self.table.operations_used[known.index()] = self.table.now;
            return known;
        }
        let is_full = self.is_full(self.table.names.operations(), key_bytes(key));
        let of_service = self.table.of_service.get(key.service).copied().unwrap_or(0);
        self.pooled.operations.push(is_full || of_service >= self.limits.of_service);
        let key = match (is_full, of_service) {
            (true, 0) => OperationKey { service: OTHER, operation: OTHER, ..key },
            (false, count) if count < self.limits.of_service => key,
            _ => OperationKey { operation: OTHER, ..key },
        };
        // A flush batch that is being packed may share the table: then this copies it, once.
        let id = Arc::make_mut(&mut self.table.names).operation(key);
        if id.index() == self.table.operations_used.len() {
            self.table.count_operation(key, self.table.now);
        }
        id
    }

    fn replica(&mut self, name: &str) -> ReplicaId {
        if let Some(known) = self.table.names.find_replica(name) {
            self.pooled.replicas.push(false);
            self.table.replicas_used[known.index()] = self.table.now;
            return known;
        }
        let full = self.is_full(self.table.names.replicas(), name.len());
        self.pooled.replicas.push(full);
        let name = if full { OTHER } else { name };
        let id = Arc::make_mut(&mut self.table.names).replica(name);
        if id.index() == self.table.replicas_used.len() {
            self.table.bytes += name.len();
            self.table.replicas_used.push(self.table.now);
        }
        id
    }

    fn is_full(&self, names: usize, more_bytes: usize) -> bool {
        names >= self.limits.all || self.table.bytes + more_bytes > NAMES_BYTES_MAX
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
pub(super) struct NameCopier {
    from: Arc<Names>,
    pub(super) to: Names,
    operations: Vec<Option<OperationId>>,
    replicas: Vec<Option<ReplicaId>>,
}

impl NameCopier {
    pub(super) fn new(from: Arc<Names>) -> NameCopier {
        let (operations, replicas) = (vec![None; from.operations()], vec![None; from.replicas()]);
        NameCopier { from, to: Names::new(), operations, replicas }
    }

    pub(super) fn operation(&mut self, id: OperationId) -> OperationId {
        let (from, to) = (&self.from, &mut self.to);
        *self.operations[id.index()].get_or_insert_with(|| to.operation(from.operation_key(id)))
    }

    pub(super) fn replica(&mut self, id: ReplicaId) -> ReplicaId {
        let (from, to) = (&self.from, &mut self.to);
        *self.replicas[id.index()].get_or_insert_with(|| to.replica(from.replica_name(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_batches::{KEY, span};

    fn import(table: &mut NameTable, all: usize, of_service: u32) -> NameImport<'_> {
        NameImport { table, pooled: PooledHandles::default(), limits: NameLimits { all, of_service } }
    }

    #[test]
    fn names_beyond_the_limit_are_pooled_and_counted() {
        let mut batch = Batch::default();
        for name in ["a", "b", "c"] {
            batch.names.replica(name);
        }
        let mut table = NameTable::default();
        let mut naming = import(&mut table, 2, 2);
        let map = naming.map(&batch.names);
        let spans = [0, 1, 2, 2].map(|index| span(1, index as u64 + 1, ReplicaId::from_index(index)));
        batch.names.operation(KEY);
        batch.spans = spans.to_vec();
        naming.pooled.operations.push(false);
        let mut losses = Losses::none();
        naming.count(&batch, &mut losses);
        assert_eq!(losses.count(Loss::NameLimit), 2);
        assert_eq!(table.names.replica_name(map.replica(ReplicaId::from_index(2))), OTHER);
        assert_eq!(table.names.replica_name(map.replica(ReplicaId::from_index(1))), "b");
    }

    #[test]
    fn operations_beyond_the_limit_are_pooled_by_service_if_it_is_known() {
        let mut table = NameTable::default();
        let mut naming = import(&mut table, 4, 2);
        let mut name = |service, operation| {
            let id = naming.operation(OperationKey { service, operation, ..KEY });
            let key = naming.table.names.operation_key(id);
            format!("{} {}", key.service, key.operation)
        };
        assert_eq!([name("a", "1"), name("a", "2"), name("a", "3")], ["a 1", "a 2", "a (other)"]);
        assert_eq!([name("a", "4"), name("b", "1"), name("b", "2")], ["a (other)", "b 1", "b (other)"]);
        assert_eq!(
            [name("c", "1"), name("a", "2"), name("c", "2")],
            ["(other) (other)", "a 2", "(other) (other)"]
        );
        assert_eq!(naming.pooled.operations, [false, false, true, true, false, true, true, false, true]);
    }

    #[test]
    fn the_bytes_of_names_are_bounded_too() {
        let mut table = NameTable { bytes: NAMES_BYTES_MAX - 10, ..NameTable::default() };
        let mut naming = import(&mut table, 1000, 1000);
        naming.replica("short");
        naming.replica("longer than ten bytes");
        assert_eq!(naming.pooled.replicas, [false, true]);
        assert!(table.is_heavy());
    }

    #[test]
    fn names_that_were_not_used_for_a_day_make_room() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let mut table = NameTable::default();
        import(&mut table, 9, 9).replica("old");
        import(&mut table, 9, 9).operation(KEY);
        table.now = hours(10);
        import(&mut table, 9, 9).replica("recent");
        import(&mut table, 9, 9).replica("used again");
        table.now = hours(25);
        import(&mut table, 9, 9).replica("used again");
        let mut copied = table.copier();
        let used = copied.replica(ReplicaId::from_index(2));
        table.replace(copied);
        assert_eq!(
            (used, table.names.replicas(), table.names.operations()),
            (ReplicaId::from_index(0), 2, 0)
        );
        assert_eq!(table.replicas_used, [hours(25), hours(10)]);
        assert_eq!((table.bytes, table.of_service.len()), ("recentused again".len(), 0));
    }
}
