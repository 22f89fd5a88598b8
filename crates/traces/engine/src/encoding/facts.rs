//! Facts about the traces of a slice.

use crate::{Origins, SliceFacts};
use laggard_assembly::{ClockAgreement, ClockBounds};
use laggard_model::{Loss, Losses, Names, ReplicaId, Timestamp, TraceId};
use laggard_wire::{Malformed, PackedReader, Unpacked, put_difference, put_text, put_varint};

/// Least bytes of a loss (name, count, example), of bounds of clocks (pair, bounds, calls), and of a trace's text.
const LOSS_BYTES_MIN: usize = 3;
const BOUNDS_BYTES_MIN: usize = 5;
const TEXT_BYTES_MIN: usize = size_of::<u128>() + 1;

pub(super) fn put_facts(out: &mut Vec<u8>, facts: &SliceFacts) {
    [facts.traces, facts.spans, facts.rows].into_iter().for_each(|count| put_varint(out, count));
    out.push(u8::from(facts.extent.is_some()));
    if let Some((first, last)) = facts.extent {
        put_difference(out, 0, first.unix_ns());
        put_difference(out, first.unix_ns(), last.unix_ns());
    }
    put_varint(out, facts.losses.iter().count() as u64);
    for (loss, found) in facts.losses.iter() {
        put_text(out, loss.name());
        put_varint(out, found.count);
        put_text(out, &found.example);
    }
    put_clocks(out, &facts.clocks);
    put_origins(out, &facts.origins);
    put_varint(out, facts.texts.len() as u64);
    for (trace, text) in &facts.texts {
        out.extend_from_slice(&trace.value().to_le_bytes());
        put_text(out, text);
    }
}

/// Facts whose clocks are of replicas of `names`.
pub(super) fn read_facts(from: &mut PackedReader<'_>, names: &Names) -> Unpacked<SliceFacts> {
    let (traces, spans, rows) = (quantity(from)?, quantity(from)?, quantity(from)?);
    let extent = match from.byte()? {
        0 => None,
        1 => {
            let first = from.difference(0)?;
            let last = from.difference(first)?;
            Some((Timestamp::from_unix_ns(first), Timestamp::from_unix_ns(last)))
        }
        _ => return Err(Malformed),
    };
    let mut losses = Losses::none();
    for _ in 0..from.count(LOSS_BYTES_MIN)? {
        let loss = Loss::from_name(from.text()?).ok_or(Malformed)?;
        let (count, example) = (from.number()?, from.text()?);
        losses.add_many(loss, count, || example.to_owned());
    }
    let clocks = read_clocks(from, names)?;
    let origins = read_origins(from)?;
    let texts = (0..from.count(TEXT_BYTES_MIN)?)
        .map(|_| Ok((TraceId::from_value(u128::from_le_bytes(from.array()?)), from.text()?.into())))
        .collect::<Unpacked<_>>()?;
    Ok(SliceFacts { traces, spans, rows, extent, losses, clocks, origins, texts })
}

/// Most spans, traces, or calls that facts may state: sums of as many facts as there may be do not overflow.
const QUANTITY_MAX: u64 = 1 << 48;

fn quantity(from: &mut PackedReader<'_>) -> Unpacked<u64> {
    from.number().and_then(|number| if number <= QUANTITY_MAX { Ok(number) } else { Err(Malformed) })
}

fn put_clocks(out: &mut Vec<u8>, clocks: &ClockAgreement) {
    put_varint(out, clocks.calls_beyond_limit);
    let pairs = clocks.pairs();
    put_varint(out, pairs.len() as u64);
    for ((caller, callee), bounds) in pairs {
        put_varint(out, caller.index() as u64);
        put_varint(out, callee.index() as u64);
        put_difference(out, 0, bounds.low_ns);
        put_difference(out, bounds.low_ns, bounds.high_ns);
        put_varint(out, bounds.calls);
    }
}

fn read_clocks(from: &mut PackedReader<'_>, names: &Names) -> Unpacked<ClockAgreement> {
    let mut clocks = ClockAgreement::default();
    clocks.calls_beyond_limit = quantity(from)?;
    for _ in 0..from.count(BOUNDS_BYTES_MIN)? {
        let mut replica = || from.index(names.replicas()).map(ReplicaId::from_index);
        let pair = (replica()?, replica()?);
        let low_ns = from.difference(0)?;
        let high_ns = from.difference(low_ns)?;
        clocks.add_bounds(pair, ClockBounds { low_ns, high_ns, calls: quantity(from)? });
    }
    Ok(clocks)
}

fn put_origins(out: &mut Vec<u8>, origins: &Origins) {
    put_varint(out, origins.call_records);
    for counts in [&origins.identities[..], &origins.weight_sources, &origins.tail_samplers] {
        counts.iter().for_each(|&count| put_varint(out, count));
    }
}

fn read_origins(from: &mut PackedReader<'_>) -> Unpacked<Origins> {
    let mut origins = Origins { call_records: quantity(from)?, ..Origins::default() };
    for counts in [&mut origins.identities[..], &mut origins.weight_sources, &mut origins.tail_samplers] {
        for count in counts {
            *count = quantity(from)?;
        }
    }
    Ok(origins)
}
