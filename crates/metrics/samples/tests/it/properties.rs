//! Properties of all samples.

use crate::{GeneratedSamples, SECOND, settings, table_of};
use laggard_model::{Measure, Nanos};
use laggard_samples::{SampleTable, WindowSettings, WindowTable};
use proptest::prelude::*;

const MEASURES: [Measure; 7] = [
    Measure::Transactions,
    Measure::TransactionsTotal,
    Measure::Completion,
    Measure::ResponseTime,
    Measure::Utilization,
    Measure::CpuSecondsTotal,
    Measure::Calls,
];

fn samples() -> impl Strategy<Value = Vec<GeneratedSamples>> {
    let names = ["Home", "Cart"];
    let servers = [("", ""), ("a", "app"), ("b", "app")];
    let one = (0_i64..900, 0..MEASURES.len(), 0_usize..2, 0_usize..3, 0_u32..1000);
    let one = one.prop_map(move |(second, measure, name, server, value)| GeneratedSamples {
        ns: second * SECOND,
        measure: MEASURES[measure],
        server: servers[server].0,
        tier: servers[server].1,
        transaction: names[name],
        callee: "",
        // A function of time, so that it does not matter which of two equal samples is the first.
        value: f64::from(value).min(second as f64),
    });
    prop::collection::vec(one, 1..400).prop_map(|mut samples| {
        // One sample of a series and instant.
        samples.sort_by_key(|s| (s.measure, s.server, s.transaction, s.ns));
        samples.dedup_by_key(|s| (s.measure, s.server, s.transaction, s.ns));
        samples
    })
}

/// A table as text, without the parts that depend on the order by design: late samples and examples of losses.
fn text(table: Result<WindowTable, laggard_samples::WindowError>) -> String {
    let bits =
        |values: &[f64]| values.iter().map(|value| format!("{value:.9e}")).collect::<Vec<_>>().join(" ");
    match table {
        Err(error) => error.to_string(),
        Ok(table) => {
            let mut text =
                format!("{:?} {} {:?} {:?}", table.since, table.windows, table.transactions, table.cautions);
            text += &bits(table.system.counts.data());
            text += &bits(table.system.response_s.data());
            for server in &table.servers {
                text += &format!("\n{} {:?} {}", server.server, server.cores, bits(&server.utilization));
                text += &server.own.as_ref().map_or_else(String::new, |own| bits(own.counts.data()));
            }
            let losses = table.losses.iter().filter(|(loss, _)| *loss != laggard_model::Loss::LateSample);
            text + &losses
                .map(|(loss, entry)| format!("\n{} {}", loss.name(), entry.count))
                .collect::<String>()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_and_any_split_give_the_same_table(
        samples in samples(), seed in any::<u64>(), parts in 1_usize..5,
    ) {
        let expected = text(table_of(&samples).finish(&settings(60)));
        let mut shuffled = samples;
        let mut state = seed | 1;
        for index in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(index, (state >> 33) as usize % (index + 1));
        }
        let mut merged = SampleTable::default();
        for part in shuffled.chunks(shuffled.len().div_ceil(parts)) {
            merged.merge(table_of(part));
        }
        prop_assert_eq!(expected, text(merged.finish(&settings(60))));
    }

    #[test]
    fn minutes_merged_from_seconds_equal_minute_windows(counts in prop::collection::vec(0_u32..50, 120..400)) {
        let sample = |second: usize, count: u32| GeneratedSamples {
            ns: second as i64 * SECOND, measure: Measure::Transactions,
            server: "", tier: "", transaction: "Home", callee: "", value: f64::from(count),
        };
        let complete_seconds = counts.len() / 60 * 60;
        let seconds: Vec<GeneratedSamples> = counts[..complete_seconds].iter().enumerate().map(|(index, &n)| sample(index, n)).collect();
        let minutes: Vec<GeneratedSamples> = counts[..complete_seconds]
            .chunks(60).enumerate().map(|(index, part)| sample(index * 60, part.iter().sum())).collect();
        let fine = table_of(&seconds).finish(&settings(60)).unwrap();
        let coarse = table_of(&minutes).finish(&settings(60)).unwrap();
        prop_assert_eq!(fine.system.counts.data(), coarse.system.counts.data());
        prop_assert_eq!(fine.since, coarse.since);
    }

    #[test]
    fn window_counts_add_up_to_the_growth_of_counters(
        steps in prop::collection::vec((0_u32..20, 10_i64..20), 20..200), length in 20_u64..120, start in 0_i64..1000,
    ) {
        let (mut ns, mut value) = (start * SECOND, 0.0);
        let mut samples = Vec::new();
        for (grown, apart) in steps {
            samples.push(GeneratedSamples {
                ns, measure: Measure::TransactionsTotal,
                server: "", tier: "", transaction: "Home", callee: "", value,
            });
            ns += apart * SECOND;
            value += f64::from(grown);
        }
        let settings = WindowSettings { length: Nanos::from_secs(length), ..WindowSettings::default() };
        let table = table_of(&samples).finish(&settings).unwrap();
        // Whole windows hold what the counter, drawn with straight lines, grew by from border to border.
        let position = |ns: i64| {
            let after = samples.iter().position(|sample| sample.ns >= ns)?;
            let (b, a) = (&samples[after], &samples[after.checked_sub(1)?]);
            Some(a.value + (b.value - a.value) * (ns - a.ns) as f64 / (b.ns - a.ns) as f64)
        };
        let since = table.since.unix_ns();
        for window in 0..table.windows {
            let border = |window: usize| since + window as i64 * table.length.ns() as i64;
            if let (Some(from), Some(to)) = (position(border(window)), position(border(window + 1))) {
                let count = table.system.counts.get(window, 0);
                // Borders may be moved by a twentieth of the distance of readings.
                prop_assert!((count - (to - from)).abs() <= 2.1, "{window}: {count} {}", to - from);
            }
        }
    }
}
