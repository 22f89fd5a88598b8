//! The process that asks: a plan of one stage, with a task for each worker.

use super::channel::{Connections, Failures, Resolver};
use super::leaf::{IndexedUnits, UnitsCodec, UnitsExec, rows};
use crate::ClusterSettings;
use crate::chunks::WorkerRow;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::logical_expr::{EmptyRelation, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_distributed::{
    DistributedExt, DistributedLeafExec, NetworkCoalesceExec, RouteTasksEvent, RouteTasksEventResponse,
    SessionStateBuilderExt, WorkerResolver,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use std::sync::Arc;
use url::Url;

/// Units for a worker.
pub(crate) struct Assigned {
    /// Its index in the settings.
    pub(crate) worker: usize,
    pub(crate) units: IndexedUnits,
}

/// An attempt that runs; it ends when it is dropped.
pub(crate) struct Running {
    pub(crate) rows: BoxStream<'static, Result<Vec<WorkerRow>, String>>,
    pub(crate) failures: Failures,
}

/// Starts attempts.
pub(crate) struct EngineRoot {
    connections: Connections,
}

impl EngineRoot {
    pub(crate) fn new(settings: &ClusterSettings) -> Result<EngineRoot, String> {
        Ok(EngineRoot { connections: Connections::new(settings)? })
    }

    /// Sends each worker its units.
    pub(crate) async fn start(
        &self,
        round: &Arc<[u8]>,
        mut assigned: Vec<Assigned>,
    ) -> Result<Running, String> {
        // A stage of a single task would be executed here.
        if let [only] = assigned.as_slice() {
            assigned.push(Assigned { worker: only.worker, units: Vec::new() });
        }
        let failures = Failures::default();
        let resolver = Resolver { connections: self.connections.clone(), failures: failures.clone() };
        let batches = stream(round, assigned, resolver).await;
        let batches = batches.map_err(|error| format!("workers: {error}"))?;
        let rows = batches.map(|batch| match batch {
            Ok(batch) => rows(&batch),
            Err(error) => Err(format!("workers: {error}")),
        });
        Ok(Running { rows: rows.boxed(), failures })
    }
}

async fn stream(
    round: &Arc<[u8]>,
    assigned: Vec<Assigned>,
    resolver: Resolver,
) -> Result<SendableRecordBatchStream> {
    let urls: Vec<Url> = assigned.iter().map(|one| resolver.connections.url(one.worker)).collect();
    let leaf = |units: IndexedUnits| {
        Arc::new(UnitsExec::new(Arc::clone(round), units, None)) as Arc<dyn ExecutionPlan>
    };
    let tasks = assigned.len();
    let leaves = assigned.into_iter().map(|one| leaf(one.units));
    let leaves = Arc::new(DistributedLeafExec::try_new(leaf(Vec::new()), leaves)?);
    let stage = Arc::new(NetworkCoalesceExec::try_new(leaves, tasks, 1)?);
    let plan = FixedPlan(Arc::new(CoalescePartitionsExec::new(stage)));
    let routed = urls.clone();
    let state = SessionStateBuilder::new()
        .with_query_planner(Arc::new(plan))
        .with_distributed_worker_resolver(Workers(urls))
        .with_distributed_channel_resolver(resolver)
        .with_distributed_user_codec(UnitsCodec { source: None })
        .with_distributed_route_tasks_handler(move |_: RouteTasksEvent<'_>| {
            Some(Ok(RouteTasksEventResponse::new(routed.clone())))
        })
        .with_distributed_metrics_collection(false)?
        .with_distributed_compression(Some(datafusion_distributed::CompressionType::LZ4_FRAME))?
        .with_distributed_planner()
        .build();
    let nothing = EmptyRelation { produce_one_row: false, schema: Arc::new(DFSchema::empty()) };
    let planner = Arc::clone(state.query_planner());
    let plan = planner.create_physical_plan(&LogicalPlan::EmptyRelation(nothing), &state).await?;
    plan.execute(0, state.task_ctx())
}

/// Returns a plan that exists already: there is no query to plan.
#[derive(Debug)]
struct FixedPlan(Arc<dyn ExecutionPlan>);

#[async_trait]
impl QueryPlanner for FixedPlan {
    async fn create_physical_plan(&self, _: &LogicalPlan, _: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::clone(&self.0))
    }
}

struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}
