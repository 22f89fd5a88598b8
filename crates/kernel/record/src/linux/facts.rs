//! Data written besides the pages: formats, names, clocks.

use super::buffer::{Buffer, refused};
use super::tracefs::Tracefs;
use crate::dat::{EventSystem, TraceHead};
use crate::error::RecordError;
use crate::events::EventName;
use crate::summary::CpuSummary;
use laggard_model::HostSnapshot;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// Functions of the kernel whose names every file holds.
pub(super) const FUNCTIONS: &[&str] = &[
    "tracing_mark_write",
    "sched_cfs_period_timer",
    "sched_cfs_slack_timer",
    "hrtimer_wakeup",
    "tick_nohz_handler",
    "tick_sched_timer",
    "tick_sched_do_timer",
    "posix_timer_fn",
    "it_real_fn",
    "timerfd_tmrproc",
    "alarm_timer_callback",
    "watchdog_timer_fn",
    "perf_mux_hrtimer_handler",
    "perf_swevent_hrtimer",
    "sched_rt_period_timer",
    "dl_task_timer",
    "inactive_task_timer",
    "hrtick",
    "kvm_clock_sync_fn",
    "apic_timer_fn",
    "poll_timer_fn",
    "io_link_timeout_fn",
    "io_timeout_fn",
];

/// Number of CPUs the kernel may have: one more than the highest number.
pub(super) fn cpu_count() -> u32 {
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = possible.trim_end().rsplit([',', '-']).next().and_then(|last| last.parse::<u32>().ok());
    last.map_or(1, |last| last.saturating_add(1))
}

/// Number of CPUs that run, at least 1.
pub(super) fn online_cpus() -> u32 {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    cpus_of_list(online.trim_end()).max(1)
}

/// How many numbers a list like `0-3,8` has.
fn cpus_of_list(list: &str) -> u32 {
    let parts = list.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    });
    parts.fold(0, u32::saturating_add)
}

