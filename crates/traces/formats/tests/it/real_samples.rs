//! Real tables of samples of the measurement archive. Figures were determined with an independent CSV reader.

use laggard_formats::{InputSettings, NoProgress, ReaderOptions, expand, parse_column_option, read_all};
use laggard_model::{Collect, Loss, Measure, OwnedSample};
use laggard_testkit::data_folder;
use std::path::Path;

fn read(path: &Path, reader: ReaderOptions) -> Collect {
    let sources = expand(&[path.to_path_buf()]).unwrap();
    let mut sink = Collect::default();
    read_all(&sources, &InputSettings { reader, ..InputSettings::default() }, &mut sink, &NoProgress)
        .unwrap();
    sink
}

fn of<'a>(samples: &'a [OwnedSample], measure: Measure, transaction: &'a str) -> Vec<&'a OwnedSample> {
    samples.iter().filter(|it| it.measure == measure && it.transaction == transaction).collect()
}

/// Three files a run, each of one measure, with nothing but their names to say which.
#[test]
fn cpu_demands_are_read_unchanged() {
    let Some(root) = data_folder("cpu-demands") else { return };
    let found = read(&root.join("util80-exp3"), ReaderOptions::default());
    assert!(found.losses.is_empty(), "{:?}", found.losses);
    let utilization = of(&found.samples, Measure::Utilization, "");
    assert!(utilization.iter().all(|it| it.server == "host1" && (0.0..=1.0).contains(&it.value)));
    let lines = std::fs::read_to_string(root.join("util80-exp3/host1_CPU_UTILIZATION.csv")).unwrap();
    assert_eq!(utilization.len(), lines.lines().count() - 1);
    assert_eq!(utilization[0].time.unix_ns(), 1_370_202_159_000_000_000);
    let rates = of(&found.samples, Measure::TransactionRate, "WC1");
    assert_eq!((rates[0].value, &*rates[0].server), (12.5, ""));
    assert_eq!(of(&found.samples, Measure::ResponseTime, "WC0")[0].value, 0.149_181_818_181_818_2);
}

#[test]
fn every_run_of_cpu_demands_is_read_without_loss() {
    let Some(root) = data_folder("cpu-demands") else { return };
    let found = read(&root, ReaderOptions::default());
    assert!(found.losses.is_empty(), "{:?}", found.losses);
    assert_eq!(of(&found.samples, Measure::Utilization, "").len(), UTILIZATION_ROWS);
    assert_eq!(found.samples.len(), ALL_VALUES);
}

const UTILIZATION_ROWS: usize = 42_525;
const ALL_VALUES: usize = 169_287;

/// Pod metrics in an archive: the share of the CPU limit is known by its title, the rate by a mapping.
#[test]
fn pod_metrics_are_read_from_their_archive() {
    let Some(root) = data_folder("online-boutique") else { return };
    let columns = vec![parse_column_option("rate=PodWorkload(Ops)").unwrap()];
    let found =
        read(&root.join("pod-metrics.tar.zst"), ReaderOptions { columns, ..ReaderOptions::default() });
    let pod = "cartservice-579f59597d-wc2lz";
    let utilization = of(&found.samples, Measure::Utilization, "");
    let first = utilization.iter().find(|it| it.server == pod).unwrap();
    assert_eq!(first.time.unix_ns(), 1_661_140_279_640_328_427);
    assert!((first.value - 0.094_756_820_850_329_42).abs() < 1e-15);
    let rate = found.samples.iter().find(|it| it.measure == Measure::TransactionRate && it.server == pod);
    assert_eq!(rate.unwrap().value, 9.066_666_666_666_668);
    assert_eq!(found.losses.count(Loss::MalformedRecord), 0);
}
