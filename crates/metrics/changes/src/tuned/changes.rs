//! The road of the default method: noise, cuts, regions, service times, groups, verdicts.

use std::num::NonZeroUsize;

use super::answer::answer;
use super::design::Design;
use super::evidence::Evidence;
use super::pieces::{Piece, PieceKind, pieces};
use super::scan::StepSearch;
use super::segment::cuts;
use super::service_events::ServiceTimes;
use super::settings::ChangeSettings;
use super::timeline::timeline;
use crate::{Analysis, Observations, TooLittleData};

/// Fewest windows on either side of a cut: two could be one wild process start.
const SIDE_MIN: usize = 3;

/// Segments, models and changes of one server, with nothing to set: how much is noise comes from the data.
///
/// Cuts are steps of the cost model beyond noise and beyond what matters; stretches that no model explains are
/// anomalous; the rest is compared, and the signature and the regression check each other. See
/// `docs/manual/methods/changes.md`. About `O(T log T · n² + T n³)`; the answer does not depend on `threads`.
///
/// # Errors
/// If there are fewer than `2 (n + 1)` usable windows for the `n` transaction types that occur, or nothing to explain.
pub fn changes(
    observations: &Observations,
    settings: &ChangeSettings,
    threads: NonZeroUsize,
) -> Result<Analysis, TooLittleData> {
    let needed = windows_needed(observations);
    TooLittleData::check(observations, needed)?;
    let design = Design::new(observations, settings);
    let given = design.regression.rows();
    if given < needed {
        return Err(TooLittleData::Windows { given, needed });
    }
    let mut pieces = regression_pieces(&design, settings, threads);
    let is_normal = normal_rows(observations, &design, &pieces);
    let services = ServiceTimes::new(observations, settings, &is_normal, threads);
    cut_at_events(&design, &services, &mut pieces);
    let evidence = Evidence { observations, design: &design, services: &services, settings };
    let timeline = timeline(evidence, &mut pieces);
    Ok(answer(evidence, pieces, timeline))
}

/// `2 (n + 1)` for the types that occur: as many windows again as coefficients.
pub(super) fn windows_needed(observations: &Observations) -> usize {
    let occurs = |of: &usize| observations.counts.column(*of).any(|count| count > 0.0);
    2 * ((0..observations.counts.cols()).filter(occurs).count() + 1)
}

fn regression_pieces(design: &Design, settings: &ChangeSettings, threads: NonZeroUsize) -> Vec<Piece> {
    let search = StepSearch {
        directions: design.regression.columns(),
        side_min: SIDE_MIN,
        effect_min: settings.effect_min_percent,
    };
    let steps = cuts(&design.regression, search, settings.score_min, threads);
    let rows: Vec<usize> = steps.iter().map(|step| step.row).collect();
    pieces(design, &rows, settings)
}

/// Which observation rows are in a normal stretch.
fn normal_rows(observations: &Observations, design: &Design, pieces: &[Piece]) -> Vec<bool> {
    let mut is_normal = vec![false; observations.utilization.len()];
    for piece in pieces.iter().filter(|piece| !matches!(piece.kind, PieceKind::Anomalous(_))) {
        piece.rows.clone().for_each(|row| is_normal[design.rows[row]] = true);
    }
    is_normal
}

/// Cuts normal stretches where service times change. A cut that the regression found nearby moves there instead.
fn cut_at_events(design: &Design, services: &ServiceTimes, pieces: &mut Vec<Piece>) {
    for &event in &services.events {
        let row = design.rows.partition_point(|&observed| observed < event);
        let Some(at) = pieces.iter().position(|piece| piece.rows.contains(&row)) else { continue };
        let rows = pieces[at].rows.clone();
        let from_edge = (row - rows.start).min(rows.end - row);
        if pieces[at].kind != PieceKind::Normal || from_edge <= SIDE_MIN {
            continue;
        }
        let near = |edge: usize| edge != 0 && edge != design.regression.rows() && edge.abs_diff(row) <= 10;
        if near(rows.start) || near(rows.end) {
            continue;
        }
        pieces[at].rows.end = row;
        pieces.insert(at + 1, Piece { rows: row..rows.end, kind: PieceKind::Normal });
    }
}
