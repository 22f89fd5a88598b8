//! Stretches of windows between cuts, and which of them transactions explain.

use std::ops::Range;

use super::design::Design;
use super::fit::{Drift, Fit, Part};
use super::settings::ChangeSettings;

/// A window is foreign to a model when it is beyond so many standard deviations of the noise.
const FOREIGN_DEVIATIONS: f64 = 4.0;
/// Fewest foreign windows of an anomalous region; fewer are single wild windows.
const FOREIGN_MIN: usize = 3;

/// One in so many windows may be wild.
const WILD_SHARE: usize = 10;

/// What a stretch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PieceKind {
    /// Transactions explain it.
    Normal,
    /// They do not. The reason is a phrase.
    Anomalous(&'static str),
    /// At the end and too short to judge.
    Pending,
}

/// A stretch of regression rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) rows: Range<usize>,
    pub(super) kind: PieceKind,
}

/// Why a stretch is anomalous.
pub(super) const TOO_SHORT: &str = "too short for a model";
/// Why a stretch is anomalous.
pub(super) const UNEXPLAINED: &str = "CPU that transactions do not explain";
/// Why a stretch is anomalous.
pub(super) const LARGE_CONSTANT: &str = "a large constant load";

/// The stretches between `cuts` (regression rows, ascending): single wild windows absorbed, anomalous stretches in
/// one run joined, and their edges where the model of the neighbor ends to hold.
pub(super) fn pieces(design: &Design, cuts: &[usize], settings: &ChangeSettings) -> Vec<Piece> {
    let end = design.regression.rows();
    let windows_min = settings.windows_min(design.demands()).min((end / 2).max(1));
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(end));
    let judged =
        starts.zip(ends).map(|(start, end)| judge(design, start..end, windows_min, settings)).collect();
    let mut pieces = absorb(design, join(judged));
    postpone_last(&mut pieces, windows_min);
    for at in 0..pieces.len() {
        trim(design, &mut pieces, at);
    }
    pieces
}

fn judge(design: &Design, rows: Range<usize>, windows_min: usize, settings: &ChangeSettings) -> Piece {
    let kind = if rows.len() < windows_min {
        PieceKind::Anomalous(TOO_SHORT)
    } else if noise_ratio(design, rows.clone()) > settings.noise_ratio_max {
        PieceKind::Anomalous(UNEXPLAINED)
    } else {
        PieceKind::Normal
    };
    Piece { rows, kind }
}

fn own_fit(design: &Design, rows: Range<usize>) -> Fit {
    design.fit(&[Part { rows: &[rows], drift: Drift::NONE }], f64::INFINITY)
}

/// What the best fit leaves, over the usual noise. The tenth of the windows that are furthest off are left out: a
/// few wild windows are no region.
fn noise_ratio(design: &Design, rows: Range<usize>) -> f64 {
    let first = own_fit(design, rows.clone());
    let mut by_deviation: Vec<usize> = rows.collect();
    by_deviation.sort_by(|&a, &b| deviations(design, &first, a).total_cmp(&deviations(design, &first, b)));
    by_deviation.truncate(by_deviation.len() - by_deviation.len() / WILD_SHARE);
    by_deviation.sort_unstable();
    let kept: Vec<Range<usize>> = by_deviation.into_iter().map(|row| row..row + 1).collect();
    let fit = design.fit(&[Part { rows: &kept, drift: Drift::NONE }], f64::INFINITY);
    let left = kept.len().saturating_sub(fit.positive).max(1) as f64;
    (design.misfit(&fit, Drift::NONE, &kept).square / left).sqrt()
}

/// Joins neighbors that are both anomalous.
fn join(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        let both = |last: &&mut Piece| is_anomalous(last) && is_anomalous(&piece);
        match joined.last_mut().filter(both) {
            Some(last) => {
                last.rows.end = piece.rows.end;
                last.kind = PieceKind::Anomalous(UNEXPLAINED);
            }
            None => joined.push(piece),
        }
    }
    joined
}

fn is_anomalous(piece: &Piece) -> bool {
    matches!(piece.kind, PieceKind::Anomalous(_))
}

/// Gives an anomalous stretch to a normal neighbor whose model holds for nearly all of its windows.
fn absorb(design: &Design, mut pieces: Vec<Piece>) -> Vec<Piece> {
    let mut at = 0;
    while at < pieces.len() {
        let host = is_anomalous(&pieces[at]).then(|| host_of(design, &pieces, at)).flatten();
        let Some(host) = host else {
            at += 1;
            continue;
        };
        let rows = pieces[at].rows.clone();
        pieces[host].rows = pieces[host].rows.start.min(rows.start)..pieces[host].rows.end.max(rows.end);
        pieces.remove(at);
        at = at.saturating_sub(1);
    }
    pieces
}

fn host_of(design: &Design, pieces: &[Piece], at: usize) -> Option<usize> {
    let neighbors = [at.checked_sub(1), (at + 1 < pieces.len()).then_some(at + 1)];
    neighbors.into_iter().flatten().find(|&host| {
        pieces[host].kind == PieceKind::Normal && {
            let fit = own_fit(design, pieces[host].rows.clone());
            let foreign =
                pieces[at].rows.clone().filter(|&row| deviations(design, &fit, row) > FOREIGN_DEVIATIONS);
            foreign.count() < FOREIGN_MIN
        }
    })
}

/// Noise deviations by which a window is off a model, without sign.
fn deviations(design: &Design, fit: &Fit, row: usize) -> f64 {
    design.residual(fit, Drift::NONE, row).abs() / design.noise(row)
}

/// The last stretch, short and with a normal one before it, is not yet anything.
fn postpone_last(pieces: &mut [Piece], windows_min: usize) {
    let [.., before, last] = pieces else { return };
    if is_anomalous(last) && last.rows.len() < windows_min && before.kind == PieceKind::Normal {
        last.kind = PieceKind::Pending;
    }
}

/// Moves the edges of an anomalous stretch to where the neighbors' models stop to hold.
fn trim(design: &Design, pieces: &mut [Piece], at: usize) {
    if !is_anomalous(&pieces[at]) {
        return;
    }
    let rows = pieces[at].rows.clone();
    if at > 0 && pieces[at - 1].kind == PieceKind::Normal {
        let fit = own_fit(design, pieces[at - 1].rows.clone());
        let is_foreign = |row: &usize| deviations(design, &fit, *row) > FOREIGN_DEVIATIONS;
        let start = rows.clone().find(is_foreign).unwrap_or(rows.start);
        // Foreign windows just before it belong to it too.
        let earlier = (pieces[at - 1].rows.start + 1..rows.start).rev().take_while(is_foreign).count();
        let start = if start == rows.start { start - earlier } else { start };
        (pieces[at - 1].rows.end, pieces[at].rows.start) = (start, start);
    }
    let rows = pieces[at].rows.clone();
    if at + 1 < pieces.len() && pieces[at + 1].kind == PieceKind::Normal {
        let fit = own_fit(design, pieces[at + 1].rows.clone());
        let is_foreign = |row: &usize| deviations(design, &fit, *row) > FOREIGN_DEVIATIONS;
        let end = rows.clone().rev().find(is_foreign).map_or(rows.end, |row| row + 1);
        let later = (rows.end..pieces[at + 1].rows.end - 1).take_while(is_foreign).count();
        let end = if end == rows.end { end + later } else { end };
        (pieces[at].rows.end, pieces[at + 1].rows.start) = (end, end);
    }
}
