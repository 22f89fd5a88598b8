//! State of a host that a recorder read besides events: the processes and control groups of threads, and their CPU quotas.

use super::tid::Tid;

/// The first line of the text.
const TITLE: &str = "control groups of threads, version 1";

/// The processes and control groups of a host's threads when a recording began and ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostSnapshot {
    /// The number of the hierarchy that the groups belong to, as events have it (`dst_root`).
    pub hierarchy: Option<u64>,
    /// The control groups that threads are in, with their parents.
    pub groups: Vec<ControlGroup>,
    /// Threads. One that was there at the beginning and at the end is there twice if it moved; the later row counts.
    pub threads: Vec<ThreadMembership>,
    /// Functions whose calls were recorded.
    pub probes: Vec<ProbedFunction>,
    /// The processes that it was recorded for when it began: the command, or the requested process and its descendants. None if
    /// it was recorded for the whole machine.
    pub targets: Vec<Tid>,
}

/// A function of a program, whose calls and returns are events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbedFunction {
    /// The name of the event at its begin; events allow fewer characters than functions.
    pub event: String,
    /// The file name of its program or library, without folders.
    pub program: String,
    /// The function, as it was requested.
    pub function: String,
}

/// A thread that was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadMembership {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub process: Tid,
    /// Its control group: an index into [`HostSnapshot::groups`].
    pub group: u32,
    /// Whether it was seen at the end, not at the beginning.
    pub at_end: bool,
}

/// A control group and its CPU quota.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ControlGroup {
    /// Its path below the root of the CPU controller's hierarchy; the root itself is `/`.
    pub path: String,
    /// Its CPU quota, if it has one.
    pub quota: Option<CpuQuota>,
    /// Its counts when the recording began; `None` if it was not there, or if they are not known.
    pub before: Option<ThrottleCounts>,
    /// Its counts when the recording ended; `None` if it was no longer there.
    pub after: Option<ThrottleCounts>,
}

/// How long a control group may run within each period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuQuota {
    /// Nanoseconds on all CPUs together.
    pub quota_ns: u64,
    /// Nanoseconds of a period.
    pub period_ns: u64,
}

/// The kernel's own counts of a control group's quota (`cpu.stat`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThrottleCounts {
    /// Periods in which it was runnable.
    pub periods: u64,
    /// Of them, those in which it was throttled.
    pub throttled: u64,
    /// Nanoseconds for which it was throttled, summed over CPUs.
    pub throttled_ns: u64,
}

impl ControlGroup {
    /// Counts during the recording; `None` if the end was not seen. A group that was not there at the beginning counts from 0.
    pub fn during(&self) -> Option<ThrottleCounts> {
        let (before, after) = (self.before.unwrap_or_default(), self.after?);
        Some(ThrottleCounts {
            periods: after.periods.saturating_sub(before.periods),
            throttled: after.throttled.saturating_sub(before.throttled),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
        })
    }

    /// Whether it was throttled during the recording, or may have been: it has a quota, and its end was not seen.
    pub fn was_throttled(&self) -> bool {
        self.during().map_or(self.quota.is_some(), |counts| counts.throttled > 0 || counts.throttled_ns > 0)
    }
}

impl HostSnapshot {
    /// The text that trace files hold: a line for each group and each thread.
    pub fn to_text(&self) -> String {
        let mut text = format!("{TITLE}\n");
        self.hierarchy.iter().for_each(|number| text.push_str(&format!("hierarchy {number}\n")));
        for group in &self.groups {
            let quota = match group.quota {
                Some(quota) => format!("{}/{}", quota.quota_ns, quota.period_ns),
                None => "-".to_owned(),
            };
            let [before, after] = [group.before, group.after].map(|counts| match counts {
                Some(counts) => format!("{}/{}/{}", counts.periods, counts.throttled, counts.throttled_ns),
                None => "-".to_owned(),
            });
            text.push_str(&format!("group {quota} {before} {after} {}\n", group.path.replace('\n', "?")));
        }
        for thread in &self.threads {
            let when = if thread.at_end { "end" } else { "begin" };
            text.push_str(&format!("{when} {} {} {}\n", thread.tid.0, thread.process.0, thread.group));
        }
        for probe in &self.probes {
            let words =
                [&probe.event, &probe.program, &probe.function].map(|word| word.replace(['\n', '\t'], "?"));
            text.push_str(&format!("probe {}\n", words.join("\t")));
        }
        self.targets.iter().for_each(|target| text.push_str(&format!("target {}\n", target.0)));
        text
    }

