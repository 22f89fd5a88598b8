//! Shared by tests that record the kernel.

use laggard_testkit::{Missing, skip};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

/// Path of the program.
pub(crate) const LAGGARD: &str = env!("CARGO_BIN_EXE_laggard");

/// A temporary folder on a real disk.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Path of the program to record, which `cargo test` builds as an example.
pub(crate) fn workload() -> PathBuf {
    let built = Path::new(LAGGARD).parent().unwrap().join("examples/workload");
    assert!(built.exists(), "{} is missing: cargo build -p laggard --examples", built.display());
    built
}

/// `laggard record` with arguments.
pub(crate) fn record(arguments: &[&str]) -> Output {
    Command::new(LAGGARD).arg("record").args(arguments).output().unwrap()
}

/// Locks the machine for one test, since tests share its trace buffer and its CPUs. `None` if recording is impossible; prints
/// the reason.
pub(crate) fn machine() -> Option<File> {
    let lock = File::create(std::env::temp_dir().join("laggard-record-test.lock")).unwrap();
    lock.lock().unwrap();
    let folder = folder();
    let file = folder.path().join("trace.dat");
    let tried = record(&["-o", file.to_str().unwrap(), "--", "true"]);
    if tried.status.success() {
        return Some(lock);
    }
    let message = stderr_text(&tried);
    // Any reason other than missing permissions or tracefs is a bug.
    let excused = ["needs root", "there is no tracefs", "recording needs Linux"];
    assert!(excused.iter().any(|reason| message.contains(reason)), "{message}");
    skip(Missing::Machine, &format!("nothing can be recorded here: {}", message.trim()));
    None
}

/// Whether a program is installed; prints a note if not.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped in part: {program} is not installed");
    }
    found
}

/// The report of `laggard kernel diagnose` with arguments.
pub(crate) fn diagnose(arguments: &[&str]) -> Value {
    let fixed = ["kernel", "diagnose", "--executions", "marker", "--output", "json"];
    let output = Command::new(LAGGARD).args(fixed).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr_text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Standard error as text.
pub(crate) fn stderr_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The number of events that `laggard record` printed.
pub(crate) fn reported_events(output: &Output) -> u64 {
    let message = stderr_text(output);
    let events = message.split_once("recorded ").and_then(|(_, rest)| rest.split_once(" events"));
    events.unwrap_or_else(|| panic!("{message}")).0.parse().unwrap()
}

/// tracefs for the test: where it is mounted already, or a mount of its own.
pub(crate) struct Tracefs {
    root: PathBuf,
    _mount: std::os::fd::OwnedFd,
}

impl Tracefs {
    pub(crate) fn mount() -> Tracefs {
        use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
        use std::os::fd::AsRawFd;
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).unwrap();
        fsconfig_create(&context).unwrap();
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).unwrap();
        Tracefs { root: PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())), _mount: mount }
    }

    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.root.join(file)).unwrap()
    }

    /// Whether the trace buffer of a recorder process exists.
    pub(crate) fn has_buffer_of(&self, pid: u32) -> bool {
        let names = std::fs::read_dir(self.root.join("instances")).unwrap().flatten();
        let begin = format!("laggard-{pid}-");
        names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(&begin))
    }
}

