//! Why requests are slow: suspects, slow periods, replicas, and what speaks for them.

pub(crate) mod behavior;
mod cause;
pub(crate) mod clauses;
pub(crate) mod evidence;
pub(crate) mod headline;
mod lead;
mod periods;
mod pictures;
mod published;

use super::basis::basis;
use super::{events, facts};
use crate::document::{
    Axis, Block, Cell, CellKind, Color, ColumnKind, Detail, Document, Figure, Fold, Graphic, GraphicMark,
    PageLink, Prose, Section, Sentences, SpanStyle, Table, TableRow, Tone, TraceSuspect, cautions, columns,
    losses, missing, ruled_out,
};
use crate::render::Present;
use crate::times::Calendar;
use crate::{Baseline, Category, ReplicaSuspect, Report, Suspect, Verdict, names, numbers};
use std::collections::HashSet;

/// Suspects, replicas, and categories of a document.
const MOST: usize = 2_000;
/// Replicas of a suspect named at once, and at all.
const REPLICAS: usize = 8;
const REPLICAS_MOST: usize = 60;
/// Example traces named at once, and categories and traces named at all.
const TRACES: usize = 3;
const LISTED: usize = 60;
/// Paths shown with the categories of a suspect, and columns of one of their steps.
const PATHS: usize = 12;
const STEP_ROOM: usize = 40;
/// Columns of one side of a call.
const SIDE_ROOM: usize = 44;

