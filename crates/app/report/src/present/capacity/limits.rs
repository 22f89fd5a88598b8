//! Sections on the cost of the last change, groups of clients, and memory and network.

use super::phrases::{amount, limit, rate};
use super::{BUSY, PREVIEW, ROWS};
use crate::document::{
    Block, Cell, CellKind, Detail, Prose, Section, Sentences, SpanStyle, Table, TableRow, Tone, columns,
};
use crate::names::quoted;
use crate::times::Calendar;
use crate::{CapacityReport, ChangeCost, GroupsLoad, LoadUnit, ResourceKind, ResourceLimit, numbers};

/// The cost of the last change of the application.
pub(super) fn last_change(report: &CapacityReport) -> Option<Section> {
    let change = report.last_change.as_ref()?;
    let tone = if change.cores > 0.0 { Tone::Warning } else { Tone::Good };
    let section = Section::new("last-change", "What the last change costs");
    let sentences =
        [Prose::quoted(&demand_sentence(change)), Prose::quoted(&capacity_sentence(report, change))];
    Some(section.block(Sentences::list("Cost", tone, sentences)))
}

/// `Since 21:30 a mean transaction takes 6.15 ms of CPU at `front` instead of 5.20 ms: 0.05 cores more at the current load.`
fn demand_sentence(change: &ChangeCost) -> String {
    let more = if change.cores < 0.0 { "fewer" } else { "more" };
    format!(
        "Since {} a mean transaction takes {} of CPU at {} instead of {}: {} {more} at the current load.",
        Calendar::dated().time(change.since),
        numbers::seconds(change.demand_after_s),
        quoted(&change.tier),
        numbers::seconds(change.demand_before_s),
        cores(change.cores.abs())
    )
}

/// The remaining capacity, and how it could be restored.
fn capacity_sentence(report: &CapacityReport, change: &ChangeCost) -> String {
    let target = limit(report.latency_max_s);
    let now = match (change.clients_before, change.clients_after) {
        (Some(before), Some(after)) => format!(
            "{} instead of {} ({})",
            numbers::count(after),
            numbers::counted(before, "client"),
            rate(change.throughput_after)
        ),
        _ => format!("{} instead of {}", amount(change.throughput_after), rate(change.throughput_before)),
    };
    format!(
        "With the mix of all data since then, the system serves {now} within {target}; {} instead of {} would give the \
         throughput back.",
        cores(change.cores_to_restore),
        amount(change.cores_of_tier)
    )
}

/// The same in the headline: `The last change, at 21:30, costs 190 of 1,340 clients.`
pub(super) fn change_headline(report: &CapacityReport) -> Option<String> {
    let change = report.last_change.as_ref()?;
    let (before, after) = match (change.clients_before, change.clients_after) {
        (Some(before), Some(after)) => (before as f64, after as f64),
        _ => (change.throughput_before, change.throughput_after),
    };
    let unit = if change.clients_before.is_some() { "clients" } else { "requests/s" };
    let time = Calendar::dated().time(change.since);
    Some(if after < before {
        format!("The last change, at {time}, costs {} of {} {unit}.", amount(before - after), amount(before))
    } else {
        format!("The last change, at {time}, makes room for {} more {unit}.", amount(after - before))
    })
}

/// `0.05 cores`, `1 core`
fn cores(value: f64) -> String {
    if value == 1.0 { "1 core".to_owned() } else { format!("{} cores", amount(value)) }
}

/// Results of the groups of clients.
pub(super) fn client_groups(report: &CapacityReport) -> Option<Section> {
    let answer = report.client_groups.as_ref()?;
    let tone = if answer.within_target { Tone::Good } else { Tone::Bad };
    let target = limit(report.latency_max_s);
    let word = if answer.within_target { "all within" } else { "not all within" };
    let stated = format!("The stated clients are {word} {target}.");
    let more = if answer.at_limit { "At least" } else { "Up to" };
    let clients: u64 = answer.most.groups.iter().map(|group| group.clients).sum();
    let most = format!(
        "{more} {} in these proportions, each group within {target}. Solved by {}.",
        numbers::counted(clients, "client"),
        answer.algorithm
    );
    let circumstances = if report.what_if.is_some() { "with these changes" } else { "the system as it is" };
    let sentences = Sentences::list("Groups", tone, [Prose::from(stated), Prose::from(most)]);
    let section = Section::new("client-groups", "Groups of clients").remark(circumstances);
    let titled = |title: &str, load| Block::from(groups(title, report, load)).titled(title);
    let section = section.block(sentences).block(titled("The stated clients", &answer.stated));
    Some(section.block(titled("The most clients", &answer.most)))
}

