//! A program to be recorded: executions of several kinds, each between two trace markers, and the truth about them.
//!
//! ```text
//! workload run --truth truth.json [--v1 20] [--v2 10] [--again 20] [--seed 1] [--slow query,handoff] [--share 0.5]
//!              [--kinds poll,read,query,write,compute,handoff] [--name mine-] [--group /sys/fs/cgroup/cpu/mine]
//!                                 three sets of executions of each kind, mixed, so that all have the same neighbors:
//!                                 v1 and again are the same, v2 is the version with the slow ones
//! workload ping-pong 20000        two threads that wake each other, and nothing else: for measuring overhead
//! workload requests 2000          a client and a server over loopback, with some work and files
//! workload serve                  the server that `run` queries and starts itself
//! ```

mod kinds;
mod truth;

use kinds::{Kind, Pace, Stage};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use truth::Execution;

/// Time between two executions.
const GAP: Duration = Duration::from_millis(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("run") => run(&Settings::read(&arguments[1..])),
        Some("ping-pong") => timed(|| ping_pong(count(&arguments, 20_000))),
        Some("requests") => timed(|| requests(count(&arguments, 2_000))),
        Some("serve") => kinds::serve(),
        _ => panic!("run, ping-pong, requests or serve"),
    }
}

fn count(arguments: &[String], usual: u32) -> u32 {
    arguments.get(1).map_or(usual, |count| count.parse().expect("a number"))
}

/// Prints the seconds that something took, and those of the processor that this process used meanwhile.
fn timed(work: impl FnOnce()) {
    use rustix::time::{ClockId, clock_gettime};
    let now = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let clocks = [ClockId::Monotonic, ClockId::ProcessCPUTime];
    let before = clocks.map(now);
    work();
    let after = clocks.map(now);
    let text = format!("{:.6} {:.6}\n", after[0] - before[0], after[1] - before[1]);
    std::io::stdout().write_all(text.as_bytes()).expect("somebody reads");
}

/// Questions to a server over loopback, an answer's work for each; a file is written and read for every tenth.
fn requests(count: u32) {
    let mut stage = Stage::set(true, Some(&std::env::temp_dir()));
    for number in 0..count {
        stage.request(number % 10 == 0);
    }
}

/// Arguments of `run`.
struct Settings {
    truth: PathBuf,
    /// Before the sets' names in markers: markers come from everywhere.
    name: String,
    /// Executions of each kind by set.
    sets: [(&'static str, usize); 3],
    seed: u64,
    kinds: Vec<Kind>,
    slow: Vec<Kind>,
    share: f64,
    /// The control group (v1) that it joins before the first execution. How long executions were throttled in it is written to
    /// `truth.throttled`, nanoseconds: the group's own count has what was throttled between them, too.
    group: Option<PathBuf>,
}

impl Settings {
    fn read(arguments: &[String]) -> Settings {
        let pairs: HashMap<&str, &str> =
            arguments.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        let kinds = |name: &str, usual: &str| -> Vec<Kind> {
            let names = pairs.get(name).copied().unwrap_or(usual).split(',').filter(|name| !name.is_empty());
            names.map(|name| Kind::named(name).expect("a kind")).collect()
        };
        let number =
            |name: &str, usual: f64| pairs.get(name).map_or(usual, |text| text.parse().expect("a number"));
        Settings {
            truth: pairs.get("--truth").expect("--truth FILE").into(),
            sets: ["v1", "v2", "again"].map(|set| (set, number(&format!("--{set}"), 0.0) as usize)),
            name: pairs.get("--name").copied().unwrap_or_default().to_owned(),
            seed: number("--seed", 1.0) as u64,
            kinds: kinds("--kinds", "poll,read,query,write,compute,handoff"),
            slow: kinds("--slow", ""),
            share: number("--share", 0.5),
            group: pairs.get("--group").map(PathBuf::from),
        }
    }
}

/// Executions of all kinds in random order. A random share of the slow kinds is slow.
fn run(settings: &Settings) {
    let mut marker =
        std::fs::OpenOptions::new().write(true).open(marker()).expect("trace_marker can be written");
    let mut stage = Stage::set(settings.kinds.contains(&Kind::Query), settings.truth.parent());
    let mut random = Random(settings.seed);
    let mut planned: Vec<Execution> = Vec::new();
    for (set, count) in settings.sets {
        for kind in &settings.kinds {
            let slow = set == "v2" && settings.slow.contains(kind);
            let slow = if slow { settings.share * count as f64 } else { 0.0 };
            let pace = |number: usize| if (number as f64) < slow { Pace::Slow } else { Pace::Usual };
            planned.extend((0..count).map(|number| Execution {
                set,
                kind: *kind,
                pace: pace(number),
                time_for_size: Duration::ZERO,
            }));
        }
    }
    random.shuffle(&mut planned);
    if let Some(group) = &settings.group {
        let processes = group.join("cgroup.procs");
        std::fs::write(processes, std::process::id().to_string()).expect("the group can be joined");
    }
    let throttled_ns = || settings.group.as_deref().map_or(0, throttled_ns);
    let mut throttled = 0;
    for (id, execution) in planned.iter_mut().enumerate() {
        std::thread::sleep(GAP);
        // Sizes of executions of one kind differ by up to a seventh either way.
        let size = 0.87 + 0.26 * random.fraction();
        let (set, kind) = (format!("{}{}", settings.name, execution.set), execution.kind);
        // In one call: each is a marker.
        let mut mark = |text: String| marker.write_all(text.as_bytes()).expect("a marker can be written");
        mark(format!("{set}_begin id={id} type={}", kind.name()));
        let (begin, before) = (Instant::now(), throttled_ns());
        stage.perform(kind, execution.pace, size);
        execution.time_for_size = begin.elapsed().div_f64(size);
        throttled += throttled_ns() - before;
        mark(format!("{set}_end id={id}"));
    }
    if settings.group.is_some() {
        let file = settings.truth.with_extension("throttled");
        std::fs::write(file, throttled.to_string()).expect("the truth can be written");
    }
    truth::write(&settings.truth, &planned);
}

/// How long a control group was kept from running so far.
fn throttled_ns(group: &Path) -> u64 {
    let stat = std::fs::read_to_string(group.join("cpu.stat")).expect("the group has counts");
    let time = stat.lines().find_map(|line| line.strip_prefix("throttled_time "));
    time.expect("a group with a quota").parse().expect("a number")
}

/// The marker file of the mounted tracefs.
fn marker() -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts can be read");
    let mount_point = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words.get(2) == Some(&"tracefs")).then(|| PathBuf::from(words[1]))
    });
    mount_point.expect("tracefs is mounted").join("trace_marker")
}

/// Two threads that pass a byte to and fro: nothing but switches and wake-ups.
fn ping_pong(rounds: u32) {
    let (mut here, mut there) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        for _ in 0..rounds {
            there.read_exact(&mut byte).expect("a byte comes");
            there.write_all(&byte).expect("a byte goes");
        }
    });
    let mut byte = [7];
    for _ in 0..rounds {
        here.write_all(&byte).expect("a byte goes");
        here.read_exact(&mut byte).expect("a byte comes");
    }
    echo.join().expect("the other thread ends");
}

/// Pseudo-random numbers: Vigna's SplitMix64 (2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}
