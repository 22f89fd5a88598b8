//! A recording, sent to a server again as if it happened now.
//!
//! What was normal operation is imported at once. The fault is sent at the pace at which it was recorded, since the server
//! evaluates the latest minutes once a minute. Kernel recordings are not sent: the server requests them while something runs.

use crate::incidents::Watch;
use crate::live::{load, machine, nice, now_ns};
use crate::options::Options;
use crate::recording::{Conditions, Recording};
use crate::results::REPLAYED;
use crate::server::Server;
use crate::shift::{Kind, messages, moved};
use crate::{CampaignError, history, in_file, say};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// How often a waiting sender checks whether it is to end.
const PATIENCE: Duration = Duration::from_millis(200);

/// Replays a recording into a new folder with the server's current verdicts and the time-shifted truth.
///
/// # Errors
/// When the recording cannot be read, or the server cannot be started.
pub(crate) fn run(options: &Options, from: &Recording) -> Result<Recording, CampaignError> {
    let folder = options.folder.join(format!("{}{REPLAYED}", from.name()));
    // An earlier replay of it.
    let _ = std::fs::remove_dir_all(&folder);
    let messages = [Kind::Traces, Kind::Metrics].map(|kind| sorted(from, kind));
    let [traces, metrics] = messages;
    let mut messages = [traces?, metrics?].concat();
    messages.sort_by_key(|message| message.at_ns);
    let first_ns =
        messages.first().map(|message| message.at_ns).ok_or("the recording of the fault is empty")?;
    let server = Server::start(&options.laggard, &folder.join("server"), options.ports())?;
    let by_ns = now_ns() - first_ns;
    history::import(&from.path("history"), &server, first_ns + by_ns)?;
    let conditions = Conditions {
        began_ns: from.conditions.began_ns + by_ns,
        ended_ns: from.conditions.ended_ns + by_ns,
        load_before: load(),
        nice: nice(),
        machine: machine(),
        moved_ns: from.conditions.moved_ns + by_ns,
        ..from.conditions.clone()
    };
    let limit = Duration::from_nanos(u64::try_from(conditions.ended_ns - now_ns()).unwrap_or(0));
    let watch = Watch { server: &server, began_ns: conditions.began_ns, limit, after: options.after };
    let is_over = AtomicBool::new(false);
    let (watched, sent) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&server, &messages, by_ns, &is_over));
        let watched = watch.save(&folder.join("incidents.jsonl"));
        is_over.store(true, Ordering::Relaxed);
        (watched, sender.join().unwrap_or_else(|_| Err("the sender failed".to_owned())))
    });
    watched?;
    sent?;
    for (name, is_needed) in
        [("answers.csv", true), ("history", true), ("fault", true), ("truth.json", true), ("kernel", false)]
    {
        let path = from.path(name).canonicalize();
        match path {
            Ok(path) => link(&path, &folder.join(name))?,
            Err(error) if is_needed => return Err(in_file(&from.path(name), &error)),
            Err(_) => {}
        }
    }
    let conditions =
        Conditions { ended_ns: conditions.ended_ns.min(now_ns()), load_after: load(), ..conditions };
    Recording::save(&folder, conditions)
}

fn link(from: &Path, to: &Path) -> Result<(), CampaignError> {
    std::os::unix::fs::symlink(from, to).map_err(|error| in_file(to, &error))
}

/// A message and when it was sent: its latest time.
#[derive(Clone)]
struct Message {
    kind: Kind,
    at_ns: i64,
    bytes: Vec<u8>,
}

fn sorted(from: &Recording, kind: Kind) -> Result<Vec<Message>, CampaignError> {
    let mut out = Vec::new();
    for path in from.messages("fault", kind)? {
        let file = std::fs::read(&path).map_err(|error| in_file(&path, &error))?;
        for message in messages(&file) {
            let read = moved(kind, message, 0)?;
            out.extend(read.latest_ns.map(|at_ns| Message { kind, at_ns, bytes: read.bytes }));
        }
    }
    Ok(out)
}

/// Sends messages when their time has come, until the last or until it is over.
fn send(
    server: &Server,
    messages: &[Message],
    by_ns: i64,
    is_over: &AtomicBool,
) -> Result<(), CampaignError> {
    say(&format!("{} messages are sent", messages.len()));
    for message in messages {
        while now_ns() < message.at_ns + by_ns {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            let wait = u64::try_from(message.at_ns + by_ns - now_ns()).unwrap_or(0);
            sleep(PATIENCE.min(Duration::from_nanos(wait)));
        }
        server.send(message.kind.path(), &moved(message.kind, &message.bytes, by_ns)?.bytes)?;
    }
    Ok(())
}
