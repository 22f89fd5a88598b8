//! The memory of a query, in two halves.

use datafusion::common::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, GreedyMemoryPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use std::fmt;

/// One half is for what can be written to temporary files, in equal shares; the other for what cannot. In one pool, rows that are sorted fill all of it,
/// and the step that merges them has nothing left.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    bytes: usize,
    spillable: FairSpillPool,
    others: GreedyMemoryPool,
}

impl QueryMemory {
    pub(crate) fn new(bytes: usize) -> QueryMemory {
        let half = bytes / 2;
        QueryMemory {
            bytes,
            spillable: FairSpillPool::new(half),
            others: GreedyMemoryPool::new(bytes - half),
        }
    }

    fn pool(&self, consumer: &MemoryConsumer) -> &dyn MemoryPool {
        if consumer.can_spill() { &self.spillable } else { &self.others }
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool(consumer).register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool(consumer).unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool(reservation.consumer()).grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool(reservation.consumer()).shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.pool(reservation.consumer()).try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.spillable.reserved() + self.others.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {} and {}", self.name(), self.spillable, self.others)
    }
}
