//! The coarse rules and the outlier rule against reference results.

use crate::optics::{matrix, number};
use laggard_align::{AlignMode, AlignSettings, SigmaRule, compare_times};
use laggard_testkit::golden;

#[test]
fn golden_rules() {
    let golden = golden("anomaly/algorithm1");
    for case in golden["cases"].as_array().unwrap() {
        let (normal, sample) = (matrix(&case["normal"]), matrix(&case["sample"]));
        let settings = |mode| AlignSettings {
            mode,
            average_factor: number(&case["t1"]),
            probability_factor: number(&case["t2"]),
            ..AlignSettings::default()
        };
        for expected in case["states"].as_array().unwrap() {
            let state = usize::try_from(expected["state"].as_u64().unwrap()).unwrap();
            let column = |set: &laggard_numeric::Matrix| set.column(state).collect::<Vec<f64>>();
            let compared = |mode| compare_times(&column(&normal), &column(&sample), &settings(mode));
            let (text, printed) = (compared(AlignMode::Paper), compared(AlignMode::PaperPrinted));
            let close = |value: f64, name: &str| {
                let reference = number(&expected[name]);
                assert!((value - reference).abs() <= 1e-10 * reference.abs().max(1.0), "{name} {value}");
            };
            close(text.normal_mean_us, "a1");
            close(text.normal_std_us, "std");
            close(text.sample_mean_us, "a2");
            close(text.normal_share_above, "p1");
            close(text.sample_share_above, "p2");
            close(printed.sample_share_above, "p2_as_printed");
            assert_eq!(Some(text.is_average_above), expected["average_flag"].as_bool());
            assert_eq!(Some(text.is_probability_above), expected["prob_flag"].as_bool());
            assert_eq!(Some(printed.is_probability_above), expected["prob_flag_as_printed"].as_bool());
        }
    }
}

#[test]
fn golden_outliers() {
    let golden = golden("anomaly/algorithm1");
    for case in golden["cases"].as_array().unwrap() {
        let (normal, sample) = (matrix(&case["normal"]), matrix(&case["sample"]));
        let all: Vec<usize> = (0..normal.rows()).collect();
        let rule = SigmaRule::new(&normal, &all, 1.5);
        for expected in case["outliers_1_5_sigma"].as_array().unwrap() {
            let row = usize::try_from(expected["execution"].as_u64().unwrap()).unwrap();
            let states = expected["states"].as_array().unwrap().iter().map(|state| state.as_u64().unwrap());
            let exceeding = rule.exceeding(sample.row(row)).into_iter().map(|column| column as u64);
            assert_eq!(exceeding.collect::<Vec<_>>(), states.collect::<Vec<_>>());
        }
    }
}
