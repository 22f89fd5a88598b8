//! Lines between two sets of points.

use super::hull::{Half, Point, hull};

/// Rates the second clock may run at, against the first: half a part in a thousand more or less. Clocks of computers
/// are off by some parts in 100,000, and the kernel lets nobody steer them by more than this (adjtimex).
const RATE_OFF_MAX: f64 = 500e-6;
/// Halvings of an interval of rates: what is left of it is below one in 10¹⁷.
const STEPS: usize = 60;

/// Points that a line must stay below (packets forth) and above (packets back).
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
    /// The distance (in y) it keeps to the nearest point of each side; below 0 there is no line between them.
    pub(crate) room: f64,
}

/// An interval of rates.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rates {
    from: f64,
    to: f64,
}

impl Corridor {
    /// Both sets ordered by x.
    pub(crate) fn new(above: impl Iterator<Item = Point>, below: impl Iterator<Item = Point>) -> Corridor {
        Corridor { ceiling: hull(above, Half::Lower), floor: hull(below, Half::Upper) }
    }

    /// The highest a line of this rate may lie at `x`.
    fn highest(&self, rate: f64, x: f64) -> f64 {
        self.ceiling.iter().map(|point| point.y - rate * (point.x - x)).fold(f64::INFINITY, f64::min)
    }

    /// The lowest a line of this rate may lie at `x`.
    fn lowest(&self, rate: f64, x: f64) -> f64 {
        self.floor.iter().map(|point| point.y - rate * (point.x - x)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Room for a line of this rate: concave in the rate.
    fn room(&self, rate: f64) -> f64 {
        self.highest(rate, 0.0) - self.lowest(rate, 0.0)
    }

    /// The line with the most room to both sides.
    pub(crate) fn middle(&self) -> Line {
        let rate = maximum(&all_rates(), |rate| self.room(rate));
        let (highest, lowest) = (self.highest(rate, 0.0), self.lowest(rate, 0.0));
        Line { rate, offset: f64::midpoint(highest, lowest), room: (highest - lowest) / 2.0 }
    }

    /// How far any line of the corridor can lie from `line` at `x`.
    pub(crate) fn deviation(&self, line: Line, x: f64) -> f64 {
        let rates = Rates {
            from: self.border(line.rate, 1.0 - RATE_OFF_MAX),
            to: self.border(line.rate, 1.0 + RATE_OFF_MAX),
        };
        let here = line.rate * x + line.offset;
        let up = self.highest(maximum(&rates, |rate| self.highest(rate, x)), x);
        let down = self.lowest(maximum(&rates, |rate| -self.lowest(rate, x)), x);
        (up - here).max(here - down)
    }

    /// The last rate with room on the way from a rate that has some to one that may have none.
    fn border(&self, with_room: f64, towards: f64) -> f64 {
        if self.room(towards) >= 0.0 {
            return towards;
        }
        let (mut inside, mut outside) = (with_room, towards);
        for _ in 0..STEPS {
            let middle = f64::midpoint(inside, outside);
            match self.room(middle) >= 0.0 {
                true => inside = middle,
                false => outside = middle,
            }
        }
        inside
    }
}

fn all_rates() -> Rates {
    Rates { from: 1.0 - RATE_OFF_MAX, to: 1.0 + RATE_OFF_MAX }
}

/// Where a concave function is largest: ternary search.
fn maximum(rates: &Rates, value: impl Fn(f64) -> f64) -> f64 {
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
