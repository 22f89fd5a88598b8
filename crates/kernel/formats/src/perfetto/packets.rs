//! Finds the packets of a trace file without decoding them.

use laggard_wire::{Contents, Fields, Value, header};
use std::io::{self, BufRead, Read};

/// `Trace.packet`.
const PACKET: u32 = 1;
/// Packets beyond this size are skipped: real ones stay far below a megabyte.
pub(super) const PACKET_BYTES_MAX: u64 = 64 << 20;

/// The next packet of the file, or why there is none.
pub(super) enum NextPacket {
    /// A packet was put into the buffer.
    Packet,
    /// A packet that is too large was skipped.
    Oversized,
    /// The file ends here.
    End,
    /// The file ends inside a packet, or damage makes the rest unreadable.
    Broken,
}

/// Walks through a file, a packet at a time.
pub(super) struct Packets<R> {
    input: R,
    /// Where the next packet begins.
    pub(super) offset: u64,
}

/// The byte range of a packet in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketRange {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl<R: BufRead> Packets<R> {
    pub(super) fn new(input: R) -> Packets<R> {
        Packets { input, offset: 0 }
    }

    /// Reads the next packet into `into`, and returns the range of its contents.
    pub(super) fn next(&mut self, into: &mut Vec<u8>) -> io::Result<(NextPacket, PacketRange)> {
        let empty_range = PacketRange { offset: self.offset, bytes: 0 };
        let mut head = [0_u8; 20];
        let mut used = 0;
        loop {
            let read = self.input.read(&mut head[used..=used])?;
            if read == 0 {
                let packet = if used == 0 { NextPacket::End } else { NextPacket::Broken };
                return Ok((packet, empty_range));
            }
            used += 1;
            match header(&head[..used]) {
                Ok(None) if used < head.len() - 1 => {}
                Ok(Some(header)) => return self.contents(header.field, header.contents, used, into),
                _ => return Ok((NextPacket::Broken, empty_range)),
            }
        }
    }

    fn contents(
        &mut self,
        field: u32,
        contents: Contents,
        head_bytes: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<(NextPacket, PacketRange)> {
        let offset = self.offset + head_bytes as u64;
        let bytes = match contents {
            Contents::Bytes(bytes) => bytes,
            Contents::Varint(_) => 0,
            Contents::Fixed64 => 8,
            Contents::Fixed32 => 4,
            Contents::GroupStart | Contents::GroupEnd => {
                return Ok((NextPacket::Broken, PacketRange { offset, bytes: 0 }));
            }
        };
        let range = PacketRange { offset, bytes };
        let is_packet = field == PACKET && matches!(contents, Contents::Bytes(_));
        if bytes > PACKET_BYTES_MAX || !is_packet {
            let skipped = io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink())?;
            into.clear();
            self.offset = offset + skipped;
            let is_complete = skipped == bytes;
            let packet = if !is_complete {
                NextPacket::Broken
            } else if is_packet {
                NextPacket::Oversized
            } else {
                NextPacket::Packet
            };
            return Ok((packet, range));
        }
        into.clear();
        let read = self.input.by_ref().take(bytes).read_to_end(into)?;
        self.offset = offset + read as u64;
        Ok((if read as u64 == bytes { NextPacket::Packet } else { NextPacket::Broken }, range))
    }
}

/// The messages inside `TracePacket` that are used.
pub(super) enum PacketField<'a> {
    /// `ftrace_events`.
    Bundle(&'a [u8]),
    /// `clock_snapshot`.
    Clocks(&'a [u8]),
    /// `system_info`.
    System(&'a [u8]),
    /// `compressed_packets`: a complete trace, compressed with deflate.
    Deflated(&'a [u8]),
    /// The same with zstd.
    Zstd(&'a [u8]),
}

/// Calls `each` for the relevant parts of a packet; returns whether the packet was complete.
pub(super) fn contents<'a>(packet: &'a [u8], mut each: impl FnMut(PacketField<'a>)) -> bool {
    for field in Fields::new(packet) {
        match field {
            Ok((1, Value::Bytes(bytes))) => each(PacketField::Bundle(bytes)),
            Ok((6, Value::Bytes(bytes))) => each(PacketField::Clocks(bytes)),
            Ok((45, Value::Bytes(bytes))) => each(PacketField::System(bytes)),
            Ok((50, Value::Bytes(bytes))) => each(PacketField::Deflated(bytes)),
            Ok((133, Value::Bytes(bytes))) => each(PacketField::Zstd(bytes)),
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Unpacks the contents of `compressed_packets`; nothing when damaged or too large.
pub(super) fn unpack(content: &PacketField<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let limit = PACKET_BYTES_MAX + 1;
    let read = match content {
        PacketField::Deflated(bytes) => {
            flate2::read::ZlibDecoder::new(*bytes).take(limit).read_to_end(&mut out)
        }
        PacketField::Zstd(bytes) => zstd::Decoder::new(*bytes).ok()?.take(limit).read_to_end(&mut out),
        PacketField::Bundle(_) | PacketField::Clocks(_) | PacketField::System(_) => return None,
    };
    (read.is_ok() && out.len() as u64 <= PACKET_BYTES_MAX).then_some(out)
}

/// The CPU of a bundle.
pub(super) fn cpu_of(bundle: &[u8]) -> Option<u16> {
    Fields::new(bundle).find_map(|field| match field {
        Ok((1, Value::Varint(cpu))) => u16::try_from(cpu).ok(),
        _ => None,
    })
}
