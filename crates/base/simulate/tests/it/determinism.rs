//! Same settings, same bytes.

use crate::support::{draw, small, write};
use laggard_model::Fingerprint;
use laggard_simulate::{OutputFormat, Scenario, Settings};

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    for format in OutputFormat::ALL {
        let settings = Settings { late_host: true, ..small(Scenario::Failover, 8) };
        let settings = Settings { drop_records: 0.01, duplicate_records: 0.01, ..settings };
        let (first, _) = write(&settings, format);
        let (second, _) = write(&settings, format);
        assert!(first.files("traces") == second.files("traces"), "{}", format.name());
        assert!(first.files("") == second.files(""), "{}", format.name());
        let (other, _) = write(&Settings { seed: 9, ..settings.clone() }, format);
        assert!(first.files("traces") != other.files("traces"), "{}", format.name());
        let (later, _) = write(&Settings { run: 1, ..settings }, format);
        assert!(first.files("traces") != later.files("traces"), "{}", format.name());
    }
}

/// Holds across platforms, compilers and versions: figures in the documentation depend on it. A change is
/// allowed when the generator is meant to change, and then belongs into the release notes.
#[test]
fn the_bytes_never_change() {
    let fingerprints: Vec<String> = [OutputFormat::SpanCsv, OutputFormat::OtlpProto]
        .into_iter()
        .map(|format| {
            let (folder, _) = write(&small(Scenario::HeavyTail, 1), format);
            let mut files = folder.files("traces");
            files.extend(folder.files(""));
            Fingerprint::from_bytes(&files.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>())
                .to_string()
        })
        .collect();
    assert_eq!(fingerprints, KNOWN);
}

const KNOWN: [&str; 2] = ["07c8b75aead3fcb5634cd5f1fbe63e3b", "2b17c2ff99af23662239e04c7f7ea534"];

#[test]
fn requests_do_not_depend_on_their_number() {
    let few = draw(&small(Scenario::Quiet, 2));
    let many = draw(&Settings { requests_per_service: 90, ..small(Scenario::Quiet, 2) });
    for request in &few {
        let same = many.iter().find(|other| other.trace_id == request.trace_id).unwrap();
        assert_eq!(same.calls, request.calls);
    }
}

#[test]
fn another_run_has_the_same_system_and_different_requests() {
    let settings = small(Scenario::Quiet, 2);
    let (first, second) = (draw(&settings), draw(&Settings { run: 1, ..settings }));
    assert!(first.iter().all(|a| second.iter().all(|b| a.trace_id != b.trace_id)));
    let tree = |request: &laggard_simulate::Request| -> Vec<(Option<u32>, String)> {
        let row = |call: &laggard_simulate::Call| (call.parent, request.operation(call).to_owned());
        request.calls.iter().map(row).collect()
    };
    let mut compared = 0;
    for a in &first {
        for b in second.iter().filter(|b| b.category == a.category) {
            assert_eq!(tree(a), tree(b));
            compared += 1;
        }
    }
    assert!(compared > 100);
}