    /// Reads what [`HostSnapshot::to_text`] wrote; `None` for any other text. Lines that make no sense are left out.
    pub fn from_text(text: &str) -> Option<HostSnapshot> {
        let lines = text.strip_prefix(TITLE)?.lines();
        let mut snapshot = HostSnapshot::default();
        for line in lines {
            match line.split_once(' ') {
                Some(("hierarchy", number)) => snapshot.hierarchy = number.parse().ok(),
                Some(("group", rest)) => snapshot.groups.push(group(rest).unwrap_or_default()),
                Some((when @ ("begin" | "end"), rest)) => {
                    snapshot.threads.extend(thread(rest, when == "end"));
                }
                Some(("probe", rest)) => snapshot.probes.extend(probe(rest)),
                Some(("target", rest)) => snapshot.targets.extend(rest.parse().map(Tid)),
                _ => {}
            }
        }
        Some(snapshot)
    }
}

fn group(line: &str) -> Option<ControlGroup> {
    let mut words = line.splitn(4, ' ');
    let quota = numbers(words.next()?);
    let counts = |numbers: Option<Vec<u64>>| match numbers.as_deref() {
        Some(&[periods, throttled, throttled_ns]) => {
            Some(ThrottleCounts { periods, throttled, throttled_ns })
        }
        _ => None,
    };
    let (before, after) = (counts(numbers(words.next()?)), counts(numbers(words.next()?)));
    let quota = match quota.as_deref() {
        Some(&[quota_ns, period_ns]) => Some(CpuQuota { quota_ns, period_ns }),
        _ => None,
    };
    Some(ControlGroup { path: words.next()?.to_owned(), quota, before, after })
}

fn numbers(word: &str) -> Option<Vec<u64>> {
    word.split('/').map(|number| number.parse().ok()).collect()
}

fn thread(line: &str, at_end: bool) -> Option<ThreadMembership> {
    let mut words = line.split(' ').map(str::parse::<u32>);
    let mut next = || words.next()?.ok();
    Some(ThreadMembership { tid: Tid(next()?), process: Tid(next()?), group: next()?, at_end })
}

fn probe(line: &str) -> Option<ProbedFunction> {
    let mut words = line.split('\t').map(str::to_owned);
    Some(ProbedFunction { event: words.next()?, program: words.next()?, function: words.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_survive_writing_and_reading() {
        let counts = |throttled_ns| ThrottleCounts { periods: 9, throttled: 4, throttled_ns };
        let snapshot = HostSnapshot {
            hierarchy: Some(3),
            groups: vec![
                ControlGroup { path: "/".to_owned(), ..ControlGroup::default() },
                ControlGroup {
                    path: "/with a blank".to_owned(),
                    quota: Some(CpuQuota { quota_ns: 10_000_000, period_ns: 100_000_000 }),
                    before: Some(counts(5)),
                    after: Some(ThrottleCounts { periods: 12, throttled: 6, throttled_ns: 25 }),
                },
            ],
            threads: vec![
                ThreadMembership { tid: Tid(7), process: Tid(5), group: 1, at_end: false },
                ThreadMembership { tid: Tid(8), process: Tid(8), group: 0, at_end: true },
            ],
            probes: vec![ProbedFunction {
                event: "f_u8_".to_owned(),
                program: "a server".to_owned(),
                function: "f<u8>".to_owned(),
            }],
            targets: vec![Tid(5), Tid(9)],
        };
        let read = HostSnapshot::from_text(&snapshot.to_text()).unwrap();
        assert_eq!(read, snapshot);
        let during = read.groups[1].during().unwrap();
        assert_eq!(during, ThrottleCounts { periods: 3, throttled: 2, throttled_ns: 20 });
        assert!(read.groups[1].was_throttled() && !read.groups[0].was_throttled());
    }

    #[test]
    fn other_text_is_no_snapshot_and_damaged_lines_are_skipped() {
        assert_eq!(HostSnapshot::from_text("CPU: 0\nentries: 7\n"), None);
        let text = format!("{TITLE}\ngroup 1/x - 3\nbegin 7\nend 9 9 0\nprobe f\ntarget x\nwhat");
        let read = HostSnapshot::from_text(&text).unwrap();
        assert_eq!((read.groups.len(), read.threads.len()), (1, 1));
        assert_eq!(read.groups[0], ControlGroup::default());
    }
}
