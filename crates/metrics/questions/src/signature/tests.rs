//! Signatures of windows with known service times.

use super::*;
use laggard_model::{Losses, Nanos, Timestamp};
use laggard_numeric::Matrix;
use laggard_report::{DiffVerdict, SignatureDiff, TransactionOutcome};
use laggard_samples::TransactionWindows;

/// Windows of one server: utilization and the service times of two types in ms, to which queueing is added.
fn table(windows: usize, cart_ms: f64, home_ms: f64, cores: Option<f64>) -> WindowTable {
    // Small noise of mean 0, the same in every run.
    let noise = |row: usize, column: usize| 1.0 + 0.02 * (((row * 7 + column * 3) % 11) as f64 - 5.0) / 5.0;
    let used = |row: usize| 0.2 + 0.05 * (row % 8) as f64;
    let mut response = Vec::new();
    for row in 0..windows {
        let queueing = 1.0 / (1.0 - used(row).powf(cores.unwrap_or(1.0)));
        response.push(cart_ms / 1e3 * noise(row, 0) * queueing);
        response.push(home_ms / 1e3 * noise(row, 1) * queueing);
    }
    let counts = (0..windows).flat_map(|row| [50.0 + (row % 5) as f64, 20.0 + (row % 3) as f64]).collect();
    WindowTable {
        since: Timestamp::from_unix_ns(0),
        length: Nanos::from_secs(60),
        windows,
        transactions: vec!["Cart".to_owned(), "Home".to_owned()],
        system: TransactionWindows {
            counts: Matrix::from_row_major(windows, 2, counts),
            response_s: Matrix::from_row_major(windows, 2, response),
            outbound: vec![],
        },
        clients: vec![f64::NAN; windows],
        servers: vec![ServerWindows {
            memory: vec![],
            network: vec![],
            server: "app-1".to_owned(),
            tier: "front".to_owned(),
            machine: None,
            cores,
            utilization: (0..windows).map(used).collect(),
            own: None,
        }],
        losses: Losses::default(),
        cautions: vec![],
    }
}

fn build(table: &WindowTable) -> Signature {
    let facts = SampleFacts::default();
    build_signature(&SignatureQuestion { table, facts: &facts, label: "v1", types_max: 64 })
}

fn diff(old: &Signature, new: &Signature) -> SignatureDiff {
    let named = |file, signature| NamedSignature { file, signature };
    diff_signatures(named("old.json", old), named("new.json", new), &DiffThresholds::default())
}

fn outcomes(diff: &SignatureDiff) -> Vec<(&str, TransactionOutcome)> {
    diff.transactions
        .iter()
        .map(|transaction| (transaction.transaction.as_str(), transaction.outcome))
        .collect()
}

#[test]
fn service_times_are_recovered_from_response_times() {
    let signature = build(&table(60, 4.0, 9.0, None));
    assert_eq!(signature.verdict, SignatureVerdict::Usable);
    let server = &signature.servers[0];
    let source = |index: usize| {
        (&*server.transactions[index].transaction, server.transactions[index].service_time_s.unwrap())
    };
    let [(first, cart), (second, home)] = [source(0), source(1)];
    assert_eq!([first, second], ["Cart", "Home"]);
    assert!((cart - 0.004).abs() < 1e-4 && (home - 0.009).abs() < 2e-4, "{cart} {home}");
    assert_eq!((server.transactions[0].windows, server.cores, server.cores_known), (60, 1.0, false));
    // Quantiles in order around the median, which is the tenth of twenty steps.
    let distribution = &server.transactions[0].distribution_s;
    assert!(distribution.len() == 21 && distribution.is_sorted(), "{distribution:?}");
    assert!((distribution[10] / cart - 1.0).abs() < 0.01, "{distribution:?} {cart}");
    let share: f64 = server.transactions.iter().map(|transaction| transaction.share).sum();
    assert!((share - 1.0).abs() < 1e-12);
    assert!(
        signature.cautions.iter().all(|text| !text.contains("depend on the load")),
        "{:?}",
        signature.cautions
    );
}

