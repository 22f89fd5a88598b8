//! Features: what a file says of the host and of its clock.

use crate::bytes::{ByteOrder, until_zero};
use crate::trace_dat::{TraceHead as TextsHead, read_texts};
use laggard_model::ClockMap;

/// Numbers of features, as bits of the file's head.
pub(super) const TRACING_DATA: u32 = 1;
const HOSTNAME: u32 = 3;
const OS_RELEASE: u32 = 4;
const CPU_COUNT: u32 = 7;
const CLOCK_DATA: u32 = 29;

/// The features that are read.
pub(super) const READ: &[u32] = &[TRACING_DATA, HOSTNAME, OS_RELEASE, CPU_COUNT, CLOCK_DATA];

/// Content of the features.
#[derive(Clone, Debug, Default)]
pub(super) struct Features {
    /// The host's name.
    pub(super) host: Option<String>,
    /// The kernel's release.
    pub(super) kernel: Option<String>,
    /// CPUs that could be on line.
    pub(super) cpus: Option<u32>,
    /// The clock's mapping to calendar time.
    pub(super) calendar: Option<ClockMap>,
    /// The format texts.
    pub(super) texts: Option<TextsHead>,
}

impl Features {
    /// Takes in one feature's data.
    pub(super) fn add(&mut self, number: u32, data: &[u8], order: ByteOrder) {
        match number {
            TRACING_DATA => self.texts = read_texts(data),
            HOSTNAME => self.host = text(data, order),
            OS_RELEASE => self.kernel = text(data, order),
            CPU_COUNT => self.cpus = order.u32(data, 0),
            CLOCK_DATA => self.calendar = calendar(data, order),
            _ => {}
        }
    }
}

/// A length of 32 bits and a text that ends with zero.
fn text(data: &[u8], order: ByteOrder) -> Option<String> {
    let length = order.u32(data, 0)? as usize;
    let text = data.get(4..)?;
    let text = until_zero(text.get(..length).unwrap_or(text));
    Some(String::from_utf8_lossy(text).into_owned()).filter(|text| !text.is_empty())
}

/// Version 1, the clock's number, the calendar time and the clock's time at one instant.
fn calendar(data: &[u8], order: ByteOrder) -> Option<ClockMap> {
    if order.u32(data, 0)? != 1 {
        return None;
    }
    let (unix_ns, clock_ns) = (order.u64(data, 8)?, order.u64(data, 16)?);
    let offset_ns = i128::from(unix_ns) - i128::from(clock_ns);
    i64::try_from(offset_ns).ok().map(ClockMap::from_offset_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{KernelTime, Timestamp};

    #[test]
    fn a_clock_is_placed_in_calendar_time() {
        let mut data = Vec::new();
        data.extend(1_u32.to_le_bytes());
        data.extend(1_u32.to_le_bytes());
        data.extend(1_700_000_000_000_000_005_u64.to_le_bytes());
        data.extend(5_u64.to_le_bytes());
        let mut features = Features::default();
        features.add(CLOCK_DATA, &data, ByteOrder::Little);
        let unix = features.calendar.unwrap().to_unix(KernelTime::from_ns(7));
        assert_eq!(unix, Timestamp::from_unix_ns(1_700_000_000_000_000_007));
    }

    #[test]
    fn strings_end_at_the_null_byte() {
        let mut data = 64_u32.to_be_bytes().to_vec();
        data.extend(b"host-7\0\0\0");
        let mut features = Features::default();
        features.add(HOSTNAME, &data, ByteOrder::Big);
        assert_eq!(features.host.as_deref(), Some("host-7"));
    }
}
