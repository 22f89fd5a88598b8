//! Lines and points over a horizontal number, as a picture that stretches with the page.

use super::super::markup::Markup;
use super::super::time_axis::{labels, percent};
use std::fmt::Write as _;

/// Steps of an axis.
const STEPS: [f64; 11] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// Width of the stretched picture in its own units.
const WIDTH: f64 = 1_000.0;

/// Where a chart's values lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chart {
    /// The value at the left edge.
    pub(super) left: f64,
    /// The value at the right edge.
    pub(super) right: f64,
    /// The value at the upper edge; the lower is 0.
    pub(super) top: f64,
    /// Pixels.
    pub(super) height: f64,
}

impl Chart {
    /// Place from the left, 0..100.
    pub(super) fn x(&self, value: f64) -> f64 {
        ((value - self.left) / (self.right - self.left).max(f64::MIN_POSITIVE) * 100.0).clamp(0.0, 100.0)
    }

    /// Pixels from above, a little outside at most.
    pub(super) fn y(&self, value: f64) -> f64 {
        let share = (value / self.top.max(f64::MIN_POSITIVE)).clamp(-0.1, 1.5);
        ((1.0 - share) * self.height * 10.0).round() / 10.0
    }

    /// Opens the picture with its name; `content` draws into it.
    pub(super) fn draw(&self, m: &mut Markup, id: &str, name: &str, content: impl FnOnce(&mut Markup)) {
        let height = self.height.to_string();
        let attributes = [("role", "img"), ("aria-labelledby", id), ("width", "100%"), ("height", &*height)];
        m.open("svg", &attributes);
        m.element("title", &[("id", id)], name);
        content(m);
        m.close("svg");
    }

    /// Opens the stretched part for lines; `content` draws them.
    pub(super) fn stretched(&self, m: &mut Markup, content: impl FnOnce(&mut Markup)) {
        let view = format!("0 0 {WIDTH} {}", self.height);
        let height = self.height.to_string();
        let attributes = [
            ("class", "plot"),
            ("width", "100%"),
            ("height", &*height),
            ("viewBox", &*view),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
        ];
        m.open("svg", &attributes);
        content(m);
        m.close("svg");
    }

    /// A line through points that are numbers.
    pub(super) fn line(&self, m: &mut Markup, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut d = String::new();
        for (x, y) in points.filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let command = if d.is_empty() { 'M' } else { 'L' };
            let _ = write!(d, "{command}{:.1} {}", self.x(x) * WIDTH / 100.0, self.y(y));
        }
        if !d.is_empty() {
            m.element("path", &[("class", class), ("d", &d)], "");
        }
    }

    /// A dot, with words at the pointer.
    pub(super) fn dot(&self, m: &mut Markup, x: f64, y: f64, words: &str) {
        if !(x.is_finite() && y.is_finite()) || y > self.top {
            return;
        }
        let place = [("cx", &*percent(self.x(x))), ("cy", &*self.y(y).to_string()), ("r", "2.5")];
        m.within("circle", &place, |m| m.element("title", &[], words));
    }

    /// A line from top to bottom.
    pub(super) fn upright(&self, m: &mut Markup, class: &str, x: f64) {
        if x.is_finite() && x <= self.right {
            let (x, y) = (percent(self.x(x)), self.height.to_string());
            m.element("line", &[("class", class), ("x1", &x), ("x2", &x), ("y1", "0"), ("y2", &y)], "");
        }
    }

    /// A line across, with words.
    pub(super) fn level(&self, m: &mut Markup, class: &str, value: f64, words: &str) {
        if value > self.top {
            return;
        }
        let y = self.y(value);
        let at = y.to_string();
        m.element("line", &[("class", class), ("x1", "0%"), ("x2", "100%"), ("y1", &at), ("y2", &at)], "");
        if !words.is_empty() {
            let at = if y < 14.0 { y + 12.0 } else { y - 3.0 }.to_string();
            m.element("text", &[("class", "level"), ("x", "3"), ("y", &at)], words);
        }
    }

    /// A line across, with words at its right end.
    pub(super) fn target(&self, m: &mut Markup, value: f64, words: &str) {
        self.level(m, "target", value, "");
        let at = (self.y(value) - 4.0).max(11.0).to_string();
        let place = [("class", "level at-end"), ("x", "100%"), ("y", &*at)];
        m.element("text", &place, words);
    }

    /// Numbers below.
    pub(super) fn axis(&self, m: &mut Markup, name: impl Fn(f64) -> String) {
        m.raw("<svg class=\"ticks\" width=\"100%\" height=\"20\" aria-hidden=\"true\">\n");
        let step = round_up((self.right - self.left) / 8.0);
        let ticks: Vec<f64> =
            (1..=20).map(|at| step * f64::from(at)).take_while(|x| *x < self.right).collect();
        let places: Vec<f64> = ticks.iter().map(|x| self.x(*x)).collect();
        labels(m, "14", [7.0, 20.0], &places, |at| name(ticks[at]));
        m.close("svg");
    }
}

/// The least round number that is not below: an axis's end.
pub(super) fn round_up(largest: f64) -> f64 {
    if !largest.is_finite() || largest <= 0.0 {
        return 1.0;
    }
    let unit = 10_f64.powf(largest.log10().floor());
    let fits = STEPS.into_iter().map(|step| step * unit).find(|end| *end >= largest * (1.0 - 1e-9));
    fits.unwrap_or(10.0 * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_to_scale_and_inside() {
        let chart = Chart { left: 0.0, right: 200.0, top: 4.0, height: 100.0 };
        assert_eq!([0.0, 50.0, 300.0].map(|x| chart.x(x)), [0.0, 25.0, 100.0]);
        assert_eq!([0.0, 1.0, 4.0].map(|y| chart.y(y)), [100.0, 75.0, 0.0]);
        assert_eq!(round_up(0.37), 0.4);
        assert_eq!(round_up(f64::NAN), 1.0);
    }

    #[test]
    fn lines_leave_out_what_is_no_number() {
        let chart = Chart { left: 0.0, right: 10.0, top: 1.0, height: 100.0 };
        let mut m = Markup::default();
        chart.line(&mut m, "a", [(0.0, 0.0), (5.0, f64::NAN), (10.0, 1.0)].into_iter());
        chart.line(&mut m, "b", std::iter::empty());
        chart.dot(&mut m, 1.0, f64::INFINITY, "x");
        assert_eq!(m.finish().trim(), "<path class=\"a\" d=\"M0.0 100L1000.0 0\"></path>");
    }
}
