//! A folder with every kind of data, small enough to know the right answers.

use laggard_evaluate::{Options, Results, SetKind, run, scorecard};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const HEADER: &str = "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns\n";
const MS: i64 = 1_000_000;

/// A block write: a client waits for one of ten data nodes; the slow ones take 40 ms instead of about 2.
fn block_writes(slow: i64, everywhere_ms: i64) -> String {
    let mut out = String::from(HEADER);
    for trace in 0..200_i64 {
        let node = trace % 10 + 1;
        let work =
            2 * MS + trace * 7_919 % 100_000 + everywhere_ms * MS + if node <= slow { 38 * MS } else { 0 };
        let start = trace * 100 * MS;
        let _ = writeln!(out, "{trace:x},1,,DFSClient,client1,write,{start},{}", work + MS);
        let _ = writeln!(out, "{trace:x},2,1,Datanode,datanode{node:03},receive,{},{work}", start + MS / 2);
    }
    out
}

/// Ten minutes of a shop; the cart takes 50 ms instead of 5 in the seventh to ninth.
fn shop() -> String {
    let mut out = String::from(HEADER);
    for trace in 0..600_i64 {
        let second = trace;
        let slow = (360..540).contains(&second);
        let cart = if slow { 50 * MS } else { 5 * MS } + trace * 7_919 % 200_000;
        let start = second * 1_000 * MS + 1_000_000_000_000;
        let _ = writeln!(out, "{trace:x},1,,front,front-pod,view,{start},{}", cart + 4 * MS);
        let _ = writeln!(out, "{trace:x},2,1,cart,cart-pod,get,{},{cart}", start + MS);
        let _ = writeln!(out, "{trace:x},3,1,ads,ads-pod,show,{},{MS}", start + cart + 2 * MS);
    }
    out
}

/// Twenty minutes of a server whose transactions take 20 ms each, and nothing else happens: utilization,
/// throughput and response time by the second.
fn seconds() -> [String; 3] {
    let mut files = ["All", "WC0", "WC0"].map(|column| format!("Timestamp;{column}\n"));
    for second in 0..1_200_u32 {
        let count = f64::from(second / 10 * 7 % 11 + second % 3);
        let utilization = count * 0.02;
        let values = [utilization, count, 0.02 / (1.0 - utilization)];
        for (file, value) in files.iter_mut().zip(values) {
            let _ = writeln!(file, "{};{value}", u64::from(second) * 1_000);
        }
    }
    files
}

const FAULTS: &str = r#"[{"inject_epoch_s": 1360, "pod": "cart-pod", "fault": "cpu", "performance": true},
    {"inject_epoch_s": 9000, "pod": "ads-pod", "fault": "cpu", "performance": true},
    {"inject_epoch_s": 1000, "pod": "ads-pod", "fault": "return", "performance": false}]"#;

fn write_all(folder: &Path) {
    let put = |set: &str, name: &str, text: &str| {
        fs::create_dir_all(folder.join(set)).unwrap();
        fs::write(folder.join(set).join(name), text).unwrap();
    };
    put("some-hdfs", "slowdn-x-38ms-03fdn.csv", &block_writes(3, 0));
    put("some-hdfs", "slowhdfs-x-00ms.csv", &block_writes(0, 0));
    put("some-hdfs", "slowhdfs-x-20ms.csv", &block_writes(0, 20));
    put("some-shop", "spans.csv", &shop());
    put("some-shop", "faults.json", FAULTS);
    put(
        "some-matrices",
        "system-1.csv",
        "Latency,a,b,anomaly\n9,8,1,1\n1,1,1,0\n2,1,1,0\n2,2,1,0\n2,1,2,0\n",
    );
    put("some-matrices", "notes.csv", "not,a,matrix\n");
    put("some-demands", "demands.csv", "exp,wc0_s,wc1_s,basis\n7,0.02,,known\n");
    let [utilization, throughput, response] = seconds();
    put("some-demands/util20-exp7", "host1_CPU_UTILIZATION.csv", &utilization);
    put("some-demands/util20-exp7", "host1_THROUGHPUT.csv", &throughput);
    put("some-demands/util20-exp7", "experiment1_AVERAGE_RESPONSE_TIME.csv", &response);
    put("some-demands/util20-exp8", "of-no-known-demand.csv", "");
}

fn evaluated(only: &str) -> Results {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    let data = Some(folder.path().to_owned());
    let options = Options { data, only: Some(only.to_owned()), ..Options::default() };
    run(&options, &mut |_| ()).unwrap()
}

/// Right cases of a method in groups whose name contains a text, and all of them.
fn right(results: &Results, method: &str, group: &str) -> (usize, usize) {
    let method = results.localizers.position(method).unwrap();
    let outcomes = results
        .localizers
        .outcomes
        .iter()
        .filter(|outcome| outcome.method == method && outcome.group.name.contains(group));
    let judged: Vec<bool> = outcomes.map(|outcome| outcome.score.judgment.right).collect();
    (judged.iter().filter(|&&right| right).count(), judged.len())
}

#[test]
fn runs_with_slow_nodes_are_recognized_by_their_names() {
    let results = evaluated("tracebench");
    assert_eq!(right(&results, "self-time excess", "unknown number"), (1, 1));
    assert_eq!(right(&results, "self-time excess", "sub-samples").1, 10);
    assert_eq!(right(&results, "self-time excess", "every node slow"), (1, 1));
    assert_eq!(right(&results, "clouddiag", "nothing injected"), (1, 1));
    // It assumes that something is wrong, so it cannot report that nothing is.
    assert_eq!(right(&results, "MicroRank, slowest 5 %", "nothing injected"), (0, 0));
}

