//! `signature diff` of a shop whose transactions use CPU after their response: the sizes of what it states.

use crate::tpcw_table::table;
use laggard_metrics_questions::{
    DiffThresholds, NamedSignature, SampleFacts, SignatureQuestion, build_signature, diff_signatures,
};
use laggard_numeric::Matrix;
use laggard_report::{
    ComparedQuantity, DiffVerdict, Signature, SignatureDiff, TransactionDiff, TransactionOutcome,
};
use laggard_samples::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};
use laggard_simulate::{Phase, TpcwScenario, TpcwSettings, Workload, tpcw};
use std::ops::Range;

/// Four hours of shopping by up to `clients`, with Home's main page `extra_s` more expensive.
fn signature(seed: u64, clients: u32, extra_s: f64) -> Signature {
    let workload = Workload::Steps { mix: 1, clients: vec![clients / 2, clients, clients / 4 * 3] };
    let phase = Phase::new(240, workload).with_change("Home", extra_s);
    let mut table = table(&tpcw(&TpcwSettings::new(seed, vec![phase])).unwrap());
    table.servers.retain(|server| server.tier == "front");
    signature_of(&table)
}

fn signature_of(table: &WindowTable) -> Signature {
    build_signature(&SignatureQuestion { table, facts: &SampleFacts::default(), label: "", types_max: 64 })
}

fn diff(old: &Signature, new: &Signature) -> SignatureDiff {
    let [old, new] = [("old", old), ("new", new)].map(|(file, signature)| NamedSignature { file, signature });
    diff_signatures(old, new, &DiffThresholds::default())
}

/// Its milliseconds, and of what; nothing else may be slower or faster.
fn only_home(diff: &SignatureDiff, outcome: TransactionOutcome) -> (f64, Option<ComparedQuantity>) {
    let is_changed = |row: &&TransactionDiff| {
        matches!(row.outcome, TransactionOutcome::Slower | TransactionOutcome::Faster)
    };
    let changed: Vec<&TransactionDiff> = diff.transactions.iter().filter(is_changed).collect();
    let [home] = changed[..] else { panic!("{changed:#?}") };
    assert_eq!((&*home.transaction, home.outcome), ("Home", outcome));
    (1e3 * home.difference_s.unwrap(), home.quantity)
}

/// A third of the CPU is used after responses, and does not change. In proportion to times, Home would take 6.5 ms more, and
/// all others less.
#[test]
fn a_transaction_takes_what_the_server_works_more() {
    let pairs = [(1, [400, 700], DiffVerdict::Faster), (2, [700, 400], DiffVerdict::InsufficientData)];
    for (seed, [before, after], back) in pairs {
        let (old, new) = (signature(seed, before, 0.0), signature(seed + 10, after, 0.005));
        let slower = diff(&old, &new);
        let (size, quantity) = only_home(&slower, TransactionOutcome::Slower);
        assert!((size - 5.0).abs() < 0.3, "seed {seed}: {size}");
        assert_eq!(quantity, Some(ComparedQuantity::WorkDifference));
        assert!(slower.headline.contains(" ms of CPU ("), "{}", slower.headline);
        // And back: nothing is slower.
        let faster = diff(&new, &old);
        assert_eq!(faster.verdict, back, "seed {seed}: {}", faster.headline);
        let (size, _) = only_home(&faster, TransactionOutcome::Faster);
        assert!((size + 5.0).abs() < 0.3, "seed {seed}: {size}");
        // One call in a thousand takes 24 % longer, which is just within chance: that is not passed over.
        let not_judged = faster.missing.iter().any(|text| text.starts_with("`Admin Request` takes +24 %"));
        assert_eq!(not_judged, back == DiffVerdict::InsufficientData, "{:?}", faster.missing);
    }
}

/// The thirty hours of the paper: before the change, another process uses the CPU for three hours, and the mix changes.
#[test]
fn foreign_load_in_one_of_the_periods_changes_no_size() {
    let run = tpcw(&TpcwSettings::scenario(TpcwScenario::Paper, 1)).unwrap();
    let table = table(&run);
    let [old, new] = [0..1_290, 1_290..1_545].map(|rows| signature_of(&part(&table, rows)));
    let foreign = "180 of 1290 windows of `front-1` are not used";
    assert!(old.cautions.iter().any(|text| text.starts_with(foreign)), "{:?}", old.cautions);
    let (size, _) = only_home(&diff(&old, &new), TransactionOutcome::Slower);
    assert!((size - 5.0).abs() < 0.3, "{size}");
}

/// The windows `rows` of the front tier.
fn part(table: &WindowTable, rows: Range<usize>) -> WindowTable {
    let matrix = |all: &Matrix| {
        let cells = rows.clone().flat_map(|row| all.row(row).to_vec()).collect();
        Matrix::from_row_major(rows.len(), all.cols(), cells)
    };
    let transactions = |all: &TransactionWindows| TransactionWindows {
        counts: matrix(&all.counts),
        response_s: matrix(&all.response_s),
        outbound: all
            .outbound
            .iter()
            .map(|calls| OutboundWindows {
                callee: calls.callee.clone(),
                counts: matrix(&calls.counts),
                time_s: matrix(&calls.time_s),
            })
            .collect(),
    };
    let front = table.servers.iter().filter(|server| server.tier == "front");
    let servers = front.map(|server| ServerWindows {
        utilization: server.utilization[rows.clone()].to_vec(),
        own: server.own.as_ref().map(transactions),
        ..server.clone()
    });
    WindowTable {
        windows: rows.len(),
        system: transactions(&table.system),
        clients: table.clients[rows.clone()].to_vec(),
        servers: servers.collect(),
        ..table.clone()
    }
}
