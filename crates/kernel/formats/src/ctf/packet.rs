//! Heads of packets: header and context.

use super::class::FieldRole;
use super::decoder::{Decoder, StreamPlan};
use super::plan::{Cursor, PlanStop, Registers, role_slot};

const MAGIC: u64 = 0xC1FC_1FC1;

/// Fields of a packet header.
#[derive(Clone, Debug)]
pub(super) struct PacketHead {
    /// The stream class.
    pub(super) class: u64,
    /// Which stream of its class.
    pub(super) instance: Option<u64>,
    pub(super) cpu: Option<u16>,
    /// The clock at its beginning.
    pub(super) begin: Option<u64>,
    /// The clock at its end.
    pub(super) end: Option<u64>,
    /// Events discarded so far.
    pub(super) discarded: Option<u64>,
    /// Its number.
    pub(super) sequence: Option<u64>,
    /// Bits from its beginning to the end of its events; `None` if unknown.
    pub(super) content_bits: Option<u64>,
    /// Bits to its own end; `None` if unknown.
    pub(super) packet_bits: Option<u64>,
    /// Where its events begin.
    pub(super) events_at: u64,
}

/// Why there is no head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NoPacketHead {
    /// The bytes at hand end inside it.
    Short,
    /// This is no packet, or one that makes no sense.
    Damaged(&'static str),
}

impl From<PlanStop> for NoPacketHead {
    fn from(stop: PlanStop) -> NoPacketHead {
        match stop {
            PlanStop::Short => NoPacketHead::Short,
            PlanStop::Malformed => NoPacketHead::Damaged("its header cannot be decoded"),
        }
    }
}

/// Reads the head of the packet that begins with `bytes`.
pub(super) fn head(
    decoder: &Decoder,
    bytes: &[u8],
    registers: &mut Registers,
) -> Result<PacketHead, NoPacketHead> {
    let mut cursor = Cursor {
        bytes,
        at: 0,
        end: 8 * bytes.len() as u64,
        clock: 0,
        effort: 1_000_000 + bytes.len() as u64,
    };
    registers.forget_from(0);
    cursor.run(&decoder.packet_header, registers)?;
    let get = |registers: &Registers, role| registers.get(role_slot(role));
    if get(registers, FieldRole::Magic).is_some_and(|magic| magic != MAGIC) {
        return Err(NoPacketHead::Damaged("it does not begin as a packet does"));
    }
    let (class, plan) = stream_plan(decoder, get(registers, FieldRole::StreamClass))?;
    cursor.run(&plan.packet_context, registers)?;
    let get = |role| get(registers, role);
    // 0 is what a tracer leaves that stopped before it closed the packet.
    let size = |role| get(role).filter(|bits| *bits > 0);
    let head = PacketHead {
        class,
        instance: get(FieldRole::StreamInstance),
        cpu: get(FieldRole::Cpu).and_then(|cpu| u16::try_from(cpu).ok()),
        begin: get(FieldRole::Begin),
        end: get(FieldRole::End),
        discarded: get(FieldRole::Discarded),
        sequence: get(FieldRole::Sequence),
        content_bits: size(FieldRole::ContentBits),
        packet_bits: size(FieldRole::PacketBits),
        events_at: cursor.at,
    };
    check(&head)?;
    Ok(head)
}

fn stream_plan(decoder: &Decoder, stream_id: Option<u64>) -> Result<(u64, &StreamPlan), NoPacketHead> {
    let stream = match stream_id {
        Some(id) => decoder.streams.get(&id).map(|plan| (id, plan)),
        None => decoder.streams.iter().min_by_key(|(id, _)| **id).map(|(id, plan)| (*id, plan)),
    };
    stream.ok_or(NoPacketHead::Damaged("its stream is not in the metadata"))
}

fn check(head: &PacketHead) -> Result<(), NoPacketHead> {
    let content = head.content_bits.or(head.packet_bits).unwrap_or(u64::MAX);
    let packet_bits = head.packet_bits.unwrap_or(u64::MAX);
    if !head.packet_bits.unwrap_or(0).is_multiple_of(8) {
        return Err(NoPacketHead::Damaged("its size is no number of bytes"));
    }
    if content > packet_bits || head.events_at > content {
        return Err(NoPacketHead::Damaged("its sizes contradict each other"));
    }
    Ok(())
}
