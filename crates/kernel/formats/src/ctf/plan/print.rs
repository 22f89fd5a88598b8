//! Fields of events that have no kind of their own, as `name=value name=value`.

use super::Slot;
use std::fmt::Write;
use std::sync::Arc;

/// Bytes of one event's fields that are written; the rest becomes `…`.
const BYTES_MAX: usize = 4096;

/// A step of writing an event's fields as text.
#[derive(Clone, Debug)]
pub(in crate::ctf) enum Print {
    /// A number; without name inside arrays.
    NumberPlan {
        name: Option<Arc<str>>,
        slot: Slot,
        how: Notation,
    },
    Text {
        name: Option<Arc<str>>,
        slot: Slot,
    },
    /// The brace before a structure's fields or an array's elements.
    Open {
        name: Option<Arc<str>>,
    },
    /// The brace after them.
    Close,
}

/// How a number is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ctf) enum Notation {
    /// With its sign.
    Signed,
    /// Decimal; hexadecimal beyond 32 bits, which looks like an address.
    Unsigned,
    /// IEEE 754, 32 bits.
    Single,
    /// IEEE 754, 64 bits.
    Double,
}

/// The text so far.
#[derive(Debug, Default)]
pub(in crate::ctf) struct Printed {
    pub(in crate::ctf) text: String,
    full: bool,
}

impl Printed {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.full = false;
    }

    fn begin(&mut self, name: Option<&str>) -> bool {
        if self.full {
            return false;
        }
        if self.text.len() > BYTES_MAX {
            self.text.push('…');
            self.full = true;
            return false;
        }
        if !self.text.is_empty() && !self.text.ends_with('{') {
            self.text.push(if name.is_some() { ' ' } else { ',' });
        }
        if let Some(name) = name {
            self.text.push_str(name);
            self.text.push('=');
        }
        true
    }

    pub(super) fn number(&mut self, name: Option<&str>, value: u64, how: Notation) {
        if !self.begin(name) {
            return;
        }
        let _ = match how {
            Notation::Signed => write!(self.text, "{}", value.cast_signed()),
            Notation::Unsigned if value > u64::from(u32::MAX) => write!(self.text, "{value:#x}"),
            Notation::Unsigned => write!(self.text, "{value}"),
            Notation::Single => write!(self.text, "{}", f32::from_bits(value as u32)),
            Notation::Double => write!(self.text, "{}", f64::from_bits(value)),
        };
    }

    pub(super) fn text(&mut self, name: Option<&str>, bytes: &[u8]) {
        if self.begin(name) {
            self.text.push_str(&String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES_MAX)]));
        }
    }

    pub(super) fn open(&mut self, name: Option<&str>) {
        if self.begin(name) {
            self.text.push('{');
        }
    }

    pub(super) fn close(&mut self) {
        if !self.full {
            self.text.push('}');
        }
    }
}
