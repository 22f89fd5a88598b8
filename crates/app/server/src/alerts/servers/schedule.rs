//! Reads the samples of a tenant and evaluates its servers.

use super::super::lifecycle::{AlertList, Changes, Interval};
use super::super::state::Alerts;
use super::super::store_reader::StoreReader;
use super::super::tenant_alerts::{EvaluationOutcome, EvaluationRecord, TenantAlerts};
use super::{ServerDetection, ServerEvaluation, WINDOW};
use laggard_engine::LocalEngine;
use laggard_metrics_questions::add_span_samples;
use laggard_model::{CallRecord, Loss, Nanos, SampleRecord, Sink, SpanRecord, Timestamp};
use laggard_params::Window;
use laggard_samples::{
    SampleLimits, SampleTable, StorageTable, StorageUse, WindowError, WindowSettings, WindowTable,
    shorter_windows,
};
use laggard_store::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Bytes of a sample in memory.
const SAMPLE_BYTES: u64 = 16;
/// Shortest baseline that is tried if samples exceed the memory.
const BASELINE_MIN: Nanos = Nanos::from_secs(4 * 3_600);
/// Samples older than this are history that was imported.
const AGE_MAX: Nanos = Nanos::from_secs(900);
// Limit: spans that count as transactions of watched servers | servers without counts are not watched
/// Maximum number of spans that are counted if samples count no transactions.
const SPANS_MAX: u64 = 2_000_000;
/// How far back the use of memory and file systems is known.
const STORAGE_HISTORY: Nanos = Nanos::from_secs(7 * 86_400);
/// Samples that are later than this are not counted.
const STORAGE_LATE: Nanos = Nanos::from_secs(900);

/// The use of memory and file systems that was read so far.
#[derive(Default)]
pub(in crate::alerts) struct StorageHistory {
    table: StorageTable,
    until: Option<Timestamp>,
}

impl StorageHistory {
    /// Reads what is new; the first time, all of it.
    fn read(&mut self, reader: &StoreReader, at: Timestamp) -> Result<Vec<StorageUse>, Skip> {
        let oldest = at.minus(STORAGE_HISTORY);
        let since = match self.until {
            Some(until) => self.table.retain(oldest, until.minus(STORAGE_LATE)),
            None => oldest,
        };
        // After an error, everything is read again.
        let mut table = std::mem::take(self).table;
        let mut sink = StorageSink(&mut table);
        let read = reader.view.samples(since, at, &mut sink);
        let read = reader.handle.block_on(read);
        read.map_err(|error| (EvaluationOutcome::Unreadable, error.to_string()))?;
        let uses = table.uses();
        *self = StorageHistory { table, until: Some(at) };
        Ok(uses)
    }
}

/// Why there is no result.
type Skip = (EvaluationOutcome, String);

/// Evaluates the servers of a tenant, and applies the result to its alerts.
pub(in crate::alerts) fn evaluate_servers(
    alerts: &Alerts,
    tenant_alerts: &TenantAlerts,
    reader: &StoreReader,
    at: Timestamp,
) -> Changes {
    let started = Instant::now();
    let detection = ServerDetection::from_settings(&alerts.settings, alerts.detection.rules);
    let state = tenant_alerts.state().clone();
    let before = state.last_servers.as_ref().and_then(|record| record.window).map(|window| window.until_ns);
    // A bug in one evaluation must not end all of them.
    let result = catch_unwind(AssertUnwindSafe(|| {
        let run = ServerRun { detection: &detection, alerts: &state.alerts, reader, at };
        if !alerts.settings.servers {
            return Err(disabled());
        }
        run.evaluate(before, &mut tenant_alerts.storage())
    }));
    let failed = || Err((EvaluationOutcome::Failed, "the evaluation failed; see the log".to_owned()));
    let result = result.unwrap_or_else(|_| failed());
    let (outcome, text, window, baseline) = match &result {
        Ok(evaluation) => (
            EvaluationOutcome::Evaluated,
            text(evaluation),
            Some(evaluation.window),
            Some(evaluation.baseline),
        ),
        Err((outcome, text)) => (*outcome, text.clone(), None, None),
    };
    let last = state.last_servers.as_ref();
    let record = EvaluationRecord {
        at_ns: at.unix_ns(),
        outcome,
        text,
        took_ns: started.elapsed().as_nanos() as u64,
        // What was evaluated last is not evaluated again.
        window: window.map(Interval::from).or_else(|| last.and_then(|record| record.window)),
        baseline: baseline.map(Interval::from).or_else(|| last.and_then(|record| record.baseline)),
        sampled_one_in: 1,
    };
    tenant_alerts.record_servers(record, |list| match &result {
        Ok(evaluation) => list.apply_servers(evaluation, detection.rules, at),
        Err(_) => list.expire_servers(detection.rules, at),
    })
}

