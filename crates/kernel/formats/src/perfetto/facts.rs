//! Clock and host of a trace.

use crate::trace::TraceFacts;
use laggard_model::ClockMap;
use laggard_wire::{Fields, Value};

const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;

/// `ClockSnapshot`: the same instant on several clocks. Events are on the boot clock.
pub(super) fn clocks(snapshot: &[u8], facts: &mut TraceFacts) {
    if facts.calendar.is_some() {
        return;
    }
    let (mut real, mut boot) = (None, None);
    for (number, value) in Fields::new(snapshot).flatten() {
        let (1, Value::Bytes(clock)) = (number, value) else { continue };
        let (mut id, mut ns) = (0, 0);
        for field in Fields::new(clock).flatten() {
            match field {
                (1, Value::Varint(value)) => id = value,
                (2, Value::Varint(value)) => ns = value,
                _ => {}
            }
        }
        match id {
            REALTIME => real = Some(ns),
            BOOTTIME => boot = Some(ns),
            _ => {}
        }
    }
    let (Some(real), Some(boot)) = (real, boot) else { return };
    facts.calendar = Some(ClockMap::from_offset_ns(real.wrapping_sub(boot).cast_signed()));
}

/// `SystemInfo.utsname.release`.
pub(super) fn system(message: &[u8], facts: &mut TraceFacts) {
    for (number, value) in Fields::new(message).flatten() {
        let (1, Value::Bytes(utsname)) = (number, value) else { continue };
        for field in Fields::new(utsname).flatten() {
            if let (3, Value::Bytes(release)) = field {
                facts.kernel = Some(String::from_utf8_lossy(release).into_owned());
            }
        }
    }
}
