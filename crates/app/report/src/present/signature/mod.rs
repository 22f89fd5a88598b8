//! Times of transactions without queueing, and which of them got slower.

pub(crate) mod headline;
pub(crate) mod phrases;
mod test_cases;

use super::basis::basis;
use super::changes::phrases::{heading_of, plus_minus};
use crate::document::{
    Axis, Block, Cell, Chart, Color, Detail, Document, Figure, LegendEntry, Level, Panel, Prose, Section,
    Series, SeriesShape, SpanStyle, Table, TableRow, Tone, cautions, columns, further_missing, losses,
    round_up,
};
use crate::render::Present;
use crate::{
    ComparedQuantity, DiffVerdict, ServerSignature, Signature, SignatureDiff, SignatureVerdict,
    TransactionDiff, TransactionOutcome, TransactionSignature, names, numbers,
};

/// Transactions and servers of a document.
const TRANSACTIONS: usize = 500;
const SERVERS: usize = 50;

/// Lines of a chart of distributions.
const CURVES: usize = 8;

/// Transactions of a table in text.
const PREVIEW: u32 = 40;

impl Present for Signature {
    fn present(&self) -> Document {
        let usable = self.verdict == SignatureVerdict::Usable;
        let sections = [
            further_missing(!usable, &self.missing),
            (!self.servers.is_empty()).then(|| servers(&self.servers)),
            cautions(&self.cautions),
            Some(losses(&self.input.losses)),
            Some(basis([Prose::from(self.input.sentence())], &[])),
        ];
        let rows: usize = self.servers.iter().map(|server| server.transactions.len()).sum();
        let verdict = if usable { (Tone::Good, "Signature") } else { (Tone::Unsure, "Not enough data") };
        Document {
            time: self.time.map(|time| time.to_string()),
            figures: vec![
                Figure::new("Servers", Cell::count(self.servers.len() as u64), ""),
                Figure::new("Rows", Cell::count(rows as u64), "servers and transactions"),
                Figure::new("Windows", Cell::count(self.input.windows), ""),
            ],
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

/// A length given in seconds; a dash where there is none.
fn seconds(seconds: Option<f64>) -> Cell {
    seconds.map_or_else(|| Cell::text("–"), Cell::seconds)
}

fn interval(standard_error_s: Option<f64>) -> Cell {
    standard_error_s.map_or_else(Cell::empty, |error| Cell::worded_seconds(plus_minus(error), error))
}

/// One table for each server.
fn servers(servers: &[ServerSignature]) -> Section {
    let section = Section::new("transactions", "Transactions")
        .remark("time without queueing, and CPU")
        .introduction("Time of each transaction at the server without queueing, and its CPU cost.");
    let blocks = servers
        .iter()
        .take(SERVERS)
        .flat_map(|signature| [Some(server(signature)), distributions(signature)]);
    section.blocks(blocks.flatten())
}

/// How the service times of the windows are distributed, for pages: a line for each of the most frequent transactions (Cherkasova et al.
/// 2009, figure 11).
fn distributions(server: &ServerSignature) -> Option<Block> {
    let known = server.by_share().into_iter().filter(|transaction| transaction.distribution_s.len() > 1);
    let shown: Vec<&TransactionSignature> = known.take(CURVES).collect();
    let highest =
        shown.iter().filter_map(|transaction| transaction.distribution_s.last().copied()).fold(0.0, f64::max);
    if highest <= 0.0 {
        return None;
    }
    let mut panel = Panel::new("Windows with at most this time", 190, Axis::levels(0.0, 1.0, numbers::share));
    panel.levels.push(Level { at: 0.5, label: "median".to_owned(), color: Color::QUIET });
    for (index, transaction) in shown.iter().enumerate() {
        let mut line =
            Series::new(&names::label(&transaction.transaction, 40), SeriesShape::Line, Color::series(index));
        let steps = (transaction.distribution_s.len() - 1) as f64;
        line.x.clone_from(&transaction.distribution_s);
        line.y = (0..transaction.distribution_s.len()).map(|step| Some(step as f64 / steps)).collect();
        panel = panel.series(line);
    }
    let name = heading_of(&server.server, &server.tier);
    let legend = shown.iter().enumerate();
    let chart = Chart {
        caption: format!("Distribution of the times without queueing at {}", names::label(&name, 60)),
        x: Axis::amounts(round_up(highest), numbers::seconds),
        panels: vec![panel],
        marks: vec![],
        legend: legend
            .map(|(index, transaction)| {
                LegendEntry::new(Color::series(index), names::label(&transaction.transaction, 40))
            })
            .collect(),
        readout: false,
    };
    Some(Block::from(chart).detail(Detail::Page))
}

fn server(server: &ServerSignature) -> Block {
    let columns = columns![
        Name "transaction", Number "without queueing", Number "95 %", Number "windows", Number "CPU",
        Number "share"
    ];
    let row = |transaction: &&TransactionSignature| {
        TableRow::new([
            Cell::name(SpanStyle::Name, &transaction.transaction),
            seconds(transaction.service_time_s),
            interval(transaction.standard_error_s),
            Cell::count(transaction.windows),
            seconds(transaction.demand_s),
            Cell::share(transaction.share),
        ])
    };
    let used =
        server.utilization_mean.map_or_else(String::new, |used| format!(", {} used", numbers::share(used)));
    let cores = if server.cores == 1.0 { "1 core".to_owned() } else { format!("{} cores", server.cores) };
    let cores = if server.cores_known { cores } else { format!("{cores} (assumed)") };
    let error = server
        .model_error
        .map_or_else(String::new, |error| format!(", the model is off by {}", numbers::share(error)));
    let windows = numbers::counted(server.windows, "window");
    let title = Prose::name(SpanStyle::Replica, &heading_of(&server.server, &server.tier));
    let table = Table::new("transactions", &columns).preview(PREVIEW);
    let table = table.at_most(TRANSACTIONS, &server.by_share(), row);
    Block::from(table).titled(title.plain(format!(": {cores}, {windows}{used}{error}")))
}

impl Present for SignatureDiff {
    fn present(&self) -> Document {
        let tested = self.verdict != DiffVerdict::InsufficientData;
        let sections = [
            further_missing(!tested, &self.missing),
            (!self.transactions.is_empty()).then(|| differences(&self.transactions)),
            cautions(&self.cautions),
            Some(basis([Prose::from(phrases::basis(self))], &[])),
        ];
        let counts = [
            ("Slower", self.counts.slower),
            ("Faster", self.counts.faster),
            ("Same", self.counts.same),
            ("Inconclusive", self.counts.inconclusive),
            ("New", self.counts.new),
            ("Removed", self.counts.removed),
        ];
        let verdict = match self.verdict {
            DiffVerdict::Slower => (Tone::Bad, "Slower"),
            DiffVerdict::Same => (Tone::Good, "No change"),
            DiffVerdict::Faster => (Tone::Good, "Faster"),
            DiffVerdict::InsufficientData => (Tone::Unsure, "Not enough data"),
        };
        Document {
            time: self.new.time.map(|time| time.to_string()),
            figures: counts.map(|(name, count)| Figure::new(name, Cell::count(count), "")).to_vec(),
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

fn differences(transactions: &[TransactionDiff]) -> Section {
    let columns = columns![
        Text "", Name "transaction", Name "server", Text "of", Number "before", Number "after", Number "difference",
        Number "95 %", Number "detectable from"
    ];
    let row = |transaction: &TransactionDiff| {
        let tone = match transaction.outcome {
            TransactionOutcome::Slower => Tone::Bad,
            TransactionOutcome::Faster => Tone::Good,
            TransactionOutcome::Inconclusive => Tone::Unsure,
            TransactionOutcome::New | TransactionOutcome::Removed | TransactionOutcome::Same => Tone::Neutral,
        };
        let difference = transaction.difference_s.map_or_else(Cell::empty, |difference| {
            Cell::worded_seconds(numbers::signed_seconds(difference), difference)
        });
        let row = TableRow::new([
            Cell::mark(transaction.outcome.word(), tone),
            Cell::name(SpanStyle::Name, &transaction.transaction),
            Cell::name(SpanStyle::Replica, transaction.location()),
            Cell::text(transaction.quantity.map_or("", ComparedQuantity::words)),
            seconds(transaction.before_s),
            seconds(transaction.after_s),
            difference,
            interval(transaction.standard_error_s),
            seconds(transaction.detectable_s),
        ]);
        let reason = transaction.reason.as_ref().map(|reason| names::label(reason, 200));
        row.note(Detail::Summary, "", reason.unwrap_or_default())
    };
    let table = Table::new("transactions", &columns).preview(PREVIEW);
    let table = table.columns_for(Detail::Page, &["detectable from"]);
    Section::new("transactions", "Transactions")
        .remark("CPU, or time without queueing")
        .introduction(
            "CPU of each transaction before and after: all of the server's work divided in proportion to times, or, where transactions \
             use CPU after their response, the difference of its work divided among those that changed; or its time at the server \
             without queueing, where the CPU is not known or only the waiting changed. What got slower comes first.",
        )
        .block(table.at_most(TRANSACTIONS, transactions, row))
}
