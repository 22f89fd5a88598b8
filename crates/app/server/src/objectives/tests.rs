//! Budgets, burn rates, and rules, calculated by hand.

use super::block::{Block, BlockCounts, Count, RequestOutcome, sum};
use super::burn::{burn_rate, chance, window_count};
use super::figures::figures;
use super::rules::evaluate;
use super::storage::{self, Measured, MeasuredByName};
use crate::alerts::{AlertList, AlertState, ObjectiveSeverity, Rules};
use crate::settings::ObjectiveSettings;
use laggard_model::{AdjustedCount, Nanos, Timestamp};

/// 2026-01-12T09:00:00Z, where a block begins.
const START: Timestamp = Timestamp::from_unix_ns(1_768_208_400_000_000_000);

fn count(requests: u64, bad: u64) -> Count {
    let (weight, bad_weight) = (requests as f64, bad as f64);
    Count { requests, bad, incomplete: 0, weight, bad_weight, squares: weight }
}

/// The same count in each of the blocks of the last minutes; `START` is in the last block.
fn last(minutes: i64, each: Count) -> BlockCounts {
    let last = Block::at(START);
    Block::range(last.plus(1 - minutes / 5)..=last).map(|block| (block, each)).collect()
}

#[test]
fn a_budget_by_hand() {
    // A million requests in the period may have 500 bad ones. 200 are bad: 60 % are left.
    let blocks = 8_000;
    let mut counts = last(5 * blocks, count(125, 0));
    let bad_block = Block::at(START).plus(-4_000);
    counts.insert(bad_block, count(125, 100));
    counts.insert(bad_block.next(), count(125, 100));
    let figures = figures(&ObjectiveSettings::example(), &counts, START);
    assert_eq!((figures.requests, figures.bad, figures.represented), (1_000_000, 200, 1e6));
    assert!((figures.good_share.unwrap() - 0.9998).abs() < 1e-12);
    assert!((figures.budget - 500.0).abs() < 1e-6 && (figures.budget_left.unwrap() - 0.6).abs() < 1e-9);
    assert_eq!(figures.covered_ns, blocks as u64 * 300_000_000_000);
    assert_eq!(figures.since_ns, Some(Block::at(START).plus(1 - blocks).since().unix_ns()));
    assert!(figures.burn_rates.iter().all(|burn| burn.rate == Some(0.0)), "it is long over");
    // Steps of four hours: both bad blocks are in one of them, 200 of 6,000 requests: 66.7 times what is allowed.
    let history = figures.history;
    assert_eq!((history.burn_rate.len(), history.step_ns), (168, 4 * 3_600_000_000_000));
    let burned: Vec<f64> = history.burn_rate.iter().flatten().copied().filter(|rate| *rate > 0.0).collect();
    assert!((burned.iter().sum::<f64>() - 200.0 / 6_000.0 / 0.0005).abs() < 1e-6, "{burned:?}");
    let ends = history.since_ns + 168 * history.step_ns as i64;
    assert_eq!(ends, Block::at(START).next().since().unix_ns(), "it ends with the current block");
}

#[test]
fn burn_rates_by_hand() {
    // 72 of 10,000 requests are bad: 0.72 %, 14.4 times 0.05 %.
    let rate = burn_rate(&count(10_000, 72), ObjectiveSettings::example().allowed_share()).unwrap();
    assert!((rate - 14.4).abs() < 1e-9, "{rate}");
    assert_eq!(burn_rate(&Count::default(), 0.0005), None, "no requests, no rate");
    // The window of an hour is the current block and twelve complete ones.
    let counts = last(600, count(100, 1));
    assert_eq!(window_count(&counts, Nanos::from_secs(3_600), START).requests, 1_300);
    assert_eq!(window_count(&counts, Nanos::from_secs(300), START).requests, 200);
    assert_eq!(sum(&counts, Block::at(START)..=Block::at(START).plus(-1)), Count::default());
    // At least one bad request of three where 0.05 % may be: 1 − 0.9995³.
    assert!((chance(&count(3, 1), 0.0005) - 0.001_499_25).abs() < 1e-8);
}