fn groups(title: &str, report: &CapacityReport, load: &GroupsLoad) -> Table {
    let columns = columns![
        Name "group", Number "clients", Number "think time", Number "requests/s", Number "response", Graphic ""
    ];
    let row = |group: &crate::GroupLoad| {
        let is_within = group.clients == 0 || group.response_s <= report.latency_max_s;
        TableRow::new([
            Cell::name(SpanStyle::Name, &group.name),
            Cell::count(group.clients),
            Cell::seconds(group.think_s),
            Cell::worded(CellKind::Number, amount(group.throughput), group.throughput),
            Cell::seconds(group.response_s).tone(if is_within { Tone::Neutral } else { Tone::Bad }),
            Cell::bar(group.response_s / (2.0 * report.latency_max_s)),
        ])
    };
    Table::new(title, &columns).preview(PREVIEW).at_most(ROWS, &load.groups, row)
}

const fn resource_word(resource: ResourceKind) -> &'static str {
    match resource {
        ResourceKind::Memory => "memory",
        ResourceKind::Network => "network",
    }
}

/// A load in its unit: `640 clients`, `88.1 requests/s`.
fn load_of(unit: LoadUnit, value: f64) -> String {
    match unit {
        LoadUnit::Clients => format!("{} clients", amount(value)),
        LoadUnit::Throughput => rate(value),
    }
}

/// Memory and network of the tiers.
pub(super) fn resources(report: &CapacityReport) -> Option<Section> {
    if report.limits.is_empty() {
        return None;
    }
    let columns = columns![
        Name "tier", Text "resource", Number "in use", Number "highest", Number "at capacity", Graphic "",
        Text "full"
    ];
    let row = |limit: &ResourceLimit| {
        let at_capacity = limit.growth.as_ref().map(|growth| growth.at_capacity);
        let tone = match at_capacity {
            Some(used) if used > limit.full => Tone::Bad,
            _ if limit.used >= limit.full.min(BUSY) => Tone::Warning,
            _ => Tone::Neutral,
        };
        let row = TableRow::new([
            Cell::name(SpanStyle::Name, &limit.tier),
            Cell::text(resource_word(limit.resource)),
            Cell::share(limit.used),
            Cell::share(limit.used_peak),
            at_capacity.map_or_else(|| Cell::text("–"), Cell::share).tone(tone),
            at_capacity.map_or_else(Cell::empty, |used| Cell::bar(used.min(1.0))),
            Cell::text(full_words(limit)),
        ]);
        row.note(Detail::Full, "", Prose::from(growth_sentence(limit)))
    };
    let table = Table::new("Resources", &columns).preview(PREVIEW);
    let section = Section::new("resources", "Memory and network").introduction(
        "A straight line through the use of each interval gives what a client (or a request) takes, and how many fit; nothing \
         waits for memory or a link in the model.",
    );
    Some(section.block(table.at_most(ROWS, &report.limits, row)))
}

/// `90 % at 640 clients`.
fn full_words(limit: &ResourceLimit) -> String {
    limit.growth.as_ref().map_or_else(
        || "does not follow the load".to_owned(),
        |growth| format!("{} at {}", numbers::share(limit.full), load_of(limit.unit, growth.load)),
    )
}

fn growth_sentence(limit: &ResourceLimit) -> String {
    let Some(growth) = &limit.growth else { return String::new() };
    let (units, count) = match limit.unit {
        LoadUnit::Clients => ("100 clients", 100.0),
        LoadUnit::Throughput => ("100 requests/s", 100.0),
    };
    let word = |value: f64| amount(value);
    format!(
        "{} without load, {} more for {units}; full at {} to {} (95 %).",
        numbers::share(growth.base),
        numbers::share(count * growth.per_load),
        word(growth.low),
        load_of(limit.unit, growth.high)
    )
}

/// What is full before the CPU, the first of all: `Before that, the memory of `front` is 90 % full at 640 clients (580 to 710).`
pub(super) fn resource_headline(report: &CapacityReport) -> Option<String> {
    let share =
        |limit: &ResourceLimit| limit.growth.as_ref().map_or(0.0, |growth| growth.at_capacity / limit.full);
    let all = report.limits.iter().filter(|limit| limit.load_before_cpu().is_some());
    let first = all.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let growth = first.growth.as_ref()?;
    Some(format!(
        "Before that, the {} of {} is {} full at {} ({} to {}).",
        resource_word(first.resource),
        quoted(&first.tier),
        numbers::share(first.full),
        load_of(first.unit, growth.load),
        amount(growth.low),
        amount(growth.high)
    ))
}
