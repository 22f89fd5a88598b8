//! Charts of capacity, for pages: curves of the model with what was observed, and capacity over time.

use super::circumstances;
use super::phrases::{amount, limit, most_amount};
use crate::document::{
    Axis, Block, Chart, ChartMark, Color, Detail, LegendEntry, Level, MarkStyle, Panel, Section, Series,
    SeriesShape, round_up,
};
use crate::{CapacityAnswer, CapacityReport, CurvePoint, ObservedLoad, TierKind, Window, names, numbers};

/// Pixels of a panel.
const HEIGHT: u32 = 170;

/// Observations drawn in each panel, and tiers.
const DOTS: usize = 400;
const TIERS: usize = 8;

/// Of the axis of response times, the part above the target.
const ABOVE_TARGET: f64 = 2.5;

/// The quantity drawn against clients or, where they are not known, the rate.
struct Drawing<'a> {
    report: &'a CapacityReport,
    answer: &'a CapacityAnswer,
}

/// One quantity of points and observations.
type OfPoint = fn(&CurvePoint) -> f64;
type OfLoad = fn(&ObservedLoad) -> Option<f64>;

/// Throughput, response time, and utilization against the load.
pub(super) fn curves(report: &CapacityReport, answer: &CapacityAnswer) -> Block {
    let drawing = Drawing { report, answer };
    let mut panels = Vec::new();
    if answer.clients.is_some() {
        panels.push(drawing.panel(
            "Throughput, requests per second",
            None,
            amount,
            |point| point.throughput,
            |load| Some(load.throughput),
        ));
    }
    let target = report.latency_max_s;
    let most = Some(ABOVE_TARGET * target);
    let mut response = drawing.panel(
        "Mean response time",
        most,
        numbers::seconds,
        |point| point.response_s,
        |load| load.response_s,
    );
    response.levels.push(Level { at: target, label: format!("target {}", limit(target)), color: Color::BAD });
    panels.push(response);
    panels.extend(drawing.utilization());
    let chart = Chart {
        caption:
            "Throughput, response time, and utilization against the load; the tables below hold the same"
                .to_owned(),
        x: Axis::amounts(drawing.right(), tick),
        panels,
        marks: drawing.marks(),
        legend: drawing.legend(),
        readout: false,
    };
    Block::from(chart).detail(Detail::Page)
}

/// `200`, `1,500`, `0.5`
fn tick(value: f64) -> String {
    if value >= 10.0 {
        numbers::count(value.round() as u64)
    } else {
        format!("{}", (value * 100.0).round() / 100.0)
    }
}

impl Drawing<'_> {
    /// The location of a point: clients, or the rate.
    fn across(&self, point: &CurvePoint) -> f64 {
        if self.answer.clients.is_some() { point.clients } else { point.throughput }
    }

    fn across_observed(&self, load: &ObservedLoad) -> f64 {
        match self.answer.clients {
            Some(_) => load.clients.unwrap_or(f64::NAN),
            None => load.throughput,
        }
    }

    /// The system without the requested changes, if there are any.
    fn without_changes(&self) -> Option<&CapacityAnswer> {
        self.report.answer.as_ref().filter(|_| self.report.what_if.is_some())
    }

    fn right(&self) -> f64 {
        let before = self.without_changes().into_iter().flat_map(|answer| &answer.curve);
        round_up(self.answer.curve.iter().chain(before).map(|point| self.across(point)).fold(0.0, f64::max))
    }

    fn observed(&self) -> impl Iterator<Item = &ObservedLoad> {
        let step = self.report.observed.len().div_ceil(DOTS).max(1);
        self.report.observed.iter().step_by(step)
    }

    /// A panel of one quantity, cut above `most`.
    fn panel(
        &self,
        title: &str,
        most: Option<f64>,
        words: fn(f64) -> String,
        of: OfPoint,
        of_load: OfLoad,
    ) -> Panel {
        let before = self.without_changes().map(|answer| &answer.curve);
        let curves = [&self.answer.curve, &self.answer.curve_all].into_iter().chain(before);
        let values = curves.flatten().map(of).chain(self.report.observed.iter().filter_map(of_load));
        let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let top = round_up(most.map_or(largest, |most| largest.min(most)));
        let curve = |shape, color, points: &[CurvePoint]| {
            let inside = |value: f64| if value <= top { value } else { f64::NAN };
            Series::new("", shape, color)
                .points(points.iter().map(|point| (self.across(point), inside(of(point)))))
        };
        let mut panel = Panel::new(title, HEIGHT, Axis::levels(0.0, top, words));
        panel.series.push(self.dots(Color::QUIET, |load| of_load(load).unwrap_or(f64::NAN)));
        panel.series.push(curve(SeriesShape::Dashed, Color::TEXT, &self.answer.curve_all));
        panel.series.extend(before.map(|points| curve(SeriesShape::Dotted, Color::MUTED, points)));
        panel.series.push(curve(SeriesShape::Line, Color::LINK, &self.answer.curve));
        panel
    }

    fn dots(&self, color: Color, of: impl Fn(&ObservedLoad) -> f64) -> Series {
        let mut dots = Series::new("", SeriesShape::Dots, color);
        for load in self.observed() {
            let (x, y) = (self.across_observed(load), of(load));
            if x.is_finite() && y.is_finite() {
                dots.x.push(x);
                dots.y.push(Some(y));
                dots.words.push(words(load));
            }
        }
        dots
    }

    /// Utilization of every tier with processors.
    fn utilization(&self) -> Option<Panel> {
        let mut panel = Panel::new("Utilization", HEIGHT, Axis::levels(0.0, 1.0, numbers::share));
        for (location, &tier) in self.tiers().iter().enumerate() {
            let used = |values: &[Option<f64>]| values.get(tier).copied().flatten().unwrap_or(f64::NAN);
            let points = self.answer.curve.iter().map(|point| (self.across(point), used(&point.utilization)));
            panel.series.push(self.dots(Color::series(location), |load| used(&load.utilization)));
            panel.series.push(Series::new("", SeriesShape::Line, Color::series(location)).points(points));
        }
        (!panel.series.is_empty()).then_some(panel)
    }

    fn tiers(&self) -> Vec<usize> {
        let Some((_, model)) = self.report.described() else { return Vec::new() };
        let cpus = (0..model.tiers.len()).filter(|&index| model.tiers[index].kind == TierKind::Cpu);
        cpus.take(TIERS).collect()
    }

    /// The capacity and the current load.
    fn marks(&self) -> Vec<ChartMark> {
        let load = self.report.load;
        let now = match self.answer.clients {
            Some(_) => load.and_then(|load| load.clients),
            None => load.map(|load| load.throughput),
        };
        let line = |style, value: f64, color, words: &str| {
            (value.is_finite() && value <= self.right()).then(|| ChartMark::line(style, value, color, words))
        };
        let now = line(MarkStyle::Dashed, now.unwrap_or(f64::NAN), Color::MUTED, "current load");
        let capacity = line(MarkStyle::Line, most_amount(self.answer), Color::BAD, "capacity");
        now.into_iter().chain(capacity).collect()
    }

    fn legend(&self) -> Vec<LegendEntry> {
        let mut legend = vec![
            LegendEntry::new(Color::LINK, circumstances(self.report, self.answer)),
            LegendEntry::new(Color::QUIET, "observed"),
            LegendEntry::new(Color::BAD, "capacity"),
        ];
        if !self.answer.curve_all.is_empty() {
            legend.push(LegendEntry::new(Color::TEXT, "mix of all data"));
        }
        if self.without_changes().is_some() {
            legend.push(LegendEntry::new(Color::MUTED, "without the changes"));
        }
        let tiers = self.tiers();
        let model = self.report.model.as_ref();
        let names = tiers
            .iter()
            .enumerate()
            .filter_map(|(location, &index)| Some((location, &model?.tiers[index].tier)));
        legend.extend(names.map(|(location, name)| {
            LegendEntry::new(Color::series(location), format!("utilization of {}", names::label(name, 40)))
        }));
        legend
    }
}

