//! The table of call trees.

use super::unit::{self, Unit, UnitPart};
use crate::bounds::Bounds;
use crate::column::{ColumnType, SqlColumn, integers, optional_integers};
use crate::rows::{ReadOptions, TableRows};
use crate::stored::StoredTables;
use async_trait::async_trait;
use laggard_model::OperationId;
use laggard_store::UnreadableSegment;
use std::collections::HashSet;
use std::sync::Arc;

/// Nodes of call trees that were not in an earlier unit.
pub(crate) struct StructureRows {
    unit: Arc<Unit>,
    /// Number of the structure in the unit, and the node.
    nodes: Vec<(u32, usize)>,
}

impl StructureRows {
    fn operations(&self) -> impl Iterator<Item = OperationId> {
        self.nodes.iter().map(|&(number, node)| self.unit.slice.structures[number as usize].operation[node])
    }
}

#[async_trait]
impl TableRows<UnitPart> for StructureRows {
    const NAME: &'static str = "structures";
    const ABOUT: &'static str = "A node of a call tree that requests have, without times; each tree once.";
    const TIME: Option<&'static str> = None;
    const IN_ONE_PARTITION: bool = true;
    const COLUMNS: &'static [SqlColumn<Self>] = &[
        SqlColumn::new("structure", ColumnType::Text, "the tree", |rows: &Self| {
            rows.unit.structures(rows.nodes.iter().map(|&(number, _)| number))
        }),
        SqlColumn::new("node", ColumnType::Integer, "the node, from 0, depth first", |rows: &Self| {
            integers(rows.nodes.iter().map(|&(_, node)| node as i64))
        }),
        SqlColumn::new(
            "parent_node",
            ColumnType::Integer,
            "the caller's node; absent at the entry",
            |rows: &Self| {
                let parent = |&(number, node): &(u32, usize)| {
                    rows.unit.slice.structures[number as usize].parent[node].map(i64::from)
                };
                optional_integers(rows.nodes.iter().map(parent))
            },
        )
        .optional(),
        SqlColumn::new(
            "order_group",
            ColumnType::Integer,
            "siblings of equal number ran at the same time",
            |rows: &Self| {
                let group = |&(number, node): &(u32, usize)| {
                    i64::from(rows.unit.slice.structures[number as usize].order_group[node])
                };
                integers(rows.nodes.iter().map(group))
            },
        ),
        SqlColumn::new("service", ColumnType::Text, "service that is called", |rows: &Self| {
            rows.unit.names().services(rows.operations())
        }),
        SqlColumn::new("operation", ColumnType::Text, "operation that is called", |rows: &Self| {
            rows.unit.names().operations(rows.operations())
        }),
        SqlColumn::new("kind", ColumnType::Text, "span kind; empty if unspecified", |rows: &Self| {
            rows.unit.names().kinds(rows.operations())
        }),
    ];

    async fn parts(tables: &StoredTables, bounds: &Bounds) -> Result<Vec<UnitPart>, UnreadableSegment> {
        unit::parts(tables, bounds).await
    }

    async fn read(
        part: &UnitPart,
        _: &ReadOptions,
        earlier: &mut HashSet<String>,
    ) -> Result<(Vec<StructureRows>, usize), UnreadableSegment> {
        let unit = part.read(false).await?;
        let mut used: Vec<u32> = unit.slice.requests.iter().map(|request| request.structure).collect();
        used.sort_unstable();
        used.dedup();
        let mut nodes = Vec::new();
        for number in used {
            if earlier.insert(unit.structure_ids()[number as usize].clone()) {
                let structure = &unit.slice.structures[number as usize];
                nodes.extend((0..structure.len()).map(|node| (number, node)));
            }
        }
        let bytes = unit.slice.estimated_bytes();
        Ok((vec![StructureRows { unit, nodes }], bytes))
    }

    fn rows(&self) -> usize {
        self.nodes.len()
    }
}
