//! Charts: panels of curves, bands, bars, and dots over one axis.

use super::{legend, percent, pixels};
use crate::document::{Axis, Chart, ChartMark, Color, Level, MarkStyle, Panel, Series, SeriesShape, Tick};
use maud::{Markup, html};
use serde_json::json;
use std::fmt::Write as _;

/// Units of the stretched part of a panel from left to right.
const WIDTH: f64 = 1_000.0;

/// Room above the first panel for labels of marks, in pixels.
const ABOVE: f64 = 18.0;

/// Room a tick's label needs, as a share of the width, on a wide page and on a phone.
const TICK_ROOM: [f64; 2] = [0.08, 0.2];

/// The narrowest bar, as a share of the width, and the lowest, in pixels.
const NARROWEST: f64 = 0.002_5;
const LOWEST: f64 = 1.0;

pub(super) fn chart(chart: &Chart, key: &str) -> Markup {
    let labeled = chart.marks.iter().any(|mark| !mark.label.is_empty());
    html! {
        (legend(&chart.legend))
        figure.chart data-chart=[data(chart)] {
            @for (index, panel) in chart.panels.iter().enumerate() {
                @if !panel.title.is_empty() { figcaption { (panel.title) } }
                @let above = if index == 0 && labeled { ABOVE } else { 0.0 };
                (Drawing { chart, panel, above }.picture(&format!("{key}-{index}")))
            }
            (axis(&chart.x))
            @if chart.readout { output.readout hidden aria-live="polite" {} }
        }
    }
}

/// The series for the script's readout: the page shows everything else without it.
fn data(chart: &Chart) -> Option<String> {
    if !chart.readout {
        return None;
    }
    let short = |value: &Option<f64>| value.map(|value| (value * 1000.0).round() / 1000.0);
    let all = chart.panels.iter().flat_map(|panel| &panel.series).filter(|series| !series.name.is_empty());
    let series: Vec<_> = all
        .map(|series| json!({ "name": series.name, "unit": series.unit, "y": series.y.iter().map(short).collect::<Vec<_>>() }))
        .collect();
    let x = chart.panels.iter().flat_map(|panel| &panel.series).next().map(|series| &series.x);
    Some(json!({ "x": x, "from": chart.x.from, "to": chart.x.to, "series": series }).to_string())
}

struct Drawing<'a> {
    chart: &'a Chart,
    panel: &'a Panel,
    /// Pixels above the panel.
    above: f64,
}

