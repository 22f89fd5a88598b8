//! The limit on the memory of the process.
//!
//! ```text
//! half                for questions: what they would read is estimated before, and how much they need is reserved
//! 50 %                caches lose what was not used just now, one long question and one short one run at a time
//! 60 %                telemetry is refused for now: its senders send it again, and nobody looks at a page meanwhile
//! 80 %                caches are dropped, the newest large question is ended, and none begins; questions reserve up to here, and
//!                     compaction merges as much at a time as fits below
//! 90 %                queries of pages reserve up to here
//! all                 the newest question is ended, short ones and queries of pages among them
//! ```
//!
//! The shares are of the limit less what may come between two measurements: 192 MiB, at most a sixth.
//!
//! Open traces, decoded slices, and the graphs of a question have limits of their own, a quarter of it each at most; messages on their
//! way, merged windows, answers, and the windows and samples of a question an eighth, the requests that are read for a page, which exist
//! twice while it is answered, a sixteenth.

use super::process::resident_bytes;
use laggard_model::Timestamp;
use laggard_parallel::{CancelReason, Canceled};
use laggard_system::now;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Shares of the limit from which caches are dropped, telemetry is refused, and questions are ended.
const TIGHT: f64 = 0.5;
const FULL: f64 = 0.6;
const SHORT: f64 = 0.8;
/// Share up to which queries of pages reserve memory.
const QUERIES: f64 = 0.9;
/// What may come between two measurements, bytes, whatever the limit is: messages that are decoded, segments that are written.
const BETWEEN_MEASUREMENTS: u64 = 192 << 20;
/// Share of the limit for what a question reads.
const QUESTION_SHARE: f64 = 0.5;
/// Share of the memory of the machine, or of the control group, that is the limit by default.
const DEFAULT_SHARE: f64 = 0.75;
/// Graphs of one question about kernel traces, bytes.
const GRAPH_BYTES_MAX: usize = 1 << 30;
/// Numbers in the windows of one question about samples, bytes.
const WINDOW_BYTES_MAX: usize = 1 << 30;
/// A call of a diagnosis needs so many bytes: what is read of it, and what is derived.
const CALL_BYTES: f64 = 80.0;

/// A query of a page that needs no more than this does not wait for it: as much may come between two measurements.
const UNRESERVED_BYTES: u64 = 8 << 20;

/// How long a question waits for memory, and how long a query of a page in all, which somebody looks at meanwhile.
const QUESTION_WAIT: Duration = Duration::from_secs(10);
const QUERY_WAIT: Duration = Duration::from_millis(1_500);
/// How often what waits for memory looks for it.
const RESERVE_EVERY: Duration = Duration::from_millis(20);

/// The memory of the process, and its limit, bytes.
#[derive(Debug)]
pub(crate) struct ProcessMemory {
    limit: u64,
    resident: AtomicU64,
    /// What running questions may need, whether they have it already or not.
    reserved: AtomicU64,
    /// What questions wait for.
    wanted: AtomicU64,
    full_since: Mutex<Option<Timestamp>>,
}

impl ProcessMemory {
    /// With a limit, or the default one; without either there is none.
    pub(crate) fn new(limit: Option<u64>) -> ProcessMemory {
        let available = || available_bytes().map(|bytes| (bytes as f64 * DEFAULT_SHARE) as u64);
        let limit = limit.or_else(available).unwrap_or(u64::MAX);
        ProcessMemory::with_resident(limit, 0)
    }

    /// Most bytes that it may have; `u64::MAX` without a limit.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// A part of the store's, at most a quarter of all.
    pub(crate) fn at_most_a_quarter(&self, bytes: usize) -> usize {
        bytes.min(usize::try_from(self.limit / 4).unwrap_or(usize::MAX))
    }

    /// For the slices of one window that a page reads.
    pub(crate) fn page_bytes(&self) -> u64 {
        self.limit / 16
    }

    /// For the graphs of one question about kernel traces.
    pub(crate) fn graph_bytes(&self) -> usize {
        self.at_most_a_quarter(GRAPH_BYTES_MAX)
    }

    /// A part of the receivers', at most an eighth of all.
    pub(crate) fn at_most_an_eighth(&self, bytes: usize) -> usize {
        bytes.min(usize::try_from(self.limit / 8).unwrap_or(usize::MAX))
    }

    /// Most calls that one question may read.
    pub(crate) fn calls_max(&self) -> u64 {
        (self.limit as f64 * QUESTION_SHARE / CALL_BYTES) as u64
    }

    /// Most numbers in the windows of one question about samples.
    pub(crate) fn window_cells_max(&self) -> usize {
        self.at_most_an_eighth(WINDOW_BYTES_MAX) / size_of::<f64>()
    }