/// Memory that can be had without swapping, in KiB.
pub(super) fn free_memory_kb() -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    free.and_then(|free| free.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Calendar time minus the monotonic clock, in nanoseconds: of several readings the one during which least time went
/// by, so that an interrupt between does not matter.
pub(super) fn calendar_offset_ns() -> i64 {
    let reading = || {
        let before = ns(clock_gettime(ClockId::Monotonic));
        let calendar = ns(clock_gettime(ClockId::Realtime));
        let after = ns(clock_gettime(ClockId::Monotonic));
        (after - before, calendar - (before + after) / 2)
    };
    let best = (0..9).map(|_| reading()).min_by_key(|(took, _)| *took);
    best.map_or(0, |(_, offset)| offset)
}

fn ns(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Bytes of a page of the ring buffer, from `header_page`: the offset and size of the data.
pub(super) fn page_bytes(header_page: &str) -> Option<u32> {
    let line = header_page.lines().find(|line| line.contains(" data;"))?;
    let number = |name: &str| line.split_once(name)?.1.split(';').next()?.parse::<u32>().ok();
    number("offset:")?.checked_add(number("size:")?)
}

/// Bytes of a page of a buffer.
pub(super) fn ring_page_bytes(buffer: &Buffer) -> Result<u32, RecordError> {
    let file = "events/header_page";
    let read = buffer.tracefs.read(file);
    let header = read.map_err(|source| refused(&format!("{file} cannot be read"), source))?;
    page_bytes(&String::from_utf8_lossy(&header)).ok_or_else(|| RecordError::Impossible {
        reason: format!("the kernel's ring buffer has a layout that is not known here ({file})"),
    })
}

/// Everything of the trace but its pages.
pub(super) fn head(
    buffer: &Buffer,
    events: &[EventName],
    offset_ns: i64,
    snapshot: &HostSnapshot,
) -> Result<TraceHead, RecordError> {
    let tracefs = &*buffer.tracefs;
    let read =
        |file: &str| tracefs.read(file).map_err(|source| refused(&format!("{file} cannot be read"), source));
    let page_bytes = ring_page_bytes(buffer)?;
    let cpus = cpu_count();
    let uname = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Ok(TraceHead {
        page_bytes,
        header_page: read("events/header_page")?,
        header_event: read("events/header_event")?,
        ftrace_formats: formats(tracefs, "ftrace", &tracefs.names("events/ftrace")),
        systems: systems(tracefs, events),
        symbols: symbols(),
        printk_formats: read("printk_formats").unwrap_or_default(),
        command_lines: command_lines(tracefs),
        cpus,
        clock: "mono".to_owned(),
        clocks: tracefs.text(&buffer.file("trace_clock")),
        system: [uname.sysname(), uname.nodename(), uname.release(), uname.machine()].map(word).join(" "),
        version: format!("laggard {}", env!("CARGO_PKG_VERSION")),
        cpu_stats: (0..cpus).map(|cpu| format!("CPU: {cpu}\n{}\n", stats(buffer, cpu))).collect(),
        calendar_offset_ns: Some(offset_ns),
        snapshot: snapshot.to_text(),
        programs: String::new(),
        trace_id: offset_ns as u64 ^ u64::from(std::process::id()),
    })
}

fn formats(tracefs: &Tracefs, system: &str, names: &[String]) -> Vec<Vec<u8>> {
    names.iter().filter_map(|name| tracefs.read(&format!("events/{system}/{name}/format")).ok()).collect()
}

fn systems(tracefs: &Tracefs, events: &[EventName]) -> Vec<EventSystem> {
    let mut by_system: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for event in events {
        by_system.entry(&event.system).or_default().push(event.name.clone());
    }
    by_system
        .into_iter()
        .map(|(name, names)| EventSystem { name: name.to_owned(), formats: formats(tracefs, name, &names) })
        .collect()
}

/// Functions that records refer to by their addresses: the source of markers, and what timers call. Readers take the next symbol as
/// the end of one, so that it is there as well. Nothing where addresses are hidden.
fn symbols() -> Vec<u8> {
    let Ok(symbols) = File::open("/proc/kallsyms") else { return Vec::new() };
    let lines = BufReader::new(symbols).lines().map_while(Result::ok);
    let (mut text, mut is_next) = (String::new(), false);
    for line in lines {
        if line.starts_with("0000000000000000") {
            return Vec::new();
        }
        let is_wanted = line.rsplit(' ').next().is_some_and(|name| FUNCTIONS.contains(&name));
        if is_wanted || is_next {
            text.push_str(&line);
            text.push('\n');
        }
        is_next = is_wanted;
    }
    text.into_bytes()
}

/// Names of threads: those cached by the kernel during recording, and those of other threads that are still running.
fn command_lines(tracefs: &Tracefs) -> Vec<u8> {
    let mut names: BTreeMap<u32, String> = living_threads();
    let cached_names = tracefs.text("saved_cmdlines");
    names.extend(cached_names.lines().filter_map(|line| {
        let (pid, name) = line.trim_start().split_once(' ')?;
        (name != "<...>").then_some((pid.parse().ok()?, name.to_owned()))
    }));
    names.iter().flat_map(|(pid, name)| format!("{pid} {name}\n").into_bytes()).collect()
}

fn living_threads() -> BTreeMap<u32, String> {
    let numbers = |folder: &str| -> Vec<u32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let mut names = BTreeMap::new();
    for process in numbers("/proc") {
        for thread in numbers(&format!("/proc/{process}/task")) {
            // It may have ended since.
            if let Ok(name) = fs::read_to_string(format!("/proc/{process}/task/{thread}/comm")) {
                names.insert(thread, name.trim_end_matches('\n').replace('\n', "?"));
            }
        }
    }
    names
}

fn stats(buffer: &Buffer, cpu: u32) -> String {
    buffer.tracefs.text(&buffer.file(&format!("per_cpu/cpu{cpu}/stats")))
}

/// Events of a CPU that were recorded since the buffer was made, whatever became of them.
pub(super) fn recorded_events(buffer: &Buffer, cpu: u32) -> u64 {
    let stats = stats(buffer, cpu);
    ["entries", "overrun", "read events"].iter().map(|name| stats_number(&stats, name)).sum()
}

fn stats_number(stats: &str, name: &str) -> u64 {
    let line = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// The kernel's counters of a CPU after everything has been read.
pub(super) fn cpu_summary(buffer: &Buffer, cpu: u32) -> CpuSummary {
    let stats = stats(buffer, cpu);
    let number = |name: &str| stats_number(&stats, name);
    CpuSummary {
        cpu,
        events: number("read events"),
        lost: number("overrun") + number("commit overrun") + number("dropped events"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_header_and_data() {
        let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
                    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert_eq!(page_bytes(text), Some(4096));
        assert_eq!(page_bytes("field: char data;"), None);
        assert_eq!(page_bytes(""), None);
    }

    #[test]
    fn running_cpus_are_counted() {
        for (list, cpus) in [("0", 1), ("0-3", 4), ("0-1,4,6-7", 5), ("", 0), ("3-1", 0)] {
            assert_eq!(cpus_of_list(list), cpus, "{list}");
        }
        assert!((1..=cpu_count()).contains(&online_cpus()));
    }

    #[test]
    fn the_calendar_is_computed_from_the_monotonic_clock() {
        let offset = calendar_offset_ns();
        let now = ns(clock_gettime(ClockId::Monotonic)) + offset;
        assert!((now - ns(clock_gettime(ClockId::Realtime))).abs() < 1_000_000_000);
    }
}
