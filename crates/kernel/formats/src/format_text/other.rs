//! Fields of any event as text.

use super::parse::{EventFormat, FieldShape};
use crate::bytes::ByteOrder;
use std::fmt::Write;

/// A field with its name, of an event that has no kind of its own.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct NamedField {
    name: String,
    shape: FieldShape,
}

/// Elements of an array that are written; the rest becomes `…`.
const ELEMENTS_MAX: usize = 64;

/// Bytes of a text that are written.
const TEXT_BYTES_MAX: usize = 4096;

impl NamedField {
    /// The event's own fields, without those that all events have.
    pub(super) fn all(format: &EventFormat) -> Vec<NamedField> {
        let own = format.fields.iter().filter(|field| !field.name.starts_with("common_"));
        own.map(|field| NamedField { name: field.name.clone(), shape: field.shape }).collect()
    }

    /// Appends `name=value`; `name=?` when the record is too short.
    fn write(&self, record: &[u8], order: ByteOrder, into: &mut String) {
        let _ = write!(into, "{}=", self.name);
        if self.write_value(record, order, into).is_none() {
            into.push('?');
        }
    }

    fn write_value(&self, record: &[u8], order: ByteOrder, into: &mut String) -> Option<()> {
        match self.shape {
            FieldShape::Number(number) => {
                let value = number.read(record, order)?;
                write_number(value, number.signed, into);
            }
            FieldShape::Text(text) => {
                let text = text.read_text(record, order)?;
                into.push_str(&String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]));
            }
            FieldShape::Numbers { bytes, size, signed } => {
                let bytes = bytes.read(record, order)?;
                write_numbers(bytes, size, signed, order, into);
            }
        }
        Some(())
    }
}

/// Decimal, and hexadecimal for what looks like an address.
fn write_number(value: u64, signed: bool, into: &mut String) {
    let _ = match value {
        value if signed => write!(into, "{}", value as i64),
        value if value > u64::from(u32::MAX) => write!(into, "{value:#x}"),
        value => write!(into, "{value}"),
    };
}

fn write_numbers(bytes: &[u8], size: usize, signed: bool, order: ByteOrder, into: &mut String) {
    into.push('{');
    for (index, element) in bytes.chunks_exact(size.max(1)).enumerate() {
        if index == ELEMENTS_MAX {
            into.push_str(",…");
            break;
        }
        if index > 0 {
            into.push(',');
        }
        let element_field = super::fields::NumberField { offset: 0, size, signed };
        write_number(element_field.read(element, order).unwrap_or_default(), signed, into);
    }
    into.push('}');
}

/// Replaces `into` by `name=value name=value …`.
pub(super) fn write_fields(fields: &[NamedField], record: &[u8], order: ByteOrder, into: &mut String) {
    into.clear();
    for field in fields {
        if !into.is_empty() {
            into.push(' ');
        }
        field.write(record, order, into);
    }
}
