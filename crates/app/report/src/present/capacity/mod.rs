//! How much is left: what the system can take, where it saturates first, and how sure that is.

mod charts;
pub(crate) mod headline;
mod limits;
mod phrases;

use super::basis::basis;
use super::calls::call_sentence;
use crate::document::{
    Block, Cell, CellKind, Color, ColumnKind, Detail, Document, Figure, GraphicMark, LegendEntry, Prose,
    Section, Sentences, SpanStyle, Table, TableRow, Tone, cautions, columns, further_missing, losses,
};
use crate::render::Present;
use crate::{
    CapacityAnswer, CapacityModel, CapacityReport, CapacityVerdict, CurvePoint, TierModel,
    TransactionLatency, names, numbers,
};
use phrases::{
    accuracy_sentence, amount, least_favorable_mix, limit, load_sentence, most, most_amount, tier_size,
    trust_word,
};

/// Rows of each table, and those that text shows.
const ROWS: usize = 200;
const PREVIEW: u32 = 16;

/// Tiers with a column of demands in text, and on pages.
const TIERS_IN_TEXT: usize = 4;
const TIERS: usize = 8;

/// Points of the curve that are listed, as parts of the capacity: more of them where it bends.
const POINTS: [f64; 9] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0, 1.05, 1.2];

/// Utilization from which a tier is marked.
const BUSY: f64 = 0.9;

/// Called services named in one row.
const CALLEES: usize = 6;

