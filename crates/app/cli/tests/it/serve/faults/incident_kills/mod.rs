//! One incident, from its first message to its last, while the server is killed again and again: at random times, and around
//! every message.

mod receiver;

use super::kill_run::{Addresses, Process, SplitMix, http_client};
use receiver::{Content, KillingReceiver};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const SECOND: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;
/// Usual time of a call, in milliseconds; that of a slow one, and of one when the incident is worse.
const USUAL_MS: i64 = 4;
const SLOW_MS: i64 = 60;
const WORSE_MS: i64 = 400;
/// Seconds of requests before the fault.
const QUIET_S: i64 = 545;
/// The first request is this old, so that later ones have room: a window may not end in the future.
const AGE_S: i64 = 1_300;
/// Passes of each phase until requests come slowly.
const LONG_PASSES: usize = 8;
/// Passes of each phase with kills at random times: later ones leave the server time to send again what was refused.
const KILLED_PASSES: usize = 30;
/// A server notifies of a worse incident ten minutes after its last message; the stored time is set back by this instead.
const WORSE_AFTER_NS: i64 = 601 * SECOND;
/// One step in this number has a kill at a random time, at most this long after its requests were sent.
const RANDOM_KILLS: u64 = 3;
const STEP_US: u64 = 400_000;
/// Every second one of them comes while alerts are written, which takes about so many microseconds, if they are written within this time.
const SAVE_US: u64 = 2_000;
const SAVE_PATIENCE: Duration = Duration::from_secs(1);
/// Timeout of each phase; results do not depend on speed.
const PATIENCE: Duration = Duration::from_secs(180);

/// Result of one incident.
#[derive(Clone, Copy, Default)]
pub(crate) struct IncidentOutcome {
    /// Messages that were due: the opening, the worsening, and the end.
    pub(crate) due: u64,
    /// Of these, how many did not arrive.
    pub(crate) lost: u64,
    /// Arrivals under a key that had arrived before.
    pub(crate) repeated: u64,
    /// Of these, arrivals after the acknowledgment was durable.
    pub(crate) needless: u64,
    /// Messages under a further key.
    pub(crate) duplicates: u64,
    /// Kills before an answer of the receiver, after one, at random times, and while alerts are written.
    pub(crate) kills: [u64; 4],
}

impl IncidentOutcome {
    /// Adds the figures of another incident.
    pub(crate) fn add(&mut self, other: IncidentOutcome) {
        self.due += other.due;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.needless += other.needless;
        self.duplicates += other.duplicates;
        self.kills.iter_mut().zip(other.kills).for_each(|(sum, kills)| *sum += kills);
    }
}

impl fmt::Display for IncidentOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after, random, saving] = self.kills;
        write!(
            f,
            "{} kills ({before} before an answer, {after} after one, {random} at random, {saving} while alerts are written): {} messages due, {} lost, \
             {} sent again with their key ({} of them although acknowledged), {} under another key",
            before + after + random + saving,
            self.due,
            self.lost,
            self.repeated,
            self.needless,
            self.duplicates
        )
    }
}

/// A server that is killed, and the incident that it watches.
struct Drill<'a> {
    binary: &'a Path,
    data: PathBuf,
    receiver: KillingReceiver,
    random: SplitMix,
    server: Option<(Process, Addresses)>,
    /// The time of the next request, in seconds since 1970.
    second: i64,
    /// Number of arrivals of messages whose acknowledgment was durable when the server was down, by key.
    acknowledged: BTreeMap<String, u64>,
    random_kills: u64,
    /// Kills while alerts are written.
    save_kills: u64,
}

/// Opens an incident, makes it worse, and ends it, under kills.
pub(crate) fn kill_through_an_incident(binary: &Path, folder: &Path, seed: u64) -> IncidentOutcome {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs() as i64;
    let mut drill = Drill {
        binary,
        data: folder.join("data"),
        receiver: KillingReceiver::start(seed ^ 0x5EED),
        random: SplitMix(seed),
        server: None,
        second: now - AGE_S,
        acknowledged: BTreeMap::new(),
        random_kills: 0,
        save_kills: 0,
    };
    drill.pass(QUIET_S, USUAL_MS, false);
    drill.until_acknowledged(1, SLOW_MS);
    drill.stop();
    drill.set_last_notification_back();
    drill.until_acknowledged(2, WORSE_MS);
    drill.until_acknowledged(3, USUAL_MS);
    // Anything that is sent needlessly has time to arrive.
    (0..3).for_each(|_| drill.pass(5, USUAL_MS, false));
    drill.stop();
    drill.outcome()
}

