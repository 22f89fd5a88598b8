//! Synthetic histories, one for each verdict.

use super::*;

/// Two types whose counts vary independently; one percent of noise in their demands.
struct History {
    data: Observations,
}

impl History {
    /// `windows` windows with demands of 10 and 20 ms, response times as an M/M/1 server would have.
    fn new(windows: usize) -> History {
        let mut data = Observations {
            window_s: 60.0,
            windows: (0..windows).collect(),
            counts: Matrix::zeros(0, 2),
            utilization: vec![],
            response_s: Matrix::zeros(0, 2),
            cores: 1.0,
        };
        for t in 0..windows {
            let counts = [(600 + t * 37 % 401) as f64, (500 + t * 53 % 307) as f64];
            let noise = 1.0 + 0.01 * ((t * 7919 % 101) as f64 / 50.0 - 1.0);
            let utilization = 0.01 + (counts[0] * 0.010 + counts[1] * 0.020) / 60.0 * noise;
            data.counts.push_row(&counts);
            data.utilization.push(utilization);
            data.response_s.push_row(&[0.010 / (1.0 - utilization), 0.020 / (1.0 - utilization)]);
        }
        History { data }
    }

    /// The first type takes `more_s` longer in `rows`, and its response time shows it.
    fn slower(mut self, rows: std::ops::Range<usize>, more_s: f64) -> History {
        for t in rows {
            let data = &mut self.data;
            let own =
                data.response_s.row(t).iter().map(|r| r * (1.0 - data.utilization[t])).collect::<Vec<_>>();
            data.utilization[t] += data.counts.get(t, 0) * more_s / 60.0;
            let free = 1.0 - data.utilization[t];
            data.response_s.row_mut(t).copy_from_slice(&[(own[0] + more_s) / free, own[1] / free]);
        }
        self
    }

    /// Another process uses between 5 and 25 % of the CPU in `rows`.
    fn foreign(mut self, rows: std::ops::Range<usize>) -> History {
        for t in rows {
            self.data.utilization[t] += 0.05 + 0.2 * (t * 31 % 7) as f64 / 7.0;
        }
        self
    }

    fn changes(&self, mode: CherkasovaMode) -> Vec<Change> {
        cherkasova(&self.data, &CherkasovaSettings::new(mode), TWO).expect("enough data").changes
    }

    fn outline(&self, mode: CherkasovaMode) -> Vec<(ChangeKind, usize)> {
        self.changes(mode).iter().map(|change| (change.kind, change.onset.row)).collect()
    }
}

const MODES: [CherkasovaMode; 2] = [CherkasovaMode::Paper, CherkasovaMode::Robust];

#[test]
fn data_without_changes_have_no_verdict() {
    for mode in MODES {
        assert_eq!(History::new(120).outline(mode), []);
    }
}

#[test]
fn a_change_is_named_by_response_times() {
    for change in MODES.map(|mode| History::new(120).slower(70..120, 0.006).changes(mode)) {
        let [change] = &change[..] else { panic!("one change: {change:?}") };
        assert_eq!((change.kind, change.onset.row), (ChangeKind::ApplicationChange, 70));
        let [named] = &change.transactions[..] else { panic!("one transaction: {change:?}") };
        assert_eq!(named.transaction, 0);
        assert!((named.after_s - named.before_s - 0.006).abs() < 5e-4, "{named:?}");
    }
}

#[test]
fn without_response_times_changes_are_named_by_counts() {
    let mut history = History::new(120).slower(70..120, 0.006);
    history.data.response_s = Matrix::zeros(0, 0);
    let changes = history.changes(CherkasovaMode::Robust);
    let [change] = &changes[..] else { panic!("one change: {changes:?}") };
    let [named] = &change.transactions[..] else { panic!("one transaction: {change:?}") };
    assert_eq!(named.transaction, 0);
    assert!((named.after_s - named.before_s - 0.006).abs() < 1e-3, "{named:?}");
}

#[test]
fn a_change_that_response_times_refute_is_unexplained() {
    let unchanged = History::new(120).data;
    let mut history = History::new(120).slower(70..120, 0.006);
    for t in 70..120 {
        // As long as before at the new utilization.
        let factor = (1.0 - unchanged.utilization[t]) / (1.0 - history.data.utilization[t]);
        let row: Vec<f64> = unchanged.response_s.row(t).iter().map(|r| r * factor).collect();
        history.data.response_s.row_mut(t).copy_from_slice(&row);
    }
    assert_eq!(history.outline(CherkasovaMode::Robust), [(ChangeKind::Unexplained, 70)]);
    assert_eq!(history.outline(CherkasovaMode::Paper), [(ChangeKind::ApplicationChange, 70)]);
}

#[test]
fn a_return_to_an_earlier_model_is_a_rollback() {
    let history = History::new(150).slower(50..100, 0.006);
    let robust = [(ChangeKind::ApplicationChange, 50), (ChangeKind::Rollback { to: 0 }, 100)];
    assert_eq!(history.outline(CherkasovaMode::Robust), robust);
    let paper = [(ChangeKind::ApplicationChange, 50), (ChangeKind::ApplicationChange, 100)];
    assert_eq!(history.outline(CherkasovaMode::Paper), paper);
}

#[test]
fn foreign_load_is_an_anomaly_without_alarm() {
    let history = History::new(140).foreign(60..69);
    for mode in MODES {
        let expected = [(ChangeKind::AnomalyStart, 60), (ChangeKind::AnomalyEnd, 69)];
        assert_eq!(history.outline(mode), expected, "{mode:?}");
    }
}

#[test]
fn a_change_during_an_anomaly_has_an_onset_interval() {
    let history = History::new(140).foreign(60..75).slower(70..140, 0.006);
    let changes = history.changes(CherkasovaMode::Robust);
    let last = changes.last().expect("a change");
    assert_eq!((last.kind, last.onset.row), (ChangeKind::ApplicationChange, 75));
    assert!(last.onset.earliest <= 60 && last.onset.latest == 75, "{last:?}");
}

/// Half of window 60 runs the new version: no anomaly.
#[test]
fn a_deployment_inside_a_window_is_one_change() {
    let history = History::new(120).slower(60..61, 0.003).slower(61..120, 0.006);
    let changes = history.outline(CherkasovaMode::Robust);
    assert!(matches!(changes[..], [(ChangeKind::ApplicationChange, 60 | 61)]), "{changes:?}");
}

#[test]
fn a_short_segment_at_the_end_is_pending() {
    let history = History::new(76).slower(70..76, 0.02);
    let analysis = cherkasova(&history.data, &CherkasovaSettings::default(), TWO).expect("enough data");
    assert_eq!(analysis.changes, []);
    assert_eq!(
        analysis.segments.last().map(|last| (&last.kind, last.rows.start)),
        Some((&SegmentKind::Pending, 70))
    );
}
