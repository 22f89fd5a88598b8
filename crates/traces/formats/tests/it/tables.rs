//! Errors and losses of malformed tables.

use laggard_formats::contract::{Event, Transcript, check_blocks, check_splits, transcript};
use laggard_formats::{ReaderOptions, find_format};
use laggard_model::{Loss, OwnedCall, OwnedSpan, ReplicaSource, SpanId};
use proptest::prelude::*;

fn read(format: &str, text: &str, columns: &[(&str, &str)]) -> Transcript {
    let columns = columns.iter().map(|&(name, header)| (name.to_owned(), header.to_owned())).collect();
    let options = ReaderOptions { columns, ..ReaderOptions::default() };
    transcript(find_format(format).unwrap(), &options, [text.as_bytes()])
}

fn spans(transcript: &Transcript) -> Vec<&OwnedSpan> {
    let events = transcript.events.iter();
    events.filter_map(|event| if let Event::Span(span) = event { Some(span) } else { None }).collect()
}

fn calls(transcript: &Transcript) -> Vec<&OwnedCall> {
    let events = transcript.events.iter();
    events.filter_map(|event| if let Event::Call(call) = event { Some(call) } else { None }).collect()
}

fn error(transcript: &Transcript) -> String {
    assert_eq!(transcript.events, [], "no records are expected");
    transcript.end.as_ref().unwrap_err().to_string()
}

const FOREIGN: &str = "Trace,Id,Caller,App,Pod,What,Began,Took\nt,1,,shop,shop-1,buy,1.5,2\n";

#[test]
fn foreign_tables_are_mapped() {
    let mapping = [
        ("trace_id", "Trace"),
        ("span_id", "Id"),
        ("parent_span_id", "caller"),
        ("service", "App"),
        ("attr.k8s.pod.name", "Pod"),
        ("operation", "What"),
        ("start_s", "Began"),
        ("duration_ms", "Took"),
        ("host", "of no concern to span tables"),
    ];
    let transcript = read("span-csv", FOREIGN, &mapping[..8]);
    let spans = spans(&transcript);
    assert_eq!((spans[0].start.unix_ns(), spans[0].inclusive.ns()), (1_500_000_000, 2_000_000));
    assert_eq!((&*spans[0].replica, spans[0].replica_source), ("shop-1", ReplicaSource::PodName));
    assert_eq!(transcript.end, Ok(()));
}

#[test]
fn a_mapping_takes_precedence_over_the_column_name() {
    let text = "trace_id,span_id,parent_span_id,service,operation,start_ns,duration_ns,real_op,us\n1,1,,a,x,5,6,y,7\n";
    let transcript = read("span-csv", text, &[("operation", "real_op"), ("duration_us", "us")]);
    assert_eq!((&*spans(&transcript)[0].operation, spans(&transcript)[0].inclusive.ns()), ("y", 7_000));
}