impl Drill<'_> {
    /// Sends seconds of requests until they are evaluated, however often the server is killed meanwhile.
    fn pass(&mut self, seconds: i64, call_ms: i64, with_kills: bool) {
        let (body, newest) =
            (requests(self.second, self.second + seconds, call_ms), self.second + seconds - 1);
        self.second += seconds;
        let started = Instant::now();
        while self.try_pass(&body, newest, with_kills).is_none() {
            assert!(started.elapsed() < PATIENCE, "requests are not evaluated");
            // It is dead, or will be killed with what it does now.
            self.stop();
        }
    }

    fn try_pass(&mut self, body: &str, newest: i64, with_kills: bool) -> Option<()> {
        let server = self.running();
        let post = |address, path, body| http_client::request(address, "POST", path, body).ok();
        let sent = post(server.otlp_http, "/v1/traces", body)?;
        assert_eq!(sent.status, 200, "{}", sent.body);
        post(server.http, "/api/v1/flush", "")?;
        if with_kills && self.random.below(RANDOM_KILLS) == 0 {
            self.reach_kill();
            return None;
        }
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let answer = http_client::request(server.http, "GET", "/api/v1/alerts", "").ok()?;
            let answer: Value = serde_json::from_str(&answer.body).ok()?;
            let until = answer["last_evaluated"]["window"]["until_ns"].as_i64();
            if until.is_some_and(|until| until / SECOND == newest) {
                return Some(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Waits until the server is to be killed: at a random time, or while alerts are written.
    fn reach_kill(&mut self) {
        let is_aimed = self.random.below(2) == 0;
        let is_saving = match &mut self.server {
            Some((process, _)) if is_aimed => process.begins("alert save", SAVE_PATIENCE),
            _ => false,
        };
        let (most, count) = match is_saving {
            true => (SAVE_US, &mut self.save_kills),
            false => (STEP_US, &mut self.random_kills),
        };
        *count += 1;
        std::thread::sleep(Duration::from_micros(self.random.below(most)));
    }

    /// Goes on until so many messages are acknowledged, and the last of them durably.
    fn until_acknowledged(&mut self, messages: usize, call_ms: i64) {
        let started = Instant::now();
        let mut passes = 0;
        while self.receiver.inbox().keys.len() < messages || self.is_unconfirmed() {
            // A message that was refused is sent again after seconds, in which a fast machine would reach the present, and kills
            // on a slow one would follow each other.
            let with_kills = passes < KILLED_PASSES;
            self.pass(if passes < LONG_PASSES { 10 } else { 1 }, call_ms, with_kills);
            if !with_kills {
                std::thread::sleep(Duration::from_secs(1));
            }
            passes += 1;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
            let has_room = self.second < now.as_secs() as i64;
            assert!(
                has_room && started.elapsed() < PATIENCE,
                "message {messages} after {passes} passes: {:?}, {}",
                self.receiver.inbox().messages,
                fs::read_to_string(self.alerts_file()).unwrap_or_default()
            );
        }
    }

    fn running(&mut self) -> Addresses {
        if let Some((_, addresses)) = &self.server {
            return *addresses;
        }
        let webhook = format!("alerts.webhook=http://{}/hook", self.receiver.address);
        let settings = [
            "logs.form=json",
            "logs.level=info,laggard_server=debug",
            "alerts.every=100ms",
            "alerts.window=1m",
            "alerts.baseline=8m",
            "alerts.requests_min=50",
            "alerts.resolve_after=2",
            "alerts.confirm_end=1ms",
            &webhook,
        ];
        let mut process = Process::start_with(self.binary, &self.data, &settings);
        let addresses = process.addresses();
        self.receiver.inbox().killer = Some(Box::new(process.killer()));
        self.server = Some((process, addresses));
        addresses
    }

    /// Kills the server if it runs, and notes which messages need not arrive again.
    fn stop(&mut self) {
        let mut inbox = self.receiver.inbox();
        // The last owner of a process kills it.
        inbox.killer = None;
        self.server = None;
        drop(inbox);
        if !self.is_unconfirmed() {
            let inbox = self.receiver.inbox();
            let arrivals = inbox.messages.iter().map(|(key, (_, count))| (key.clone(), *count));
            arrivals.for_each(|(key, count)| {
                self.acknowledged.entry(key).or_insert(count);
            });
        }
    }

    fn alerts_file(&self) -> PathBuf {
        self.data.join("tenants/default/alerts.json")
    }

    /// Whether a message is stored whose outcome is unknown.
    fn is_unconfirmed(&self) -> bool {
        let stored = fs::read(self.alerts_file()).ok();
        let stored: Value = stored.map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).expect("JSON"));
        let incidents = stored["alerts"]["incidents"].as_array();
        incidents.into_iter().flatten().any(|incident| incident.get("unconfirmed").is_some())
    }

    fn set_last_notification_back(&self) {
        let mut stored: Value =
            serde_json::from_slice(&fs::read(self.alerts_file()).expect("it is stored")).expect("JSON");
        for incident in stored["alerts"]["incidents"].as_array_mut().into_iter().flatten() {
            let last = &mut incident["notified"]["webhook"]["at_ns"];
            *last = json!(last.as_i64().expect("a receiver was notified") - WORSE_AFTER_NS);
        }
        fs::write(self.alerts_file(), stored.to_string()).expect("it can be written");
    }

    fn outcome(&self) -> IncidentOutcome {
        let inbox = self.receiver.inbox();
        assert!(inbox.errors.is_empty(), "{:?}", inbox.errors);
        let mut contents: Vec<&Content> = inbox.keys.iter().map(|key| &inbox.messages[key].0).collect();
        let incidents = contents.first().map(|(_, incidents)| incidents.clone()).unwrap_or_default();
        let mut lost = 0;
        for status in ["firing", "firing", "resolved"] {
            let due = (status.to_owned(), incidents.clone());
            match contents.iter().position(|content| **content == due) {
                Some(position) => drop(contents.remove(position)),
                None => lost += 1,
            }
        }
        let again = |(key, count): (&String, &u64)| inbox.messages[key].1 - count;
        IncidentOutcome {
            due: 3,
            lost,
            repeated: inbox.messages.values().map(|(_, count)| count - 1).sum(),
            needless: self.acknowledged.iter().map(again).sum(),
            duplicates: contents.len() as u64,
            kills: [inbox.kills[0], inbox.kills[1], self.random_kills, self.save_kills],
        }
    }
}

