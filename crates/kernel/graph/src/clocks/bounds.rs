//! Lines between two sets of points.

use super::hull::{HullSide, Point, hull};

/// Maximum deviation of the second clock's rate from the first's: half a part per thousand. Computer clocks deviate by
/// a few parts in 100,000, and the kernel limits adjustments to this value (adjtimex).
const RATE_OFF_MAX: f64 = 500e-6;
/// Number of interval reductions; the remaining interval is below 10⁻¹⁷ of the first.
const STEPS: usize = 60;

/// Points that a line must stay below (packets from first to second) and above (from second to first).
#[derive(Debug)]
pub(crate) struct Corridor {
    ceiling: Vec<Point>,
    floor: Vec<Point>,
}

/// A line in the corridor: `y = rate · x + offset`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Line {
    pub(crate) rate: f64,
    pub(crate) offset: f64,
    /// The distance (in y) to the nearest point on each side; negative if no line fits between them.
    pub(crate) margin: f64,
}

/// An interval of rates.
#[derive(Clone, Copy, PartialEq, Debug)]
struct RateRange {
    from: f64,
    to: f64,
}

impl Corridor {
    /// Both sets ordered by x.
    pub(crate) fn new(above: impl Iterator<Item = Point>, below: impl Iterator<Item = Point>) -> Corridor {
        Corridor { ceiling: hull(above, HullSide::Lower), floor: hull(below, HullSide::Upper) }
    }

    /// The highest a line of this rate may lie at `x`.
    fn highest(&self, rate: f64, x: f64) -> f64 {
        self.ceiling.iter().map(|point| point.y - rate * (point.x - x)).fold(f64::INFINITY, f64::min)
    }

    /// The lowest a line of this rate may lie at `x`.
    fn lowest(&self, rate: f64, x: f64) -> f64 {
        self.floor.iter().map(|point| point.y - rate * (point.x - x)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The margin for a line of this rate; a concave function of the rate.
    fn margin(&self, rate: f64) -> f64 {
        self.highest(rate, 0.0) - self.lowest(rate, 0.0)
    }

    /// The line with the largest margin to both sides.
    pub(crate) fn middle(&self) -> Line {
        let rate = maximum(&all_rates(), |rate| self.margin(rate));
        let (highest, lowest) = (self.highest(rate, 0.0), self.lowest(rate, 0.0));
        Line { rate, offset: f64::midpoint(highest, lowest), margin: (highest - lowest) / 2.0 }
    }

    /// How far any line of the corridor can lie from `line` at `x`.
    pub(crate) fn deviation(&self, line: Line, x: f64) -> f64 {
        let rates = RateRange {
            from: self.border(line.rate, 1.0 - RATE_OFF_MAX),
            to: self.border(line.rate, 1.0 + RATE_OFF_MAX),
        };
        let here = line.rate * x + line.offset;
        let up = self.highest(maximum(&rates, |rate| self.highest(rate, x)), x);
        let down = self.lowest(maximum(&rates, |rate| -self.lowest(rate, x)), x);
        (up - here).max(here - down)
    }

    /// The last rate with a margin between `with_margin`, which has one, and `towards`, which may not.
    fn border(&self, with_margin: f64, towards: f64) -> f64 {
        if self.margin(towards) >= 0.0 {
            return towards;
        }
        let (mut inside, mut outside) = (with_margin, towards);
        for _ in 0..STEPS {
            let middle = f64::midpoint(inside, outside);
            match self.margin(middle) >= 0.0 {
                true => inside = middle,
                false => outside = middle,
            }
        }
        inside
    }
}

fn all_rates() -> RateRange {
    RateRange { from: 1.0 - RATE_OFF_MAX, to: 1.0 + RATE_OFF_MAX }
}

/// Argument of the maximum of a concave function, by ternary search.
fn maximum(rates: &RateRange, value: impl Fn(f64) -> f64) -> f64 {
    let (mut from, mut to) = (rates.from, rates.to);
    for _ in 0..2 * STEPS {
        let third = (to - from) / 3.0;
        let (left, right) = (from + third, to - third);
        match value(left) < value(right) {
            true => from = left,
            false => to = right,
        }
    }
    f64::midpoint(from, to)
}