#[test]
fn a_wrong_number_of_cores_is_reported() {
    let mut four = table(120, 4.0, 9.0, Some(4.0));
    assert!(build(&four).cautions.is_empty());
    four.servers[0].cores = None;
    assert!(build(&four).cautions.iter().any(|text| text.contains("depend on the load")));
}

#[test]
fn only_slower_transactions_are_named() {
    let (old, new) = (build(&table(60, 4.0, 9.0, None)), build(&table(60, 4.0, 10.5, None)));
    let result = diff(&old, &new);
    assert_eq!(result.verdict, DiffVerdict::Slower);
    assert_eq!(outcomes(&result), [("Home", TransactionOutcome::Slower), ("Cart", TransactionOutcome::Same)]);
    assert!((result.transactions[0].difference_s.unwrap() - 0.0015).abs() < 2e-4);
    assert!(
        result.headline.contains("`Home` takes +1.5") && result.headline.contains("on `app-1`"),
        "{}",
        result.headline
    );
    // The time itself, although the CPU does not show it.
    let cart = diff(&old, &build(&table(60, 5.0, 9.0, None)));
    assert_eq!(outcomes(&cart), [("Cart", TransactionOutcome::Slower), ("Home", TransactionOutcome::Same)]);
    assert!((cart.transactions[0].difference_s.unwrap() - 0.001).abs() < 1e-4, "{cart:?}");
    let back = diff(&new, &old);
    assert_eq!((back.verdict, back.counts.faster), (DiffVerdict::Faster, 1));
    let same = diff(&old, &old);
    assert_eq!((same.verdict, same.counts.same), (DiffVerdict::Same, 2));
    assert!(same.cautions[0].contains("overlapping"), "{:?}", same.cautions);
}

/// A change of less than a twentieth is not reported, however significant it is; of more, it is.
#[test]
fn small_changes_are_not_reported() {
    let of_cart = |ms| diff(&build(&table(600, 4.0, 9.0, None)), &build(&table(600, ms, 9.0, None)));
    assert_eq!(of_cart(4.15).verdict, DiffVerdict::Same);
    assert_eq!(outcomes(&of_cart(4.5))[0], ("Cart", TransactionOutcome::Slower));
}

#[test]
fn too_few_windows_are_not_evaluated() {
    let (old, new) = (build(&table(60, 4.0, 9.0, None)), build(&table(29, 40.0, 90.0, None)));
    assert_eq!(new.verdict, SignatureVerdict::InsufficientData);
    assert!(new.missing[0].contains("29 windows"), "{:?}", new.missing);
    let result = diff(&old, &new);
    assert_eq!((result.verdict, result.counts.inconclusive), (DiffVerdict::InsufficientData, 2));
    assert_eq!(result.transactions[0].reason.as_deref(), Some("29 windows after, 30 are needed"));
    assert!(result.headline.starts_with("Too little data"), "{}", result.headline);
}

/// The same difference at a different load may be an error of the correction for queueing.
#[test]
fn a_difference_that_a_different_load_may_explain_is_not_reported() {
    let [mut old, mut new] = [9.0, 11.0].map(|home| without_shares(build(&table(60, 4.0, home, None))));
    assert_eq!(diff(&old, &new).counts.slower, 1);
    let used = new.servers[0].utilization_mean.unwrap();
    // (1 - 0.375) / (1 - 0.7) is e to the 0.73: half of that is more than 22 %, but less than 200 %.
    assert!((used - 0.375).abs() < 0.01);
    new.servers[0].utilization_mean = Some(0.7);
    let result = diff(&old, &new);
    let home = result.transactions.iter().find(|transaction| transaction.transaction == "Home").unwrap();
    assert_eq!(home.outcome, TransactionOutcome::Inconclusive);
    assert!(home.reason.as_ref().unwrap().contains("another load"), "{home:?}");
    // It grew by more than a change has to: that is no "same".
    assert_eq!(result.verdict, DiffVerdict::InsufficientData);
    assert!(result.missing[0].contains("`Home` takes +22 %"), "{:?}", result.missing);
    let mut slow = without_shares(build(&table(60, 4.0, 27.0, None)));
    slow.servers[0].utilization_mean = Some(0.7);
    assert_eq!(diff(&old, &slow).counts.slower, 1);
    old.servers[0].utilization_mean = None;
    assert_eq!(diff(&old, &new).counts.slower, 1);
}