#[test]
fn sampled_requests_count_for_those_they_represent() {
    let mut sampled = Count::default();
    // All slow requests are stored, and one in a hundred of the others.
    (0..10).for_each(|_| sampled.add(RequestOutcome::Bad, None));
    (0..99).for_each(|_| sampled.add(RequestOutcome::Good, AdjustedCount::new(100.0)));
    let figures = figures(&ObjectiveSettings::example(), &[(Block::at(START), sampled)].into(), START);
    assert_eq!((figures.requests, figures.bad, figures.represented), (109, 10, 9_910.0));
    assert!((figures.good_share.unwrap() - 9_900.0 / 9_910.0).abs() < 1e-12);
    assert!((figures.burn_rates[0].rate.unwrap() - 10.0 / 9_910.0 / 0.0005).abs() < 1e-9);
}

/// Results of the rules for some counts: `P` page, `T` ticket, `-` healthy, `?` undecided.
fn outcome(counts: &BlockCounts) -> String {
    let evaluation = evaluate(&ObjectiveSettings::example(), counts, None, START);
    let letter = |severity, letter| {
        let is_burning = evaluation.burning.iter().any(|burning| burning.finding.severity == severity);
        let is_healthy = evaluation.healthy.iter().any(|subject| subject.severity == severity);
        assert!(!(is_burning && is_healthy));
        if is_burning {
            letter
        } else if is_healthy {
            '-'
        } else {
            '?'
        }
    };
    [letter(ObjectiveSeverity::Page, 'P'), letter(ObjectiveSeverity::Ticket, 'T')].iter().collect()
}

#[test]
fn rules_need_both_windows() {
    assert_eq!(outcome(&last(4_320, count(10_000, 5))), "--", "a burn rate of 1 is what is allowed");
    assert_eq!(outcome(&last(4_320, count(10_000, 6))), "-T", "1.2 for three days");
    assert_eq!(outcome(&last(360, count(10_000, 31))), "PT", "6.2 for six hours");
    assert_eq!(outcome(&last(60, count(10_000, 72))), "PT", "14.4 for an hour");
    // Equally bad until a quarter of an hour ago: over for the rule of one hour, not for that of six hours.
    let mut over = last(60, count(10_000, 1_000));
    for block in 0..3 {
        over.insert(Block::at(START).plus(-block), count(10_000, 0));
    }
    assert_eq!(outcome(&over), "PT");
    for block in 0..7 {
        over.insert(Block::at(START).plus(-block), count(10_000, 0));
    }
    assert_eq!(outcome(&over), "-T", "over for both");
    // Bad for ten minutes within a good hour: 72 is more than enough for it.
    let mut brief = last(60, count(10_000, 0));
    brief.insert(Block::at(START), count(10_000, 20));
    assert_eq!(outcome(&brief), "--", "2 for an hour pages nobody");
}

#[test]
fn few_requests_raise_no_alert_and_zero_requests_are_no_data() {
    assert_eq!(outcome(&BlockCounts::new()), "??", "no data is not healthy");
    let block_of = |block: i64, count: Count| (Block::at(START).plus(-block), count);
    assert_eq!(outcome(&[block_of(0, count(3, 1))].into()), "--", "a burn rate of 667 of three requests");
    assert_eq!(outcome(&[block_of(0, count(4, 4))].into()), "--", "four bad requests are too few");
    assert_eq!(outcome(&[block_of(0, count(5, 5))].into()), "PT");
    // Five of 2,500 where 1.25 are allowed: by chance once in 100 times.
    assert_eq!(outcome(&[block_of(0, count(2_500, 5))].into()), "--");
    // Requests stopped half an hour ago, so the alert is undecided.
    assert_eq!(outcome(&[block_of(8, count(1_000, 500))].into()), "?T");
    let mut incomplete = Count::default();
    incomplete.add(RequestOutcome::Incomplete, None);
    assert_eq!(outcome(&[block_of(0, incomplete)].into()), "??");
}