fn disabled() -> Skip {
    (EvaluationOutcome::NothingNew, "alerts.servers is off".to_owned())
}

fn text(evaluation: &ServerEvaluation) -> String {
    let healthy = evaluation.healthy.len();
    match evaluation.findings.as_slice() {
        [] if healthy == 0 => "no server has enough samples yet".to_owned(),
        [] => "all servers are as usual".to_owned(),
        [finding] => format!("one finding: {}", finding.kind().log_text()),
        several => format!("{} findings about servers", several.len()),
    }
}

/// The windows of the selected servers. `None` without their samples. Of a minute, or shorter where there are few.
pub(in crate::alerts) fn windows_of(
    reader: &StoreReader,
    window: Window,
    selected: &WindowSettings,
) -> Result<Option<WindowTable>, Skip> {
    let with_length = |length: Nanos| {
        let mut samples = Samples::new(window.since, reader.memory_bytes);
        samples.read(reader, window.until)?;
        samples.windows(reader, window.until, WindowSettings { length, ..selected.clone() })
    };
    let Some(table) = with_length(WINDOW)? else { return Ok(None) };
    let shorter = shorter_windows(table.windows).find_map(|length| with_length(length).ok().flatten());
    Ok(Some(shorter.unwrap_or(table)))
}

/// One evaluation.
struct ServerRun<'a> {
    detection: &'a ServerDetection,
    alerts: &'a AlertList,
    reader: &'a StoreReader,
    at: Timestamp,
}

impl ServerRun<'_> {
    /// `before`: the end of the windows that were evaluated last.
    fn evaluate(&self, before: Option<i64>, storage: &mut StorageHistory) -> Result<ServerEvaluation, Skip> {
        let samples = self.read()?;
        let Some(newest) = samples.newest else {
            return Err((EvaluationOutcome::NothingNew, "no samples are stored".to_owned()));
        };
        if newest < self.at.minus(AGE_MAX) {
            let text = "the latest samples are old; imported historical data never triggers alerts";
            return Err((EvaluationOutcome::OldData, text.to_owned()));
        }
        // The last window may lack samples of some series.
        let end = complete_windows_until(newest.min(self.at));
        if before.is_some_and(|before| end.unix_ns() <= before) {
            return Err((
                EvaluationOutcome::NothingNew,
                "no new window since the last evaluation".to_owned(),
            ));
        }
        let settings = WindowSettings { length: WINDOW, ..WindowSettings::default() };
        let table = samples.windows(self.reader, end, settings)?;
        let storage = storage.read(self.reader, self.at)?;
        Ok(self.detection.evaluate(self.alerts, table.as_ref(), &storage, end))
    }

    /// Reads samples, of a shorter time where they exceed the memory.
    fn read(&self) -> Result<Samples, Skip> {
        let mut detection = self.detection.clone();
        loop {
            let since = detection.since(self.alerts, self.at).minus(WINDOW);
            let mut samples = Samples::new(since, self.reader.memory_bytes);
            samples.read(self.reader, self.at)?;
            if samples.table.losses().count(Loss::SampleLimit) == 0 {
                return Ok(samples);
            }
            if detection.baseline <= BASELINE_MIN {
                let text = "the samples of the baseline exceed alerts.memory";
                return Err((EvaluationOutcome::TooMuchData, text.to_owned()));
            }
            detection.baseline = Nanos::from_ns(detection.baseline.ns() / 2).max(BASELINE_MIN);
        }
    }
}

