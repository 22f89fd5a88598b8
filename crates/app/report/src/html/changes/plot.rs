//! Lines and bands over time, as paths that stretch with the page.

use super::super::markup::Markup;
use std::fmt::Write as _;

/// A picture of points `0..points` (stretched to the width) and values `0..top` (a fixed height).
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    pub(super) points: usize,
    /// Pixels.
    pub(super) height: f64,
    /// The value at the lower edge.
    pub(super) bottom: f64,
    /// The value at the upper edge.
    pub(super) top: f64,
}

impl Plot {
    /// Height of a value from above, in pixels; what lies outside sticks to the edge.
    pub(super) fn y(&self, value: f64) -> f64 {
        let span = (self.top - self.bottom).max(f64::MIN_POSITIVE);
        let share = ((value - self.bottom) / span).clamp(0.0, 1.0);
        self.height * (1.0 - share)
    }

    /// Opens the stretched picture; shapes go inside, `close("svg")` ends it.
    pub(super) fn open(&self, m: &mut Markup, y: f64) {
        let view = format!("0 0 {} {}", self.points.max(1), self.height);
        let (y, height) = (y.to_string(), self.height.to_string());
        let attributes = [
            ("class", "plot"),
            ("x", "0"),
            ("y", &*y),
            ("width", "100%"),
            ("height", &*height),
            ("viewBox", &*view),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
        ];
        m.open("svg", &attributes);
    }

    /// A line through the points that are known.
    pub(super) fn line(&self, m: &mut Markup, class: &str, values: &[Option<f64>]) {
        let mut d = String::new();
        let mut drawn_to = None;
        for (at, value) in values.iter().enumerate() {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let joined = drawn_to == Some(at);
            let (x, y) = (at as f64 + 0.5, self.y(value));
            // A point without neighbors is a dot: a line of no length with round ends.
            let tail = if !joined && !known(values, at + 1) { "h0" } else { "" };
            let command = if joined { 'L' } else { 'M' };
            let _ = write!(d, "{command}{x} {}{tail}", short(y));
            drawn_to = Some(at + 1);
        }
        path(m, class, &d);
    }

    /// The area between two series, where both are known.
    pub(super) fn band(&self, m: &mut Markup, class: &str, low: &[Option<f64>], high: &[Option<f64>]) {
        let mut d = String::new();
        let len = low.len().min(high.len());
        let mut at = 0;
        while at < len {
            let run = (at..len).take_while(|&i| known(low, i) && known(high, i)).count();
            if run > 0 {
                self.run(&mut d, at, run, low, high);
            }
            at += run.max(1);
        }
        path(m, class, &d);
    }

    /// One stretch of a band, from edge to edge of its points.
    fn run(&self, d: &mut String, from: usize, run: usize, low: &[Option<f64>], high: &[Option<f64>]) {
        let value = |series: &[Option<f64>], at: usize| short(self.y(series[at].unwrap_or(0.0)));
        let to = from + run;
        let _ = write!(d, "M{from} {}", value(high, from));
        (from..to).for_each(|at| {
            let _ = write!(d, "L{}.5 {}", at, value(high, at));
        });
        let _ = write!(d, "H{to}V{}", value(low, to - 1));
        (from..to).rev().for_each(|at| {
            let _ = write!(d, "L{}.5 {}", at, value(low, at));
        });
        let _ = write!(d, "H{from}Z");
    }
}

fn known(values: &[Option<f64>], at: usize) -> bool {
    values.get(at).is_some_and(|value| value.is_some_and(f64::is_finite))
}

/// A tenth of a pixel is enough.
fn short(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn path(m: &mut Markup, class: &str, d: &str) {
    if !d.is_empty() {
        m.element("path", &[("class", class), ("d", d)], "");
    }
}

/// The least round number that is not below the values: an axis's end.
pub(super) fn round_up(largest: f64) -> f64 {
    if !largest.is_finite() || largest <= 0.0 {
        return 1.0;
    }
    let unit = 10_f64.powf(largest.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let fits = steps.into_iter().map(|step| step * unit).find(|&end| end >= largest * (1.0 - 1e-9));
    fits.unwrap_or(10.0 * unit)
}

/// Numbers to a tenth, for the script: `12.3,,45`.
pub(super) fn data(values: &[Option<f64>], scale: f64) -> String {
    let texts = values.iter().map(|value| match value {
        Some(value) if value.is_finite() => short(value * scale).to_string(),
        _ => String::new(),
    });
    texts.collect::<Vec<String>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Plot = Plot { points: 4, height: 100.0, bottom: 0.0, top: 1.0 };

    #[test]
    fn lines_break_at_gaps() {
        let mut m = Markup::default();
        PLOT.line(&mut m, "a", &[Some(0.0), Some(0.5), None, Some(2.0), Some(f64::NAN)]);
        assert_eq!(m.finish().trim(), "<path class=\"a\" d=\"M0.5 100L1.5 50M3.5 0h0\"></path>");
    }

    #[test]
    fn bands_reach_from_edge_to_edge_of_their_points() {
        let mut m = Markup::default();
        PLOT.band(&mut m, "b", &[None, Some(0.0), None], &[None, Some(1.0), Some(1.0)]);
        assert_eq!(m.finish().trim(), "<path class=\"b\" d=\"M1 0L1.5 0H2V100L1.5 100H1Z\"></path>");
        let mut nothing = Markup::default();
        PLOT.band(&mut nothing, "b", &[None], &[None]);
        assert_eq!(nothing.finish(), "");
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let cases = [(0.37, 0.4), (1.0, 1.0), (0.000_9, 0.001), (123.0, 150.0), (f64::NAN, 1.0), (0.0, 1.0)];
        for (largest, end) in cases {
            assert!((round_up(largest) - end).abs() < 1e-12, "{largest}: {}", round_up(largest));
        }
    }

    #[test]
    fn data_for_the_script_are_short() {
        assert_eq!(data(&[Some(0.123_45), None, Some(f64::INFINITY), Some(1.0)], 100.0), "12.3,,,100");
    }
}
