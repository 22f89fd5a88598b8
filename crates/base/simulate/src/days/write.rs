//! A day as files: its traces in a format of spans, and the truth beside them.

use super::settings::{DayFault, DaySettings};
use super::target::TENANTS;
use super::{Day, DayRequest, DaySpan, tenant_name};
use crate::Error;
use crate::delivery::SpanRow;
use crate::generate::{TRUTH_FILE, make_traces_folder};
use crate::scenario::FaultScope;
use crate::settings::{Compression, OutputFormat};
use crate::tally::{INJECTIONS_FILE, INJECTIONS_HEADER};
use crate::truth::{Expected, ExpectedVerdict, OperationName, RecordCounts, TRUTH_SCHEMA_VERSION};
use crate::write::text::{push_decimal, push_trace_id};
use crate::write::{SpanLog, SpanNames, SpanOrigin, TraceFile, Written, open_spans};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SECOND: i64 = 1_000_000_000;

/// How a day is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayOutput {
    /// Any format but the call log, which knows neither failures nor calls at the same time.
    pub format: OutputFormat,
    /// Compression of the trace files.
    pub compression: Compression,
    /// Number of files that the spans are spread over.
    pub files: u16,
}

/// Counts of written records.
#[derive(Clone, PartialEq, Debug)]
pub struct DaySummary {
    /// The folder with nothing but trace files.
    pub traces: PathBuf,
    /// The file with the truth.
    pub truth_file: PathBuf,
    /// Its content.
    pub truth: WrittenDayTruth,
    /// Number of trace files.
    pub files: u64,
}

/// The content of a day's `truth.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WrittenDayTruth {
    /// [`TRUTH_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Name of the kind of system.
    pub day: String,
    /// The seed.
    pub seed: u64,
    /// Start of the period, in nanoseconds since the Unix epoch.
    pub start_unix_ns: i64,
    /// Its length in seconds.
    pub window_s: u32,
    /// Requests.
    pub requests: u64,
    /// Spans of all requests, before any were lost.
    pub spans: u64,
    /// How many spans were written, left out, and written twice.
    pub records: RecordCounts,
    /// The services.
    pub services: Vec<String>,
    /// Expected diagnosis of the time of the fault.
    pub expected: Expected,
    /// The fault, if there is one.
    pub fault: Option<DayFaultTruth>,
    /// Requests that the fault changed.
    pub affected_requests: u64,
    /// Calls that the fault delayed, made fail, or made return early.
    pub injected_calls: u64,
    /// Name of the file, beside this one, that lists them.
    pub injections: String,
}

/// A fault and its target.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DayFaultTruth {
    /// Name of the kind.
    pub kind: String,
    /// Time at the target over its usual time, for the kinds that make it slow.
    pub factor: f64,
    /// Share of the calls that fail or return early, for the other kinds.
    pub share: f64,
    /// Start, in nanoseconds since the Unix epoch.
    pub since_unix_ns: i64,
    /// End, in nanoseconds since the Unix epoch.
    pub until_unix_ns: i64,
    /// The operation; for an edge that of the callee.
    pub operation: OperationName,
    /// The operation that calls it, for an edge.
    pub caller: Option<OperationName>,
    /// The replicas, for a fault of one replica: more than one when a release replaced it.
    pub replicas: Vec<String>,
    /// The tenant, for a fault of one tenant.
    pub tenant: Option<String>,
}

/// Writes a day into `directory/traces`, with `directory/truth.json` and `directory/injections.csv` beside it. The same
/// settings give the same bytes on every machine.
///
/// # Errors
/// [`Error::Setting`] for a setting outside its range, and for a fault that the system cannot have,
/// [`Error::NotEmpty`] when there are traces already, [`Error::Io`] when the operating system refuses.
pub fn generate_day(
    settings: &DaySettings,
    output: &DayOutput,
    directory: &Path,
) -> Result<DaySummary, Error> {
    check(output)?;
    let day = Day::new(settings)?;
    let traces = make_traces_folder(directory)?;
    let names = DayNames { day: day.clone(), tenants: (0..TENANTS).map(tenant_name).collect() };
    let origin = SpanOrigin {
        names: Arc::new(names),
        seed: settings.seed,
        processes: day.schedule.instances.len(),
        late_host: None,
        files: output.files,
    };
    let log = open_spans(origin, output.format, &traces, output.compression)?;
    let injections = TraceFile::create(directory, INJECTIONS_FILE, Compression::Plain)?;
    let mut files = DayFiles { day: &day, log, injections, counts: Counts::default() };
    files.injections.buffer.extend_from_slice(INJECTIONS_HEADER.as_bytes());
    let mut requests = day.requests().peekable();
    while let Some(request) = requests.next() {
        files.add(&request);
        files.injections.pass_on()?;
        files.log.write_before(requests.peek().map(|next| next.start.unix_ns()))?;
    }
    files.injections.finish()?;
    let Written { records, files: count, .. } = files.log.finish()?;
    let truth = files.counts.truth(&day, records);
    let truth_file = directory.join(TRUTH_FILE);
    let mut text = serde_json::to_string_pretty(&truth).expect("names and numbers are valid JSON");
    text.push('\n');
    std::fs::write(&truth_file, text).map_err(Error::with_path(&truth_file))?;
    Ok(DaySummary { traces, truth_file, truth, files: count })
}

