//! Charts of changes: utilization observed and predicted, and the transaction mix.

use super::phrases::{event_word, model_letter, segment_word};
use crate::document::{
    Axis, Block, Chart, ChartMark, Color, Detail, LegendEntry, MarkStyle, Panel, Section, Series,
    SeriesShape, Tick, round_up,
};
use crate::times::Calendar;
use crate::{
    ChangeEventKind, ChangeReport, MixSeries, ResponseSeries, SegmentState, ServerChanges, UtilizationSeries,
    Window, names, numbers,
};
use laggard_model::{Nanos, Timestamp};

/// Segments drawn, and marks of changes and of deployments.
const SEGMENTS: usize = 400;
const MARKS: usize = 60;

/// Utilization observed and predicted, what stays unexplained, and the throughput; for pages.
pub(super) fn utilization(
    report: &ChangeReport,
    server: &ServerChanges,
    calendar: &Calendar,
) -> Option<Block> {
    let series = &server.series;
    if series.observed.is_empty() {
        return None;
    }
    let time = extent(series.since, series.observed.len(), series.step_s);
    let events = numbers::counted(server.changes.len() as u64, "change");
    let [first, last] = calendar.ends(time);
    let chart = Chart {
        caption: format!(
            "CPU utilization from {first} to {last} UTC with {events}; the tables below hold the same"
        ),
        x: Axis::time(time),
        panels: vec![utilization_panel(series), residual_panel(series), rate_panel(series)],
        marks: marks(report, server, calendar, time),
        legend: vec![
            LegendEntry::new(Color::LINK, "observed"),
            LegendEntry::new(
                Color::TEXT,
                "predicted from the transactions by the current model (letter above)",
            ),
            LegendEntry::new(Color::BAD, "application change"),
            LegendEntry::new(Color::UNSURE, "not explained by transactions"),
        ],
        readout: true,
    };
    Some(Block::from(chart).detail(Detail::Page))
}

fn extent(since: Timestamp, points: usize, step_s: f64) -> Window {
    let length = Nanos::from_ns((points as f64 * step_s * 1e9).clamp(0.0, 9e18) as u64);
    Window { since, until: since.plus(length) }
}

/// The middles of points on a time axis.
fn instants(since: Timestamp, step_s: f64, points: usize) -> Vec<f64> {
    (0..points).map(|index| Axis::instant(since) + (index as f64 + 0.5) * step_s * 1e3).collect()
}

/// A series over the points of a server, its values scaled.
fn over(
    series: &UtilizationSeries,
    name: &str,
    shape: SeriesShape,
    color: Color,
    values: &[Option<f64>],
) -> Series {
    let mut drawn = Series::new(name, shape, color);
    drawn.x = instants(series.since, series.step_s, values.len());
    drawn.y = values.iter().map(|value| value.filter(|value| value.is_finite()).map(rounded)).collect();
    drawn
}

/// Four digits after the point are more than a picture shows.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn percents(values: &[Option<f64>]) -> Vec<Option<f64>> {
    values.iter().map(|value| value.map(|share| (share * 1000.0).round() / 10.0)).collect()
}

fn utilization_panel(series: &UtilizationSeries) -> Panel {
    let [observed, predicted] = [&series.observed, &series.predicted].map(|values| percents(values));
    let [low, high] = [&series.observed_low, &series.observed_high].map(|values| percents(values));
    let top = round_up(largest(&high).max(largest(&predicted)));
    let mut panel = Panel::new("Utilization", 190, Axis::levels(0.0, top, |v| numbers::share(v / 100.0)));
    if series.windows_per_point > 1 {
        let mut spread = over(series, "", SeriesShape::Band, Color::QUIET, &high);
        spread.low = low;
        panel = panel.series(spread);
    }
    for (name, shape, color, values) in [
        ("observed", SeriesShape::Line, Color::LINK, observed),
        ("predicted", SeriesShape::Dashed, Color::TEXT, predicted),
    ] {
        let mut line = over(series, name, shape, color, &values);
        line.unit = " %".to_owned();
        panel = panel.series(line);
    }
    panel
}

