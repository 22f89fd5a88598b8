//! Signatures and their differences, for a person at a terminal.

use super::page::Page;
use super::paint::{Paint, Piece};
use super::sections::{bullets, losses};
use super::table::{Fit, Table};
use super::{TextStyle, WIDTH_MAX, WIDTH_MIN};
use crate::present::changes::phrases::{heading_of, length, plus_minus, signed_length};
use crate::signature::{
    DiffVerdict, ServerSignature, Signature, SignatureDiff, SignatureVerdict, TransactionDiff,
    TransactionFate, basis, verdict_word,
};
use crate::{names, numbers};
use std::io;

/// Rows of a table; the other outputs list all.
const ROWS: usize = 40;
/// Servers shown one by one.
const SERVERS: usize = 8;
/// Columns a name may take.
const NAME_ROOM: usize = 48;

fn page(style: &TextStyle) -> Page {
    Page::new(usize::from(style.width.clamp(WIDTH_MIN, WIDTH_MAX)), style.color)
}

fn verdict(page: &mut Page, mark: &str, word: &str, headline: &str, paint: Paint) {
    page.wrapped(&[Piece::new(mark, paint), Piece::plain(" ")], &[Piece::new(word, paint)]);
    page.blank();
    page.sentence(&[Piece::plain("  ")], headline, Paint::Plain, Paint::Strong);
}

fn more(page: &mut Page, all: usize, shown: usize, what: &str) {
    if all > shown {
        let left = numbers::count((all - shown) as u64);
        page.line(&[Piece::faint(format!("  {left} more {what} are in the JSON output."))]);
    }
}

pub(crate) fn signature(signature: &Signature, style: &TextStyle, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = page(style);
    let (mark, word, paint) = match signature.verdict {
        SignatureVerdict::Usable => ("[ok]", "Signature", Paint::Good),
        SignatureVerdict::InsufficientData => ("[?]", "Not enough data", Paint::Unsure),
    };
    verdict(&mut page, mark, word, &signature.headline, paint);
    bullets(&mut page, "What is missing", &signature.missing, Paint::Unsure);
    signature.servers.iter().take(SERVERS).for_each(|one| server(&mut page, one));
    more(&mut page, signature.servers.len(), SERVERS, "servers");
    bullets(&mut page, "Cautions", &signature.cautions, Paint::Unsure);
    losses(&mut page, &signature.input.losses);
    page.heading("What this rests on", "");
    page.sentence(&[Piece::plain("  ")], &signature.input.sentence(), Paint::Plain, Paint::Plain);
    out.write_all(page.finish().as_bytes())
}

fn server(page: &mut Page, server: &ServerSignature) {
    let cores = if server.cores == 1.0 { "1 core".to_owned() } else { format!("{} cores", server.cores) };
    let used =
        server.utilization_mean.map_or_else(String::new, |used| format!(", {} used", numbers::share(used)));
    let windows = numbers::counted(server.windows, "window");
    page.heading(&heading_of(&server.server, &server.tier), &format!("{cores}, {windows}{used}"));
    let columns = [
        ("transaction", Fit::Name),
        ("without queueing", Fit::Number),
        ("95 %", Fit::Number),
        ("windows", Fit::Number),
        ("CPU by the model", Fit::Number),
        ("share", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for one in server.by_share().into_iter().take(ROWS) {
        table.row(vec![
            Piece::strong(names::shorten(&one.transaction, NAME_ROOM).as_ref()),
            Piece::plain(one.service_time_s.map_or_else(|| "–".to_owned(), length)),
            Piece::faint(one.standard_error_s.map_or_else(String::new, plus_minus)),
            Piece::plain(numbers::count(one.windows)),
            Piece::plain(one.demand_s.map_or_else(|| "–".to_owned(), length)),
            Piece::plain(numbers::share(one.share)),
        ]);
    }
    table.print(page);
    more(page, server.transactions.len(), ROWS, "transactions");
}

pub(crate) fn signature_diff(
    diff: &SignatureDiff,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = page(style);
    let (mark, paint) = match diff.verdict {
        DiffVerdict::Slower => ("[!]", Paint::Bad),
        DiffVerdict::Same | DiffVerdict::Faster => ("[ok]", Paint::Good),
        DiffVerdict::InsufficientData => ("[?]", Paint::Unsure),
    };
    verdict(&mut page, mark, verdict_word(diff.verdict), &diff.headline, paint);
    bullets(&mut page, "What is missing", &diff.missing, Paint::Unsure);
    transactions(&mut page, diff);
    bullets(&mut page, "Cautions", &diff.cautions, Paint::Unsure);
    page.heading("What this rests on", "");
    page.sentence(&[Piece::plain("  ")], &basis(diff), Paint::Plain, Paint::Plain);
    out.write_all(page.finish().as_bytes())
}

fn transactions(page: &mut Page, diff: &SignatureDiff) {
    if diff.transactions.is_empty() {
        return;
    }
    page.heading("Transactions", "time without queueing");
    let columns = [
        ("", Fit::Fixed),
        ("transaction", Fit::Name),
        ("server", Fit::Name),
        ("before", Fit::Number),
        ("after", Fit::Number),
        ("difference", Fit::Number),
        ("95 %", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for one in diff.transactions.iter().take(ROWS) {
        table.row(cells(one));
        if let Some(reason) = &one.reason {
            table.note("  ", vec![Piece::faint(reason)]);
        }
    }
    table.print(page);
    more(page, diff.transactions.len(), ROWS, "transactions");
}

fn cells(one: &TransactionDiff) -> Vec<Piece> {
    let paint = match one.fate {
        TransactionFate::Slower => Paint::Bad,
        TransactionFate::Faster => Paint::Good,
        TransactionFate::NotJudged => Paint::Unsure,
        TransactionFate::New | TransactionFate::Removed => Paint::Strong,
        TransactionFate::Same => Paint::Faint,
    };
    vec![
        Piece::new(one.fate.word(), paint),
        Piece::strong(names::shorten(&one.transaction, NAME_ROOM).as_ref()),
        Piece::plain(names::shorten(one.place(), NAME_ROOM)),
        Piece::plain(one.before_s.map_or_else(|| "–".to_owned(), length)),
        Piece::plain(one.after_s.map_or_else(|| "–".to_owned(), length)),
        Piece::plain(one.difference_s.map_or_else(String::new, signed_length)),
        Piece::faint(one.standard_error_s.map_or_else(String::new, plus_minus)),
    ]
}
