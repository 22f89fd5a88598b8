//! Kills the server while it sends notifications: no message is lost, and none arrives under two ids.

use super::super::Running;
use super::super::alerts::AlertingServer;
use super::kill_run::SplitMix;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Number of interrupted notifications of each kind: of opening and of closing incidents.
const ROUNDS: u64 = 5;
/// Number of kills per notification.
const KILLS: u64 = 3;
/// Timeout of the test; results do not depend on speed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How the receiver responds to a message.
#[derive(Clone, Copy, PartialEq)]
enum Reaction {
    Refuse,
    /// Never responds.
    Hold,
    AnswerAfter(Duration),
}

/// A message: its id from the header, its id from the body, and its status.
type Arrived = (String, String, String);

struct Hook {
    address: String,
    reaction: Arc<Mutex<Reaction>>,
    arrived: Receiver<Arrived>,
}

impl Hook {
    fn start() -> Hook {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let reaction = Arc::new(Mutex::new(Reaction::Refuse));
        let (sender, arrived) = channel();
        let of_thread = reaction.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reaction, sender) = (of_thread.clone(), sender.clone());
                // The server may have been killed.
                std::thread::spawn(move || answer(stream, &reaction, &sender));
            }
        });
        Hook { address, reaction, arrived }
    }

    fn react(&self, reaction: Reaction) {
        *self.reaction.lock().unwrap() = reaction;
    }
}

fn answer(
    mut stream: TcpStream,
    reaction: &Mutex<Reaction>,
    sender: &Sender<Arrived>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut id) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_lowercase();
        match line.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(("idempotency-key", value)) => id = value.to_owned(),
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let text = |field: &str| body[field].as_str().unwrap().to_owned();
    let reaction = *reaction.lock().unwrap();
    if reaction != Reaction::Refuse {
        // The test may have ended.
        let _ = sender.send((id, text("id"), text("status")));
    }
    let status = match reaction {
        Reaction::Refuse => "503 Not now",
        Reaction::Hold => return reader.read_to_end(&mut Vec::new()).map(drop),
        Reaction::AnswerAfter(pause) => {
            std::thread::sleep(pause);
            "200 OK"
        }
    };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

/// The receiver, data folder, and configuration of the test.
struct Stage<'a> {
    data: &'a Path,
    config: String,
    hook: Hook,
    random: SplitMix,
}

impl Stage<'_> {
    /// Repeatedly kills a server while it sends the pending notification in `alerts`, then lets it finish.
    fn notify_with_kills(&mut self, alerts: &[u8], state: &str, status: &str) {
        fs::write(self.data.join("tenants/default/alerts.json"), alerts).unwrap();
        let mut arrived = Vec::new();
        for kill in 0..KILLS {
            let us = self.random.below(20_000);
            self.hook.react(match kill {
                0 => Reaction::Hold,
                _ => Reaction::AnswerAfter(Duration::from_micros(us / 2)),
            });
            let running = self.start();
            let is_aimed = kill != 1;
            // A message acknowledged earlier does not arrive again.
            let patience = Duration::from_secs(if kill == 0 { 60 } else { 2 });
            if is_aimed && let Ok(message) = self.hook.arrived.recv_timeout(patience) {
                arrived.push(message);
            }
            std::thread::sleep(Duration::from_micros(if is_aimed { us } else { 50 * us }));
            // Dropping the server kills it.
            drop(running);
        }
        self.hook.react(Reaction::AnswerAfter(Duration::ZERO));
        let running = self.start();
        wait_until_notified(&running, state);
        drop(running);
        arrived.extend(self.hook.arrived.try_iter());
        assert!(arrived.len() >= 2, "the first was not acknowledged: {arrived:?}");
        let ids: BTreeSet<&String> = arrived.iter().flat_map(|(head, body, _)| [head, body]).collect();
        assert_eq!(ids.len(), 1, "one message: {arrived:?}");
        assert!(arrived.iter().all(|message| message.2 == status), "{arrived:?}");
    }

    fn start(&self) -> Running {
        Running::start(self.data, &["--config", &self.config])
    }
}

fn wait_until_notified(running: &Running, state: &str) {
    let started = Instant::now();
    loop {
        let answer: Value = serde_json::from_str(&running.get("/api/v1/incidents").body).unwrap();
        if answer["incidents"][0]["notified"]["webhook"]["state"] == state {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_notification_interrupted_by_a_kill_keeps_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let hook = Hook::start();
    let file = folder.path().join("laggard.yaml");
    let text = format!(
        "alerts:\n  every: 100ms\n  window: 1m\n  baseline: 8m\n  requests_min: 50\n  resolve_after: 2\n  confirm_end: 1ms\n  \
         webhook: http://{}/hook\n",
        hook.address
    );
    fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap().to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let mut stage = Stage { data: &data, config, hook, random: SplitMix(1) };
    let stored = || fs::read(data.join("tenants/default/alerts.json")).unwrap();

    let mut watched = AlertingServer { server: Some(stage.start()), second: now - 800 };
    watched.pass(545, 4);
    while watched.pass(10, 60)["firing"] == 0 {}
    let incident = watched.pass(1, 60);
    assert_eq!(incident["firing"], json!(1), "{incident}");
    watched.server.take().unwrap().stop();
    let open = stored();
    for _ in 0..ROUNDS {
        stage.notify_with_kills(&open, "open", "firing");
    }

    stage.hook.react(Reaction::AnswerAfter(Duration::ZERO));
    watched.server = Some(stage.start());
    wait_until_notified(watched.server(), "open");
    stage.hook.react(Reaction::Refuse);
    while watched.pass(15, 4)["firing"] == 1 {}
    watched.server.take().unwrap().stop();
    stage.hook.arrived.try_iter().for_each(drop);
    let closed = stored();
    for _ in 0..ROUNDS {
        stage.notify_with_kills(&closed, "closed", "resolved");
    }
}