/// A growth by `factor` with a relative standard error on either side, in `windows` windows.
fn grown(factor: f64, error: f64, windows: u64) -> SignatureDiff {
    let [old, new] = [1.0, factor].map(|factor| {
        let mut signature = without_shares(build(&table(60, 4.0, 9.0, None)));
        let home = &mut signature.servers[0].transactions[1];
        home.service_time_s = Some(0.009 * factor);
        home.standard_error_s = Some(0.009 * error);
        home.windows = windows;
        signature
    });
    diff(&old, &new)
}

/// +30 % with a standard error of 14 % are 2.1 of them: less than the 2.64 that one of two transactions needs.
#[test]
fn a_large_growth_that_is_not_significant_is_not_judged() {
    let large = grown(1.3, 0.1, 60);
    assert_eq!(large.verdict, DiffVerdict::InsufficientData, "{large:?}");
    let expected = "`Home` takes +30 %, but that could not be judged: one of so many may by chance take up to 37 % longer.";
    assert_eq!(large.missing, [expected]);
    assert!(large.headline.contains(expected), "{}", large.headline);
    // Less than two errors, or not large: nothing was found.
    assert_eq!(grown(1.3, 0.25, 60).verdict, DiffVerdict::Same);
    assert_eq!(grown(1.15, 0.1, 60).verdict, DiffVerdict::Same);
    // What got much faster by chance stops nothing.
    assert_eq!(grown(0.7, 0.1, 60).verdict, DiffVerdict::Same);
    assert_eq!(grown(1.5, 0.1, 60).verdict, DiffVerdict::Slower);
}

#[test]
fn a_large_growth_in_few_windows_is_not_judged() {
    let few = grown(1.3, 0.1, 29);
    assert_eq!(few.verdict, DiffVerdict::InsufficientData, "{few:?}");
    assert!(few.missing[0].contains("29 windows before, 30 are needed"), "{:?}", few.missing);
    assert_eq!(grown(1.1, 0.1, 29).verdict, DiffVerdict::Same);
}

/// As earlier versions wrote them.
fn without_shares(mut signature: Signature) -> Signature {
    for transaction in signature.servers.iter_mut().flat_map(|server| &mut server.transactions) {
        (transaction.work_share_s, transaction.work_share_error_s) = (None, None);
    }
    signature
}

/// A processor that transactions share; the formula of queueing is wrong by a third at high load.
fn shared_table(load: f64, home_ms: f64) -> WindowTable {
    let mut table = table(120, 4.0, home_ms, Some(1.0));
    for row in 0..120 {
        let rate = load * (1.0 + 0.1 * ((row % 7) as f64 - 3.0) / 3.0);
        let counts = [rate * 60.0 / 0.008, rate * 60.0 / 0.018];
        let used = (counts[0] * 0.004 + counts[1] * home_ms / 1e3) / 60.0;
        table.servers[0].utilization[row] = used;
        for (kind, ms) in [(0, 4.0), (1, home_ms)] {
            let noise = 1.0 + 0.02 * (((row * 7 + kind * 3) % 11) as f64 - 5.0) / 5.0;
            table.system.counts.set(row, kind, counts[kind]);
            table.system.response_s.set(row, kind, ms / 1e3 * noise * (-0.4 * used).exp() / (1.0 - used));
        }
    }
    table
}

