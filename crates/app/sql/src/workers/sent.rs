//! The process that asks: parts of its plan run at workers.

use super::job;
use super::scan::{UnitScans, properties, scan_below, with_scan};
use super::worker::rows_of;
use crate::stored::StoredTables;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, EmptyRecordBatchStream, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties,
};
use futures::StreamExt;
use laggard_engine::UnitId;
use laggard_store::StoreWorkers;
use std::fmt;
use std::sync::Arc;

/// Batches that arrived and are not used yet. Further ones wait at the workers.
const BATCHES_WAITING_MAX: usize = 8;

/// The same plan; if the tables have workers, they do what each unit needs for itself.
pub(crate) fn send(
    plan: Arc<dyn ExecutionPlan>,
    tables: &Arc<StoredTables>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(workers) = tables.workers() else { return Ok(plan) };
    plan.transform_down(|plan| {
        let Some(scan) = scan_below(&plan) else { return Ok(Transformed::no(plan)) };
        // Not every expression can be sent: then a shorter part of the plan is, at least the scan.
        let Some(job) = job::encode(scan, &plan) else { return Ok(Transformed::no(plan)) };
        let round = (tables.view())
            .round_of_rows(&workers.folders, &scan.scan.bounds.window, &job)
            .map_err(|error| DataFusionError::External(error.to_string().into()))?;
        let sent = SentExec {
            round,
            units: scan.units.clone(),
            workers: workers.clone(),
            properties: properties(plan.schema(), plan.output_partitioning().partition_count()),
            plan,
        };
        Ok(Transformed::new(Arc::new(sent) as _, true, TreeNodeRecursion::Jump))
    })
    .data()
}

/// A part of a plan that runs at workers.
struct SentExec {
    plan: Arc<dyn ExecutionPlan>,
    round: Arc<[u8]>,
    units: UnitScans,
    workers: StoreWorkers,
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for SentExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SentExec: {} units", self.units.len())
    }
}

impl DisplayAs for SentExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl ExecutionPlan for SentExec {
    fn name(&self) -> &str {
        "SentExec"
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

    /// The first partition has all rows, as they arrive.
    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition > 0 {
            return Ok(Box::pin(EmptyRecordBatchStream::new(self.schema())));
        }
        let mut rows = RecordBatchReceiverStream::builder(self.schema(), BATCHES_WAITING_MAX);
        let (schema, sender) = (self.schema(), rows.tx());
        let (plan, round, units) = (Arc::clone(&self.plan), Arc::clone(&self.round), self.units.clone());
        let workers = Arc::clone(&self.workers.workers);
        let reservation = MemoryConsumer::new("rows of workers").register(context.memory_pool());
        rows.spawn(async move {
            let mut deliver = |part: Vec<u8>| {
                reservation.try_resize(part.len()).map_err(|error| error.strip_backtrace())?;
                let batches = rows_of(&part, &schema).map_err(|error| error.strip_backtrace())?;
                // Waiting is allowed here: other tasks of the thread go on elsewhere.
                let send = |batch| tokio::task::block_in_place(|| sender.blocking_send(Ok(batch)));
                batches.into_iter().try_for_each(send).map_err(|_| "its rows are not needed".to_owned())
            };
            let ids: Vec<UnitId> = units.keys().copied().collect();
            let computed = workers.compute(round, &ids, &mut deliver).await;
            let unreadable = computed.map_err(|error| DataFusionError::External(error.into()))?;
            // A unit that workers cannot read is read here, for the error that names its segment.
            for (unit, _) in unreadable {
                let Some(scan) = units.get(&unit) else { return internal_err!("{unit} was not asked for") };
                let mut rows = with_scan(&plan, scan)?.execute(0, Arc::clone(&context))?;
                while let Some(batch) = rows.next().await {
                    if sender.send(Ok(batch?)).await.is_err() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        Ok(rows.build())
    }
}
