//! Curves, bands, bars, and dots over a common axis.

use super::{Color, LegendEntry};
use crate::{Window, numbers, times};
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Panels under each other over one horizontal axis.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Chart {
    /// Text alternative for assistive technology.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Marks through all panels.
    pub marks: Vec<ChartMark>,
    /// Meaning of each color.
    pub legend: Vec<LegendEntry>,
    /// Whether pages show the values at the pointer: only if all series have the same points.
    pub readout: bool,
}

/// An axis from its lower to its upper end.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Axis {
    /// How values become positions.
    pub scale: Scale,
    /// The lower end, in the unit of the scale.
    pub from: f64,
    /// The upper end.
    pub to: f64,
    /// Where the axis is labeled.
    pub ticks: Vec<Tick>,
}

/// How values become positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By the logarithm.
    Log,
    /// Evenly; instants in milliseconds since the Unix epoch.
    Time,
}

/// A labeled position.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Tick {
    /// Where.
    pub at: f64,
    /// The label.
    pub label: String,
}

/// One picture of a chart.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Panel {
    /// Title.
    pub title: String,
    /// In pixels.
    pub height: u32,
    /// The vertical axis.
    pub y: Axis,
    /// From back to front.
    pub series: Vec<Series>,
    /// Horizontal lines.
    pub levels: Vec<Level>,
    /// Marks of this panel alone.
    pub marks: Vec<ChartMark>,
}

/// A horizontal line with a label.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Level {
    /// Where.
    pub at: f64,
    /// The label, at the right end.
    pub label: String,
    /// Its color.
    pub color: Color,
}

/// Points that belong together. All lists that are not empty have the same length.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// The unit after a value in the readout.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// How it is drawn.
    pub shape: SeriesShape,
    /// Its color.
    pub color: Color,
    /// Horizontal values; for bars the left edges.
    pub x: Vec<f64>,
    /// For bars: the right edges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x_end: Vec<f64>,
    /// Vertical values, `null` where not known; for bands the upper edge.
    pub y: Vec<Option<f64>>,
    /// For bands: the lower edge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<Option<f64>>,
    /// Text shown under the pointer at each point; empty without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesShape {
    /// A line.
    Line,
    /// A dashed line.
    Dashed,
    /// A dotted line.
    Dotted,
    /// The area between two edges.
    Band,
    /// Bars from the lower end of the axis.
    Bars,
    /// Dots.
    Dots,
    /// Circles that are not filled.
    Rings,
}

/// Something at a horizontal position, or from one to another.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ChartMark {
    /// Where it begins.
    pub from: f64,
    /// Where it ends; the same for lines.
    pub to: f64,
    /// How it is drawn.
    pub style: MarkStyle,
    /// Its color.
    pub color: Color,
    /// A letter or number above it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Text shown under the pointer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// How a mark is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkStyle {
    /// A vertical line.
    Line,
    /// A dashed vertical line.
    Dashed,
    /// A dotted vertical line with a pin at its top.
    Pin,
    /// A background from one position to another.
    Area,
}

impl ChartMark {
    pub(crate) fn line(style: MarkStyle, value: f64, color: Color, words: impl Into<String>) -> ChartMark {
        ChartMark { from: value, to: value, style, color, label: String::new(), words: words.into() }
    }