fn residual_panel(series: &UtilizationSeries) -> Panel {
    let [low, high] = [&series.residual_low, &series.residual_high].map(|values| percents(values));
    let least = low.iter().flatten().copied().filter(|v| v.is_finite()).fold(0.0, f64::min);
    let end = round_up(largest(&high).max(-least).max(1.0));
    let zero: Vec<Option<f64>> = vec![Some(0.0); high.len()];
    let mut above = over(
        series,
        "unexplained up to",
        SeriesShape::Band,
        Color::ACCENT,
        &high.iter().map(|value| value.map(|value| value.max(0.0))).collect::<Vec<_>>(),
    );
    (above.low, above.unit) = (zero.clone(), " %".to_owned());
    let mut below = over(series, "", SeriesShape::Band, Color::QUIET, &zero);
    below.y = low.iter().map(|value| value.map(|_| 0.0)).collect();
    below.low = low.iter().map(|value| value.map(|value| value.min(0.0))).collect();
    let title = format!("Unexplained: observed minus predicted, ±{}", numbers::share(end / 100.0));
    let axis = Axis { ticks: vec![Tick { at: 0.0, label: String::new() }], ..Axis::plain(-end, end) };
    Panel::new(title, 64, axis).series(above).series(below)
}

fn rate_panel(series: &UtilizationSeries) -> Panel {
    let top = round_up(largest(&series.transactions_per_s));
    let mut rate = over(series, "", SeriesShape::Band, Color::QUIET, &series.transactions_per_s);
    rate.name = "throughput".to_owned();
    rate.unit = " transactions/s".to_owned();
    rate.low = vec![Some(0.0); rate.y.len()];
    let shown = if top >= 10.0 { numbers::count(top.round() as u64) } else { format!("{}", rounded(top)) };
    Panel::new(format!("Transactions per second, up to {shown}"), 56, Axis::plain(0.0, top)).series(rate)
}