    /// Measures how much is in use now.
    pub(crate) fn measure(&self) {
        self.resident.store(resident_bytes().unwrap_or(0.0) as u64, Ordering::Relaxed);
        let mut since = self.full_since.lock().expect("no thread panics while it holds the lock");
        *since = self.is_full().then(|| since.unwrap_or_else(now));
    }

    /// Since when telemetry has to wait, if it has to.
    pub(crate) fn full_since(&self) -> Option<Timestamp> {
        *self.full_since.lock().expect("no thread panics while it holds the lock")
    }

    /// Whether caches should be dropped.
    pub(crate) fn is_tight(&self) -> bool {
        self.is_above(TIGHT)
    }

    /// Whether questions wait for memory that caches may have.
    pub(crate) fn is_wanted(&self) -> bool {
        let requested = self.wanted.load(Ordering::Relaxed);
        requested > 0 && self.resident.load(Ordering::Relaxed).saturating_add(requested) > self.share(SHORT)
    }

    /// Whether telemetry must wait.
    pub(crate) fn is_full(&self) -> bool {
        self.is_above(FULL)
    }

    /// Whether questions must end.
    pub(crate) fn is_short(&self) -> bool {
        self.is_above(SHORT)
    }

    /// Whether short questions must end as well.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_above(1.0)
    }

    fn is_above(&self, share: f64) -> bool {
        self.resident.load(Ordering::Relaxed) > self.share(share)
    }

    /// Bytes of a share of what may be used.
    fn share(&self, share: f64) -> u64 {
        (share * (self.limit - BETWEEN_MEASUREMENTS.min(self.limit / 6)) as f64) as u64
    }

    pub(crate) fn with_resident(limit: u64, resident: u64) -> ProcessMemory {
        ProcessMemory {
            limit,
            resident: AtomicU64::new(resident),
            reserved: AtomicU64::new(0),
            wanted: AtomicU64::new(0),
            full_since: Mutex::default(),
        }
    }

    /// Reserves what a question may need, bytes; waits for others to end, and for caches to be dropped.
    ///
    /// # Errors
    /// When it does not become free in time.
    pub(crate) async fn reserve_for_question(
        self: &Arc<Self>,
        bytes: u64,
    ) -> Result<ReservedMemory, Canceled> {
        self.reserve(bytes, SHORT, Instant::now() + QUESTION_WAIT).await
    }

    /// Until when a query of a page that begins now waits for memory.
    pub(crate) fn query_deadline() -> Instant {
        Instant::now() + QUERY_WAIT
    }

    /// The same for a query of a page, which waits until a time. Questions leave it some, and a small one is never refused.
    ///
    /// # Errors
    /// As above.
    pub(crate) async fn reserve_for_query(
        self: &Arc<Self>,
        bytes: u64,
        until: Instant,
    ) -> Result<ReservedMemory, Canceled> {
        if bytes <= UNRESERVED_BYTES {
            self.reserved.fetch_add(bytes, Ordering::Relaxed);
            return Ok(ReservedMemory { memory: self.clone(), bytes });
        }
        self.reserve(bytes, QUERIES, until).await
    }

    /// The same for work of the server's own, which need not wait: it is done again in a minute. `None` when it is not free.
    pub(crate) fn reserve_in_background(self: &Arc<Self>, bytes: u64) -> Option<ReservedMemory> {
        self.try_reserve(bytes, SHORT).then(|| ReservedMemory { memory: self.clone(), bytes })
    }

    /// What work of the server's own may need now, bytes, without reserving it.
    pub(crate) fn free_in_background(&self) -> usize {
        let used =
            self.resident.load(Ordering::Relaxed).saturating_add(self.reserved.load(Ordering::Relaxed));
        usize::try_from(self.share(SHORT).saturating_sub(used)).unwrap_or(usize::MAX)
    }

    async fn reserve(
        self: &Arc<Self>,
        bytes: u64,
        share: f64,
        until: Instant,
    ) -> Result<ReservedMemory, Canceled> {
        let _wanted = WantedMemory::new(self, bytes);
        let free = async {
            while !self.try_reserve(bytes, share) {
                tokio::time::sleep(RESERVE_EVERY).await;
            }
        };
        tokio::time::timeout_at(until, free).await.map_err(|_| Canceled(CancelReason::Memory))?;
        Ok(ReservedMemory { memory: self.clone(), bytes })
    }

    fn try_reserve(&self, bytes: u64, share: f64) -> bool {
        let resident = self.resident.load(Ordering::Relaxed);
        let most = self.share(share);
        let more = |reserved: u64| {
            let all = reserved.saturating_add(bytes);
            (resident.saturating_add(all) <= most).then_some(all)
        };
        self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

/// Memory for a question, until this is dropped.
#[derive(Debug)]
pub(crate) struct ReservedMemory {
    memory: Arc<ProcessMemory>,
    bytes: u64,
}

impl Drop for ReservedMemory {
    fn drop(&mut self) {
        self.memory.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory that a question waits for, until this is dropped.
struct WantedMemory<'a> {
    memory: &'a ProcessMemory,
    bytes: u64,
}

impl WantedMemory<'_> {
    fn new(memory: &ProcessMemory, bytes: u64) -> WantedMemory<'_> {
        memory.wanted.fetch_add(bytes, Ordering::Relaxed);
        WantedMemory { memory, bytes }
    }
}

