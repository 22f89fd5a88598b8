//! Ordinary days, as files.

use crate::readers;
use crate::support::{Folder, Span};
use laggard_model::{SpanKind, Status};
use laggard_simulate::{
    Compression, Day, DayFault, DayFaultKind, DayOutput, DaySettings, DaySummary, Error, OutputFormat,
    Profile, WrittenDayTruth, generate_day,
};

/// Two minutes of a small system in which half of the calls of an operation fail.
fn failing() -> DaySettings {
    let fault =
        DayFault { kind: DayFaultKind::Errors, seed: 1, factor: 1.0, share: 0.5, since_s: 60, until_s: 120 };
    let settings = DaySettings::new(Profile::parse("small").unwrap(), 1);
    DaySettings { window_s: 120, lost_spans: 0.05, fault: Some(fault), ..settings }
}

fn write(settings: &DaySettings, format: OutputFormat) -> (Folder, DaySummary) {
    let folder = Folder::new();
    let output = DayOutput { format, compression: Compression::Plain, files: 1 };
    let summary = generate_day(settings, &output, folder.path()).unwrap();
    (folder, summary)
}

fn text(settings: &DaySettings, format: OutputFormat) -> String {
    let (folder, _) = write(settings, format);
    let [(_, bytes)] = &folder.files("traces")[..] else { panic!("one file") };
    String::from_utf8(bytes.clone()).unwrap()
}

/// The spans that are not lost, sorted; the number of failed ones; and the number with a tenant.
fn expected(settings: &DaySettings) -> (Vec<Span>, usize, usize) {
    let day = Day::new(settings).unwrap();
    let (mut spans, mut failed, mut tenants) = (Vec::new(), 0, 0);
    for request in day.requests() {
        for span in &request.spans {
            let record = request.record(span, &day);
            failed += usize::from(record.status == Status::Error);
            tenants += usize::from(!record.attributes.span.is_empty());
            let start_us = record.start.unix_ns() / 1_000;
            spans.push(Span {
                trace: format!("{:032x}", record.trace_id.value()),
                id: record.span_id.to_string(),
                parent: record.parent.map(|parent| parent.to_string()).unwrap_or_default(),
                service: record.service.to_owned(),
                operation: record.operation.to_owned(),
                replica: record.replica.to_owned(),
                kind: match record.kind {
                    SpanKind::Internal => String::new(),
                    kind => kind.name().to_owned(),
                },
                start_us,
                duration_us: record.start.plus(record.inclusive).unix_ns() / 1_000 - start_us,
            });
        }
    }
    spans.sort();
    (spans, failed, tenants)
}

