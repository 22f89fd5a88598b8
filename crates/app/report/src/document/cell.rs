//! Cells of tables: a text, the number behind it, and small pictures.

use super::{Axis, Color, PageLink, Prose, SpanStyle, Tone};
use crate::times::Calendar;
use crate::{names, numbers};
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// A value as people read it, with what sorts it.
#[derive(Clone, PartialEq, Default, Debug, Serialize, ToSchema)]
pub struct Cell {
    /// The kind of value.
    pub kind: CellKind,
    /// The value in words.
    pub text: Prose,
    /// The number behind it, in the unit of its kind; `null` when there is none or it is not finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Its tone.
    #[serde(skip_serializing_if = "Tone::is_neutral")]
    pub tone: Tone,
    /// A picture beside the text, or instead of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graphic: Option<Graphic>,
}

/// The kind of a cell's value, with its unit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// Words; no number.
    #[default]
    Text,
    /// Names of the input.
    Name,
    /// A count.
    Count,
    /// A length of time in nanoseconds.
    Duration,
    /// An instant: milliseconds since the Unix epoch.
    Time,
    /// A factor.
    Factor,
    /// A share, 0 to 1.
    Share,
    /// A p-value.
    PValue,
    /// A plain number.
    Number,
    /// A picture; no number.
    Graphic,
}

impl Cell {
    fn number(kind: CellKind, text: String, value: f64) -> Cell {
        Cell { kind, text: text.into(), value: value.is_finite().then_some(value), ..Cell::default() }
    }

    pub(crate) fn empty() -> Cell {
        Cell::default()
    }

    /// Words.
    pub(crate) fn text(text: impl Into<Prose>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A name of the input.
    pub(crate) fn name(style: SpanStyle, name: &str) -> Cell {
        Cell::named(Prose::name(style, name))
    }

    /// Text that is mostly names.
    pub(crate) fn named(text: Prose) -> Cell {
        Cell { kind: CellKind::Name, text, ..Cell::default() }
    }

    pub(crate) fn count(count: u64) -> Cell {
        Cell::number(CellKind::Count, numbers::count(count), count as f64)
    }

    /// `418 of 451`
    pub(crate) fn count_of(count: u64, all: u64) -> Cell {
        let text = format!("{} of {}", numbers::count(count), numbers::count(all));
        Cell::number(CellKind::Count, text, count as f64)
    }

    /// `48.2 ms`; a dash for what is negative or not finite.
    pub(crate) fn duration(ns: f64) -> Cell {
        Cell::number(CellKind::Duration, numbers::time_float(ns), ns)
    }

    /// The same of a length given in seconds.
    pub(crate) fn seconds(seconds: f64) -> Cell {
        Cell::duration(seconds * 1e9)
    }

    /// A length given in seconds with a text of its own: an interval, say.
    pub(crate) fn worded_seconds(text: impl AsRef<str>, seconds: f64) -> Cell {
        Cell::worded(CellKind::Duration, text, seconds * 1e9)
    }

    /// `+48.2 ms`: an excess.
    pub(crate) fn excess(ns: u64) -> Cell {
        Cell::number(CellKind::Duration, numbers::effect(ns), ns as f64)
    }

    /// `+48.2 ms`, `−3.00 ms`: a difference; more is worse.
    pub(crate) fn difference(ns: f64) -> Cell {
        let tone = match ns {
            ns if ns > 0.0 => Tone::Bad,
            ns if ns < 0.0 => Tone::Good,
            _ => Tone::Neutral,
        };
        Cell::number(CellKind::Duration, crate::numbers::signed_time(ns), ns).tone(tone)
    }

    /// A time of day, with its date where it is another than the report's.
    pub(crate) fn time(calendar: &Calendar, time: Timestamp) -> Cell {
        Cell::number(CellKind::Time, calendar.time(time), Axis::instant(time))
    }

    pub(crate) fn factor(factor: f64) -> Cell {
        Cell::number(CellKind::Factor, numbers::factor(factor), factor)
    }

    pub(crate) fn share(share: f64) -> Cell {
        Cell::number(CellKind::Share, numbers::share(share), share)
    }

    pub(crate) fn p_value(p: f64) -> Cell {
        Cell::number(CellKind::PValue, numbers::p_value(p), p)
    }

    /// A plain ratio with two decimals.
    pub(crate) fn ratio(ratio: f64) -> Cell {
        Cell::number(CellKind::Number, numbers::ratio(ratio), ratio)
    }

    /// Any number with a text of its own.
    pub(crate) fn worded(kind: CellKind, text: impl AsRef<str>, value: f64) -> Cell {
        Cell::number(kind, names::visible(text.as_ref()).into_owned(), value)
    }

    /// A word with a meaning: `slower`.
    pub(crate) fn mark(word: impl Into<Prose>, tone: Tone) -> Cell {
        Cell::text(word).tone(tone)
    }

    /// A bar from the left, full at share 1.
    pub(crate) fn bar(share: f64) -> Cell {
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        Cell::graphic([GraphicMark::bar(0.0, share, Color::ACCENT)])
    }

    pub(crate) fn graphic(marks: impl IntoIterator<Item = GraphicMark>) -> Cell {
        let graphic = Graphic { marks: marks.into_iter().collect() };
        Cell { kind: CellKind::Graphic, graphic: Some(graphic), ..Cell::default() }
    }

    pub(crate) const fn tone(mut self, tone: Tone) -> Cell {
        self.tone = tone;
        self
    }

    /// Leads to a page of the service.
    pub(crate) fn page(mut self, page: PageLink) -> Cell {
        self.text = self.text.page(page);
        self
    }

    /// Followed by more text: an interval, say.
    pub(crate) fn then(mut self, more: Prose) -> Cell {
        self.text = self.text.then(more);
        self
    }
}

/// A small picture in a cell, drawn on the scale of its column.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Graphic {
    /// From back to front.
    pub marks: Vec<GraphicMark>,
}