    pub(crate) fn area(from: f64, to: f64, color: Color, words: impl Into<String>) -> ChartMark {
        ChartMark { from, to, style: MarkStyle::Area, color, label: String::new(), words: words.into() }
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> ChartMark {
        self.label = label.into();
        self
    }
}

impl Series {
    pub(crate) fn new(name: &str, shape: SeriesShape, color: Color) -> Series {
        Series {
            name: name.to_owned(),
            unit: String::new(),
            shape,
            color,
            x: Vec::new(),
            x_end: Vec::new(),
            y: Vec::new(),
            low: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Points, the vertical values not known where they are not finite.
    pub(crate) fn points(mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        for (x, y) in points.into_iter().filter(|(x, _)| x.is_finite()) {
            self.x.push(x);
            self.y.push(y.is_finite().then_some(y));
        }
        self
    }

    /// A bar with what the pointer shows.
    pub(crate) fn push_bar(&mut self, from: f64, to: f64, y: f64, words: String) {
        self.x.push(from);
        self.x_end.push(to);
        self.y.push(y.is_finite().then_some(y));
        self.words.push(words);
    }
}

impl Panel {
    pub(crate) fn new(title: impl Into<String>, height: u32, y: Axis) -> Panel {
        Panel { title: title.into(), height, y, series: Vec::new(), levels: Vec::new(), marks: Vec::new() }
    }

    pub(crate) fn series(mut self, series: Series) -> Panel {
        self.series.push(series);
        self
    }
}

/// Steps of a linear axis, times a power of ten.
const STEPS: [f64; 11] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// Steps of a time axis, in seconds.
const TIME_STEPS: [i64; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
    604_800, 2_592_000,
];

const SECOND: i64 = 1_000_000_000;

/// Ticks of a time axis at most.
const TICKS: i64 = 10;

impl Axis {
    /// A linear axis with labels at the ends and in the middle.
    pub(crate) fn levels(from: f64, to: f64, label: impl Fn(f64) -> String) -> Axis {
        let ticks = [from, f64::midpoint(from, to), to].map(|at| Tick { at, label: label(at) });
        Axis { scale: Scale::Linear, from, to, ticks: ticks.into() }
    }

    /// A linear axis without labels.
    pub(crate) const fn plain(from: f64, to: f64) -> Axis {
        Axis { scale: Scale::Linear, from, to, ticks: Vec::new() }
    }

    /// A linear axis from 0 with round labels.
    pub(crate) fn amounts(to: f64, label: impl Fn(f64) -> String) -> Axis {
        let step = round_up(to / 8.0);
        let positions = (1..=20).map(|index| step * f64::from(index)).take_while(|index| *index < to);
        let ticks = positions.map(|at| Tick { at, label: label(at) }).collect();
        Axis { scale: Scale::Linear, from: 0.0, to, ticks }
    }

    /// Time, in UTC.
    pub(crate) fn time(time: Window) -> Axis {
        let positions = time_ticks(time.since.unix_ns(), time.until.unix_ns());
        let dated = positions.windows(2).next().is_some_and(|pair| pair[1] - pair[0] >= 86_400 * SECOND);
        let tick = |ns: &i64| {
            let instant = Timestamp::from_unix_ns(*ns);
            Tick { at: Axis::instant(instant), label: times::tick(instant, dated) }
        };
        let (from, to) = (Axis::instant(time.since), Axis::instant(time.until));
        Axis { scale: Scale::Time, from, to: to.max(from), ticks: positions.iter().map(tick).collect() }
    }

    /// An instant on a time axis: milliseconds since the Unix epoch.
    pub(crate) fn instant(time: Timestamp) -> f64 {
        time.unix_ns() as f64 / 1e6
    }

    /// Lengths of time in nanoseconds, by the logarithm; both ends above 0.
    pub(crate) fn log_durations(from: f64, to: f64) -> Axis {
        let mantissas: &[f64] = if (to / from).log10() > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (low, high) = (from.log10().floor() as i32, to.log10().ceil() as i32);
        let positions = (low..=high).flat_map(|power| mantissas.iter().map(move |m| m * 10_f64.powi(power)));
        let ticks = positions.filter(|ns| (from..=to).contains(ns));
        let ticks = ticks.map(|at| Tick { at, label: numbers::round_time(at) }).collect();
        Axis { scale: Scale::Log, from, to, ticks }
    }

    /// Position of a value, 0 at the lower end to 1 at the upper; the nearest end for values outside.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let location =
            |value: f64| if self.scale == Scale::Log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let (from, to) = (location(self.from), location(self.to));
        let share = (location(value) - from) / (to - from);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Round instants between two.
fn time_ticks(since_ns: i64, until_ns: i64) -> Vec<i64> {
    let length = until_ns.saturating_sub(since_ns);
    let fits = |step: &&i64| length / (**step * SECOND) <= TICKS;
    let step = TIME_STEPS.iter().find(fits).map_or_else(|| length / TICKS, |step| step * SECOND).max(1);
    let first = since_ns.saturating_add((-since_ns.rem_euclid(step)).rem_euclid(step));
    let positions = (0..=TICKS + 1).map(|index| first.saturating_add(step.saturating_mul(index)));
    positions.take_while(|&ns| ns <= until_ns).collect()
}

/// The least round number that is not below: an axis's end.
pub(crate) fn round_up(largest: f64) -> f64 {
    if !largest.is_finite() || largest <= 0.0 {
        return 1.0;
    }
    let unit = 10_f64.powf(largest.log10().floor());
    let mut ends = STEPS.into_iter().map(|step| step * unit);
    ends.find(|end| *end >= largest * (1.0 - 1e-9)).unwrap_or(10.0 * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside_the_axis() {
        let minute = 60 * SECOND;
        let five: Vec<i64> = (2..=9).map(|index| index * 5 * minute).collect();
        assert_eq!(time_ticks(7 * minute, 47 * minute), five);
        assert_eq!(time_ticks(-3, SECOND), [0, SECOND]);
        assert_eq!(time_ticks(5, 5), [0_i64; 0]);
        for (since, until) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MAX, i64::MAX)] {
            assert!(time_ticks(since, until).len() as i64 <= TICKS + 2);
        }
        let labels: Vec<String> =
            Axis::log_durations(3e6, 6e7).ticks.into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["5 ms", "10 ms", "20 ms", "50 ms"]);
    }

    #[test]
    fn positions_are_to_scale_and_inside_the_chart() {
        let axis = Axis::time(Window {
            since: Timestamp::from_unix_ns(1_000),
            until: Timestamp::from_unix_ns(3_000),
        });
        let positions = [1_000, 1_500, 3_000, i64::MAX, i64::MIN]
            .map(|ns| axis.position(Axis::instant(Timestamp::from_unix_ns(ns))));
        assert_eq!(positions, [0.0, 0.25, 1.0, 1.0, 0.0]);
        assert!((Axis::log_durations(1e3, 1e9).position(1e6) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let cases = [(0.37, 0.4), (1.0, 1.0), (0.000_9, 0.001), (123.0, 150.0), (f64::NAN, 1.0), (0.0, 1.0)];
        for (largest, end) in cases {
            assert!((round_up(largest) - end).abs() < 1e-12, "{largest}: {}", round_up(largest));
        }
    }
}