#[test]
fn alerts_go_through_the_lifecycle() {
    let rules = Rules {
        fire_after: 2,
        fire_of: 3,
        resolve_after: 2,
        adapt_after: Nanos::from_secs(600),
        silent_after: Nanos::from_secs(3_600),
    };
    let mut alerts = AlertList::default();
    let mut minute = 0;
    let mut apply = |alerts: &mut AlertList, counts: &BlockCounts| {
        minute += 60;
        let evaluation = evaluate(&ObjectiveSettings::example(), counts, None, START);
        alerts.apply_objectives(&evaluation, rules, START.plus(Nanos::from_secs(minute)))
    };
    let (bad, good) = (last(360, count(10_000, 100)), last(4_320, count(10_000, 1)));
    assert!(apply(&mut alerts, &bad).is_empty());
    assert_eq!(apply(&mut alerts, &bad).fired.len(), 2, "a page and a ticket");
    let summary = alerts.active[0].finding.summary();
    let expected = "Objective `buy` uses up its error budget 20.0 times as fast as allowed: 1300 of 130000 requests of the last hour were bad; nothing of it is left.";
    assert_eq!(summary, expected);
    // Evaluations of other things neither end nor prolong it, and it never counts as usual.
    (0..20).for_each(|_| assert!(apply(&mut alerts, &bad).is_empty()));
    alerts.expire(rules, START.plus(Nanos::from_secs(86_400)));
    alerts.expire_servers(rules, START.plus(Nanos::from_secs(86_400)));
    assert_eq!(alerts.firing().count(), 2);
    assert!(apply(&mut alerts, &good).is_empty());
    assert_eq!(apply(&mut alerts, &good).resolved.len(), 2);
    assert_eq!(alerts.resolved[0].state, AlertState::Resolved);
    assert_eq!(alerts.resolved[0].ended.as_deref(), Some("the error budget is no longer used up too fast"));
    // Stored and read as they were.
    let text = serde_json::to_string(&alerts).unwrap();
    assert_eq!(serde_json::from_str::<AlertList>(&text).unwrap(), alerts);
}

#[test]
fn stored_counts_are_restored_and_incompatible_ones_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objectives.json");
    assert_eq!(storage::load(&file), MeasuredByName::new());
    let mut measured = Measured::new(super::count::Definition::new(&ObjectiveSettings::example()));
    measured.counts = last(60, count(10, 1));
    measured.pending = measured.counts.keys().copied().collect();
    measured.seen = serde_json::from_str("[7,9]").unwrap();
    let all: MeasuredByName = [("buy".to_owned(), measured)].into();
    storage::save(&file, &all).unwrap();
    storage::save(&file, &all).unwrap();
    assert_eq!(storage::load(&file), all);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
    let written = std::fs::read_to_string(&file).unwrap();
    for bad in [
        "",
        "{",
        "[]",
        "{\"version\":2,\"objectives\":{}}",
        &written.replace("[10.0,1.0,0.0]", "[10.0,11.0,0.0]"),
        &written.replace("[10.0,1.0,0.0]", "[-10.0,1.0,0.0]"),
        &written[..written.len() / 2],
    ] {
        std::fs::write(&file, bad).unwrap();
        assert_eq!(storage::load(&file), MeasuredByName::new(), "{bad}");
        assert!(!file.exists() && folder.path().join("objectives.json.unreadable").exists());
    }
}

/// As version 1 wrote it: files of this version stay readable.
#[test]
fn stored_version_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objectives.json");
    std::fs::write(&file, include_str!("stored_version_1.json")).unwrap();
    let all = storage::load(&file);
    let measured = &all["buy"];
    assert_eq!(measured.definition, super::count::Definition::new(&ObjectiveSettings::example()));
    assert_eq!(measured.seen, serde_json::from_str("41").unwrap());
    assert_eq!((measured.pending.len(), measured.counts.len()), (1, 2));
    assert_eq!(measured.counts[&Block::at(START)], count(120, 3));
    assert_eq!(measured.counts[&Block::at(START).next()].weight, 90.0);
}