#[test]
fn missing_columns_are_named_with_a_hint() {
    let message = error(&read("span-csv", FOREIGN, &[("trace_id", "Trace")]));
    for part in ["span_id", "parent_span_id", "duration_ns (or", "Trace, Id, Caller", "--column span_id="] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    let message = error(&read("call-log", "time_us,request,mid,method\n", &[]));
    for part in ["flag", "host (which may be absent", "time_us, request, mid, method"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn unsatisfiable_mappings_are_errors() {
    let message = error(&read("span-csv", FOREIGN, &[("span_id", "Nr")]));
    assert!(message.contains("--column span_id=Nr") && message.contains("It has: Trace, Id"), "{message}");
    let message = error(&read("span-csv", FOREIGN, &[("speed", "Took")]));
    assert!(message.contains("speed") && message.contains("duration_ms"), "{message}");
}

#[test]
fn error_messages_are_short_for_any_header() {
    let message = error(&read("span-csv", &format!("{}\n", "title,".repeat(3_000)), &[]));
    assert!(message.len() < 2_000 && message.contains("and 2961 more"), "{message}");
    let message = error(&read("span-csv", &format!("{}\n", ",".repeat(10_000)), &[]));
    assert!(message.contains("4096 columns"), "{message}");
}

#[test]
fn an_empty_file_is_read_without_loss() {
    for text in ["", "\n\n", "\u{feff}", "  \r\n"] {
        let transcript = read("span-csv", text, &[]);
        assert_eq!((transcript.events, transcript.end), (vec![], Ok(())), "{text:?}");
    }
}

fn span_table(rows: &str) -> Transcript {
    let header = "trace_id,span_id,parent_span_id,service,operation,start_ns,end_ns,status,kind,\
                  attr.service.instance.id,attr.host.name,attr.process.pid";
    read("span-csv", &format!("{header}\n{rows}\n"), &[])
}

#[test]
fn placeholder_parents_make_a_root_and_zero_does_not() {
    let parents = ["", "null", "None", "NaN", "root", "-", "-1", "0", "0000000000000000", "a"];
    let rows: Vec<String> = parents.iter().map(|parent| format!("1,b,{parent},s,o,1,2,,,,,")).collect();
    let transcript = span_table(&rows.join("\n"));
    let found: Vec<_> = spans(&transcript).iter().map(|span| span.parent).collect();
    assert_eq!(found[..7], [None; 7]);
    assert_eq!(found[7..], [Some(SpanId::ZERO_TEXT), Some(SpanId::ZERO_TEXT), SpanId::new(10)]);
}

#[test]
fn the_replica_is_the_first_column_that_has_a_value() {
    let transcript =
        span_table("1,1,,s,o,1,2,,,inst,h,7\n1,2,,s,o,1,2,,,,h,7\n1,3,,s,o,1,2,,,,h,\n1,4,,s,o,1,2,,,,,7");
    let found: Vec<_> = spans(&transcript).iter().map(|span| (&*span.replica, span.replica_source)).collect();
    let expected = [
        ("inst", ReplicaSource::ServiceInstanceId),
        ("h/7", ReplicaSource::Host),
        ("h", ReplicaSource::Host),
        ("", ReplicaSource::Unknown),
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_end_before_the_start_is_counted_and_becomes_zero() {
    let transcript = span_table("1,1,,s,o,10,9,,,,,\n1,2,,s,o,-9223372036854775807,9223372036854775807,,,,,");
    let lengths: Vec<u64> = spans(&transcript).iter().map(|span| span.inclusive.ns()).collect();
    assert_eq!(lengths, [0, i64::MAX as u64]);
    assert_eq!(transcript.losses().count(Loss::NegativeTime), 1);
}

#[test]
fn invalid_utf8_loses_only_its_line() {
    let header = b"trace_id,span_id,parent_span_id,service,operation,start_ns,duration_ns\n";
    let bytes = [&header[..], b"1,1,,caf\xE9,o,1,2\n1,2,,caf\xC3\xA9,o,1,2\n"].concat();
    let format = find_format("span-csv").unwrap();
    let transcript = transcript(format, &ReaderOptions::default(), [&bytes[..]]);
    assert_eq!(spans(&transcript)[0].service, "café");
    assert_eq!(transcript.losses().count(Loss::MalformedRecord), 1);
}

#[test]
fn oversized_lines_are_skipped_and_counted() {
    let text = format!("1,1,,s,o,1,2,,,,,\n1,2,,s,{},1,2,,,,,\n1,3,,s,o,1,2,,,,,", "x".repeat(2 << 20));
    let transcript = span_table(&text);
    assert_eq!(spans(&transcript).len(), 2);
    let losses = transcript.losses();
    let (loss, found) = losses.iter().next().unwrap();
    assert_eq!((loss, found.count, &*found.example), (Loss::OversizedRecord, 1, "line 3"));
}

#[test]
fn call_logs_accept_synonyms_of_events() {
    let text = "Host\tTIME_s\tRequest\tMID\tservice\toperation\tflag\tcallee\n\
                h\t1.5\tr\tr\tS\tx.y\tBegin\t0\nh\t2\tr\tr\t\tx.y\tleave\tNULL\n";
    let transcript = read("call-log", text, &[]);
    let found = calls(&transcript);
    assert_eq!(
        (&*found[0].service, &*found[0].operation, found[0].time.unix_ns()),
        ("S", "x.y", 1_500_000_000)
    );
    assert_eq!(found[0].callee.map(|id| id.value()), Some(0));
    assert_eq!((&*found[1].service, &*found[1].operation, found[1].callee), ("x", "y", None));
}

#[test]
fn a_log_without_host_or_file_name_is_rejected() {
    let text = "time_us,request_id,mid,method,flag\n1,r,r,a.b,E\n";
    assert!(error(&read("call-log", text, &[])).contains("host"));
    let options =
        ReaderOptions { source_name: Some("/logs/node-7.log.gz".to_owned()), ..ReaderOptions::default() };
    let named = transcript(find_format("call-log").unwrap(), &options, [text.as_bytes()]);
    assert_eq!(calls(&named)[0].host, "node-7");
}

/// One span as a table line, with what must come out.
fn line() -> impl Strategy<Value = (String, u64, i64, i64, String)> {
    (1_u64.., 0..i64::MAX / 2, -5_i64..1_000_000, "[a-zé ,\"\n]{0,12}").prop_map(
        |(id, start, length, operation)| {
            let quoted = operation.replace('"', "\"\"");
            (format!("t{id},{id:x},,s,\"{quoted}\",{start},{length}\n"), id, start, length, operation)
        },
    )
}

proptest! {
    #[test]
    fn written_tables_are_read_back(lines in prop::collection::vec(line(), 0..20), seed: u64) {
        let header = "trace_id,span_id,parent_span_id,service,operation,start_ns,duration_ns\n".to_owned();
        let text: String = std::iter::once(header).chain(lines.iter().map(|line| line.0.clone())).collect();
        let transcript = read("span-csv", &text, &[]);
        let spans = spans(&transcript);
        prop_assert_eq!(spans.len(), lines.len());
        for (span, (_, id, start, length, operation)) in spans.iter().zip(&lines) {
            prop_assert_eq!(span.span_id.value(), *id);
            prop_assert_eq!(span.start.unix_ns(), *start);
            prop_assert_eq!(span.inclusive.ns(), (*length).max(0) as u64);
            let expected = operation.trim_ascii();
            prop_assert_eq!(&*span.operation, if expected.is_empty() { "unknown" } else { expected });
        }
        let negative = lines.iter().filter(|line| line.3 < 0).count() as u64;
        prop_assert_eq!(transcript.losses().count(Loss::NegativeTime), negative);
        check_splits(find_format("span-csv").unwrap(), &ReaderOptions::default(), text.as_bytes(), &[seed]);
    }
}

/// A table of anything that matters to where records end.
fn any_table() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        "[a-z0-9]{0,3}",
        "\"[a-z,\r\n]{0,6}\"",
        "\"(\"\"|[a,\n])*\"",
        "[\"a \n]{0,3}",
        Just("1".to_owned())
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n"), Just("")];
    let row = (prop::collection::vec(field, 5..9), end).prop_map(|(fields, end)| fields.join(",") + end);
    prop::collection::vec(row, 0..25).prop_map(|rows| rows.concat())
}

proptest! {
    /// Quotes that are never closed or stand in the middle of a field, line breaks of both kinds in and outside quotes.
    #[test]
    fn threads_read_any_table_as_one_reader_does(rows in any_table(), ending in "(\r?\n)?") {
        for header in ["trace_id,span_id,parent_span_id,service,operation,start_ns,duration_ns\n",
                       "\"trace_id\",span_id,parent_span_id,\"ser\nvice\",service,operation,start_ns,duration_ns\r\n"] {
            let text = format!("{header}{rows}{ending}");
            check_blocks(find_format("span-csv").unwrap(), &ReaderOptions::default(), text.as_bytes());
        }
    }
}

fn samples(transcript: &Transcript) -> Vec<(i64, laggard_model::Measure, &str, &str, f64)> {
    let events = transcript.events.iter();
    let samples =
        events.filter_map(|event| if let Event::Sample(sample) = event { Some(sample) } else { None });
    let short =
        |it: &'_ laggard_model::OwnedSample| (it.time.unix_ns() / 1_000_000_000, it.measure, it.value);
    samples.map(|it| (short(it).0, it.measure, &*it.server, &*it.transaction, it.value)).collect()
}

/// A table of one measure, defined by the file's name, by an option, or by a mapping.
#[test]
fn a_table_of_one_measure_is_read_without_reshaping() {
    use laggard_model::Measure::{ResponseTime, TransactionRate, Utilization};
    let read = |name: &str, text: &str, rules: &[&str]| {
        let rules = rules.iter().map(|text| laggard_formats::parse_measure_option(text).unwrap());
        let options = ReaderOptions { source_name: Some(name.to_owned()), ..ReaderOptions::default() };
        let options = options.with(rules.collect::<Vec<_>>());
        transcript(find_format("sample-csv").unwrap(), &options, [text.as_bytes()])
    };
    let two = "Timestamp;WC0;WC1\n1370202159000;15.5;12.5\n";
    let found = read("x/host1_THROUGHPUT.csv", two, &[]);
    let expected = [
        (1_370_202_159, TransactionRate, "", "WC0", 15.5),
        (1_370_202_159, TransactionRate, "", "WC1", 12.5),
    ];
    assert_eq!(samples(&found), expected);
    let found = read("x/host1_CPU_UTILIZATION.csv", "Timestamp;All\n1370202159000;0.5\n", &[]);
    assert_eq!(samples(&found), [(1_370_202_159, Utilization, "host1", "", 0.5)]);
    let found = read("x/cpu.csv", "time,app-1,app-2\n60,50,25\n", &["*cpu*=utilization_percent"]);
    assert_eq!(samples(&found), [(60, Utilization, "app-1", "", 0.5), (60, Utilization, "app-2", "", 0.25)]);
    let found = read("-", "time,a\n60,500\n", &["*cpu*=cores", "response_ms"]);
    assert_eq!(samples(&found), [(60, ResponseTime, "", "a", 0.5)]);
    let mapping = [("rate:WC0", "wc0"), ("time_ms", "Timestamp")];
    let found = super::tables::read("sample-csv", two, &mapping);
    assert_eq!(samples(&found)[..1], expected[..1]);
    assert_eq!(found.losses().count(Loss::OtherSignal), 1, "the other column is of no known measure");
    let message = error(&super::tables::read("sample-csv", two, &[]));
    assert!(message.contains("--measure"), "{message}");
}

/// Grafana's download of a panel: series with labels as titles, and values with their unit.
#[test]
fn a_panel_of_grafana_is_read() {
    use laggard_model::Measure::{TransactionRate, Utilization};
    let text = "\"Time\",\"{instance=\"\"app-1:9100\"\", job=\"\"node\"\"}\",\"{instance=\"\"app-2:9100\"\"}\"\n\
                2026-01-12 10:00:00,19.1%,\"7 %\"\n";
    let read = |rules: &[&str], text: &str| {
        let rules = rules.iter().map(|text| laggard_formats::parse_measure_option(text).unwrap());
        let options = ReaderOptions::default().with(rules.collect::<Vec<_>>());
        transcript(find_format("sample-csv").unwrap(), &options, [text.as_bytes()])
    };
    let time = 1_768_212_000;
    let found = read(&["utilization"], text);
    let shown: Vec<_> =
        samples(&found).into_iter().map(|it| (it.0, it.1, it.2, (1e4 * it.4).round())).collect();
    assert_eq!(shown, [(time, Utilization, "app-1:9100", 1910.0), (time, Utilization, "app-2:9100", 700.0)]);
    let message = error(&read(&[], text));
    assert!(message.contains("--measure"), "{message}");
    // A metric's name before the labels names the measure, and a percentage of another quantity is not a number.
    let found = read(&[], "Time,\"rate{route=\"\"/cart\"\"}\",cpu_percent\n2026-01-12 10:00:00,12,30%\n");
    let [rate, cpu] = samples(&found)[..] else { panic!("two samples") };
    assert_eq!(rate, (time, TransactionRate, "", "/cart", 12.0));
    assert!((cpu.4 - 0.3).abs() < 1e-12);
    let found = read(&[], "time,rate\n60,12%\n");
    assert_eq!((samples(&found).len(), found.losses().count(Loss::MalformedRecord)), (0, 1));
}

/// Without an option the text is recognized as a table of samples, so that the error says what is missing.
#[test]
fn a_panel_of_grafana_is_a_table_of_samples() {
    let text = b"\"Time\",\"{instance=\"\"app-1:9100\"\", job=\"\"node\"\"}\"\n2026-01-12 10:00:00,19.1%\n";
    assert_eq!(find_format("sample-csv").unwrap().sniff(text), laggard_formats::Sniff::Yes);
}