impl Drawing<'_> {
    fn height(&self) -> f64 {
        f64::from(self.panel.height)
    }

    fn x(&self, value: f64) -> f64 {
        self.chart.x.position(value)
    }

    /// Pixels from above.
    fn y(&self, value: f64) -> f64 {
        self.above + (1.0 - self.panel.y.position(value)) * self.height()
    }

    fn picture(&self, key: &str) -> Markup {
        let (id, height) = (format!("chart-{key}"), pixels(self.above + self.height() + 1.0));
        let title = if self.panel.title.is_empty() { &self.chart.caption } else { &self.panel.title };
        let marks = || self.chart.marks.iter().chain(&self.panel.marks);
        html! {
            svg.panel role="img" aria-labelledby=(id) width="100%" height=(height) {
                title #(id) { (title) }
                @for mark in marks().filter(|mark| mark.style == MarkStyle::Area) { (self.mark(mark)) }
                @for tick in &self.chart.x.ticks { (self.upright("grid", self.x(tick.at), self.above, "")) }
                @for tick in &self.panel.y.ticks { (self.level(tick)) }
                (self.stretched())
                @for series in &self.panel.series { (self.shapes(series)) }
                line.axis x1="0%" x2="100%" y1=(pixels(self.y(self.panel.y.from))) y2=(pixels(self.y(self.panel.y.from))) {}
                @for level in &self.panel.levels { (self.limit(level)) }
                @for mark in marks().filter(|mark| mark.style != MarkStyle::Area) { (self.mark(mark)) }
                @if self.above > 0.0 { (self.labels()) }
            }
        }
    }

    fn upright(&self, class: &str, x: f64, top: f64, words: &str) -> Markup {
        let (x, top, bottom) = (percent(x), pixels(top), pixels(self.above + self.height()));
        html! {
            line class=(class) x1=(x) x2=(x) y1=(top) y2=(bottom) {
                @if !words.is_empty() { title { (words) } }
            }
        }
    }

    fn level(&self, tick: &Tick) -> Markup {
        let y = self.y(tick.at);
        let label = if y < 14.0 { y + 12.0 } else { y - 3.0 };
        html! {
            line.grid x1="0%" x2="100%" y1=(pixels(y)) y2=(pixels(y)) {}
            @if !tick.label.is_empty() { text.level x="3" y=(pixels(label)) { (tick.label) } }
        }
    }

    fn limit(&self, level: &Level) -> Markup {
        let y = self.y(level.at);
        let class = format!("{} stroke dashed", level.color.class());
        html! {
            line class=(class) x1="0%" x2="100%" y1=(pixels(y)) y2=(pixels(y)) {}
            text.level.at-end x="100%" y=(pixels((y - 4.0).max(11.0))) { (level.label) }
        }
    }

    fn mark(&self, mark: &ChartMark) -> Markup {
        let (from, to) = (self.x(mark.from), self.x(mark.to));
        let color = mark.color.class();
        match mark.style {
            MarkStyle::Area => html! {
                rect class=(format!("{color} area")) x=(percent(from)) width=(percent((to - from).max(0.0))) y=(pixels(self.above)) height=(pixels(self.height())) {
                    @if !mark.words.is_empty() { title { (mark.words) } }
                }
            },
            MarkStyle::Line => self.upright(&format!("{color} stroke strong"), from, self.above, &mark.words),
            MarkStyle::Dashed => {
                self.upright(&format!("{color} stroke dashed"), from, self.above, &mark.words)
            }
            MarkStyle::Pin => html! {
                (self.upright(&format!("{color} stroke dotted"), from, 6.0, ""))
                circle class=(color) cx=(percent(from)) cy="6" r="4" { title { (mark.words) } }
            },
        }
    }

    /// Letters and numbers above the marks, as far as there is room.
    fn labels(&self) -> Markup {
        let marks = self.chart.marks.iter().filter(|mark| !mark.label.is_empty());
        let positions =
            marks.map(|mark| (f64::midpoint(self.x(mark.from), self.x(mark.to)), mark.label.as_str()));
        texts("letter", "13", [0.024, 0.065], positions)
    }

    /// Lines and bands, stretched with the page.
    fn stretched(&self) -> Markup {
        let is_stretched = |series: &&Series| {
            !matches!(series.shape, SeriesShape::Bars | SeriesShape::Dots | SeriesShape::Rings)
        };
        let view = format!("0 0 {WIDTH} {}", self.panel.height);
        html! {
            @if self.panel.series.iter().any(|series| is_stretched(&series)) {
                svg.plot y=(pixels(self.above)) width="100%" height=(self.panel.height) viewBox=(view) preserveAspectRatio="none" aria-hidden="true" {
                    @for series in self.panel.series.iter().filter(is_stretched) {
                        @let path = self.path(series);
                        @if !path.is_empty() { path class=(series_class(series)) d=(path) {} }
                    }
                }
            }
        }
    }

    fn path(&self, series: &Series) -> String {
        let mut path = String::new();
        let known: Vec<Option<(f64, f64)>> =
            series.x.iter().zip(&series.y).map(|(&x, y)| Some((x, (*y)?))).collect();
        let mut start = 0;
        while start < known.len() {
            let run: Vec<(f64, f64)> = known[start..].iter().map_while(|point| *point).collect();
            if series.shape == SeriesShape::Band {
                self.band(&mut path, &run, series.low.get(start..).unwrap_or_default());
            } else {
                self.line(&mut path, &run);
            }
            start += run.len().max(1);
        }
        path
    }

    fn line(&self, path: &mut String, run: &[(f64, f64)]) {
        for (index, &(x, y)) in run.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{} {}", pixels(self.x(x) * WIDTH), pixels(self.y(y) - self.above));
        }
        // A point without neighbors is a dot: a line of no length with round ends.
        if run.len() == 1 {
            path.push_str("h0");
        }
    }

    /// The upper edge to the right, the lower back. A band as wide as one point has half a step to each side.
    fn band(&self, path: &mut String, run: &[(f64, f64)], low: &[Option<f64>]) {
        let mut edge = |points: &mut dyn Iterator<Item = (f64, f64)>, first: char| {
            for (index, (x, y)) in points.enumerate() {
                let command = if index == 0 { first } else { 'L' };
                let _ =
                    write!(path, "{command}{} {}", pixels(self.x(x) * WIDTH), pixels(self.y(y) - self.above));
            }
        };
        if run.is_empty() {
            return;
        }
        let lower = |index: usize| low.get(index).copied().flatten().unwrap_or(self.panel.y.from);
        edge(&mut run.iter().copied(), 'M');
        edge(&mut (0..run.len()).rev().map(|index| (run[index].0, lower(index))), 'L');
        path.push('Z');
    }

    /// Bars and dots.
    fn shapes(&self, series: &Series) -> Markup {
        let points = || {
            series.x.iter().zip(&series.y).enumerate().filter_map(|(index, (x, y))| Some((index, *x, (*y)?)))
        };
        let color = series.color.class();
        let words = |index: usize| series.words.get(index).filter(|words| !words.is_empty());
        match series.shape {
            SeriesShape::Bars => html! {
                @for (index, x, y) in points() {
                    @let (from, to) = (self.x(x), self.x(series.x_end.get(index).copied().unwrap_or(x)));
                    @let top = self.y(y).min(self.above + self.height() - LOWEST);
                    rect class=(color) x=(percent(from)) width=(percent((to - from).max(NARROWEST))) y=(pixels(top)) height=(pixels(self.above + self.height() - top)) {
                        @if let Some(words) = words(index) { title { (words) } }
                    }
                }
            },
            SeriesShape::Dots | SeriesShape::Rings => html! {
                g class=(format!("{color} {}", if series.shape == SeriesShape::Dots { "dots" } else { "rings" })) {
                    @for (index, x, y) in points().filter(|(_, _, y)| *y <= self.panel.y.to) {
                        circle cx=(percent(self.x(x))) cy=(pixels(self.y(y))) r="2.5" {
                            @if let Some(words) = words(index) { title { (words) } }
                        }
                    }
                }
            },
            _ => html! {},
        }
    }
}