/// One request per second at `web`, which calls `db` for so many milliseconds, and up to two fifths of one.
fn requests(from: i64, to: i64, call_ms: i64) -> String {
    let mut spans: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for second in from..to {
        let (start, jitter) = (second * SECOND, second * 7_919 % 400 * MS / 1_000);
        let call = call_ms * MS + jitter;
        let mut add = |service, id: i64, parent: Option<i64>, name, kind, start: i64, length: i64| {
            let id_text = |id: i64| format!("{id:016x}");
            spans.entry(service).or_default().push(json!({
                "traceId": format!("{second:032x}"), "spanId": id_text(id), "name": name, "kind": kind,
                "parentSpanId": parent.map(id_text).unwrap_or_default(),
                "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + length).to_string(),
            }));
        };
        add("web", 1, None, "buy", 2, start, 6 * MS + call + jitter);
        add("web", 2, Some(1), "query", 3, start + 2 * MS, call + MS);
        add("db", 3, Some(2), "read", 2, start + 2 * MS, call);
    }
    let resources = spans.iter().map(|(service, spans)| {
        let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let replica = format!("{service}-1");
        json!({
            "resource": {"attributes": [attribute("service.name", service), attribute("service.instance.id", &replica)]},
            "scopeSpans": [{"spans": spans}],
        })
    });
    json!({"resourceSpans": resources.collect::<Vec<Value>>()}).to_string()
}