#[test]
fn every_format_has_the_same_spans_with_status_and_tenant() {
    let settings = failing();
    let (spans, failed, tenants) = expected(&settings);
    assert!(spans.len() > 500 && failed > 20 && tenants > 100, "{} {failed} {tenants}", spans.len());
    let sorted = |mut spans: Vec<Span>| {
        spans.sort();
        spans
    };
    let otlp = text(&settings, OutputFormat::OtlpJson);
    let jaeger = text(&settings, OutputFormat::Jaeger);
    let zipkin = text(&settings, OutputFormat::Zipkin);
    assert!(sorted(readers::otlp_json(&otlp)) == spans);
    assert!(sorted(readers::jaeger(&jaeger)) == spans);
    assert!(sorted(readers::zipkin(&zipkin)) == spans);
    for (text, error) in
        [(&otlp, r#""status":{"code":2}"#), (&jaeger, r#""key":"error""#), (&zipkin, r#""error":"true""#)]
    {
        assert_eq!(text.matches(error).count(), failed);
        assert_eq!(text.matches("tenant-").count(), tenants);
    }
}

#[test]
fn the_span_table_has_columns_for_status_and_tenant() {
    let settings = failing();
    let (spans, failed, tenants) = expected(&settings);
    let table = text(&settings, OutputFormat::SpanCsv);
    let (header, rows) = table.split_once('\n').unwrap();
    assert!(header.ends_with(",kind,status,tenant"), "{header}");
    assert_eq!(rows.lines().count(), spans.len());
    assert_eq!(rows.matches(",error,").count(), failed);
    assert_eq!(rows.matches(",tenant-").count(), tenants);
}

#[test]
fn the_truth_lists_affected_requests_and_counts_losses() {
    let (folder, summary) = write(&failing(), OutputFormat::SpanCsv);
    let truth = &summary.truth;
    assert_eq!(truth.spans, truth.records.written + truth.records.dropped);
    assert!(truth.records.dropped > 0 && truth.affected_requests > 0);
    let read: WrittenDayTruth = serde_json::from_slice(&std::fs::read(&summary.truth_file).unwrap()).unwrap();
    assert_eq!(read, *truth);
    let fault = truth.fault.as_ref().unwrap();
    assert_eq!(truth.expected.operations, std::slice::from_ref(&fault.operation));
    assert_eq!(fault.until_unix_ns - fault.since_unix_ns, 60_000_000_000);
    let injections = std::fs::read_to_string(folder.path().join(&truth.injections)).unwrap();
    let rows: Vec<&str> = injections.lines().skip(1).collect();
    assert_eq!(rows.len() as u64, truth.injected_calls);
    let name = format!(",{},{},", fault.operation.service, fault.operation.operation);
    assert!(rows.iter().all(|row| row.contains(&name) && row.ends_with(",0.000")), "{rows:?}");
}

#[test]
fn the_same_day_gives_the_same_bytes() {
    let settings = failing();
    for format in [OutputFormat::SpanCsv, OutputFormat::OtlpProto] {
        let [(first, _), (second, _)] = [write(&settings, format), write(&settings, format)];
        assert!(first.files("traces") == second.files("traces") && first.files("") == second.files(""));
        let (other, _) = write(&DaySettings { seed: 2, ..settings.clone() }, format);
        assert!(first.files("traces") != other.files("traces"));
    }
}

#[test]
fn unsupported_faults_and_formats_of_a_day_are_rejected() {
    let folder = Folder::new();
    let output = DayOutput { format: OutputFormat::CallLog, compression: Compression::Plain, files: 1 };
    let refused = |settings: &DaySettings, output: &DayOutput| {
        matches!(generate_day(settings, output, folder.path()), Err(Error::Setting { .. }))
    };
    assert!(refused(&failing(), &output));
    let spans = DayOutput { format: OutputFormat::SpanCsv, ..output };
    assert!(refused(&failing(), &DayOutput { files: 0, ..spans }));
    // No service of this system has more than one replica.
    let fault = failing().fault.map(|fault| DayFault { kind: DayFaultKind::Replica, ..fault });
    assert!(refused(&DaySettings { fault, ..failing() }, &spans));
    assert!(refused(&DaySettings { drift: 1.5, fault: None, ..failing() }, &spans));
    assert!(!folder.path().join("traces").exists());
}

/// The standard deviation between minutes of the mean logarithm of the spans' lengths.
fn deviation_of_minutes(drift: f64) -> f64 {
    let usual = DaySettings::new(Profile::parse("small").unwrap(), 1);
    let settings = DaySettings { window_s: 30 * 60, drift, ..usual };
    let day = Day::new(&settings).unwrap();
    let mut minutes = vec![(0.0, 0.0); 30];
    for request in day.requests() {
        for record in request.spans.iter().map(|span| request.record(span, &day)) {
            let minute = (request.start.unix_ns() - settings.start_unix_ns) / 60_000_000_000;
            let (sum, count) = &mut minutes[minute as usize];
            *sum += (record.inclusive.ns() as f64).ln();
            *count += 1.0;
        }
    }
    let means: Vec<f64> = minutes.iter().map(|(sum, count)| sum / count).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    (means.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / means.len() as f64).sqrt()
}

#[test]
fn minutes_of_a_day_differ_by_its_drift() {
    let [steady, drifting] = [0.0, 0.4].map(deviation_of_minutes);
    assert!(drifting > 0.15 && drifting > 1.5 * steady, "{drifting} {steady}");
}
