//! Samples of every kind become windows: what is read, repaired, counted, and rejected.

use crate::outcome::{Outcome, input_count, laggard, laggard_with_stdin, loss};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

/// A time in November 2023, a whole minute.
const START: i64 = 1_700_000_040;

/// Rows of a wide table, one a minute: the server needs 10 ms for each `Home`.
fn table(minutes: i64) -> String {
    let mut text = "time_s,utilization,count:Home,count:Cart,response_ms:Home\n".to_owned();
    for minute in 0..minutes {
        let home = 1_000 + 37 * (minute % 11) + 53 * (minute % 7);
        let cart = 400 + 29 * (minute % 5) + 31 * (minute % 13);
        let busy = (home as f64 * 0.010 + cart as f64 * 0.030) / 60.0;
        writeln!(text, "{},{busy:.5},{home},{cart},12.5", START + 60 * minute).unwrap();
    }
    text
}

fn changes(input: &str, further: &[&str]) -> Outcome {
    let mut arguments = vec!["changes", "-", "--output", "json"];
    arguments.extend(further);
    laggard_with_stdin(&arguments, input.as_bytes())
}

/// The report, also with too little data.
#[track_caller]
fn report(outcome: &Outcome) -> Value {
    assert!(matches!(outcome.status, 0 | 4), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[track_caller]
fn cautions(report: &Value) -> String {
    let all = report["cautions"].as_array().unwrap();
    all.iter().map(|caution| caution.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// A file of this test run.
fn file(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sample-inputs");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_table_of_samples_becomes_windows() {
    let report = report(&changes(&table(120), &[]));
    assert_eq!(input_count(&report, "windows"), 120);
    assert_eq!(input_count(&report, "gaps"), 0);
    assert_eq!(input_count(&report, "samples"), 120 * 4);
    assert_eq!(report["input"]["losses"], serde_json::json!({}));
    assert_eq!(report["verdict"], "steady", "{}", report["verdict"]);
}

#[test]
fn row_order_does_not_matter_and_duplicate_rows_are_counted() {
    let text = table(120);
    let mut rows: Vec<&str> = text.lines().skip(1).collect();
    rows.reverse();
    let doubled = rows[3];
    rows.push(doubled);
    let shuffled = format!("{}\n{}\n", text.lines().next().unwrap(), rows.join("\n"));
    let (straight, reverse) = (report(&changes(&text, &[])), report(&changes(&shuffled, &[])));
    assert_eq!(loss(&reverse, "duplicate_sample"), 4);
    assert!(loss(&reverse, "late_sample") > 0);
    assert_eq!(straight["input"]["transactions"], reverse["input"]["transactions"]);
    assert_eq!(straight["verdict"], reverse["verdict"]);
}

#[test]
fn impossible_values_are_counted_and_their_windows_excluded() {
    let mut rows: Vec<String> = table(120).lines().map(str::to_owned).collect();
    rows[10] = format!("{},0.2,-5,400,12.5", START + 60 * 9);
    rows[20] = format!("{},NaN,1000,400,12.5", START + 60 * 19);
    let report = report(&changes(&(rows.join("\n") + "\n"), &[]));
    assert!(loss(&report, "invalid_sample") >= 1, "{}", report["input"]["losses"]);
    assert_eq!(input_count(&report, "gaps"), 1);
}

#[test]
fn utilization_in_percent_is_recognized_and_reported() {
    let percent: String = table(120)
        .lines()
        .map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            match cells[1].parse::<f64>() {
                Ok(busy) => format!("{},{},{},{},{}\n", cells[0], busy * 100.0, cells[2], cells[3], cells[4]),
                Err(_) => format!("{row}\n"),
            }
        })
        .collect();
    let (plain, percent) = (report(&changes(&table(120), &[])), report(&changes(&percent, &[])));
    assert!(cautions(&percent).contains("percent"), "{}", cautions(&percent));
    let mean = |report: &Value| report["input"]["servers"][0]["utilization_mean"].as_f64().unwrap();
    assert!((mean(&plain) - mean(&percent)).abs() < 1e-6);
}

#[test]
fn windows_incompatible_with_the_sampling_interval_are_rejected() {
    changes(&table(60), &["--window", "10s"]).fails(2, &["come every 60 s", "--window 60s"]);
    let long = report(&changes(&table(120), &["--window", "5m"]));
    // The table begins a minute before a multiple of five and ends a minute before another: four of five minutes
    // of the last window stand for all of it.
    assert_eq!(input_count(&long, "windows"), 24);
    assert!(loss(&long, "partial_window") > 0);
    changes(&table(60), &["--window", "0"]).fails(2, &["between 1 ms and 366 days"]);
    changes(&table(60), &["--window", "soon"]).fails(2, &["not a length of time"]);
}

#[test]
fn an_empty_time_range_is_too_little_data() {
    changes(&table(60), &["--since", "2030-01-01"]).fails(4, &["none of 240 samples", "--since"]);
    changes(&table(60), &["--since", "2023-11-15", "--until", "2023-11-14"])
        .fails(2, &["--since is not before"]);
}

#[test]
fn unknown_servers_are_reported_with_the_known_ones() {
    let text = table(60).replace("utilization,", "utilization@app-1,");
    changes(&text, &["--server", "db-1"]).fails(2, &["\"db-1\"", "app-1"]);
}

#[test]
fn implausible_capacities_and_deployments_are_usage_errors() {
    changes(&table(60), &["--cores", "app=none"]).fails(2, &["not a number of cores"]);
    changes(&table(60), &["--deployment", "v1"]).fails(2, &["not a deployment"]);
    changes(&table(60), &["--deployment", "noon=v1"]).fails(2, &["not a time"]);
}

#[test]
fn traces_and_one_cpu_series_are_enough_for_changes() {
    let mut spans =
        "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns\n".to_owned();
    let mut cpu = "time_s,server,utilization\n".to_owned();
    for second in 0..1_200_i64 {
        let ns = (START + second) * 1_000_000_000;
        writeln!(spans, "{:032x},{:016x},,shop,app-1,buy,{ns},20000000", second + 1, second + 1).unwrap();
        if second % 15 == 0 {
            writeln!(cpu, "{},app-1,0.2", START + second).unwrap();
        }
    }
    let (spans, cpu) = (file("spans.csv", &spans), file("cpu.csv", &cpu));
    let report =
        report(&laggard(&["changes", spans.to_str().unwrap(), cpu.to_str().unwrap(), "--output", "json"]));
    assert_eq!((input_count(&report, "spans"), input_count(&report, "samples")), (1_200, 80));
    assert_eq!(input_count(&report, "windows"), 20);
    assert_eq!(report["input"]["transactions"][0]["name"], "shop buy");
    let server = &report["input"]["servers"][0];
    assert_eq!(
        (server["server"].as_str(), server["own_transactions"].as_bool()),
        (Some("app-1"), Some(true))
    );
}

#[test]
fn output_does_not_depend_on_threads() {
    let halves: Vec<PathBuf> = ["1", "2", "3"]
        .into_iter()
        .map(|part| {
            let text = table(150);
            let rows = text.lines().enumerate();
            let part_rows =
                rows.filter(|(index, _)| *index == 0 || index % 3 == part.parse::<usize>().unwrap() % 3);
            file(
                &format!("part-{part}.csv"),
                &(part_rows.map(|row| row.1).collect::<Vec<_>>().join("\n") + "\n"),
            )
        })
        .collect();
    let run = |threads: &str| {
        let mut arguments = vec!["changes", "--output", "json", "--threads", threads];
        arguments.extend(halves.iter().map(|path| path.to_str().unwrap()));
        laggard(&arguments).stdout
    };
    let one = run("1");
    assert!(one.contains("windows"), "{one}");
    assert_eq!(one, run("4"));
}

/// A Prometheus server that responds to every query with the same body.
fn stand_in(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut request = [0; 16_384];
            let _ = connection.read(&mut request);
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            let _ = connection.write_all(head.as_bytes());
        }
    });
    url
}

#[test]
fn a_prometheus_error_is_reported_with_its_message() {
    let url = stand_in(
        "400 Bad Request",
        r#"{"status":"error","errorType":"bad_data","error":"unexpected end of input"}"#,
    );
    laggard(&["changes", "--prometheus", &url, "--query", "rate=sum("])
        .fails(3, &["bad_data", "unexpected end"]);
    laggard(&["changes", "--prometheus", &url, "--query", "speed=x"])
        .fails(2, &["begin with what it measures"]);
    laggard(&["changes", "--prometheus", "localhost"]).fails(2, &["http://localhost:9090"]);
    laggard(&["changes", "--prometheus", &url, "--bearer-token-file", "/nonexistent"])
        .fails(3, &["/nonexistent"]);
    laggard(&["changes", "--query", "rate=x"]).fails(2, &["--prometheus"]);
}

#[test]
fn a_prometheus_server_without_series_is_too_little_data() {
    let url = stand_in("200 OK", r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#);
    let outcome = laggard(&["changes", "--prometheus", &url]);
    outcome.fails(4, &["no series of completed transactions", "no series of the use of the CPU"]);
}
