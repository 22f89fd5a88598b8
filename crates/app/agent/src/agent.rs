//! The agent's rounds: poll, follow the rule, upload requested recordings.

use crate::budget::{BudgetDecision, CpuBudget};
use crate::client::{Client, ServerAccess, UploadOutcome};
use crate::error::AgentError;
use crate::protocol::{MissedRequest, Poll, PollAnswer, RecordRule, RequestedInterval};
use crate::recorder::{Recorder, StartRecorder};
use crate::spool::Spool;
use laggard_model::Timestamp;
use laggard_system::available_threads;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Server, name of the host, and a folder.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The server.
    pub server: ServerAccess,
    /// The name under which the server knows this host: that of its replicas' spans.
    pub host: String,
    /// The folder of recordings that are not yet sent.
    pub spool: PathBuf,
}

/// The result of a round.
#[derive(Clone, PartialEq, Debug)]
pub struct Round {
    /// Time until the next round.
    pub pause: Duration,
    /// Changes for the log, one sentence each.
    pub messages: Vec<String>,
}

/// Pauses after failures: doubled each time.
const PAUSE: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Minimum and maximum time between polls, regardless of the server's request.
const POLL_MIN: Duration = Duration::from_millis(100);
const POLL_MAX: Duration = Duration::from_secs(60);

/// How long a rule remains valid after the last contact with the server. Then nothing is recorded.
const RULE_AGE_MAX: Duration = Duration::from_secs(300);

/// Time until a recorder that could not be started is tried again.
const RETRY_START: Duration = Duration::from_secs(60);

/// Longest name of a host, in characters.
const HOST_MAX: usize = 200;

/// An agent.
pub struct Agent {
    client: Client,
    spool: Spool,
    host: String,
    start: StartRecorder,
    active: Option<ActiveRecorder>,
    /// Why nothing is recorded although it should be, and since when.
    not_started: Option<(Instant, String)>,
    /// Requests that cannot be fulfilled and that the server does not know of yet.
    missed: Vec<MissedRequest>,
    last_contact: Option<Instant>,
    failures: u32,
    is_idle: bool,
}

struct ActiveRecorder {
    rule: RecordRule,
    recorder: Box<dyn Recorder>,
    budget: CpuBudget,
    started: Timestamp,
    note: String,
}

impl Agent {
    /// An agent that has done nothing yet.
    ///
    /// # Errors
    /// When a setting is invalid, or the folder cannot be used.
    pub fn new(settings: AgentSettings, start: StartRecorder) -> Result<Agent, AgentError> {
        let host = settings.host.trim().to_owned();
        if host.is_empty() || host.chars().count() > HOST_MAX || host.contains(char::is_control) {
            let reason = format!("--host: give a name of 1 to {HOST_MAX} characters, as spans have it");
            return Err(AgentError::Settings(reason));
        }
        Ok(Agent {
            client: Client::new(settings.server)?,
            spool: Spool::open(&settings.spool)?,
            host,
            start,
            active: None,
            not_started: None,
            missed: Vec::new(),
            last_contact: None,
            failures: 0,
            is_idle: false,
        })
    }

    /// Polls once and does what the server wants. `at` and `now` are the time by both clocks.
    pub fn round(&mut self, at: Instant, now: Timestamp) -> Round {
        let mut messages = Vec::new();
        self.limit_cost(at, &mut messages);
        match self.poll() {
            Ok(answer) => {
                self.failures = 0;
                self.last_contact = Some(at);
                self.missed.clear();
                self.follow_rule(answer.record, (at, now), &mut messages);
                self.upload_recordings(&answer.requests, now, &mut messages);
                let pause = Duration::from_millis(answer.next_poll_ms).clamp(POLL_MIN, POLL_MAX);
                Round { pause, messages }
            }
            Err(error) => {
                let is_outdated = self.last_contact.is_none_or(|last| at >= last + RULE_AGE_MAX);
                if is_outdated && self.active.take().is_some() {
                    messages.push("recording ended: the server was not reached for five minutes".to_owned());
                }
                if self.failures == 0 {
                    messages.push(format!("{error}; this is tried again"));
                }
                self.failures = self.failures.saturating_add(1);
                Round { pause: (PAUSE * 2u32.pow(self.failures.min(5))).min(PAUSE_MAX), messages }
            }
        }
    }

    fn poll(&self) -> Result<PollAnswer, AgentError> {
        let note = match (&self.active, &self.not_started) {
            (Some(active), _) => active.note.as_str(),
            (None, Some((_, reason))) => reason.as_str(),
            (None, None) => "",
        };
        let recording = self.active.is_some();
        self.client.poll(&Poll { host: &self.host, recording, note, missed: &self.missed })
    }