fn series_class(series: &Series) -> String {
    let color: Color = series.color;
    let class = match series.shape {
        SeriesShape::Band => "band",
        SeriesShape::Dashed => "stroke dashed",
        SeriesShape::Dotted => "stroke dotted",
        _ => "stroke",
    };
    format!("{} {class}", color.class())
}

/// The labels below the panels.
fn axis(axis: &Axis) -> Markup {
    let ticks = axis.ticks.iter().map(|tick| (axis.position(tick.at), tick.label.as_str()));
    html! {
        @if !axis.ticks.is_empty() {
            svg.ticks width="100%" height="20" aria-hidden="true" { (texts("tick", "14", TICK_ROOM, ticks)) }
        }
    }
}

/// Labels as far as there is room; a phone leaves out more of them.
fn texts<'a>(class: &str, y: &str, room: [f64; 2], places: impl Iterator<Item = (f64, &'a str)>) -> Markup {
    let mut free_from = room.map(|room| room / 2.0 - 0.01);
    let mut shown = Vec::new();
    for (x, label) in places {
        if x < free_from[0] || x > 1.01 - room[0] / 2.0 {
            continue;
        }
        free_from[0] = x + room[0];
        let phone = x >= free_from[1] && x <= 1.01 - room[1] / 2.0;
        if phone {
            free_from[1] = x + room[1];
        }
        shown.push((x, label, if phone { class.to_owned() } else { format!("{class} wide-only") }));
    }
    html! { @for (x, label, class) in &shown { text class=(class) x=(percent(*x)) y=(y) { (label) } } }
}
