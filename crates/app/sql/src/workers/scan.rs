//! The scan of a table that consists of units.

use crate::bounds::Bounds;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use futures::{StreamExt, TryStreamExt, stream};
use laggard_engine::UnitId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is read of a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TableScan {
    /// Its name.
    pub(crate) table: &'static str,
    /// Which columns, in this order.
    pub(crate) columns: Arc<[usize]>,
    pub(crate) bounds: Bounds,
    pub(crate) batch_rows: usize,
    /// So many rows suffice.
    pub(crate) limit: Option<usize>,
}

/// Units, each with what reads it here.
pub(crate) type UnitScans = BTreeMap<UnitId, Arc<dyn ExecutionPlan>>;

/// Reads units. Workers may do so instead: [`send`](super::send).
pub(crate) struct UnitsExec {
    pub(super) scan: TableScan,
    pub(super) units: UnitScans,
    properties: Arc<PlanProperties>,
}

impl UnitsExec {
    pub(crate) fn new(scan: TableScan, schema: SchemaRef, units: UnitScans, partitions: usize) -> UnitsExec {
        UnitsExec { scan, units, properties: properties(schema, partitions) }
    }
}

/// Properties of rows in no order.
pub(super) fn properties(schema: SchemaRef, partitions: usize) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

/// The scan that a plan treats unit by unit, if it does.
pub(super) fn scan_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&UnitsExec> {
    if let Some(scan) = plan.downcast_ref::<UnitsExec>() {
        return Some(scan);
    }
    let is_first_step =
        plan.downcast_ref::<AggregateExec>().is_some_and(|step| *step.mode() == AggregateMode::Partial);
    if !is_first_step && !plan.is::<FilterExec>() && !plan.is::<ProjectionExec>() {
        return None;
    }
    scan_below(plan.children().first()?)
}

/// The same plan with another scan.
pub(super) fn with_scan(
    plan: &Arc<dyn ExecutionPlan>,
    scan: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    match plan.children().as_slice() {
        [] => Ok(Arc::clone(scan)),
        [child] => replace_children_if_necessary(Arc::clone(plan), vec![with_scan(child, scan)?]),
        _ => internal_err!("{} has several inputs", plan.name()),
    }
}

impl fmt::Debug for UnitsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnitsExec: {}, {} units", self.scan.table, self.units.len())
    }
}

impl DisplayAs for UnitsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl ExecutionPlan for UnitsExec {
    fn name(&self) -> &str {
        "UnitsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let step = self.properties.partitioning.partition_count();
        let scans: Vec<_> = self.units.values().skip(partition).step_by(step).cloned().collect();
        let streams = scans.into_iter().map(move |scan| scan.execute(0, Arc::clone(&context)));
        let rows = stream::iter(streams).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.boxed())))
    }
}
