//! Features: what a file says of the host and of its clock.

use crate::bytes::{ByteOrder, until_zero};
use crate::trace_dat::{TraceHead as TextsHead, read_texts};
use laggard_model::ClockMap;
use std::collections::HashMap;

/// Numbers of features, as bits of the file's head.
pub(super) const TRACING_DATA: u32 = 1;
const BUILD_ID: u32 = 2;
const HOSTNAME: u32 = 3;
const OS_RELEASE: u32 = 4;
const CPU_COUNT: u32 = 7;
const CLOCK_DATA: u32 = 29;

/// The features that are read.
pub(super) const READ: &[u32] = &[TRACING_DATA, BUILD_ID, HOSTNAME, OS_RELEASE, CPU_COUNT, CLOCK_DATA];

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
    /// The build ids of files that samples are in, by path.
    pub(super) build_ids: HashMap<String, Vec<u8>>,
    /// The format texts.
    pub(super) texts: Option<TextsHead>,
}

impl Features {
    /// Takes in one feature's data.
    pub(super) fn add(&mut self, number: u32, data: &[u8], order: ByteOrder) {
        match number {
            TRACING_DATA => self.texts = read_texts(data),
            BUILD_ID => self.build_ids = build_ids(data, order),
            HOSTNAME => self.host = text(data, order),
            OS_RELEASE => self.kernel = text(data, order),
            CPU_COUNT => self.cpus = order.u32(data, 0),
            CLOCK_DATA => self.calendar = calendar(data, order),
            _ => {}
        }
    }
}

/// Records with a head of 8 bytes: the process or -1, the id in 20 bytes and its length, 3 bytes more, and the path.
fn build_ids(data: &[u8], order: ByteOrder) -> HashMap<String, Vec<u8>> {
    /// The flag of a record that states the length of its id; others have all 20 bytes.
    const MISC_HAS_LENGTH: u16 = 1 << 15;
    let mut ids = HashMap::new();
    let mut rest = data;
    while let (Some(misc), Some(size)) = (order.u16(rest, 4), order.u16(rest, 6)) {
        let (Some(record), true) = (rest.get(..usize::from(size)), size > 36) else { break };
        let length = if misc & MISC_HAS_LENGTH == 0 { 20 } else { usize::from(record[32]).min(20) };
        let path = String::from_utf8_lossy(until_zero(&record[36..])).into_owned();
        ids.insert(path, record[12..12 + length].to_vec());
        rest = &rest[usize::from(size)..];
    }
    ids
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
    fn build_ids_are_listed_by_path() {
        let mut data = Vec::new();
        for (misc, path) in [(1_u16 << 15, &b"/bin/shop\0"[..]), (0, b"/lib/c")] {
            data.extend([0; 4]);
            data.extend(misc.to_le_bytes());
            data.extend((36 + path.len() as u16).to_le_bytes());
            data.extend([0xff; 4]);
            data.extend([9; 20]);
            data.extend([4, 0, 0, 0]);
            data.extend(path);
        }
        let mut features = Features::default();
        features.add(BUILD_ID, &data, ByteOrder::Little);
        let ids = |path: &str| features.build_ids.get(path).map(Vec::len);
        assert_eq!((ids("/bin/shop"), ids("/lib/c")), (Some(4), Some(20)));
        for length in 0..data.len() {
            features.add(BUILD_ID, &data[..length], ByteOrder::Little);
        }
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
