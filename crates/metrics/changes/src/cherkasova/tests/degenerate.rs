//! Input of every size and shape gives an error or a result, never a panic or a NaN.

use proptest::prelude::*;

use super::*;

fn data(types: usize, counts: Vec<f64>, utilization: Vec<f64>) -> Observations {
    Observations {
        window_s: 60.0,
        windows: (0..utilization.len()).collect(),
        counts: Matrix::from_row_major(utilization.len(), types, counts),
        utilization,
        response_s: Matrix::zeros(0, 0),
        cores: 1.0,
    }
}

fn run(data: &Observations) -> Result<Analysis, TooLittleDataError> {
    cherkasova(data, &CherkasovaSettings::default(), TWO)
}

#[test]
fn too_little_data_is_an_error_with_the_number_needed() {
    let none = data(2, vec![], vec![]);
    assert_eq!(run(&none), Err(TooLittleDataError::Windows { available: 0, needed: 10 }));
    let few = data(20, vec![1.0; 200], vec![0.5; 10]);
    let reason = run(&few).expect_err("20 types need 21 windows");
    assert_eq!(reason, TooLittleDataError::Windows { available: 10, needed: 21 });
    assert!(
        reason.to_string().contains("10 windows") && reason.to_string().contains("at least 21"),
        "{reason}"
    );
    assert_eq!(
        run(&data(0, vec![], vec![0.5; 40])),
        Err(TooLittleDataError::NoTransactions { types: 0, windows: 40 })
    );
    assert_eq!(
        run(&data(2, vec![0.0; 80], vec![0.5; 40])),
        Err(TooLittleDataError::NoTransactions { types: 2, windows: 40 })
    );
    assert_eq!(run(&data(2, vec![3.0; 80], vec![0.0; 40])), Err(TooLittleDataError::Idle { windows: 40 }));
    let mut hole = data(2, vec![3.0; 80], vec![0.5; 40]);
    hole.utilization[7] = f64::NAN;
    assert_eq!(run(&hole), Err(TooLittleDataError::Unusable { row: 7 }));
    let negative = data(1, vec![-1.0; 40], vec![0.5; 40]);
    assert_eq!(run(&negative), Err(TooLittleDataError::Unusable { row: 0 }));
}

#[test]
fn constant_data_are_one_segment() {
    let analysis = run(&data(2, [40.0, 7.0].repeat(60), vec![0.05; 60])).expect("enough data");
    assert_eq!((analysis.segments.len(), analysis.groups.len(), analysis.changes.len()), (1, 1, 0));
}

/// Another process uses a fifth of the CPU throughout: no model is stable, and no change is reported.
#[test]
fn without_a_stable_model_no_change_is_reported() {
    let counts: Vec<f64> = (0..60).map(|t| f64::from(t * 37 % 50)).collect();
    let utilization = counts.iter().map(|count| 0.2 + 0.001 * count).collect();
    let analysis = run(&data(1, counts, utilization)).expect("enough data");
    assert!(analysis.groups.is_empty() && analysis.changes.is_empty());
    assert!(
        analysis.cautions.iter().any(|caution| caution.starts_with("No stable model")),
        "{:?}",
        analysis.cautions
    );
}

#[test]
fn an_error_below_the_noise_is_a_caution() {
    let counts: Vec<f64> = (0..120).map(|t| 100.0 + f64::from(t * 37 % 50)).collect();
    let noise = |t: usize| 0.02 * (((t * 7919) % 101) as f64 / 50.0 - 1.0);
    let utilization = counts.iter().enumerate().map(|(t, count)| 0.002 * count * (1.0 + noise(t))).collect();
    let data = data(1, counts, utilization);
    let analyze = |error_max_percent: f64| {
        let settings = CherkasovaSettings { error_max_percent, ..CherkasovaSettings::default() };
        cherkasova(&data, &settings, TWO).expect("enough data")
    };
    assert_eq!((analyze(3.0).cautions.len(), analyze(3.0).segments.len()), (0, 1));
    assert!(
        analyze(1.05).cautions.iter().any(|caution| caution.contains("noise")),
        "{:?}",
        analyze(1.05).cautions
    );
    assert!(
        analyze(0.1).cautions.iter().any(|caution| caution.contains("noise")),
        "{:?}",
        analyze(0.1).cautions
    );
}

/// Checks that segments cover all windows and that every number is finite where it must be.
fn is_sound(data: &Observations, analysis: &Analysis) -> Result<(), TestCaseError> {
    let windows = data.utilization.len();
    let mut next = 0;
    for segment in &analysis.segments {
        prop_assert_eq!(segment.rows.start, next);
        prop_assert!(segment.rows.end > next);
        next = segment.rows.end;
    }
    prop_assert_eq!(next, windows);
    let models = analysis.segments.iter().map(|segment| &segment.model);
    for model in models.chain(analysis.groups.iter().map(|group| &group.model)) {
        prop_assert!(model.constant_percent >= 0.0 && model.constant_percent.is_finite(), "{:?}", model);
        prop_assert!(model.error >= 0.0 && model.error.is_finite(), "{:?}", model);
        prop_assert!(model.demand_s.iter().all(|&demand| demand >= 0.0 && demand.is_finite()), "{:?}", model);
    }
    for change in &analysis.changes {
        let onset = change.onset;
        prop_assert!(onset.earliest <= onset.row && onset.row <= onset.latest && onset.latest < windows);
        for each in &change.transactions {
            let numbers = [each.before_s, each.after_s, each.standard_error_s];
            prop_assert!(numbers.iter().all(|number| number.is_finite()), "{:?}", each);
        }
    }
    Ok(())
}

fn count() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (0_u32..500).prop_map(f64::from),
        2 => Just(0.0),
        1 => 0.0..1e9,
        1 => prop::sample::select(vec![1e-300, 1e200, 1e300, f64::MAX, f64::MIN_POSITIVE]),
    ]
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![6 => 0.0..1.0_f64, 2 => Just(0.3), 1 => Just(0.0), 1 => prop::sample::select(vec![1e-300, 5.0, 1e150, f64::MAX])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_input_gives_an_error_or_a_valid_result(
        types in 0_usize..5,
        rows in prop::collection::vec((prop::collection::vec(count(), 5), share()), 0..60),
        paper in any::<bool>(),
        grid in any::<bool>(),
    ) {
        let counts = rows.iter().flat_map(|row| row.0[..types].to_vec()).collect();
        let data = data(types, counts, rows.iter().map(|row| row.1).collect());
        let mode = if paper { CherkasovaMode::Paper } else { CherkasovaMode::Robust };
        let exact_windows_max = if grid { 10 } else { 5_000 };
        let settings = CherkasovaSettings { exact_windows_max, ..CherkasovaSettings::new(mode) };
        if let Ok(analysis) = cherkasova(&data, &settings, NonZeroUsize::MIN) {
            is_sound(&data, &analysis)?;
            prop_assert_eq!(format!("{analysis:?}"), format!("{:?}", cherkasova(&data, &settings, TWO).expect("as before")));
        }
    }
}
