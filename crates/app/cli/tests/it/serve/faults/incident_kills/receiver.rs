//! A receiver of webhooks that kills the server around its answers, and remembers what arrived.

use super::super::kill_run::SplitMix;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Number of kills around the arrivals of one message; then it is acknowledged.
const KILLS_PER_MESSAGE: u64 = 3;
/// Longest time between an answer and a kill, in microseconds: about as long as the acknowledgment takes to become durable.
const AFTER_ANSWER_US: u64 = 8_000;

/// The content of a message: its status, and the incidents that it is about.
pub(crate) type Content = (String, Vec<String>);

/// Received messages and planned replies.
pub(crate) struct Inbox {
    random: SplitMix,
    /// Kills the running server; `None` while there is none.
    pub(crate) killer: Option<Box<dyn Fn() + Send>>,
    /// Idempotency keys in the order of their first arrival.
    pub(crate) keys: Vec<String>,
    /// Content and number of arrivals, by key.
    pub(crate) messages: BTreeMap<String, (Content, u64)>,
    /// Number of kills before an answer, and after one.
    pub(crate) kills: [u64; 2],
    kills_of: BTreeMap<String, u64>,
    /// Contradictions: one key with two contents.
    pub(crate) errors: Vec<String>,
}

/// When to kill the server.
enum Aim {
    BeforeAnswer,
    AfterAnswer(Duration),
    Never,
}

impl Inbox {
    fn arrive(&mut self, key: String, content: Content) -> Aim {
        if !self.messages.contains_key(&key) {
            self.keys.push(key.clone());
        }
        let message = self.messages.entry(key.clone()).or_insert_with(|| (content.clone(), 0));
        message.1 += 1;
        if message.0 != content {
            self.errors.push(format!("{key} has two contents: {:?} and {content:?}", message.0));
        }
        let killed = self.kills_of.entry(key).or_default();
        if self.killer.is_none() || *killed >= KILLS_PER_MESSAGE {
            return Aim::Never;
        }
        *killed += 1;
        match self.random.below(2) {
            0 => Aim::BeforeAnswer,
            _ => Aim::AfterAnswer(Duration::from_micros(self.random.below(AFTER_ANSWER_US))),
        }
    }

    fn kill(&mut self, is_answered: bool) {
        if let Some(kill) = &self.killer {
            kill();
            self.kills[usize::from(is_answered)] += 1;
        }
    }
}

/// The receiver.
pub(crate) struct KillingReceiver {
    pub(crate) address: String,
    inbox: Arc<Mutex<Inbox>>,
}

impl KillingReceiver {
    pub(crate) fn start(seed: u64) -> KillingReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let inbox = Arc::new(Mutex::new(Inbox {
            random: SplitMix(seed),
            killer: None,
            keys: Vec::new(),
            messages: BTreeMap::new(),
            kills: [0; 2],
            kills_of: BTreeMap::new(),
            errors: Vec::new(),
        }));
        let of_thread = Arc::clone(&inbox);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A killed server cuts a message off.
                let _ = answer(stream, &of_thread);
            }
        });
        KillingReceiver { address, inbox }
    }

    pub(crate) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        lock(&self.inbox)
    }
}

fn lock(inbox: &Mutex<Inbox>) -> MutexGuard<'_, Inbox> {
    inbox.lock().expect("no thread panics while it holds the lock")
}

fn answer(mut stream: TcpStream, inbox: &Mutex<Inbox>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut key) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_lowercase();
        match line.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            Some(("idempotency-key", value)) => value.clone_into(&mut key),
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let alerts = body["alerts"].as_array().into_iter().flatten();
    let incidents = alerts.map(|alert| alert["annotations"]["incident"].to_string()).collect();
    let aim = lock(inbox).arrive(key, (body["status"].as_str().unwrap_or_default().to_owned(), incidents));
    if matches!(aim, Aim::BeforeAnswer) {
        lock(inbox).kill(false);
        return Ok(());
    }
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    stream.flush()?;
    if let Aim::AfterAnswer(pause) = aim {
        std::thread::sleep(pause);
        lock(inbox).kill(true);
    }
    Ok(())
}