impl Drop for WantedMemory<'_> {
    fn drop(&mut self) {
        self.memory.wanted.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory of the machine, or of the control group of this process if that has less.
fn available_bytes() -> Option<u64> {
    let machine = total_bytes(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_limit_files(&groups).into_iter().filter_map(|file| fs::read_to_string(file).ok());
    let limits = limits.filter_map(|text| text.trim().parse().ok());
    Some(limits.fold(machine, u64::min))
}

fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Files with the limits of the control groups that `/proc/self/cgroup` names, and of those that contain them: of the unified
/// hierarchy and of the older controller. In a container its own group is the root.
fn group_limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            files.push(format!("{root}{path}/{name}"));
            let Some((parent, _)) = path.rsplit_once('/') else { break };
            path = parent;
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_depends_on_the_share_in_use() {
        let measures = |resident: u64| {
            let memory = ProcessMemory::with_resident(840, resident);
            [memory.is_tight(), memory.is_full(), memory.is_short(), memory.is_exhausted()]
        };
        assert_eq!(measures(350), [false; 4], "half of 700 bytes");
        assert_eq!(measures(420), [true, false, false, false]);
        assert_eq!(measures(560), [true, true, false, false]);
        assert_eq!(measures(700), [true, true, true, false]);
        assert_eq!(measures(701), [true; 4]);
        assert_eq!(
            [420, 600].map(|used| ProcessMemory::with_resident(840, used).free_in_background()),
            [140, 0]
        );
        assert_eq!(ProcessMemory::with_resident(9 << 30, 0).share(1.0), (9 << 30) - (192 << 20));
        assert_eq!(ProcessMemory::with_resident(1 << 30, 0).calls_max(), 6_710_886);
        assert_eq!(ProcessMemory::with_resident(1 << 30, 0).at_most_a_quarter(512 << 20), 256 << 20);
    }

    #[tokio::test]
    async fn questions_wait_for_memory() {
        const MIB: u64 = 1 << 20;
        let memory = Arc::new(ProcessMemory::with_resident(1_201 * MIB, 500 * MIB));
        let first = memory.reserve_for_question(200 * MIB).await.unwrap();
        assert!(!memory.try_reserve(150 * MIB, SHORT), "850 of 807 MiB (80 % of 1,201 less 192)");
        let page = memory.reserve_for_query(150 * MIB, Instant::now()).await.unwrap();
        assert!(!memory.try_reserve(100 * MIB, QUERIES), "950 of 908 MiB");
        assert!(memory.reserve_for_query(100 * MIB, ProcessMemory::query_deadline()).await.is_err());
        let small = memory.reserve_for_query(UNRESERVED_BYTES, Instant::now()).await.unwrap();
        let (second, ()) = tokio::join!(memory.reserve_for_question(150 * MIB), async {
            tokio::time::sleep(2 * RESERVE_EVERY).await;
            assert_eq!(memory.wanted.load(Ordering::Relaxed), 150 * MIB);
            drop((first, small));
        });
        drop((page, second.unwrap()));
        assert_eq!((memory.reserved.load(Ordering::Relaxed), memory.wanted.load(Ordering::Relaxed)), (0, 0));
    }

    #[tokio::test]
    async fn caches_are_dropped_for_questions_that_wait() {
        let memory = Arc::new(ProcessMemory::with_resident(1_201, 500));
        let waiting = tokio::time::timeout(2 * RESERVE_EVERY, memory.reserve_for_question(400));
        let (given_up, is_wanted) = tokio::join!(waiting, async { memory.is_wanted() });
        assert!(given_up.is_err() && is_wanted);
        assert!(!memory.is_wanted(), "nothing waits any more");
    }

    #[test]
    fn limits_of_control_groups_are_those_of_their_parents_too() {
        assert_eq!(
            group_limit_files("9:memory:/a/b\n8:cpu:/x\n0::/\n"),
            [
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(total_bytes("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16384));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_within_its_default_limit() {
        let memory = ProcessMemory::new(None);
        memory.measure();
        let resident = memory.resident.load(Ordering::Relaxed);
        assert!(resident > 100_000 && resident < memory.limit(), "{memory:?}");
        assert_eq!(ProcessMemory::new(Some(7)).limit(), 7);
    }
}