fn largest(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// Segments behind the panels with the letter of a new model above, deployments, and changes.
fn marks(report: &ChangeReport, server: &ServerChanges, calendar: &Calendar, time: Window) -> Vec<ChartMark> {
    let mut marks = Vec::new();
    let mut last_model = None;
    for segment in server.segments.iter().take(SEGMENTS) {
        let color = match (segment.state, segment.model.unwrap_or(0) % 4) {
            (SegmentState::Anomalous, _) => Color::UNSURE,
            (SegmentState::Pending, _) => Color::FAINT,
            (SegmentState::Normal, 0) => Color::NONE,
            (SegmentState::Normal, model) => Color::SHADES[model as usize - 1],
        };
        let [since, until] = calendar.ends(segment.time);
        let words = format!("{since} to {until}: {}", segment_word(segment));
        let (from, to) = (Axis::instant(segment.time.since), Axis::instant(segment.time.until));
        let new = segment.model.filter(|_| last_model != segment.model);
        marks.push(ChartMark::area(from, to, color, words).label(new.map(model_letter).unwrap_or_default()));
        last_model = segment.model.or(last_model);
    }
    let inside = |instant: Timestamp| (time.since..=time.until).contains(&instant);
    for deployment in report.deployments.iter().filter(|deployment| inside(deployment.time.at)).take(MARKS) {
        let words = format!(
            "deployment {} at {}",
            names::label(&deployment.name, 60),
            calendar.time(deployment.time.at)
        );
        marks.push(ChartMark::line(MarkStyle::Pin, Axis::instant(deployment.time.at), Color::LINK, words));
    }
    let alarms = server.changes.iter().filter(|change| change.kind.is_alarm());
    for alarm in alarms.take(MARKS) {
        let [from, onset, to] = [alarm.onset.earliest, alarm.onset.at, alarm.onset.latest].map(Axis::instant);
        let words = format!("{} at {}", event_word(alarm.kind), calendar.time(alarm.onset.at));
        marks.push(ChartMark::area(from, to, Color::BAD, words.clone()));
        marks.push(ChartMark::line(MarkStyle::Line, onset, Color::BAD, words));
    }
    marks
}

/// The transaction mix over time, stacked; for pages.
pub(super) fn mix(report: &ChangeReport, mix: &MixSeries) -> Section {
    let points = mix.shares.iter().map(Vec::len).max().unwrap_or(0);
    let time = extent(mix.since, points, mix.step_s);
    let mut panel = Panel::new("", 180, Axis::plain(0.0, 1.0));
    let mut below = vec![Some(0.0); points];
    for (index, shares) in mix.shares.iter().enumerate() {
        let above = stacked(&below, shares);
        let mut band = Series::new("", SeriesShape::Band, Color::series(index));
        band.x = instants(mix.since, mix.step_s, points);
        band.y = above.iter().map(|value| value.map(rounded)).collect();
        band.low = below.iter().map(|value| value.map(rounded)).collect();
        panel = panel.series(band);
        below = above;
    }
    let moved =
        report.events.iter().filter(|event| event.kind == ChangeEventKind::WorkloadChange).take(MARKS);
    let legend = mix.transactions.iter().enumerate();
    let chart = Chart {
        caption: "Shares of transaction types over time, stacked".to_owned(),
        x: Axis::time(time),
        panels: vec![panel],
        marks: moved
            .map(|event| ChartMark::line(MarkStyle::Dashed, Axis::instant(event.onset.at), Color::TEXT, ""))
            .collect(),
        legend: legend
            .map(|(index, name)| LegendEntry::new(Color::series(index), names::label(name, 40)))
            .collect(),
        readout: false,
    };
    Section::new("mix", "Transaction mix").detail(Detail::Page).introduction(
        "Shares of the transactions, from bottom to top in the order of the list. Lines mark where the mix changed.",
    )
    .block(chart)
}

/// Mean response times over time, a line for each transaction type; for pages (Cherkasova et al. 2009, figure 2).
pub(super) fn response(report: &ChangeReport, response: &ResponseSeries) -> Section {
    let points = response.response_s.iter().map(Vec::len).max().unwrap_or(0);
    let time = extent(response.since, points, response.step_s);
    let highest = 1e3 * response.response_s.iter().map(|values| largest(values)).fold(0.0, f64::max);
    let milliseconds = |value: f64| numbers::seconds(value / 1e3);
    let mut panel = Panel::new("Mean response time", 190, Axis::levels(0.0, round_up(highest), milliseconds));
    for (index, (name, values)) in response.transactions.iter().zip(&response.response_s).enumerate() {
        let mut line = Series::new(&names::label(name, 40), SeriesShape::Line, Color::series(index));
        line.x = instants(response.since, response.step_s, values.len());
        line.y = values.iter().map(|value| value.map(|seconds| (seconds * 1e5).round() / 1e2)).collect();
        line.unit = " ms".to_owned();
        panel = panel.series(line);
    }
    let alarms = report.events.iter().filter(|event| event.kind.is_alarm()).take(MARKS);
    let legend = response.transactions.iter().enumerate();
    let chart = Chart {
        caption: "Mean response times of transaction types over time".to_owned(),
        x: Axis::time(time),
        panels: vec![panel],
        marks: alarms
            .map(|event| ChartMark::line(MarkStyle::Dashed, Axis::instant(event.onset.at), Color::BAD, ""))
            .collect(),
        legend: legend
            .map(|(index, name)| LegendEntry::new(Color::series(index), names::label(name, 40)))
            .collect(),
        readout: true,
    };
    Section::new("response", "Response times").detail(Detail::Page).introduction(
        "Means of the most frequent transactions as clients see them, with waiting and calls. Lines mark changes of the cost or time of \
         transactions.",
    )
    .block(chart)
}

/// A layer's upper edge; unknown where either is.
fn stacked(below: &[Option<f64>], shares: &[Option<f64>]) -> Vec<Option<f64>> {
    let share = |index: usize| shares.get(index).copied().flatten();
    below.iter().enumerate().map(|(index, low)| Some((*low)? + share(index)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_stacked_and_gaps_remain() {
        let low = [Some(0.25), Some(0.5), None];
        assert_eq!(stacked(&low, &[Some(0.5), None, Some(0.1)]), [Some(0.75), None, None]);
    }
}