fn check(output: &DayOutput) -> Result<(), Error> {
    if output.format == OutputFormat::CallLog {
        let value = output.format.name().to_owned();
        return Err(Error::Setting { name: "format", value, allowed: "a format of spans for a day" });
    }
    if !(1..=100).contains(&output.files) {
        return Err(Error::Setting { name: "files", value: output.files.to_string(), allowed: "1 to 100" });
    }
    Ok(())
}

/// The files while they are written.
struct DayFiles<'a> {
    day: &'a Day,
    log: SpanLog,
    injections: TraceFile,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    requests: u64,
    spans: u64,
    affected_requests: u64,
    injected_calls: u64,
}

impl DayFiles<'_> {
    fn add(&mut self, request: &DayRequest) {
        let number = self.counts.requests as u32;
        self.counts.requests += 1;
        self.counts.spans += (request.spans.len() + request.lost.len()) as u64;
        self.counts.affected_requests += u64::from(request.is_hit);
        for (span, is_lost) in [(&request.spans, false), (&request.lost, true)]
            .into_iter()
            .flat_map(|(spans, is_lost)| spans.iter().map(move |span| (span, is_lost)))
        {
            self.log.push(self.row(request, span, number), is_lost);
            if span.is_hit {
                self.counts.injected_calls += 1;
                self.inject(request, span);
            }
        }
    }

    fn row(&self, request: &DayRequest, span: &DaySpan, number: u32) -> SpanRow {
        let clock_ns = self.day.schedule.instances[span.instance as usize].clock_ns;
        SpanRow {
            process: span.instance,
            host: span.instance,
            request: number,
            position: span.number,
            trace_id: request.trace_id,
            span_id: span.id.value(),
            parent_id: span.parent.map_or(0, |parent| parent.value()),
            operation: span.operation as u16,
            kind: span.kind,
            status: span.status,
            tenant: span.parent.is_none().then_some(request.tenant as u16),
            true_end: span.end,
            start_ns: span.start + clock_ns,
            end_ns: span.end + clock_ns,
        }
    }

    fn inject(&mut self, request: &DayRequest, span: &DaySpan) {
        let out = &mut self.injections.buffer;
        let instance = &self.day.schedule.instances[span.instance as usize];
        push_trace_id(out, request.trace_id);
        out.push(b',');
        push_decimal(out, u64::from(span.number));
        let service = self.day.system.services[instance.service].name;
        for text in [service, &self.day.system.operations[span.operation].name, &instance.name] {
            out.push(b',');
            out.extend_from_slice(text.as_bytes());
        }
        let extra_ns = span.injected.ns();
        out.extend_from_slice(format!(",{}.{:03}\n", extra_ns / 1_000, extra_ns % 1_000).as_bytes());
    }
}

impl Counts {
    fn truth(self, day: &Day, records: RecordCounts) -> WrittenDayTruth {
        let settings = &day.settings;
        let fault = day.fault.as_ref().and_then(|(fault, _)| fault_truth(day, fault));
        WrittenDayTruth {
            schema_version: TRUTH_SCHEMA_VERSION,
            day: settings.profile.name.to_owned(),
            seed: settings.seed,
            start_unix_ns: settings.start_unix_ns,
            window_s: settings.window_s,
            requests: self.requests,
            spans: self.spans,
            records,
            services: day.system.services.iter().map(|service| service.name.to_owned()).collect(),
            expected: expected(fault.as_ref().filter(|_| self.injected_calls > 0)),
            fault,
            affected_requests: self.affected_requests,
            injected_calls: self.injected_calls,
            injections: INJECTIONS_FILE.to_owned(),
        }
    }
}

fn fault_truth(day: &Day, fault: &DayFault) -> Option<DayFaultTruth> {
    let truth = day.truth()?;
    let name = |(service, operation): (String, String)| OperationName { service, operation };
    let unix_ns = |second: u32| day.settings.start_unix_ns + i64::from(second) * SECOND;
    Some(DayFaultTruth {
        kind: fault.kind.name().to_owned(),
        factor: fault.factor,
        share: fault.share,
        since_unix_ns: unix_ns(fault.since_s),
        until_unix_ns: unix_ns(fault.until_s),
        operation: name(truth.operation),
        caller: truth.caller.map(name),
        replicas: truth.replicas,
        tenant: truth.tenant,
    })
}

fn expected(fault: Option<&DayFaultTruth>) -> Expected {
    let Some(fault) = fault else {
        return Expected {
            verdict: ExpectedVerdict::Healthy,
            needs_baseline: false,
            operations: Vec::new(),
            scope: FaultScope::None,
            replicas: Vec::new(),
        };
    };
    Expected {
        verdict: ExpectedVerdict::Suspects,
        needs_baseline: true,
        operations: vec![fault.operation.clone()],
        scope: if fault.replicas.is_empty() { FaultScope::All } else { FaultScope::Replicas },
        replicas: fault.replicas.clone(),
    }
}

/// The names of a day's spans.
struct DayNames {
    day: Day,
    tenants: Vec<String>,
}

impl SpanNames for DayNames {
    fn service(&self, span: &SpanRow) -> &str {
        let instance = &self.day.schedule.instances[span.process as usize];
        self.day.system.services[instance.service].name
    }

    fn operation(&self, span: &SpanRow) -> &str {
        &self.day.system.operations[usize::from(span.operation)].name
    }

    fn replica(&self, span: &SpanRow) -> &str {
        &self.day.schedule.instances[span.process as usize].name
    }

    fn tenant(&self, span: &SpanRow) -> Option<&str> {
        span.tenant.map(|tenant| self.tenants[usize::from(tenant)].as_str())
    }

    fn has_outcomes(&self) -> bool {
        true
    }
}
