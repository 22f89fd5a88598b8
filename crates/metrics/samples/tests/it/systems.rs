//! Which transactions are those of the whole system.

use crate::{GeneratedSamples, counts, sample, settings, shown, table_of, windows};
use laggard_model::Measure;
use laggard_samples::WindowError;

fn every_minute(
    minutes: std::ops::Range<u32>,
    server: &'static str,
    tier: &'static str,
    value: f64,
) -> Vec<GeneratedSamples> {
    let sample =
        |index: u32| sample(60.0 * f64::from(index), Measure::Transactions, "Home", value).at(server, tier);
    minutes.map(sample).collect()
}

#[test]
fn servers_of_the_only_tier_add_up_while_they_run() {
    let mut samples = every_minute(0..6, "a", "app", 5.0);
    samples.extend(
        every_minute(2..6, "b", "app", 3.0).into_iter().filter(|sample| sample.ns != 3 * crate::MINUTE),
    );
    let table = windows(&samples, 60);
    // b starts in the third minute and is silent in the fourth.
    assert_eq!(counts(&table, "Home"), [5.0, 5.0, 8.0, -1.0, 8.0, 8.0]);
    let own = table.servers[1].own.as_ref().unwrap();
    assert_eq!(shown(own.counts.column(0)), [-1.0, -1.0, 3.0, -1.0, 3.0, 3.0]);
}

#[test]
fn system_counts_take_precedence_over_server_counts() {
    let mut samples = every_minute(0..3, "", "", 9.0);
    samples.extend(every_minute(0..3, "a", "app", 5.0));
    let table = windows(&samples, 60);
    assert_eq!(counts(&table, "Home"), [9.0; 3]);
    assert_eq!(table.servers.len(), 1, "the system is not a server");
    assert!(table.cautions.is_empty());
}

#[test]
fn the_system_is_the_front_of_several_tiers() {
    let mut samples = every_minute(0..3, "a1", "cart", 50.0);
    samples.extend(every_minute(0..3, "f1", "frontend", 10.0));
    samples.extend(every_minute(0..3, "f2", "frontend", 10.0));
    let table = windows(&samples, 60);
    assert_eq!(counts(&table, "Home"), [20.0; 3]);
    assert!(table.cautions[0].contains("2 tiers"), "{:?}", table.cautions);
    let mut settings_with_front = settings(60);
    settings_with_front.front = Some("cart".to_owned());
    let table = table_of(&samples).finish(&settings_with_front).unwrap();
    assert_eq!(counts(&table, "Home"), [50.0; 3]);
    assert!(table.cautions.is_empty());
}

#[test]
fn a_server_that_names_its_tier_once_belongs_to_it() {
    let mut samples = every_minute(0..3, "a", "app", 5.0);
    samples.extend(
        (0..3).map(|index| sample(60.0 * f64::from(index), Measure::Utilization, "", 0.5).at("a", "")),
    );
    let table = windows(&samples, 60);
    assert_eq!(table.servers.len(), 1);
    assert_eq!(shown(table.servers[0].utilization.clone()), [0.5; 3]);
    assert!(table.servers[0].own.is_some());
}

#[test]
fn clients_are_averaged() {
    let mut samples = every_minute(0..2, "", "", 5.0);
    samples.extend(
        (0..8).map(|index| sample(15.0 * f64::from(index), Measure::Clients, "", f64::from(100 + index))),
    );
    assert_eq!(shown(windows(&samples, 60).clients), [101.5, 105.5]);
}

#[test]
fn a_server_with_rare_counts_is_left_out_with_a_caution() {
    let every = |spacing: f64, server| {
        let sample_of =
            move |sample_of: u32| sample(spacing * f64::from(sample_of), Measure::Transactions, "Home", 6.0);
        (0..12).map(move |number| sample_of(number).at(server, "app"))
    };
    let samples: Vec<_> = every(60.0, "a").chain(every(120.0, "b")).collect();
    let table = windows(&samples, 60);
    assert_eq!(counts(&table, "Home"), [6.0; 12]);
    let cautions = table.cautions.join("\n");
    assert!(
        cautions.contains("counts of transactions of b were not used: they come every 120 s"),
        "{cautions}"
    );
    let used = (0..24).map(|index| sample(60.0 * f64::from(index), Measure::Utilization, "", 0.5));
    let only_rare: Vec<_> = every(120.0, "b").chain(used).collect();
    assert!(matches!(table_of(&only_rare).finish(&settings(60)), Err(WindowError::TooFine { .. })));
}

#[test]
fn unrequested_servers_do_not_count_towards_the_size() {
    let mut samples: Vec<GeneratedSamples> = Vec::new();
    // A front and 40 others, with one transaction type each, at both ends of five weeks.
    let names: Vec<&'static str> = (0..41).map(|number| &*format!("node-{number}").leak()).collect();
    for (number, &name) in names.iter().enumerate() {
        let tier = if number == 0 { "front" } else { "backend" };
        for minute in [0, 1, 2, 3, 50_000] {
            samples.push(sample(60.0 * f64::from(minute), Measure::Transactions, name, 6.0).at(name, tier));
        }
    }
    assert!(matches!(table_of(&samples).finish(&settings(60)), Err(WindowError::TooLarge { .. })));
    let mut front_only = settings(60);
    front_only.servers = vec!["node-0".to_owned()];
    for second in [0.0, 20.0, 40.0] {
        samples.push(sample(second, Measure::Utilization, "", 0.5).at("node-0", "front"));
    }
    let table = table_of(&samples).finish(&front_only).unwrap();
    assert_eq!((table.servers.len(), table.windows), (1, 50_001));
}