impl Present for CapacityReport {
    fn present(&self) -> Document {
        let binding = self.answer.as_ref().map(|answer| Prose::quoted(&least_favorable_mix(self, answer)));
        let described = self.described();
        let sections = [
            further_missing(self.answer.is_none(), &self.missing),
            what_if(self),
            limits::client_groups(self),
            limits::last_change(self),
            described.and_then(|(answer, _)| load(self, answer)),
            described.and_then(|(answer, _)| charts::over_time(self, answer)),
            described.map(|(answer, model)| tiers(self, answer, model)),
            limits::resources(self),
            described
                .filter(|(_, model)| model.transactions.len() > 1)
                .map(|(answer, model)| transactions(self, answer, model)),
            (!self.latency.is_empty()).then(|| breakdown(self)),
            cautions(&self.cautions),
            Some(losses(&self.input.losses)),
            Some(basis_section(self)),
        ];
        let verdict = match self.verdict {
            CapacityVerdict::Exceeded => (Tone::Bad, "Beyond the limit"),
            CapacityVerdict::Enough => (Tone::Good, "Enough capacity"),
            CapacityVerdict::NearLimit => (Tone::Warning, "Near the limit"),
            CapacityVerdict::InsufficientData => (Tone::Unsure, "Not enough data"),
        };
        Document {
            remarks: binding.into_iter().filter(|prose| !prose.is_empty()).collect(),
            time: self.input.window.map(|window| window.to_string()),
            figures: figures(self),
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

fn figures(report: &CapacityReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    let Some(answer) = &report.answer else {
        return vec![Figure::new("Windows", Cell::count(report.input.windows), "")];
    };
    let number = |value: f64| Cell::worded(CellKind::Number, amount(value), value);
    let unit = if answer.clients.is_some() { "clients" } else { "requests/s" };
    figures.push(Figure::new("Capacity", number(most_amount(answer)), unit));
    figures.push(Figure::new("Within", Cell::text(limit(report.latency_max_s)), "mean response time"));
    if let Some(load) = report.load {
        let now = if answer.clients.is_some() { load.clients } else { Some(load.throughput) };
        figures.extend(now.map(|now| Figure::new("Now", number(now), unit)));
    }
    if let Some(used) = report.used() {
        figures.push(Figure::new("Used", Cell::share(used), "of the capacity"));
    }
    if !answer.bottleneck.is_empty() {
        let name = Cell::name(SpanStyle::Name, &answer.bottleneck);
        figures.push(Figure::new("Saturates first", name, ""));
    }
    if let Some(what_if) = &report.what_if {
        figures.push(Figure::new("With the changes", number(most_amount(&what_if.answer)), unit));
    }
    figures
}

fn what_if(report: &CapacityReport) -> Option<Section> {
    let what_if = report.what_if.as_ref()?;
    let changes = what_if.changes.iter().map(|change| Prose::quoted(change));
    let mut results = vec![Prose::default().strong(format!("Up to {}.", most(&what_if.answer)))];
    results.push(Prose::quoted(&least_favorable_mix(report, &what_if.answer)));
    results.extend(what_if.load.as_ref().map(|load| Prose::from(load_sentence(load))));
    let tone = match &what_if.load {
        Some(load) if !load.within_target => Tone::Bad,
        _ => Tone::Good,
    };
    let section = Section::new("what-if", "With these changes");
    let section = section.block(Sentences::list("Change", Tone::Neutral, changes));
    Some(section.block(Sentences::list("Then", tone, results.into_iter().filter(|prose| !prose.is_empty()))))
}

/// Some points of the curve up to a little beyond the capacity, and for pages the whole curve.
fn load(report: &CapacityReport, answer: &CapacityAnswer) -> Option<Section> {
    if answer.curve.is_empty() {
        return None;
    }
    let closed = answer.clients.is_some();
    let columns = [
        (if closed { "clients" } else { "in the system" }, ColumnKind::Number),
        ("requests/s", ColumnKind::Number),
        ("response", ColumnKind::Number),
        ("", ColumnKind::Graphic),
        ("", ColumnKind::Text),
    ];
    let row = |point: &&CurvePoint| {
        let within = point.response_s <= report.latency_max_s;
        let tone = if within { Tone::Neutral } else { Tone::Bad };
        let clients =
            if closed { numbers::count(point.clients.round() as u64) } else { amount(point.clients) };
        TableRow::new([
            Cell::worded(CellKind::Number, clients, point.clients),
            Cell::worded(CellKind::Number, amount(point.throughput), point.throughput),
            Cell::seconds(point.response_s).tone(tone),
            Cell::bar(point.response_s / (2.0 * report.latency_max_s)),
            Cell::text(Prose::default().faint(if within { "" } else { "beyond the target" })),
        ])
    };
    let points = listed_points(answer);
    let table = Block::from(Table::new("Points", &columns).preview(PREVIEW).at_most(ROWS, &points, row));
    let across = if closed { "clients" } else { "requests per second" };
    let section = Section::new("load", "Load and response")
        .detail(Detail::Full)
        .remark(format!("by the model, with {}", circumstances(report, answer)))
        .introduction(format!(
            "Against {across}. Dots are observations, each with the mix of its time; lines are the model{}. The red line \
             is the capacity, the gray one the current load.",
            if report.what_if.is_some() { ", the dotted one without the changes" } else { "" }
        ));
    Some(section.block(charts::curves(report, answer)).block(table))
}

/// The conditions of the curve and the tables.
fn circumstances(report: &CapacityReport, answer: &CapacityAnswer) -> &'static str {
    match (report.what_if.is_some(), answer.limiting_window.is_some()) {
        (false, true) => "the least favorable mix",
        (true, true) => "these changes and the least favorable mix",
        (true, false) => "these changes and the requested mix",
        (false, false) => "the mix of all data",
    }
}

/// The points next to the parts of the capacity, none twice.
fn listed_points(answer: &CapacityAnswer) -> Vec<&CurvePoint> {
    let across = |point: &CurvePoint| if answer.clients.is_some() { point.clients } else { point.throughput };
    let capacity = most_amount(answer);
    let location = |part: &f64| answer.curve.partition_point(|point| across(point) < part * capacity);
    let mut indices: Vec<usize> =
        POINTS.iter().map(|part| location(part).min(answer.curve.len() - 1)).collect();
    indices.dedup();
    indices.into_iter().map(|index| &answer.curve[index]).collect()
}

fn tiers(report: &CapacityReport, answer: &CapacityAnswer, model: &CapacityModel) -> Section {
    let columns = columns![
        Name "tier", Text "size", Number "demand", Number "residence", Number "utilization", Graphic "",
        Number "other load"
    ];
    let numbered: Vec<(usize, &TierModel)> = model.tiers.iter().enumerate().collect();
    let row = |&(index, tier): &(usize, &TierModel)| {
        let load = answer.tiers.get(index);
        let used = load.and_then(|load| load.utilization);
        let tone = if used.is_some_and(|used| used >= BUSY) { Tone::Bad } else { Tone::Neutral };
        let row = TableRow::new([
            Cell::name(SpanStyle::Name, &tier.tier),
            Cell::text(Prose::default().faint(tier_size(tier))),
            Cell::seconds(tier.mean_s),
            Cell::seconds(load.map_or(f64::NAN, |load| load.residence_s)),
            used.map_or_else(|| Cell::text("–"), Cell::share).tone(tone),
            used.map_or_else(Cell::empty, Cell::bar),
            Cell::share(tier.background),
        ]);
        let call = tier.call.as_ref().map_or_else(String::new, |call| format!(" {}", call_sentence(call)));
        row.note(Detail::Full, "", Prose::quoted(&format!("{}{call}", tier.source)))
    };
    let table = Table::new("Tiers", &columns).preview(PREVIEW).columns_for(Detail::Page, &["other load"]);
    Section::new("tiers", "Tiers")
        .remark(if report.what_if.is_some() { "at capacity, with these changes" } else { "at capacity" })
        .introduction("Demand is what a mean transaction takes without waiting; the rest holds at capacity.")
        .block(table.at_most(ROWS, &numbered, row))
}

/// One row for each transaction type: what it demands where, and its response time at capacity.
fn transactions(report: &CapacityReport, answer: &CapacityAnswer, model: &CapacityModel) -> Section {
    let titles: Vec<String> =
        model.tiers.iter().take(TIERS).map(|tier| format!("at {}", names::label(&tier.tier, 16))).collect();
    let mut columns = vec![("transaction", ColumnKind::Name), ("share", ColumnKind::Number)];
    columns.extend(titles.iter().map(|title| (title.as_str(), ColumnKind::Number)));
    columns.extend([("response", ColumnKind::Number), ("", ColumnKind::Graphic)]);
    let mut table = Table::new("Transactions", &columns).preview(PREVIEW);
    for (index, column) in table.columns.iter_mut().skip(2).take(titles.len()).enumerate() {
        column.detail = if index < TIERS_IN_TEXT { Detail::Full } else { Detail::Page };
    }
    let responses = answer.transactions.iter().map(|transaction| transaction.response_s);
    let longest = responses.filter(|seconds| seconds.is_finite()).fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..model.transactions.len()).collect();
    order.sort_by(|&a, &b| model.mix[b].total_cmp(&model.mix[a]).then(a.cmp(&b)));
    let row = |&index: &usize| {
        let response_s = answer.transactions.get(index).map_or(f64::NAN, |response| response.response_s);
        let demands = model.tiers.iter().take(TIERS);
        let demands =
            demands.map(|tier| Cell::seconds(tier.demands_s.get(index).copied().unwrap_or(f64::NAN)));
        let cells =
            [Cell::name(SpanStyle::Operation, &model.transactions[index]), Cell::share(model.mix[index])];
        let last = [Cell::seconds(response_s), Cell::bar(response_s / longest)];
        TableRow::new(cells.into_iter().chain(demands).chain(last)).note(
            Detail::Full,
            "95 %:",
            intervals(model, index),
        )
    };
    Section::new("transactions", "Transactions")
        .remark(match report.what_if {
            Some(_) => "demand at each tier, and response time at capacity, with these changes",
            None => "demand at each tier, and response time at capacity",
        })
        .introduction(
            "What a transaction takes at each tier without waiting, with 95 % intervals where they are known, and its \
             mean response time at capacity. A demand that is not told apart is known only together with those of other \
             transactions.",
        )
        .block(table.at_most(ROWS, &order, row))
}

/// The 95 % intervals of a transaction's demands, where they are known, and which demands are not told apart from others.
fn intervals(model: &CapacityModel, index: usize) -> Prose {
    let mut prose = Prose::default();
    for tier in model.tiers.iter().take(TIERS) {
        let known = |values: &[f64]| values.get(index).copied().filter(|value| value.is_finite());
        let interval = match (known(&tier.low_s), known(&tier.high_s)) {
            (Some(low), Some(high)) if high > 0.0 => {
                format!(" {} to {}", numbers::seconds(low), numbers::seconds(high))
            }
            _ => String::new(),
        };
        let is_apart = tier.distinguishable.get(index).copied().unwrap_or(true);
        if interval.is_empty() && is_apart {
            continue;
        }
        let separator = if prose.is_empty() { "" } else { ", " };
        prose = prose.plain(separator).named(SpanStyle::Name, &tier.tier).plain(interval);
        prose = prose.plain(if is_apart { "" } else { " (not told apart)" });
    }
    prose
}

fn breakdown(report: &CapacityReport) -> Section {
    let mut columns = vec![
        ("transaction", ColumnKind::Name),
        ("transactions", ColumnKind::Number),
        ("response", ColumnKind::Number),
        ("service", ColumnKind::Number),
        ("waiting", ColumnKind::Number),
    ];
    if !report.callees.is_empty() {
        columns.push(("calls", ColumnKind::Number));
    }
    columns.push(("parts", ColumnKind::Graphic));
    let longest = report.latency.iter().map(|transaction| transaction.response_s).fold(0.0, f64::max);
    let row = |transaction: &TransactionLatency| {
        let mut cells = vec![
            Cell::name(SpanStyle::Operation, &transaction.transaction),
            Cell::count(transaction.count),
            Cell::seconds(transaction.response_s),
            Cell::seconds(transaction.service_s),
            Cell::seconds(transaction.queueing_s),
        ];
        if !report.callees.is_empty() {
            cells.push(Cell::seconds(transaction.callees_s.iter().sum()));
        }
        cells.push(stack(transaction, longest));
        let named = if report.callees.len() > 1 { called(report, transaction) } else { Prose::default() };
        TableRow::new(cells).note(Detail::Summary, "calls", named)
    };
    let mut table = Table::new("Transactions", &columns)
        .preview(PREVIEW)
        .columns_for(Detail::Page, &["transactions", "parts"])
        .at_most(ROWS, &report.latency, row);
    let own = ["service", "waiting"].map(str::to_owned);
    let callees = report.callees.iter().take(CALLEES).map(|name| names::label(name, 40));
    table.legend = own
        .into_iter()
        .chain(callees)
        .enumerate()
        .map(|(index, name)| LegendEntry::new(Color::series(index), name))
        .collect();
    Section::new("latency", "Where the latency goes")
        .detail(Detail::Full)
        .remark("mean of what was observed")
        .introduction(
            "Means of what was observed. Waiting is everything at the front tier that is not its CPU time.",
        )
        .block(table)
}

/// The parts of a response time, one after the other.
fn stack(transaction: &TransactionLatency, longest: f64) -> Cell {
    let parts = [transaction.service_s, transaction.queueing_s]
        .into_iter()
        .chain(transaction.callees_s.iter().copied());
    let mut from = 0.0;
    let marks = parts.enumerate().map(|(index, part)| {
        let to = from + if part.is_finite() { part / longest } else { 0.0 };
        let mark = GraphicMark::bar(from, to, Color::series(index));
        from = to;
        mark
    });
    Cell::graphic(marks)
}

fn called(report: &CapacityReport, transaction: &TransactionLatency) -> Prose {
    let called = report.callees.iter().zip(&transaction.callees_s).filter(|(_, seconds)| **seconds > 0.0);
    let mut prose = Prose::default();
    for (name, seconds) in called.take(CALLEES) {
        let separator = if prose.is_empty() { "" } else { ", " };
        prose = prose
            .plain(separator)
            .named(SpanStyle::Service, name)
            .plain(format!(" {}", numbers::seconds(*seconds)));
    }
    prose
}

fn basis_section(report: &CapacityReport) -> Section {
    let mut sentences = vec![Prose::from(report.input.sentence())];
    sentences
        .extend(report.answer.as_ref().map(|answer| Prose::from(format!("Solved by {}.", answer.algorithm))));
    let think = report.model.as_ref().and_then(|model| model.think.as_ref());
    let think =
        think.map(|think| format!("Think time {}. {}", numbers::seconds(think.seconds), think.source));
    sentences.extend(think.map(|text| Prose::quoted(&text)));
    let accuracy = report.accuracy.as_ref();
    let accuracy =
        accuracy.map(|found| format!("{} Trust: {}.", accuracy_sentence(found), trust_word(found.trust)));
    sentences.extend(accuracy.map(|text| Prose::quoted(&text)));
    let peak = report
        .load
        .map(|load| format!("Highest throughput observed: {} requests/s.", amount(load.throughput_peak)));
    sentences.extend(peak.map(Prose::from));
    basis(sentences, &report.settings)
}
