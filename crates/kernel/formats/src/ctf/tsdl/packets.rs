//! Metadata in packets, as LTTng writes it, to plain text.

use crate::ctf::class::ByteOrder;

const MAGIC: u32 = 0x75D1_1D57;

/// Bytes of a packet's header: magic, uuid, checksum, two sizes in bits, three schemes, version.
const HEADER_BYTES: usize = 37;

fn order(bytes: &[u8]) -> Option<ByteOrder> {
    let magic = *bytes.first_chunk()?;
    if u32::from_le_bytes(magic) == MAGIC {
        Some(ByteOrder::Little)
    } else if u32::from_be_bytes(magic) == MAGIC {
        Some(ByteOrder::Big)
    } else {
        None
    }
}

/// Whether metadata comes in packets.
pub(in crate::ctf) fn is_packetized(bytes: &[u8]) -> bool {
    order(bytes).is_some()
}

/// The text of all packets.
///
/// # Errors
/// When a packet is damaged, compressed or encrypted.
pub(in crate::ctf) fn unpacketized(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut packet_start = 0;
    while packet_start < bytes.len() {
        let packet = &bytes[packet_start..];
        let damaged = || format!("the metadata packet at byte {packet_start} is damaged");
        let order = order(packet).ok_or_else(damaged)?;
        let size = |field: usize| -> Option<usize> {
            let encoded = *packet.get(field..)?.first_chunk()?;
            let bits = match order {
                ByteOrder::Little => u32::from_le_bytes(encoded),
                ByteOrder::Big => u32::from_be_bytes(encoded),
            };
            usize::try_from(bits / 8).ok()
        };
        let content_bytes = size(24).ok_or_else(damaged)?;
        let packet_bytes = size(28).ok_or_else(damaged)?;
        let schemes = packet.get(32..34).ok_or_else(damaged)?;
        if schemes != [0, 0] {
            return Err("compressed or encrypted metadata is not read".to_owned());
        }
        if packet_bytes < HEADER_BYTES || content_bytes > packet_bytes {
            return Err(damaged());
        }
        text.extend_from_slice(packet.get(HEADER_BYTES..content_bytes).ok_or_else(damaged)?);
        packet_start += packet_bytes;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &str, big: bool, padding: usize) -> Vec<u8> {
        let number = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let content_bytes = HEADER_BYTES + text.len();
        let mut bytes = number(MAGIC).to_vec();
        bytes.extend([7; 16]);
        bytes.extend(number(0));
        bytes.extend(number(8 * content_bytes as u32));
        bytes.extend(number(8 * (content_bytes + padding) as u32));
        bytes.extend([0, 0, 0, 1, 8]);
        bytes.extend(text.as_bytes());
        bytes.extend(vec![0; padding]);
        bytes
    }

    #[test]
    fn packets_in_either_byte_order_are_concatenated() {
        for big in [false, true] {
            let mut bytes = packet("trace {", big, 90);
            bytes.extend(packet("};", big, 0));
            assert!(is_packetized(&bytes));
            assert_eq!(unpacketized(&bytes).unwrap(), b"trace {};");
        }
    }

    #[test]
    fn damage_is_reported_at_every_length() {
        let bytes = packet("trace {", false, 4);
        for length in 1..bytes.len() - 4 {
            assert!(unpacketized(&bytes[..length]).is_err(), "{length}");
        }
        let mut compressed = bytes.clone();
        compressed[32] = 1;
        assert!(unpacketized(&compressed).is_err());
        let mut endless = bytes;
        endless[28..32].fill(0);
        assert!(unpacketized(&endless).is_err());
    }
}
