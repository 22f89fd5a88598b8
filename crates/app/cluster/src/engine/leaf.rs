//! The one leaf of every plan: units in, numbered chunks of their parts out.

use crate::chunks::{Chunk, UnitAnswer, WorkerRow};
use crate::{RoundSource, RoundUnits};
use datafusion::arrow::array::{Array, AsArray, BinaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use laggard_engine::{UnitId, put_unit, read_unit};
use laggard_wire::{PackedReader, Unpacked, put_varint};
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let numbers = ["unit", "number", "total", "crc32c"].map(|name| Field::new(name, DataType::UInt32, false));
    let bytes = Field::new("bytes", DataType::Binary, false);
    Arc::new(Schema::new(numbers.into_iter().chain([bytes]).collect::<Vec<_>>()))
});

/// A worker that computes, and has nothing to send, says so often that it advances.
const ADVANCED_EVERY: Duration = Duration::from_secs(1);

/// Instead of a chunk's number: the row says that the worker advances.
const ADVANCED: u32 = u32::MAX;

/// Units with their indices in the round.
pub(super) type IndexedUnits = Vec<(u32, UnitId)>;

/// Where the units of a worker are computed.
#[derive(Clone)]
pub(super) struct LeafSource {
    pub(super) rounds: Arc<dyn RoundSource>,
    /// Units that are computed at the same time for one task.
    pub(super) at_once: usize,
}

/// Computes units of a round.
pub(super) struct UnitsExec {
    round: Arc<[u8]>,
    units: IndexedUnits,
    /// Absent at the root, which never executes it.
    source: Option<LeafSource>,
    properties: Arc<PlanProperties>,
}

impl UnitsExec {
    pub(super) fn new(round: Arc<[u8]>, units: IndexedUnits, source: Option<LeafSource>) -> UnitsExec {
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&SCHEMA)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        UnitsExec { round, units, source, properties }
    }
}

impl fmt::Debug for UnitsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnitsExec: {} units", self.units.len())
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

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(LeafSource { rounds, at_once }) = self.source.clone() else {
            return internal_err!("units are computed at workers");
        };
        let (sent, units) = (Arc::clone(&self.round), self.units.clone());
        let (first, source) = (units.first().map(|&(index, _)| index), Arc::clone(&rounds));
        let opened = async move {
            let round = rounds.round(&sent).await.map_err(|error| exec_datafusion_err!("{error}"))?;
            let answers = units.into_iter().map(move |(index, unit)| answer(Arc::clone(&round), index, unit));
            let answers = futures::stream::iter(answers).buffer_unordered(at_once);
            Ok::<_, DataFusionError>(
                answers.flat_map(|chunks| {
                    futures::stream::iter(chunks).map(|chunk| batch(WorkerRow::Chunk(chunk)))
                }),
            )
        };
        let batches = futures::stream::once(opened).try_flatten().boxed();
        let batches = match first {
            Some(unit) => with_advances(batches, source, unit),
            None => batches,
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&SCHEMA), batches)))
    }
}

/// Rows, and between them a row for each second in which the process advanced and sent none.
fn with_advances(
    batches: BoxStream<'static, Result<RecordBatch>>,
    source: Arc<dyn RoundSource>,
    unit: u32,
) -> BoxStream<'static, Result<RecordBatch>> {
    let start = (batches, source.steps());
    let next = move |(mut batches, mut steps): (BoxStream<'static, _>, u64)| {
        let source = Arc::clone(&source);
        async move {
            loop {
                if let Ok(next) = tokio::time::timeout(ADVANCED_EVERY, batches.next()).await {
                    return next.map(|batch| (batch, (batches, steps)));
                }
                let now = source.steps();
                if now != steps {
                    steps = now;
                    return Some((batch(WorkerRow::Advanced(unit)), (batches, steps)));
                }
            }
        }
    };
    futures::stream::unfold(start, next).boxed()
}

async fn answer(round: Arc<dyn RoundUnits>, index: u32, unit: UnitId) -> Vec<Chunk> {
    let answer = match round.part(unit).await {
        Ok(part) => UnitAnswer::Part(part),
        Err(reason) => UnitAnswer::Unreadable(reason),
    };
    answer.into_chunks(index)
}

/// A batch of one row.
fn batch(row: WorkerRow) -> Result<RecordBatch> {
    let chunk = match row {
        WorkerRow::Chunk(chunk) => chunk,
        WorkerRow::Advanced(unit) => Chunk { unit, number: ADVANCED, total: 0, crc32c: 0, bytes: Vec::new() },
    };
    let numbers = [chunk.unit, chunk.number, chunk.total, chunk.crc32c];
    let mut columns: Vec<Arc<dyn Array>> = Vec::new();
    columns.extend(numbers.map(|number| Arc::new(UInt32Array::from(vec![number])) as Arc<dyn Array>));
    columns.push(Arc::new(BinaryArray::from(vec![chunk.bytes.as_slice()])));
    Ok(RecordBatch::try_new(Arc::clone(&SCHEMA), columns)?)
}

/// The rows of a batch.
pub(super) fn rows(batch: &RecordBatch) -> Result<Vec<WorkerRow>, String> {
    let numbers: Option<Vec<&UInt32Array>> =
        (0..4).map(|column| batch.columns().get(column)?.as_primitive_opt::<UInt32Type>()).collect();
    let bytes = batch.columns().get(4).and_then(|column| column.as_binary_opt::<i32>());
    let (Some(numbers), Some(bytes)) = (numbers, bytes) else {
        return Err("workers: rows of other columns arrived".to_owned());
    };
    let row = |row: usize| {
        let [unit, number, total, crc32c] = [0, 1, 2, 3].map(|column| numbers[column].value(row));
        match number {
            ADVANCED => WorkerRow::Advanced(unit),
            _ => WorkerRow::Chunk(Chunk { unit, number, total, crc32c, bytes: bytes.value(row).to_vec() }),
        }
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// Sends the leaf, and nothing else.
pub(super) struct UnitsCodec {
    pub(super) source: Option<LeafSource>,
}

impl fmt::Debug for UnitsCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnitsCodec")
    }
}

/// Least bytes of an encoded unit with its index.
const UNIT_BYTES_MIN: usize = 3;

impl PhysicalExtensionCodec for UnitsCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok((units, round)) = decode(bytes) else { return internal_err!("a task is damaged") };
        Ok(Arc::new(UnitsExec::new(round.into(), units, self.source.clone())))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        out: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(leaf) = node.downcast_ref::<UnitsExec>() else {
            return internal_err!("{} cannot be sent", node.name());
        };
        put_varint(out, leaf.units.len() as u64);
        for &(index, unit) in &leaf.units {
            put_varint(out, u64::from(index));
            put_unit(out, unit);
        }
        put_varint(out, leaf.round.len() as u64);
        out.extend_from_slice(&leaf.round);
        Ok(())
    }
}

/// The units of a task, and its round.
fn decode(bytes: &[u8]) -> Unpacked<(IndexedUnits, &[u8])> {
    let mut from = PackedReader::new(bytes);
    let units = (0..from.count(UNIT_BYTES_MIN)?).map(|_| Ok((from.number_u32()?, read_unit(&mut from)?)));
    let units = units.collect::<Unpacked<_>>()?;
    let length = from.count(1)?;
    // What follows the length is the round, to the end.
    let round = bytes.len().checked_sub(length).map(|start| &bytes[start..]);
    Ok((units, round.ok_or(laggard_wire::Malformed)?))
}