#[test]
fn faults_are_searched_in_their_window_and_minute_by_minute() {
    let results = evaluated("online-boutique");
    for method in ["self-time excess", "p95-ratio"] {
        assert_eq!(right(&results, method, "known window, all other minutes"), (1, 1), "{method}");
        assert_eq!(right(&results, method, "known window, fault-free minutes"), (1, 1), "{method}");
    }
    assert_eq!(right(&results, "self-time excess", "minute by minute: faults"), (1, 1));
    // With the other minutes of the fault in the baseline, more than 5 % of it are slow as well.
    assert_eq!(right(&results, "p95-ratio", "minute by minute: faults"), (0, 1));
    // Ten minutes less three of either fault; the minute after the code defect, and that after the other, do not
    // count either. That leaves two.
    assert_eq!(right(&results, "p95-ratio", "minute by minute: fault-free").1, 2);
    // Ten minutes are too few for Laggard to say what is usual; other methods report no times.
    assert_eq!(right(&results, "combined", "one run: slow periods"), (0, 1));
    assert_eq!(right(&results, "combined", "one run: fault-free data"), (1, 1));
    assert_eq!(right(&results, "clouddiag", "one run"), (0, 0));
    assert!(results.notes.iter().any(|note| note.contains("ads-pod at 9000")), "{:?}", results.notes);
    let page = scorecard(&results);
    assert!(page.contains("## online-boutique") && !page.contains("## delag"), "{page}");
}

#[test]
fn matrices_are_recognized_by_their_header() {
    let results = evaluated("delag");
    assert!(results.localizers.outcomes.is_empty());
    let outcome_of = |finder: &str| {
        let position = results.patterns.position(finder).unwrap();
        results.patterns.outcomes.iter().filter(move |outcome| outcome.method == position)
    };
    for finder in ["slowest fifth", "best column"] {
        let f1: Vec<f64> =
            outcome_of(finder).filter_map(|outcome| outcome.score.score).map(|score| score.f1).collect();
        assert_eq!((f1, outcome_of(finder).count()), (vec![1.0], 1), "{finder}");
    }
    // Five rows are too few for Laggard; only it runs on those that nothing hit.
    let found: Vec<usize> = outcome_of("latency patterns").map(|outcome| outcome.score.groups).collect();
    assert_eq!(found, [0, 0]);
    assert!(scorecard(&results).contains("| system (1) | slowest fifth |"));
}

#[test]
fn demands_and_alarms_of_measured_runs() {
    let results = evaluated("cpu-demands");
    let estimators: Vec<&str> = results.demands.methods.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(results.demands.outcomes.len(), estimators.len());
    for outcome in &results.demands.outcomes {
        let error = outcome.score.relative_errors[0];
        assert!(error < 0.02, "{}: {error}", estimators[outcome.method]);
    }
    let threshold = results.changes.position("utilization above 70 %").unwrap();
    let quiet = results.changes.outcomes.iter().find(|outcome| outcome.method == threshold).unwrap();
    assert!(quiet.score.is_right() && quiet.group.name == "util20, no change");
    let page = scorecard(&results);
    assert!(page.contains("| util20 (1 runs) | least squares without a constant | 0.0 % |"), "{page}");
    assert!(page.contains("|  | utilization above 70 % | 1/1 | 0 | – | 0 |"), "{page}");
}

#[test]
fn a_quiet_hour_of_the_shop_by_a_selected_method() {
    let only = Some("tpcw/tpcw-few-clients".to_owned());
    let options =
        Options { only, methods: vec!["CUSUM of utilization".to_owned()], seeds: 1, ..Options::default() };
    let results = run(&options, &mut |_| ()).unwrap();
    let [outcome] = &results.changes.outcomes[..] else { panic!("{:?}", results.changes) };
    assert_eq!((outcome.score.expected, outcome.case.as_str()), (1, "seed 1"));
    assert!(scorecard(&results).contains("## tpcw\n"));
}

#[test]
fn simulated_incidents_need_no_folder() {
    let only = Some("simulator/one-of-two".to_owned());
    let options = Options { only, requests: 60, seeds: 1, ..Options::default() };
    let results = run(&options, &mut |_| ()).unwrap();
    let groups: Vec<&str> =
        results.localizers.outcomes.iter().map(|outcome| outcome.group.name.as_str()).collect();
    assert!(groups.contains(&"one-of-two") && groups.contains(&"one-of-two, with baseline"), "{groups:?}");
    assert!(results.localizers.outcomes.iter().all(|outcome| outcome.group.set == SetKind::Simulator));
    // Methods that ignore baselines are not run twice, but are in both groups.
    for method in ["combined", "clouddiag", "pca", "TraceRCA"] {
        assert_eq!(right(&results, method, "one-of-two").1, 2, "{method}");
    }
}

#[test]
fn unknown_methods_and_missing_files_are_errors() {
    let fails = |options: Options| run(&options, &mut |_| ()).unwrap_err();
    let method = Options { methods: vec!["guessing".to_owned()], ..Options::default() };
    assert!(fails(method).contains("clouddiag"));
    let nothing = Options { only: Some("moon".to_owned()), ..Options::default() };
    assert!(fails(nothing).contains("tracebench, online-boutique"));
    let absent = Options { data: Some("no/such/folder".into()), ..Options::default() };
    assert!(fails(absent).contains("no/such/folder"));
}
