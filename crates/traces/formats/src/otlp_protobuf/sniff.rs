//! Whether bytes start like an OTLP protobuf request.
//!
//! The format has no signature, so the check follows the nesting down to something that hardly occurs by
//! chance: a printable attribute key of a resource, or a span's 16-byte trace id.

use crate::Sniff;
use laggard_wire::Contents;

/// An attribute key is shorter than this.
const KEY_BYTES_MAX: u64 = 256;

/// A part of the input, of which `bytes` were read.
#[derive(Clone, Copy)]
struct PartialInput<'a> {
    bytes: &'a [u8],
    length: u64,
}

struct PeekedField<'a> {
    number: u32,
    contents: PartialInput<'a>,
    after: PartialInput<'a>,
}

/// Whether `prefix` starts like a request.
pub(crate) fn sniff(prefix: &[u8]) -> Sniff {
    request(PartialInput { bytes: prefix, length: u64::MAX }).unwrap_or_else(|early| early)
}

impl<'a> PartialInput<'a> {
    /// The field at the start, if it is of the wire type for messages and fits.
    fn field(self) -> Result<PeekedField<'a>, Sniff> {
        let header = match laggard_wire::header(self.bytes) {
            Ok(Some(header)) => header,
            Ok(None) if (self.bytes.len() as u64) < self.length => return Err(Sniff::NeedMore),
            _ => return Err(Sniff::No),
        };
        let Contents::Bytes(length) = header.contents else {
            return Err(Sniff::No);
        };
        let rest = &self.bytes[header.bytes..];
        let Some(remaining) = (self.length - header.bytes as u64).checked_sub(length) else {
            return Err(Sniff::No);
        };
        let (contents, after) = rest.split_at(length.min(rest.len() as u64) as usize);
        Ok(PeekedField {
            number: header.field,
            contents: PartialInput { bytes: contents, length },
            after: PartialInput { bytes: after, length: remaining },
        })
    }

    fn is_complete(self) -> bool {
        self.bytes.len() as u64 == self.length
    }
}

fn request(request: PartialInput<'_>) -> Result<Sniff, Sniff> {
    let mut group = request.field()?;
    loop {
        if group.number != 1 {
            return Err(Sniff::No);
        }
        let mut members = group.contents;
        while members.length > 0 {
            let member = members.field()?;
            match member.number {
                1 if member.contents.length > 0 => return resource(member.contents),
                2 | 1000 if member.contents.length > 0 => return scope_spans(member.contents),
                1 | 2 | 3 | 1000 => members = member.after,
                _ => return Err(Sniff::No),
            }
        }
        group = group.after.field()?;
    }
}

fn resource(resource: PartialInput<'_>) -> Result<Sniff, Sniff> {
    let pair = resource.field()?;
    let key = pair.contents.field()?;
    if pair.number != 1 || key.number != 1 || !(1..KEY_BYTES_MAX).contains(&key.contents.length) {
        return Err(Sniff::No);
    }
    if !key.contents.bytes.iter().all(u8::is_ascii_graphic) {
        return Err(Sniff::No);
    }
    Ok(if key.contents.is_complete() { Sniff::Yes } else { Sniff::NeedMore })
}

fn scope_spans(scope_spans: PartialInput<'_>) -> Result<Sniff, Sniff> {
    let mut member = scope_spans.field()?;
    if member.number == 1 {
        member = member.after.field()?;
    }
    let trace_id = member.contents.field()?;
    let is_span = member.number == 2 && trace_id.number == 1 && trace_id.contents.length == 16;
    if is_span { Ok(Sniff::Yes) } else { Err(Sniff::No) }
}
