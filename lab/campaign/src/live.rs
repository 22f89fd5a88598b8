//! Live runs: one shop, one fault after the other, each with its own server.
//!
//! A server that saw one fault would take its time for what is usual before the next. So each fault gets a new server, which is
//! loaded with all normal operation of the same shop so far; faults, and the time just after them, are left out, and what came
//! before is moved up to what comes after.

use crate::bookstore::Bookstore;
use crate::incidents::Watch;
use crate::options::{Faults, Options};
use crate::recording::{Conditions, Recording};
use crate::server::{Server, agents};
use crate::{CampaignError, history, in_file, say};
use laggard_system::available_threads;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The shop's first requests fill its caches.
const START: Duration = Duration::from_secs(20);
/// Normal operation under the new server before the fault.
const BEFORE: Duration = Duration::from_secs(90);
/// After a fault, requests that are still hit by it, and caches.
const RECOVERY: Duration = Duration::from_secs(45);
/// Normal operation after that, which becomes history.
const NORMAL: Duration = Duration::from_secs(60);
/// Replicas of the store; agents are named like them.
const STORES: [&str; 3] = ["store-1", "store-2", "store-3"];
/// Services that send spans.
const SERVICES: [&str; 3] = ["store", "recommendations", "worker"];
/// File of spans in a recording.
const TRACES: &str = "traces.binpb";

/// Runs faults, and hands each recording over.
///
/// # Errors
/// When the shop or the server cannot be started, or a fault not be switched.
pub(crate) fn run(
    options: &Options,
    faults: &Faults,
    finish: &mut dyn FnMut(&Recording) -> Result<(), CampaignError>,
) -> Result<(), CampaignError> {
    let data = options.folder.join(format!("shop-{}", options.first_port));
    let shop = Bookstore::new(&data, options.first_port, !options.is_running)?;
    let faults = match faults {
        Faults::All => shop.faults("faults")?,
        Faults::Harmless => shop.faults("harmless")?,
        Faults::Named(names) => names.clone(),
    };
    let ports = options.ports();
    let mut server = Server::start(&options.laggard, &data.join("warm-up"), ports)?;
    if !options.is_running {
        say("the shop starts");
        shop.run(&["up", "--otlp", &ports.otlp_url(), "--record"])?;
        shop.run(&["drive", "--detach", "--clients", &options.clients.to_string()])?;
        sleep(START);
        take_recording(&shop, &data.join("dropped"), "")?;
        sleep(options.warm_up);
    }
    let runs = faults.iter().flat_map(|fault| std::iter::repeat_n(fault, options.runs as usize));
    for fault in runs {
        take_recording(&shop, &data.join("history"), &format!("{}-", now_ns() / 1_000_000_000))?;
        drop(server);
        let folder = options.folder.join(format!("{fault}-{}", now_ns() / 1_000_000_000));
        server = Server::start(&options.laggard, &folder.join("server"), ports)?;
        finish(&run_one(options, &shop, &server, fault, &folder)?)?;
        sleep(RECOVERY);
        take_recording(&shop, &data.join("dropped"), "")?;
        sleep(NORMAL);
    }
    Ok(())
}

/// A fault from its beginning to its end.
fn run_one(
    options: &Options,
    shop: &Bookstore,
    server: &Server,
    fault: &str,
    folder: &Path,
) -> Result<Recording, CampaignError> {
    let history = folder.join("history");
    link_all(&shop.data().join("history"), &history)?;
    history::import(&history, server, now_ns())?;
    let hosts = if options.agents { &STORES[..] } else { &[] };
    let agents = agents(&options.laggard, server, hosts, folder)?;
    sleep(BEFORE);
    shop.check()?;
    let (began_ns, load_before) = (now_ns(), load());
    say(&format!("{fault} begins"));
    shop.run(&["break", fault])?;
    let watch = Watch { server, began_ns, limit: options.fault_max, after: options.after };
    let watched = watch.save(&folder.join("incidents.jsonl"));
    let (ended_ns, load_after) = (now_ns(), load());
    // Also after an error: other faults follow.
    shop.run(&["mend", fault])?;
    watched?;
    shop.check()?;
    server.save_kernel(&folder.join("kernel"))?;
    drop(agents);
    copy(&shop.truth(fault)?, &folder.join("truth.json"))?;
    copy(&shop.data().join("answers.csv"), &folder.join("answers.csv"))?;
    take_recording(shop, &folder.join("fault"), "")?;
    check_services(&folder.join("fault").join(TRACES))?;
    let conditions = Conditions {
        fault: fault.to_owned(),
        began_ns,
        ended_ns,
        clients: options.clients,
        load_before,
        load_after,
        nice: nice(),
        machine: machine(),
        agents: options.agents,
        moved_ns: 0,
    };
    Recording::save(folder, conditions)
}

/// Moves what the shop's recorder wrote so far; it begins new files.
fn take_recording(shop: &Bookstore, to: &Path, prefix: &str) -> Result<(), CampaignError> {
    std::fs::create_dir_all(to).map_err(|error| in_file(to, &error))?;
    for kind in [TRACES, "metrics.binpb"] {
        let from = shop.data().join("recording").join(kind);
        if from.is_file() {
            std::fs::rename(&from, to.join(format!("{prefix}{kind}")))
                .map_err(|error| in_file(&from, &error))?;
        }
    }
    Ok(())
}

/// Whether all services sent spans: a service whose spans are lost on the way is as if it had no instrumentation.
fn check_services(traces: &Path) -> Result<(), CampaignError> {
    let bytes = std::fs::read(traces).map_err(|error| in_file(traces, &error))?;
    let is_there = |name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    match SERVICES.iter().find(|name| !is_there(name)) {
        Some(name) => Err(in_file(traces, &format!("there is no span of `{name}`"))),
        None => Ok(()),
    }
}

/// The same files in another folder, without another copy of them.
fn link_all(from: &Path, to: &Path) -> Result<(), CampaignError> {
    std::fs::create_dir_all(to).map_err(|error| in_file(to, &error))?;
    let listed = std::fs::read_dir(from).map_err(|error| in_file(from, &error))?;
    for path in listed.filter_map(|entry| Some(entry.ok()?.path())) {
        let link = to.join(path.file_name().unwrap_or_default());
        std::fs::hard_link(&path, &link).map_err(|error| in_file(&path, &error))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), CampaignError> {
    std::fs::copy(from, to).map(|_| ()).map_err(|error| in_file(from, &error))
}

/// Now, nanoseconds since the Unix epoch.
pub(crate) fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

/// Runnable processes, the average of a minute; 0 where the system does not report it.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// The priority of this process, and of those it starts.
pub(crate) fn nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// Processors, memory, and kernel of this machine, as far as the system reports them.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let kib = memory.lines().next().and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processors", |(_, name)| name.trim());
    let gib = kib.unwrap_or(0.0) / (1024.0 * 1024.0);
    let release = read("/proc/sys/kernel/osrelease");
    format!("{} × {model}, {gib:.0} GiB, Linux {}", available_threads(), release.trim())
}