fn words(load: &ObservedLoad) -> String {
    let clients = load.clients.map_or_else(String::new, |clients| format!("{} clients, ", amount(clients)));
    let response =
        load.response_s.map_or_else(String::new, |seconds| format!(", {}", numbers::seconds(seconds)));
    format!("{clients}{} requests/s{response}", amount(load.throughput))
}

/// Capacity by interval, with the load.
pub(super) fn over_time(report: &CapacityReport, answer: &CapacityAnswer) -> Option<Section> {
    let [first, .., last] = answer.windows.as_slice() else { return None };
    let closed = answer.clients.is_some();
    let capacity = answer.windows.iter().map(|row| {
        let most = row.clients.map_or(row.throughput, |clients| clients as f64);
        (row.time, most)
    });
    let load = report.observed.iter().map(|row| {
        let load = if closed { row.clients.unwrap_or(f64::NAN) } else { row.throughput };
        (Window { since: row.since, until: row.until }, load)
    });
    let [capacity, load] = [capacity.collect::<Vec<_>>(), load.collect()];
    let values = capacity.iter().chain(&load).map(|(_, value)| *value).filter(|value| value.is_finite());
    let top = round_up(values.fold(0.0, f64::max));
    let steps = |color, rows: &[(Window, f64)]| {
        let points = rows
            .iter()
            .flat_map(|(time, value)| [time.since, time.until].map(|end| (Axis::instant(end), *value)));
        Series::new("", SeriesShape::Line, color).points(points)
    };
    let binding = answer.limiting_window.and_then(|index| answer.windows.get(index as usize));
    let mark = binding.map(|row| {
        let middle = f64::midpoint(Axis::instant(row.time.since), Axis::instant(row.time.until));
        ChartMark::line(MarkStyle::Line, middle, Color::BAD, "least favorable mix")
    });
    let panel = Panel::new("", 180, Axis::levels(0.0, top, amount))
        .series(steps(Color::LINK, &capacity))
        .series(steps(Color::ACCENT, &load));
    let chart = Chart {
        caption: "Capacity and load over time".to_owned(),
        x: Axis::time(Window { since: first.time.since, until: last.time.until }),
        panels: vec![panel],
        marks: mark.into_iter().collect(),
        legend: vec![
            LegendEntry::new(Color::LINK, "capacity"),
            LegendEntry::new(Color::ACCENT, "load"),
            LegendEntry::new(Color::BAD, "least favorable mix"),
        ],
        readout: false,
    };
    let section = Section::new("over-time", "Capacity over time").detail(Detail::Page).introduction(
        "What the system can take with the mix of each time, and the load it had. The least favorable mix determines the \
         answer.",
    );
    Some(section.block(chart))
}
