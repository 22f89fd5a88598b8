//! Totals of verdicts on ordinary days.

use laggard_report::Verdict;
use std::collections::BTreeMap;

/// Names of a window without and with its baseline.
const WAYS: [&str; 2] = ["alone", "with baseline"];

/// Windows without and with a baseline, in this order.
#[derive(Clone, Debug, Default)]
pub(super) struct DayTotals {
    pub(super) windows: usize,
    /// Length of all windows.
    pub(super) minutes: u32,
    pub(super) spans: usize,
    pub(super) requests: usize,
    pub(super) incomplete: usize,
    insufficient: [usize; 2],
    named: [AlarmCounts; 2],
    by_kind: BTreeMap<&'static str, KindTotals>,
}

/// Windows in which anything is named, and of these in which the first name is the target of the fault.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AlarmCounts {
    pub(super) any: usize,
    pub(super) first_right: usize,
}

impl AlarmCounts {
    fn add(&mut self, other: AlarmCounts) {
        self.any += other.any;
        self.first_right += other.first_right;
    }
}

/// Windows with one kind of fault.
#[derive(Clone, Copy, Debug, Default)]
struct KindTotals {
    windows: usize,
    named: [AlarmCounts; 2],
}

impl DayTotals {
    /// A verdict without a baseline or (1) with one.
    pub(super) fn count(&mut self, way: usize, verdict: Verdict, named: AlarmCounts) {
        self.insufficient[way] += usize::from(verdict == Verdict::InsufficientData);
        self.named[way].add(named);
    }

    /// A window with a fault of some kind.
    pub(super) fn count_kind(&mut self, kind: &'static str, named: [AlarmCounts; 2]) {
        let own = self.by_kind.entry(kind).or_default();
        own.windows += 1;
        (0..WAYS.len()).for_each(|way| own.named[way].add(named[way]));
    }

    pub(super) fn add(&mut self, other: &DayTotals) {
        self.windows += other.windows;
        self.minutes += other.minutes;
        self.spans += other.spans;
        self.requests += other.requests;
        self.incomplete += other.incomplete;
        for way in 0..WAYS.len() {
            self.insufficient[way] += other.insufficient[way];
            self.named[way].add(other.named[way]);
        }
        for (kind, totals) in &other.by_kind {
            let own = self.by_kind.entry(kind).or_default();
            own.windows += totals.windows;
            (0..WAYS.len()).for_each(|way| own.named[way].add(totals.named[way]));
        }
    }

    /// One line; with faults, one more for each of their kinds.
    pub(super) fn text(&self, faults: bool) -> String {
        let [alone, compared] = self.named;
        let mut out = format!(
            "{:4} windows, {:8} spans; suspects alone {:3}, with baseline {:3}; insufficient {:3}, {:3}; incomplete {:.1} %",
            self.windows,
            self.spans,
            alone.any,
            compared.any,
            self.insufficient[0],
            self.insufficient[1],
            100.0 * self.incomplete as f64 / self.requests.max(1) as f64
        );
        if !faults {
            let by_hour = |named: AlarmCounts| 60.0 * named.any as f64 / f64::from(self.minutes.max(1));
            return out + &format!("; false alarms an hour {:.2}, {:.2}", by_hour(alone), by_hour(compared));
        }
        out +=
            &format!("; first right alone {:3}, with baseline {:3}", alone.first_right, compared.first_right);
        for (kind, totals) in &self.by_kind {
            let words = |way: usize| {
                let AlarmCounts { any, first_right } = totals.named[way];
                format!("{} {any} ({first_right} right)", WAYS[way])
            };
            out += &format!("\n    {kind:13} {:3}: {}, {}", totals.windows, words(0), words(1));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_counted_by_method_and_kind() {
        let named = |any, first_right| AlarmCounts { any, first_right };
        let mut one = DayTotals { windows: 2, minutes: 30, ..DayTotals::default() };
        one.count(0, Verdict::InsufficientData, named(0, 0));
        one.count(1, Verdict::Suspects, named(1, 1));
        one.count_kind("edge", [named(0, 0), named(1, 1)]);
        let mut all = one.clone();
        all.add(&one);
        let text = all.text(true);
        assert!(text.starts_with("   4 windows"), "{text}");
        assert!(text.contains("suspects alone   0, with baseline   2; insufficient   2,   0;"), "{text}");
        assert!(text.ends_with("edge            2: alone 0 (0 right), with baseline 2 (2 right)"), "{text}");
        assert!(all.text(false).ends_with("false alarms an hour 0.00, 2.00"));
    }
}
