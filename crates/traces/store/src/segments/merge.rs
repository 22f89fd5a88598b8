//! Tables of spans out of several, in common names.

use super::spans_file::SpanTable;
use laggard_model::{AttributeText, Names, OperationId, ReplicaId, SpanRow, ThreadRow};

impl SpanTable {
    /// One table of several that come in the order in which their rows arrived: of several copies of a span, the
    /// one that arrived first stays the first.
    pub(crate) fn merge(tables: Vec<SpanTable>) -> SpanTable {
        let mut out = SpanTable::default();
        for table in tables {
            if out.rows.is_empty()
                && out.texts.is_empty()
                && out.attributes.is_empty()
                && out.threads.is_empty()
            {
                out = table;
                continue;
            }
            let map = HandleTranslation::new(&mut out.names, &table.names);
            out.rows.extend(table.rows.iter().map(|row| map.row(row)));
            out.texts.extend(table.texts);
            out.attributes.extend(table.attributes);
            out.threads.extend(table.threads);
        }
        out.rows.sort_by_key(|row| (row.trace, row.start, row.span));
        out.texts.sort_by_key(|(trace, _)| *trace);
        out.texts.dedup_by_key(|(trace, _)| *trace);
        out.threads.sort_by_key(ThreadRow::key);
        out.threads.dedup_by_key(|row| row.key());
        out.attributes.sort_by_key(|(trace, _)| *trace);
        out.attributes.dedup_by(|later, first| {
            if later.0 == first.0 && later.1 != first.1 {
                first.1 = AttributeText::union(&first.1, &later.1).as_str().into();
            }
            later.0 == first.0
        });
        out
    }
}

/// Handles of some names in others.
struct HandleTranslation {
    operations: Vec<OperationId>,
    replicas: Vec<ReplicaId>,
}

impl HandleTranslation {
    fn new(into: &mut Names, from: &Names) -> HandleTranslation {
        let operation = |index| from.operation_key(OperationId::from_index(index));
        let operations = (0..from.operations()).map(|index| into.operation(operation(index))).collect();
        let replica = |index| from.replica_name(ReplicaId::from_index(index));
        let replicas = (0..from.replicas()).map(|index| into.replica(replica(index))).collect();
        HandleTranslation { operations, replicas }
    }

    fn row(&self, row: &SpanRow) -> SpanRow {
        SpanRow {
            operation: self.operations[row.operation.index()],
            replica: self.replicas[row.replica.index()],
            ..*row
        }
    }
}

/// The names that some rows use, and the rows with handles into them, so that a small segment of a large flush batch does
/// not store the names of all.
pub(crate) fn in_own_names(names: &Names, rows: Vec<SpanRow>) -> (Names, Vec<SpanRow>) {
    let mut own = Names::new();
    let mut operations: Vec<Option<OperationId>> = vec![None; names.operations()];
    let mut replicas: Vec<Option<ReplicaId>> = vec![None; names.replicas()];
    let mut rows = rows;
    for row in &mut rows {
        let operation = &mut operations[row.operation.index()];
        let replica = &mut replicas[row.replica.index()];
        row.operation = *operation.get_or_insert_with(|| own.operation(names.operation_key(row.operation)));
        row.replica = *replica.get_or_insert_with(|| own.replica(names.replica_name(row.replica)));
    }
    (own, rows)
}