/// How a process ended; one that does not end in half a minute is killed, and the test fails.
#[track_caller]
pub(crate) fn ended(mut process: Child) -> Output {
    for _ in 0..1500 {
        if process.try_wait().unwrap().is_some() {
            return process.wait_with_output().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    process.kill().unwrap();
    panic!("it did not end: {}", stderr_text(&process.wait_with_output().unwrap()));
}

/// Waits until a condition holds, with a timeout for very busy machines.
#[track_caller]
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1500 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("never: {what}");
}

/// Ticks of all CPUs since boot and the idle share since an earlier measurement.
#[derive(Clone, Copy)]
pub(crate) struct Idle {
    all: u64,
    idle: u64,
    pub(crate) share: f64,
}

pub(crate) fn idle_share(since: Option<Idle>) -> Idle {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks: Vec<u64> =
        stat.lines().next().unwrap().split_whitespace().skip(1).map(|ticks| ticks.parse().unwrap()).collect();
    let (all, idle): (u64, u64) = (ticks.iter().sum(), ticks[3] + ticks[4]);
    let share = since.map_or(0.0, |since| (idle - since.idle) as f64 / (all - since.all).max(1) as f64);
    Idle { all, idle, share }
}

/// A cgroup (v1) with a quota of a tenth of a CPU; dropping it removes the folder.
pub(crate) struct Quota {
    folder: PathBuf,
}

impl Quota {
    pub(crate) fn a_tenth() -> Option<Quota> {
        let folder = PathBuf::from(format!("/sys/fs/cgroup/cpu/laggard-test-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let quota = Quota { folder };
        let set = |name: &str, value: &str| std::fs::write(quota.folder.join(name), value);
        set("cpu.cfs_period_us", "100000").and_then(|()| set("cpu.cfs_quota_us", "10000")).ok()?;
        Some(quota)
    }

    /// The same, with all the weight of [`Ahead`].
    pub(crate) fn ahead(self) -> Quota {
        std::fs::write(self.folder.join("cpu.shares"), WEIGHT).unwrap();
        self
    }

    /// Path of the cgroup.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// A control group with little memory; dropping it removes the folder.
pub(crate) struct SmallMemory {
    folder: PathBuf,
}

impl SmallMemory {
    const LIMIT: &str = "12582912";

    /// Of version 1 or 2 of control groups, whichever limits memory here.
    pub(crate) fn new() -> Option<SmallMemory> {
        let name = format!("laggard-test-memory-{}", std::process::id());
        let kinds = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        kinds.into_iter().find_map(|(root, limit)| {
            let folder = Path::new(root).join(&name);
            std::fs::create_dir(&folder).ok()?;
            let group = SmallMemory { folder };
            std::fs::write(group.folder.join(limit), SmallMemory::LIMIT).ok().map(|()| group)
        })
    }

    /// Path of the group.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for SmallMemory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// A network namespace behind a bridge, as containers are; dropping it removes both.
pub(crate) struct Bridge {
    name: String,
}

impl Bridge {
    /// In a block that is reserved for tests (RFC 2544).
    const HOST: &str = "198.18.77.1/24";
    const INSIDE: &str = "198.18.77.2";

    /// `None` where networks cannot be created.
    pub(crate) fn new() -> Option<Bridge> {
        let name = format!("lag{}", std::process::id());
        let bridge = Bridge { name: name.clone() };
        let (outer, inside) = (format!("{name}v"), format!("{}/24", Bridge::INSIDE));
        let commands = [
            format!("netns add {name}"),
            format!("link add {name} type bridge"),
            format!("addr add {} dev {name}", Bridge::HOST),
            format!("link set {name} up"),
            format!("link add {outer} type veth peer name eth0 netns {name}"),
            format!("link set {outer} master {name} up"),
            format!("-n {name} addr add {inside} dev eth0"),
            format!("-n {name} link set eth0 up"),
        ];
        commands.iter().all(|command| ip(command)).then_some(bridge)
    }

    /// The namespace, and the address in it.
    pub(crate) fn arguments(&self) -> [&str; 2] {
        [&self.name, Bridge::INSIDE]
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.name));
        ip(&format!("netns del {}", self.name));
    }
}

fn ip(command: &str) -> bool {
    Command::new("ip").args(command.split(' ')).output().is_ok_and(|output| output.status.success())
}

/// The largest weight of a control group (v1), so that other load of the machine hardly stops what is in it.
const WEIGHT: &str = "262144";

/// A control group (v1) whose programs run ahead of the machine's other load, which would be a reason for waits too. Without such
/// groups, programs run as they are.
pub(crate) struct Ahead {
    folder: Option<PathBuf>,
}

impl Ahead {
    pub(crate) fn new() -> Ahead {
        let folder = PathBuf::from(format!("/sys/fs/cgroup/cpu/laggard-test-ahead-{}", std::process::id()));
        let made =
            std::fs::create_dir(&folder).and_then(|()| std::fs::write(folder.join("cpu.shares"), WEIGHT));
        Ahead { folder: made.is_ok().then_some(folder) }
    }

    /// The prefix of a command that runs it in the group.
    pub(crate) fn command_prefix(&self) -> Vec<String> {
        let enter = |folder: &PathBuf| {
            let script = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", folder.display());
            ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
        };
        self.folder.as_ref().map(enter).unwrap_or_default()
    }

    /// A busy loop in the group.
    pub(crate) fn busy_loop(&self) -> BusyLoop {
        let command =
            [self.command_prefix(), ["sh", "-c", "while :; do :; done"].map(str::to_owned).to_vec()];
        let words = command.concat();
        BusyLoop(Command::new(&words[0]).args(&words[1..]).spawn().unwrap())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // The programs in it may still be ending.
        for _ in 0..50 {
            let Some(folder) = &self.folder else { return };
            if std::fs::remove_dir(folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// A process that keeps a CPU busy until dropped.
pub(crate) struct BusyLoop(std::process::Child);

impl BusyLoop {
    pub(crate) fn start() -> BusyLoop {
        BusyLoop(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