    /// Pauses or continues recording, depending on its CPU use.
    fn limit_cost(&mut self, at: Instant, messages: &mut Vec<String>) {
        let Some(active) = &mut self.active else { return };
        let events = active.recorder.recorded_events();
        let done = match active.budget.decide(at, events) {
            // Another process may have switched it off.
            BudgetDecision::Record => {
                active.note.clear();
                active.recorder.resume()
            }
            BudgetDecision::Pause { share } => {
                active.note = format!(
                    "recording pauses: it took about {:.1} % of the CPUs, and {:.1} % are allowed",
                    100.0 * share,
                    100.0 * active.rule.cpu_share
                );
                messages.push(active.note.clone());
                active.recorder.pause()
            }
            BudgetDecision::StayPaused => Ok(()),
        };
        if let Err(reason) = done {
            messages.push(format!("recording ended: {reason}"));
            self.active = None;
        }
    }

    fn follow_rule(
        &mut self,
        rule: Option<RecordRule>,
        (at, now): (Instant, Timestamp),
        messages: &mut Vec<String>,
    ) {
        let Some(rule) = rule else {
            self.not_started = None;
            if self.active.take().is_some() || !self.is_idle {
                messages.push("nothing is recorded: the server has no rule for this host".to_owned());
            }
            self.is_idle = true;
            return;
        };
        self.is_idle = false;
        if self.active.as_ref().is_some_and(|active| active.rule == rule) {
            return;
        }
        if self.not_started.as_ref().is_some_and(|(since, _)| at < *since + RETRY_START) {
            return;
        }
        // The old one first: both together would take twice the memory.
        self.active = None;
        match (self.start)(&rule) {
            Ok(recorder) => {
                let budget = CpuBudget::new(rule.cpu_share, available_threads().get());
                messages.push(format!(
                    "recording in {} MiB of memory, with at most {:.1} % of the CPUs",
                    rule.buffer_bytes >> 20,
                    100.0 * rule.cpu_share
                ));
                self.active =
                    Some(ActiveRecorder { rule, recorder, budget, started: now, note: String::new() });
                self.not_started = None;
            }
            Err(reason) => {
                messages.push(format!("nothing can be recorded: {reason}"));
                self.not_started = Some((at, reason));
            }
        }
    }

    /// Uploads requested intervals that have ended; leftovers of earlier requests are deleted.
    fn upload_recordings(
        &mut self,
        requests: &[RequestedInterval],
        now: Timestamp,
        messages: &mut Vec<String>,
    ) {
        self.spool.retain(|id| requests.iter().any(|request| request.id == id));
        for request in requests.iter().filter(|request| request.has_valid_id() && request.until() <= now) {
            match self.upload_recording(request) {
                Ok(message) => messages.push(message),
                Err(reason) => {
                    messages.push(format!("recording {}: {reason}", request.id));
                    self.missed.push(MissedRequest { id: request.id.clone(), reason });
                    self.spool.remove(&request.id);
                }
            }
        }
    }

    /// Describes the upload; the error is the reason why the request cannot be fulfilled.
    fn upload_recording(&mut self, request: &RequestedInterval) -> Result<String, String> {
        let id = &request.id;
        let file = match self.spool.get(id) {
            Some(file) => file,
            None => {
                self.snapshot(request)?;
                self.spool.get(id).ok_or("the recording disappeared")?
            }
        };
        let outcome = match self.client.upload(id, &file) {
            Ok(outcome) => outcome,
            // The server still has the request, and the file stays.
            Err(error) => {
                return Ok(format!("recording {id} could not be sent: {error}; this is tried again"));
            }
        };
        match outcome {
            UploadOutcome::Stored | UploadOutcome::Unwanted => {
                self.spool.remove(id);
                let what = if outcome == UploadOutcome::Stored { "sent" } else { "no longer wanted" };
                Ok(format!("recording {id} {what}"))
            }
            UploadOutcome::Rejected(reason) => Err(format!("the server rejected the recording: {reason}")),
        }
    }

    fn snapshot(&mut self, request: &RequestedInterval) -> Result<(), String> {
        let Some(active) = &mut self.active else {
            let reason = self.not_started.as_ref().map_or("no rule allows it", |(_, reason)| reason);
            return Err(format!("nothing is recorded on this host: {reason}"));
        };
        if request.until() < active.started {
            return Err("recording began after the requested interval".to_owned());
        }
        let ActiveRecorder { recorder, rule, .. } = active;
        self.spool.put(&request.id, |file| {
            match recorder.snapshot(request.since(), request.until(), file)? {
                0 => Err(format!(
                    "the recorder holds no event of the interval: its {} MiB are overwritten by later ones, or it paused",
                    rule.buffer_bytes >> 20
                )),
                _ => Ok(()),
            }
        })
    }
}
