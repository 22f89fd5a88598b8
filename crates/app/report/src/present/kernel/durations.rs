//! Time in each state, normal against sample, as boxes on one logarithmic scale. For pages.

use super::phrases::row_name;
use crate::document::{
    Axis, Cell, Color, Detail, GraphicMark, GraphicShape, Lane, Prose, Section, Table, TableRow, columns,
};
use crate::{DurationRow, KernelDiagnosis, numbers};

/// States shown.
const STATES: usize = 24;

/// The left end of the scale in nanoseconds; what is less stands at the edge.
const LOW: f64 = 1e3;

pub(super) fn section(report: &KernelDiagnosis) -> Option<Section> {
    let values = report.durations.iter().flat_map(|row| row.normal_ns.iter().chain(&row.sample_ns));
    let most = values.copied().max().unwrap_or(0).max(1_000_000) as f64;
    let scale = Axis::log_durations(LOW, 10_f64.powf(most.log10().ceil()));
    let title =
        format!("{} to {}, logarithmic", numbers::round_time(scale.from), numbers::round_time(scale.to));
    let columns = columns![
        Name "state", Graphic title.as_str(), Number "normal median", Number "normal 95th",
        Number "sample median", Number "sample 95th"
    ];
    let table = Table::new("States", &columns).at_most(STATES, &report.durations, |row| {
        let [normal, sample] = [&row.normal_ns, &row.sample_ns];
        let quantiles = [(normal, 0.5), (normal, 0.95), (sample, 0.5), (sample, 0.95)];
        let numbers = quantiles.map(|(set, share)| Cell::duration(quantile(set, share)));
        let name = Cell::named(Prose::from(row_name(report, row.symbol)));
        TableRow::new([name, boxes(row, &scale)].into_iter().chain(numbers))
    });
    let introduction = "Time of an execution in each state. Above: normal, below: sample. A box holds the middle half, a \
                        line the middle nine tenths, and the mark in the box is the median.";
    let section = Section::new("durations", "Time by state, normal and sample").detail(Detail::Page);
    (!report.durations.is_empty()).then(|| section.introduction(introduction).block(table))
}

fn boxes(row: &DurationRow, scale: &Axis) -> Cell {
    let sets = [(&row.normal_ns, Lane::Upper, Color::QUIET), (&row.sample_ns, Lane::Lower, Color::ACCENT)];
    let marks = sets.into_iter().filter(|(set, ..)| !set.is_empty()).flat_map(|(set, lane, color)| {
        let position_of = |share| scale.position(quantile(set, share).max(LOW));
        [
            GraphicMark::line(position_of(0.05), position_of(0.95), color).lane(lane),
            GraphicMark::bar(position_of(0.25), position_of(0.75), color).lane(lane),
            GraphicMark::point(GraphicShape::Tick, position_of(0.5), Color::TEXT).lane(lane),
        ]
    });
    Cell::graphic(marks)
}

/// The value below which a share of the sorted values lies; 0 of none.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).map_or(0.0, |&value| value as f64)
}
