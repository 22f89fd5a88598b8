//! A kernel recording of one worker that handles calls, as Perfetto writes it.

const MS: u64 = 1_000_000;

/// The worker's thread, and another one of its machine.
pub const WORKER: u64 = 100;
const OTHER: u64 = 200;

/// The wait of the worker in a call, with its milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerWait {
    /// The other thread, which runs, and then wakes it.
    Lock(u64),
    /// A processor on which the other thread runs.
    Processor(u64),
}

impl WorkerWait {
    /// The length of the wait.
    pub const fn ms(self) -> u64 {
        match self {
            WorkerWait::Lock(ms) | WorkerWait::Processor(ms) => ms,
        }
    }

    /// The length of a call: the worker runs 5 ms, waits, and runs 1 ms.
    pub const fn call_ns(self) -> u64 {
        (6 + self.ms()) * MS
    }
}

/// An instant on the clock of a recording and in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedInstant {
    /// On the recording's clock.
    pub clock_ns: u64,
    /// In calendar time.
    pub unix_ns: u64,
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn integer(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

/// A message, a text, or a packed array of a protobuf message.
fn bytes(number: u64, contents: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(contents.len() as u64), contents.to_vec()].concat()
}

fn packed(number: u64, values: impl Iterator<Item = u64>) -> Vec<u8> {
    bytes(number, &values.flat_map(varint).collect::<Vec<u8>>())
}

/// A column of times: each from the one before.
fn steps(times: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    times.scan(0, |before, time| Some(time - std::mem::replace(before, time)))
}

/// A recording of one processor with calls at these times of its clock, in order, that do not overlap. Without a calendar, spans cannot
/// be located in it.
pub fn worker_recording(calls: &[(u64, WorkerWait)], calendar: Option<RecordedInstant>) -> Vec<u8> {
    // Switches: time, thread, state of the one before. Wakings: time and thread.
    const SLEEPS: u64 = 1;
    const RUNS: u64 = 0;
    let first = calls.first().map_or(0, |call| call.0);
    let (mut switches, mut wakings) = (vec![(first.saturating_sub(10), 0, RUNS)], Vec::new());
    for &(start, wait) in calls {
        let wait_start = start + 5 * MS;
        let wait_end = wait_start + wait.ms() * MS;
        wakings.push((start - 1_000, WORKER));
        switches.push((start, WORKER, RUNS));
        match wait {
            WorkerWait::Lock(_) => {
                wakings.push((wait_start - 1_000, OTHER));
                switches.push((wait_start, OTHER, SLEEPS));
                wakings.push((wait_end - 1_000, WORKER));
                switches.push((wait_end, WORKER, SLEEPS));
            }
            WorkerWait::Processor(_) => {
                wakings.push((wait_start - 1_000, OTHER));
                switches.push((wait_start, OTHER, RUNS));
                switches.push((wait_end, WORKER, SLEEPS));
            }
        }
        switches.push((wait_end + MS, 0, SLEEPS));
    }
    let names = ["swapper", "worker", "other"];
    let name_of = |tid: u64| [0, WORKER, OTHER].iter().position(|name| *name == tid).unwrap_or(0) as u64;
    let columns = [
        packed(1, steps(switches.iter().map(|row| row.0))),
        packed(2, switches.iter().map(|row| row.2)),
        packed(3, switches.iter().map(|row| row.1)),
        names.iter().flat_map(|name| bytes(5, name.as_bytes())).collect(),
        packed(6, switches.iter().map(|row| name_of(row.1))),
        packed(7, steps(wakings.iter().map(|row| row.0))),
        packed(8, wakings.iter().map(|row| row.1)),
        packed(9, wakings.iter().map(|_| 0)),
        packed(11, wakings.iter().map(|row| name_of(row.1))),
        packed(12, wakings.iter().map(|_| 0)),
    ]
    .concat();
    let events = bytes(1, &bytes(1, &[integer(1, 0), bytes(4, &columns)].concat()));
    let clock = |id, ns| bytes(1, &[integer(1, id), integer(2, ns)].concat());
    let clocks = |instant: RecordedInstant| {
        bytes(1, &bytes(6, &[clock(6, instant.clock_ns), clock(1, instant.unix_ns)].concat()))
    };
    [calendar.map_or_else(Vec::new, clocks), events].concat()
}
