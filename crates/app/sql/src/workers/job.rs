//! What workers get of a query, as bytes.

use super::scan::{TableScan, UnitScans, UnitsExec};
use crate::bounds::Bounds;
use crate::tables;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use laggard_engine::{put_ranges, read_ranges};
use laggard_model::TraceId;
use laggard_wire::{Malformed, PackedReader, Unpacked, put_varint};
use std::sync::Arc;

/// Bytes of a trace id.
const TRACE_BYTES: usize = 16;

/// A scan, and the plan above it; `None` if that cannot be encoded, or not be decoded from it.
pub(super) fn encode(above: &UnitsExec, plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<u8>> {
    let scan = &above.scan;
    let encoded = physical_plan_to_bytes_with_extension_codec(Arc::clone(plan), &LeafCodec(None)).ok()?;
    let context = SessionContext::new().task_ctx();
    decode_plan(&encoded, UnitsExec::new(scan.clone(), above.schema(), UnitScans::new(), 1), &context)
        .ok()?;
    let mut out = Vec::new();
    let table = tables::NAMES.iter().position(|&name| name == scan.table);
    put_varint(&mut out, table.expect("scans are of tables") as u64);
    put_varint(&mut out, scan.columns.len() as u64);
    scan.columns.iter().for_each(|&column| put_varint(&mut out, column as u64));
    put_ranges(&mut out, std::slice::from_ref(&scan.bounds.window));
    let traces = scan.bounds.traces.as_ref();
    put_varint(&mut out, u64::from(traces.is_some()));
    if let Some(traces) = traces {
        put_varint(&mut out, traces.len() as u64);
        traces.iter().for_each(|trace| out.extend(trace.value().to_be_bytes()));
    }
    put_varint(&mut out, scan.batch_rows as u64);
    put_varint(&mut out, scan.limit.map_or(0, |rows| rows as u64 + 1));
    put_varint(&mut out, encoded.len() as u64);
    out.extend(encoded);
    Some(out)
}

/// A scan, and the encoded plan above it.
pub(super) fn decode(bytes: &[u8]) -> Unpacked<(TableScan, &[u8])> {
    let mut from = PackedReader::new(bytes);
    let table = from.one_of(tables::NAMES)?;
    let columns = (0..from.count(1)?).map(|_| Ok(from.number_u32()? as usize)).collect::<Unpacked<_>>()?;
    let [window] = <[_; 1]>::try_from(read_ranges(&mut from)?).map_err(|_| Malformed)?;
    let traces = match from.index(2)? {
        0 => None,
        _ => {
            let ids =
                (0..from.count(TRACE_BYTES)?).map(|_| Ok(TraceId::from_bytes(from.array::<TRACE_BYTES>()?)));
            Some(Arc::new(ids.collect::<Unpacked<_>>()?))
        }
    };
    let batch_rows = (from.number_u32()? as usize).max(1);
    let limit = from.number()?.checked_sub(1).map(|rows| rows as usize);
    let bounds = Bounds { window, traces };
    // What follows the length is the plan, to the end.
    let plan = bytes.len().checked_sub(from.count(1)?).map(|start| &bytes[start..]).ok_or(Malformed)?;
    Ok((TableScan { table, columns, bounds, batch_rows, limit }, plan))
}

/// The plan above a scan.
pub(super) fn decode_plan(
    bytes: &[u8],
    scan: UnitsExec,
    context: &TaskContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let codec = LeafCodec(Some(Arc::new(scan)));
    physical_plan_from_bytes_with_extension_codec(bytes, context, &codec)
}

/// Sends the scan as nothing: it goes separately.
#[derive(Debug)]
struct LeafCodec(Option<Arc<UnitsExec>>);

impl PhysicalExtensionCodec for LeafCodec {
    fn try_decode(
        &self,
        _: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match &self.0 {
            Some(scan) => Ok(Arc::clone(scan) as _),
            None => internal_err!("scans are decoded at workers"),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        _: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        match node.is::<UnitsExec>() {
            true => Ok(()),
            false => internal_err!("{} cannot be sent", node.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Schema;
    use laggard_model::Timestamp;
    use std::collections::HashSet;

    #[test]
    fn a_scan_is_decoded_as_it_was_encoded_and_nothing_shorter_is_one() {
        let traces = HashSet::from([TraceId::from_value(7), TraceId::from_value(u128::MAX)]);
        let window = Timestamp::MIN..=Timestamp::from_unix_ns(5);
        let table = *tables::NAMES.last().unwrap();
        for (traces, limit) in [(None, None), (Some(Arc::new(traces)), Some(0))] {
            let bounds = Bounds { window: window.clone(), traces };
            let scan = TableScan { table, columns: [2, 0].into(), bounds, batch_rows: 8_192, limit };
            let units = || UnitsExec::new(scan.clone(), Arc::new(Schema::empty()), UnitScans::new(), 2);
            let plan = Arc::new(units()) as Arc<dyn ExecutionPlan>;
            let encoded = encode(&units(), &plan).unwrap();
            let (found, above) = decode(&encoded).unwrap();
            assert_eq!(found, scan);
            assert!(
                decode_plan(above, units(), &SessionContext::new().task_ctx()).unwrap().is::<UnitsExec>()
            );
            for length in 0..encoded.len() {
                assert!(decode(&encoded[..length]).is_err(), "{length} of {} bytes", encoded.len());
            }
        }
    }
}