impl Present for Report {
    fn present(&self) -> Document {
        let calendar = Calendar::of(self);
        let [clusters, replica_times, ranks] = published::sections(self);
        let sections = [
            missing(&self.missing),
            suspects(self, &calendar, SuspectListing::Suspect),
            suspects(self, &calendar, SuspectListing::Tail),
            self.cause.as_ref().and_then(|cause| cause::cause(cause, &self.clauses)),
            compared_replicas(self),
            (!self.incidents.is_empty()).then(|| periods::periods(self, &calendar)),
            events::section(self, &calendar),
            self.baseline.as_ref().map(|baseline| against_baseline(self, baseline)),
            pictures::heat_map(self),
            pictures::latency(self),
            pictures::trees(self),
            (!self.replicas.is_empty()).then(|| replicas(self)),
            categories(self),
            clusters,
            replica_times,
            ranks,
            cautions(&self.cautions),
            ruled_out(&self.ruled_out),
            Some(losses(&self.input.losses)),
            Some(basis_section(self)),
        ];
        let verdict = match self.verdict {
            Verdict::Suspects => (Tone::Bad, "Suspects found"),
            Verdict::Tail => (Tone::Good, "Slow tail, nothing new"),
            Verdict::Healthy => (Tone::Good, "Healthy"),
            Verdict::InsufficientData => (Tone::Unsure, "Not enough data"),
        };
        Document {
            time: facts::window(self),
            window: self.window,
            figures: figures(self, &calendar),
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

fn figures(report: &Report, calendar: &Calendar) -> Vec<Figure> {
    let input = &report.input;
    let Some(lead) = report.suspects.first() else {
        let tested = report.categories.iter().filter(|category| category.analyzed).count() as u64;
        let all = format!("of {}", numbers::count(headline::categories_found(report)));
        return vec![
            Figure::new("Complete requests", Cell::count(input.requests), ""),
            Figure::new("Categories tested", Cell::count(tested), all),
            Figure::new("Operations", Cell::count(input.operations), ""),
            Figure::new("Replicas", Cell::count(input.replicas), ""),
        ];
    };
    let compared = evidence::is_the_shift(lead);
    let mut figures = Vec::new();
    let is_failing = lead.is_failing();
    let title = if compared { "Calls take" } else { "Slow calls take" };
    if !is_failing {
        figures.push(Figure::new(title, Cell::excess(lead.effect_ns), ""));
    }
    if let (true, Some(change)) = (is_failing, lead.behavior.first()) {
        let usual = format!("{} before", numbers::share(change.usual_rate));
        let title = if change.kind == "errors" { "Calls that fail" } else { "Calls made in" };
        figures.push(Figure::new(title, Cell::share(change.rate), usual));
    }
    if !is_failing && lead.factor.is_finite() {
        let usual = match compared {
            true => format!("the time in {}", evidence::compared_with(report)),
            false => "the usual".to_owned(),
        };
        figures.push(Figure::new("That is", Cell::factor(lead.factor), usual));
    }
    if let Some(onset) = &lead.onset {
        let since = Cell::worded(CellKind::Time, calendar.onset(onset), Axis::instant(onset.at));
        figures.push(Figure::new("Since", since, "UTC"));
    }
    if !is_failing && lead.share.is_finite() {
        figures.push(Figure::new("Explains", Cell::share(lead.share), "of the excess latency"));
    }
    let all = format!("of {}", numbers::count(input.requests));
    figures.push(Figure::new("Requests hit", Cell::count(lead.requests_hit), all));
    if !report.incidents.is_empty() {
        figures.push(Figure::new("Slow periods", Cell::count(report.incidents.len() as u64), ""));
    }
    let title = if is_failing { "On" } else { "Slow on" };
    figures.push(Figure::new(title, Cell::text(facts::location(lead)), ""));
    figures
}

/// Which suspects a section lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SuspectListing {
    /// Those that are slower than they should be.
    Suspect,
    /// Those that may be what the system always does.
    Tail,
}

fn suspects(report: &Report, calendar: &Calendar, listing: SuspectListing) -> Option<Section> {
    let listed = |suspect: &&Suspect| suspect.stands_out == (listing == SuspectListing::Suspect);
    let listed: Vec<&Suspect> = report.suspects.iter().filter(listed).collect();
    if listed.is_empty() {
        return None;
    }
    let columns = columns![
        Number "#", Name "operation", Number "slower by", Number "factor", Number "explains",
        Graphic "of the excess", Number "requests hit"
    ];
    let title = match listing {
        SuspectListing::Suspect => "Suspects",
        SuspectListing::Tail => "Slow tail",
    };
    let table = Table::new(title, &columns);
    let anchors = pictures::anchors(report);
    let table = table.at_most(MOST, &listed, |&suspect| {
        let mut name = Prose::operation(&suspect.service, &suspect.operation);
        if !suspect.kind.is_empty() {
            name = name.plain(" (").named(SpanStyle::Label, &suspect.kind).plain(")");
        }
        let time = |cell: Cell| if suspect.is_failing() { Cell::empty() } else { cell };
        let row = TableRow::new([
            Cell::count(suspect.rank.into()),
            Cell::named(name),
            time(Cell::excess(suspect.effect_ns).tone(Tone::Bad)),
            time(Cell::worded(CellKind::Factor, evidence::factor(suspect), suspect.factor)),
            time(Cell::share(suspect.share)),
            time(Cell::bar(suspect.share)),
            Cell::count(suspect.requests_hit),
        ]);
        let row = reasons(report, suspect, calendar, row.note(Detail::Summary, "on", replicas_of(suspect)));
        examples((report, suspect), &anchors, row)
    });
    let section = match listing {
        SuspectListing::Suspect => Section::new("suspects", title)
            .remark("what makes requests slow, the most suspicious first")
            .introduction(format!(
                "Operations whose own time makes requests slow{}, the most suspicious first. \u{201c}Explains\u{201d} is \
                 the share of all slow requests\u{2019} excess latency that arises in the operation itself.",
                if listed.iter().any(|suspect| suspect.is_failing()) { ", or that fail or stop early" } else { "" }
            )),
        SuspectListing::Tail => Section::new("tail", title)
            .remark("where other slow requests spend their time; it may be usual")
            .introduction(
                "Some requests are slower than others of their kind because of these operations. Nothing shows that this is new.",
            ),
    };
    Some(section.block(table))
}

fn replicas_of(suspect: &Suspect) -> Prose {
    let location = Prose::from(facts::location(suspect));
    if suspect.replicas.is_empty() {
        return location;
    }
    location.plain(": ").then(Prose::names(SpanStyle::Replica, &suspect.replicas, REPLICAS))
}

/// Where the time is spent, how it compares, since when, and how that is known.
fn reasons(report: &Report, suspect: &Suspect, calendar: &Calendar, row: TableRow) -> TableRow {
    let against = evidence::compared_with(report);
    let between = suspect.between.as_ref().map(|between| {
        Prose::operation(&between.caller_service, &between.caller_operation)
            .plain(" → ")
            .then(Prose::operation(&between.callee_service, &between.callee_operation))
    });
    let shift = suspect.shift.as_ref().map(|shift| evidence::brief_shift(suspect, shift, against));
    let onset = suspect.onset.as_ref().map(|onset| evidence::onset(onset, calendar));
    let slow_calls = suspect.slow_calls.as_ref().map(|slow| evidence::slow_calls(slow, against));
    let certainty = suspect.shift.as_ref().map(evidence::certainty);
    let attributes: Vec<String> = suspect.attributes.iter().map(evidence::attribute).collect();
    row.note(Detail::Summary, "which", evidence::load(suspect).unwrap_or_default())
        .note(Detail::Summary, "it", behavior::phrases(report, suspect))
        .note(Detail::Summary, "between", between.unwrap_or_default())
        .note(Detail::Summary, "is", shift.unwrap_or_default())
        .note(Detail::Summary, "in that", slow_calls.unwrap_or_default())
        .note(Detail::Summary, "since", onset.unwrap_or_default())
        .note(Detail::Summary, "context:", Prose::quoted(&events::near(&suspect.events, calendar)))
        .note(Detail::Summary, "and", Prose::quoted(&attributes.join("; ")))
        .note(Detail::Full, "with", certainty.unwrap_or_default())
        .note(Detail::Full, "because", evidence::words(&suspect.evidence).join("; "))
}

/// Example traces, and for pages everything else there is.
fn examples(
    (report, suspect): (&Report, &Suspect),
    anchors: &pictures::Anchors<'_>,
    row: TableRow,
) -> TableRow {
    let marked = TraceSuspect {
        service: suspect.service.clone(),
        operation: suspect.operation.clone(),
        usual: report.baseline.as_ref().and_then(|baseline| baseline.window),
    };
    let traces =
        Prose::names(SpanStyle::Trace, &suspect.trace_ids[..suspect.trace_ids.len().min(LISTED)], TRACES)
            .examples_of(&marked);
    let further = suspect.replicas.get(REPLICAS..).unwrap_or_default();
    let mut categories = Prose::default();
    for (index, id) in suspect.categories.iter().take(LISTED).enumerate() {
        let separator = if index > 0 { ", " } else { "" };
        categories = categories.plain(separator).named(SpanStyle::Category, id).linked(anchors.get(id));
        let Some(position) = suspect.positions.iter().find(|position| position.category == *id) else {
            continue;
        };
        let page = PageLink::Category { id: id.clone(), position: Some(position.position) };
        let path: Vec<String> = position.path.iter().map(|step| names::label(step, STEP_ROOM)).collect();
        let path = if index < PATHS { format!(" ({})", path.join(" › ")) } else { String::new() };
        categories = categories.page(page).faint(path);
    }
    let all = suspect.trace_ids.iter().take(LISTED).skip(TRACES).cloned().collect::<Vec<String>>();
    row.note(Detail::Full, "e.g. trace", traces)
        .note(Detail::Page, "slow in", slow_requests(suspect))
        .note(Detail::Page, "also on", Prose::names(SpanStyle::Replica, further, REPLICAS_MOST))
        .note(Detail::Page, "in category", categories)
        .note(
            Detail::Page,
            "further traces",
            Prose::names(SpanStyle::Trace, &all, LISTED).examples_of(&marked),
        )
}

/// `418 of the 451 requests that call it`
fn slow_requests(suspect: &Suspect) -> String {
    if suspect.requests_seen == 0 {
        return String::new();
    }
    let (hit, seen) =
        (numbers::count(suspect.requests_hit), numbers::counted(suspect.requests_seen, "request"));
    format!("{hit} of the {seen} that call it")
}

/// How replicas to blame compare with their peers, for pages.
fn compared_replicas(report: &Report) -> Option<Section> {
    let columns = columns![
        Number "suspect", Name "replica", Number "times its peers\u{2019} time", Text "95 %", Number "p",
        Number "observations"
    ];
    let suspects = report.suspects.iter();
    let culprits =
        suspects.flat_map(|suspect| suspect.culprits.iter().map(|culprit| (suspect.rank, culprit)));
    let culprits: Vec<_> = culprits.collect();
    let table = Table::new("Replicas compared with their peers", &columns);
    let table = table.at_most(MOST, &culprits, |(rank, culprit)| {
        let interval =
            format!("{} to {}", numbers::factor(culprit.factor_low), numbers::factor(culprit.factor_high));
        TableRow::new([
            Cell::count((*rank).into()),
            Cell::name(SpanStyle::Replica, &culprit.replica),
            Cell::factor(culprit.factor),
            Cell::text(interval),
            Cell::p_value(culprit.p_value),
            Cell::count(culprit.observations),
        ])
    });
    let section = Section::new("peers", "Replicas compared with their peers").detail(Detail::Page);
    (!culprits.is_empty()).then(|| section.block(table))
}

fn against_baseline(report: &Report, baseline: &Baseline) -> Section {
    let columns = columns![Text "", Number "requests", Number "mean", Graphic "change", Name "started"];
    let scale = baseline.mean_ns.max(baseline.window_mean_ns).max(baseline.mean_ns + baseline.slower_ns);
    let bar = |from: f64, to: f64, color: Color| {
        let (low, high) = (from.min(to) / scale, from.max(to) / scale);
        let drawable = scale > 0.0 && low.is_finite() && high.is_finite() && low >= -1e-6;
        Cell {
            graphic: Some(Graphic {
                marks: drawable.then(|| GraphicMark::bar(low, high, color)).into_iter().collect(),
            }),
            kind: CellKind::Graphic,
            ..Cell::empty()
        }
    };
    let mean = |name: &str, requests: u64, ns: f64, started: Option<String>| {
        let started = Prose::default().faint(started.unwrap_or_default());
        let cells = [
            Cell::text(name),
            Cell::count(requests),
            Cell::duration(ns),
            bar(0.0, ns, Color::QUIET),
            Cell::text(started),
        ];
        TableRow::new(cells)
    };
    let mut rows =
        vec![mean("baseline", baseline.requests, baseline.mean_ns, evidence::baseline_window(baseline))];
    let mut level = baseline.mean_ns;
    for part in evidence::parts(baseline) {
        let color = if part.ns > 0.0 { Color::ACCENT } else { Color::GOOD };
        let graphic = bar(level, level + part.ns, color);
        let cells = [Cell::text(part.name), Cell::empty(), Cell::difference(part.ns), graphic, Cell::empty()];
        rows.push(TableRow::new(cells));
        level += part.ns;
    }
    let timed = report.window.as_ref().is_some_and(|window| window.since != window.until);
    let started = facts::window(report).filter(|_| timed);
    rows.push(mean("now", report.input.requests, baseline.window_mean_ns, started));
    let table = Table::new("Mean latency before and now", &columns).columns_for(Detail::Page, &["change"]);
    let section = Section::new("baseline", "Against the baseline")
        .remark("mean latency of requests, and why it changed")
        .introduction(
            "Mean latency of requests before and now, and how much of the difference each cause makes.",
        )
        .block(table.rows(rows));
    let chosen = report.automatic_baseline.as_ref().map(evidence::automatic_baseline);
    (evidence::unexplained(baseline).into_iter().chain(chosen))
        .fold(section, |section, sentence| section.block(Sentences::paragraphs([Prose::from(sentence)])))
}

fn replicas(report: &Report) -> Section {
    let columns = columns![
        Number "#", Name "replica", Name "service", Number "slower by", Number "slow calls", Number "p"
    ];
    let row = |replica: &ReplicaSuspect| {
        let row = TableRow::new([
            Cell::count(replica.rank.into()),
            Cell::name(SpanStyle::Replica, &replica.replica),
            Cell::name(SpanStyle::Service, &replica.service),
            Cell::excess(replica.effect_ns).tone(Tone::Bad),
            Cell::count_of(replica.slow_calls, replica.calls),
            replica.p_value.map_or_else(Cell::empty, Cell::p_value),
        ]);
        if replica.operations.len() < 2 {
            return row;
        }
        row.note(Detail::Full, "in", Prose::names(SpanStyle::Operation, &replica.operations, 4))
    };
    Section::new("replicas", "Replicas that stand out")
        .remark("from their peers, over all operations")
        .introduction("Replicas whose calls are slower than their peers\u{2019}, over all operations.")
        .block(Table::new("Replicas", &columns).at_most(MOST, &report.replicas, row))
}

/// The categories that suspects were flagged in, and for pages all of them.
fn categories(report: &Report) -> Option<Section> {
    if report.categories.is_empty() {
        return None;
    }
    let affected = facts::paying(report);
    let anchors = pictures::anchors(report);
    let shown: HashSet<&str> = match report.suspects.is_empty() {
        true => HashSet::new(),
        false => affected.iter().map(|paying| paying.category.id.as_str()).collect(),
    };
    let row = |category: &Category, further: Vec<Cell>| {
        let id = Prose::name(SpanStyle::Category, &category.id).linked(anchors.get(&category.id));
        let cells = [
            Cell::named(id),
            Cell::named(Prose::operation(&category.service, &category.operation)),
            Cell::count(category.requests),
            Cell::duration(category.latency_p50_ns as f64),
            Cell::duration(category.latency_p99_ns as f64),
            Cell::ratio(category.cv),
        ];
        TableRow::new(cells.into_iter().chain(further))
    };
    let columns = [
        ("category", ColumnKind::Text),
        ("entry", ColumnKind::Name),
        ("requests", ColumnKind::Number),
        ("p50", ColumnKind::Number),
        ("p99", ColumnKind::Number),
        ("CV", ColumnKind::Number),
    ];
    let is_known = affected.iter().any(|paying| paying.hit.is_some());
    let figures = [("hit", ColumnKind::Number), ("lost", ColumnKind::Number)];
    let brief_columns = [&columns[..], if is_known { &figures[..] } else { &[] }].concat();
    let brief = Table::new("Categories", &brief_columns).at_most(MOST, &affected, |paying| {
        // Of failures and changed calls no time is measured.
        let lost = |ns: u64| if ns > 0 { Cell::duration(ns as f64) } else { Cell::empty() };
        let figures = paying.hit.map(|(hit, lost_ns)| [Cell::count(hit), lost(lost_ns)]);
        row(paying.category, figures.into_iter().flatten().collect())
    });
    let further = [("in the tail", ColumnKind::Number), ("verdict", ColumnKind::Text)];
    let all: Vec<&Category> = report.categories.iter().collect();
    let all = Table::new("Categories", &[&columns[..], &further].concat()).at_most(MOST, &all, |category| {
        let verdict = category_verdict(category, shown.contains(category.id.as_str()));
        let excess = format!(" ({} of the excess)", numbers::share(category.tail_excess_share));
        let tail = Cell::count(category.tail_requests).then(Prose::default().faint(excess));
        row(category, vec![tail, Cell::text(verdict)])
    });
    let title = match report.categories_omitted {
        None => format!("All {}", numbers::counted_categories(report.categories.len() as u64)),
        Some(_) => format!(
            "{} of {}",
            numbers::count(report.categories.len() as u64),
            numbers::counted_categories(headline::categories_found(report))
        ),
    };
    let all = Block::from(all).detail(Detail::Page);
    let section = Section::new("categories", "Request categories");
    let section = if affected.is_empty() {
        section.detail(Detail::Page)
    } else {
        section.remark("in which a suspect was found").block(brief)
    };
    let all = if affected.is_empty() { all } else { all.folded(Fold::Closed, title) };
    Some(section.block(all).introduction(
        "A category holds the requests with the same call tree. It is called anomalous when its latencies are \
         widely dispersed (CV, standard deviation over mean) or have a heavy tail.",
    ))
}

const fn category_verdict(category: &Category, affected: bool) -> &'static str {
    match (category.analyzed, category.anomalous, affected) {
        (false, _, _) => "too few requests to test",
        (true, _, true) => "a suspect was found in it",
        (true, true, false) => "anomalous, no suspect found",
        (true, false, false) => "fine",
    }
}

fn basis_section(report: &Report) -> Section {
    let sentences = [
        Some(facts::read(&report.input)),
        facts::window(report).map(|window| format!("Requests started {window}.")),
        report
            .automatic_baseline
            .as_ref()
            .filter(|_| report.baseline.is_none())
            .map(evidence::automatic_baseline),
        facts::sampling(&report.input.sampling),
        facts::clocks(&report.input.clocks),
        Some(format!("Method: {}.", facts::method(report))),
    ];
    basis(sentences.into_iter().flatten().map(Prose::from), &report.settings)
}