/// A shape of a [`Graphic`]. Positions are shares of the column's width, 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct GraphicMark {
    /// Its shape.
    pub shape: GraphicShape,
    /// Left end.
    pub from: f64,
    /// Right end; the same for dots and ticks.
    pub to: f64,
    /// Its color.
    pub color: Color,
    /// Which part of the row's height it takes.
    pub lane: Lane,
}

/// The shape of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphicShape {
    /// A filled rectangle.
    Bar,
    /// A horizontal line: an interval.
    Line,
    /// A filled circle.
    Dot,
    /// A circle that is not filled.
    Ring,
    /// A vertical line.
    Tick,
}

/// A part of a row's height.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// All of it.
    #[default]
    Full,
    /// A thinner part in the middle.
    Thin,
    /// The upper half.
    Upper,
    /// The lower half.
    Lower,
}

impl GraphicMark {
    pub(crate) fn new(shape: GraphicShape, from: f64, to: f64, color: Color) -> GraphicMark {
        let within = |share: f64| if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        GraphicMark { shape, from: within(from), to: within(to), color, lane: Lane::Full }
    }

    pub(crate) fn bar(from: f64, to: f64, color: Color) -> GraphicMark {
        GraphicMark::new(GraphicShape::Bar, from, to, color)
    }

    pub(crate) fn line(from: f64, to: f64, color: Color) -> GraphicMark {
        GraphicMark::new(GraphicShape::Line, from, to, color)
    }

    /// A dot, ring, or tick.
    pub(crate) fn point(shape: GraphicShape, x: f64, color: Color) -> GraphicMark {
        GraphicMark::new(shape, x, x, color)
    }

    pub(crate) const fn lane(mut self, lane: Lane) -> GraphicMark {
        self.lane = lane;
        self
    }
}