#[test]
fn signatures_at_different_loads_are_compared_by_their_work() {
    for (before, after) in [(0.2, 0.7), (0.7, 0.2), (0.5, 0.7)] {
        let old = build(&shared_table(before, 9.0));
        let same = diff(&old, &build(&shared_table(after, 9.0)));
        assert_eq!((same.verdict, same.counts.same), (DiffVerdict::Same, 2), "{before} {after}: {same:?}");
        assert!(same.headline.contains("would have been seen"), "{}", same.headline);
        let slower = diff(&old, &build(&shared_table(after, 9.0 * 1.15)));
        assert_eq!(slower.verdict, DiffVerdict::Slower, "{before} {after}: {}", slower.headline);
        assert_eq!(slower.transactions[0].transaction, "Home");
    }
}

#[test]
fn new_and_removed_transactions_are_reported() {
    let old = build(&table(60, 4.0, 9.0, None));
    let mut renamed = table(60, 4.0, 9.0, None);
    renamed.transactions[0] = "Basket".to_owned();
    let result = diff(&old, &build(&renamed));
    let expected = [
        ("Basket", TransactionOutcome::New),
        ("Cart", TransactionOutcome::Removed),
        ("Home", TransactionOutcome::Same),
    ];
    assert_eq!(outcomes(&result), expected);
}

/// If every deployment has new server names, all servers of a tier are compared.
#[test]
fn servers_with_different_names_are_compared_by_tier() {
    let old = build(&table(60, 4.0, 9.0, None));
    let mut two = table(60, 4.0, 12.0, None);
    let mut other = two.servers[0].clone();
    other.server = "app-8".to_owned();
    two.servers[0].server = "app-7".to_owned();
    two.servers.push(other);
    let result = diff(&old, &build(&two));
    assert_eq!(outcomes(&result), [("Home", TransactionOutcome::Slower), ("Cart", TransactionOutcome::Same)]);
    let home = &result.transactions[0];
    assert_eq!((&*home.server, &*home.tier, home.windows_after), ("", "front", 120));
    assert!(result.cautions.iter().any(|text| text.contains("1 and 2 servers")), "{:?}", result.cautions);
}

#[test]
fn missing_data_gives_no_verdict() {
    let mut bare = table(60, 4.0, 9.0, None);
    bare.system.response_s = Matrix::zeros(0, 0);
    let signature = build(&bare);
    assert_eq!(signature.verdict, SignatureVerdict::InsufficientData);
    assert!(signature.missing[0].contains("No response times"), "{:?}", signature.missing);
    bare.servers.clear();
    assert!(build(&bare).missing[0].contains("No CPU utilization"));
    assert_eq!(diff(&signature, &build(&bare)).verdict, DiffVerdict::InsufficientData);
    assert_eq!(diff(&Signature::default(), &Signature::default()).verdict, DiffVerdict::InsufficientData);
}

/// Numbers differ at most in the last digit.
#[test]
fn the_signature_file_is_read_back() {
    let signature = build(&table(60, 4.0, 9.0, Some(2.0)));
    let mut file = Vec::new();
    let style = laggard_report::TextStyle { color: laggard_report::ColorChoice::Off, width: 80 };
    laggard_report::render(laggard_report::Output::Json, &signature, &style, &mut file).unwrap();
    let read = laggard_report::read_signature(std::str::from_utf8(&file).unwrap()).unwrap();
    let rows = |source: &Signature| -> Vec<(String, u64, Option<f64>, Option<f64>)> {
        let all = source.servers.iter().flat_map(|server| &server.transactions);
        let digits = |value: Option<f64>| value.map(|value| (value * 1e12).round());
        let row = |transaction: &TransactionSignature| {
            (
                transaction.transaction.clone(),
                transaction.windows,
                digits(transaction.service_time_s),
                digits(transaction.standard_error_s),
            )
        };
        all.map(row).collect()
    };
    assert_eq!(rows(&read), rows(&signature));
    assert_eq!(read.servers[0].cores, 2.0);
    assert_eq!(
        (read.time.unwrap().to_string(), read.window_s),
        ("1970-01-01T00:00:00.000Z to 1970-01-01T01:00:00.000Z".to_owned(), 60.0)
    );
    assert_eq!(read.label, "v1");
}