/// The start of the window before the one of an instant.
fn complete_windows_until(newest: Timestamp) -> Timestamp {
    let length = WINDOW.ns() as i64;
    Timestamp::from_unix_ns(newest.unix_ns().div_euclid(length) * length)
}

/// Samples of memory and file systems as they are read.
struct StorageSink<'t>(&'t mut StorageTable);

impl Sink for StorageSink<'_> {
    fn span(&mut self, _: &SpanRecord<'_>) {}

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.0.add(sample);
    }

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {}
}

/// Samples as they are read.
struct Samples {
    table: SampleTable,
    newest: Option<Timestamp>,
    since: Timestamp,
}

impl Samples {
    fn new(since: Timestamp, memory_bytes: u64) -> Samples {
        let samples_max = (memory_bytes / SAMPLE_BYTES) as usize;
        Samples {
            table: SampleTable::new(SampleLimits { samples_max, ..SampleLimits::default() }),
            newest: None,
            since,
        }
    }

    fn read(&mut self, reader: &StoreReader, until: Timestamp) -> Result<(), Skip> {
        let read = reader.view.samples(self.since, until, self);
        let unreadable = |error: StoreError| (EvaluationOutcome::Unreadable, error.to_string());
        reader.handle.block_on(read).map(drop).map_err(unreadable)
    }

    /// `None` when no sample is about CPU or transactions. `settings`: which servers, and the length of a window; its times do not
    /// matter.
    fn windows(
        self,
        reader: &StoreReader,
        end: Timestamp,
        settings: WindowSettings,
    ) -> Result<Option<WindowTable>, Skip> {
        let Samples { mut table, since, .. } = self;
        if table.samples() == 0 {
            return Ok(None);
        }
        if !table.counted_servers().any {
            count_spans(reader, &mut table, Window { since, until: end }, settings.length)?;
        }
        let cells_max = reader.memory.window_cells_max();
        let settings = WindowSettings { since, until: end, cells_max, ..settings };
        match table.finish(&settings) {
            Ok(table) => Ok(Some(table)),
            Err(WindowError::NoSamples { .. }) => Ok(None),
            Err(error) => Err((EvaluationOutcome::TooLittleData, error.to_string())),
        }
    }
}

fn count_spans(
    reader: &StoreReader,
    table: &mut SampleTable,
    window: Window,
    length: Nanos,
) -> Result<(), Skip> {
    let spans = reader.spans(window);
    if spans == 0 || spans > SPANS_MAX {
        return Ok(());
    }
    let unreadable = |_| (EvaluationOutcome::Unreadable, "the spans cannot be read".to_owned());
    let requests = reader.requests(&[window]).map_err(unreadable)?;
    // A sample of the traces counts too few transactions.
    if requests.sampled_one_in == 1 && !requests.requests.is_empty() {
        let range = requests.requests.within(window.since, window.until);
        add_span_samples(range, None, length, table, LocalEngine::new(reader.threads));
    }
    Ok(())
}

impl Sink for Samples {
    fn span(&mut self, _: &SpanRecord<'_>) {}

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.newest = self.newest.max(Some(sample.time));
        self.table.sample(sample);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.table.lose(loss, example);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_before_the_latest_sample() {
        let time = |second: i64| Timestamp::from_unix_ns(second * 1_000_000_000);
        assert_eq!(complete_windows_until(time(600)), time(600));
        assert_eq!(complete_windows_until(time(659)), time(600));
    }
}
