//! Time from left to right, in percent of the width: what charts over a window have in common.

use super::markup::Markup;
use crate::times::tick;

const SECOND: i64 = 1_000_000_000;

/// Steps between ticks, in seconds.
const STEPS: [i64; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
    604_800, 2_592_000,
];

/// Ticks at most, unless the time is longer than all steps allow.
const TICKS: i64 = 10;

/// Room a tick's name needs, in percent of the width, on a wide page and on a phone.
const TICK_ROOM: [f64; 2] = [9.0, 22.0];

/// From a time to a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeAxis {
    pub(super) since_ns: i64,
    pub(super) until_ns: i64,
}

impl TimeAxis {
    /// Place of a time, in percent; the nearest end for times outside.
    pub(super) fn x(&self, ns: i64) -> f64 {
        let length = (self.until_ns as f64 - self.since_ns as f64).max(1.0);
        ((ns as f64 - self.since_ns as f64) / length * 100.0).clamp(0.0, 100.0)
    }

    /// Round times inside.
    pub(super) fn ticks(&self) -> Vec<i64> {
        let length = self.until_ns.saturating_sub(self.since_ns);
        let fits = |step: &&i64| length / (**step * SECOND) <= TICKS;
        let step = STEPS.iter().find(fits).map_or_else(|| length / TICKS, |step| step * SECOND).max(1);
        let first = self.since_ns.saturating_add((-self.since_ns.rem_euclid(step)).rem_euclid(step));
        (0..=TICKS + 1)
            .map(|at| first.saturating_add(step.saturating_mul(at)))
            .take_while(|&ns| ns <= self.until_ns)
            .collect()
    }

    /// The names of ticks, below a chart.
    pub(super) fn names(&self, m: &mut Markup) {
        let ticks = self.ticks();
        m.raw("<svg class=\"ticks\" width=\"100%\" height=\"20\" aria-hidden=\"true\">\n");
        let dated = ticks.windows(2).next().is_some_and(|pair| pair[1] - pair[0] >= 86_400 * SECOND);
        let places = ticks.iter().map(|&ns| self.x(ns)).collect::<Vec<f64>>();
        labels(m, "14", TICK_ROOM, &places, |at| tick(ticks[at], dated));
        m.close("svg");
    }

    /// A line from top to bottom.
    pub(super) fn line(&self, m: &mut Markup, class: &str, ns: i64, y: [f64; 2]) {
        let x = percent(self.x(ns));
        let [y1, y2] = y.map(|y| y.to_string());
        m.element("line", &[("class", class), ("x1", &x), ("x2", &x), ("y1", &y1), ("y2", &y2)], "");
    }
}

/// Labels as far as there is room; a phone leaves out more of them.
pub(super) fn labels(
    m: &mut Markup,
    y: &str,
    room: [f64; 2],
    places: &[f64],
    name: impl Fn(usize) -> String,
) {
    let (mut free_from, mut free_from_phone) = (room[0] / 2.0 - 1.0, room[1] / 2.0 - 4.0);
    for (at, &x) in places.iter().enumerate() {
        if x < free_from || x > 100.0 - (room[0] / 2.0 - 1.0) {
            continue;
        }
        free_from = x + room[0];
        let mut class = "tick wide-only";
        if x >= free_from_phone && x <= 100.0 - (room[1] / 2.0 - 4.0) {
            free_from_phone = x + room[1];
            class = "tick";
        }
        m.element("text", &[("class", class), ("x", &percent(x)), ("y", y)], &name(at));
    }
}

pub(super) fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(since_ns: i64, until_ns: i64) -> TimeAxis {
        TimeAxis { since_ns, until_ns }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let minute = 60 * SECOND;
        let five: Vec<i64> = (2..=9).map(|at| at * 5 * minute).collect();
        assert_eq!(axis(7 * minute, 47 * minute).ticks(), five);
        assert_eq!(axis(-3, SECOND).ticks(), [0, SECOND]);
        assert_eq!(axis(5, 5).ticks(), [0_i64; 0]);
        for (since, until) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MAX, i64::MAX)] {
            assert!(axis(since, until).ticks().len() as i64 <= TICKS + 2);
        }
    }

    #[test]
    fn places_are_to_scale() {
        let axis = axis(1_000, 3_000);
        let places = [1_000, 1_500, 3_000, i64::MAX, i64::MIN].map(|ns| axis.x(ns));
        assert_eq!(places, [0.0, 25.0, 100.0, 100.0, 0.0]);
    }
}
