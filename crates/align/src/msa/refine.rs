//! Tree-dependent refinement: cut an edge of the tree, align its two sides anew, keep what scores higher.

use super::band::Guide;
use super::group::{Distinct, Group, path_between};
use super::pairs::{Side, sum_across};
use super::progressive::Workshop;
use super::tree::Tree;
use laggard_numeric::parallel_map;

/// How refinement went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refinement {
    /// Sweeps over the tree that were begun.
    pub sweeps: usize,
    /// Alignments that were kept.
    pub improvements: usize,
    /// Why it ended.
    pub end: RefinementEnd,
}

/// Why refinement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RefinementEnd {
    /// No cut improves the score.
    #[default]
    NothingImproves,
    /// As many sweeps as allowed.
    Sweeps,
    /// As many cells as allowed.
    Cells,
}

/// An alignment that was tried.
struct Attempt {
    better: Option<Group>,
    cells: u64,
}

/// Sweeps over the cuts of the tree until a whole sweep's worth of cuts in a row changed nothing. Cuts are tried several
/// at a time but taken in order: those after a success are tried again, so the answer is that of one at a time.
pub(super) fn refine(mut group: Group, tree: &Tree, workshop: &Workshop<'_>) -> (Group, Refinement) {
    let members = tree.members();
    let cuts = tree.cuts();
    let tries = cuts.len() * workshop.settings.sweeps_max;
    let mut refinement = Refinement { end: RefinementEnd::Sweeps, ..Refinement::default() };
    let (mut at, mut unchanged, mut cells) = (0, 0, 0_u64);
    while at < tries && unchanged < cuts.len() {
        let batch = workshop.settings.threads.get().min(tries - at).min(cuts.len() - unchanged);
        let batch: Vec<usize> = (at..at + batch).map(|try_| cuts[try_ % cuts.len()]).collect();
        let attempts =
            parallel_map(&batch, workshop.settings.threads, |&cut| attempt(&group, &members[cut], workshop));
        for attempt in attempts {
            (at, unchanged, cells) = (at + 1, unchanged + 1, cells + attempt.cells);
            if cells > workshop.settings.refinement_cells_max {
                refinement.end = RefinementEnd::Cells;
                refinement.sweeps = at.div_ceil(cuts.len());
                return (group, refinement);
            }
            if let Some(better) = attempt.better {
                (group, unchanged) = (better, 0);
                refinement.improvements += 1;
                break;
            }
        }
    }
    if unchanged >= cuts.len() {
        refinement.end = RefinementEnd::NothingImproves;
    }
    refinement.sweeps = if cuts.is_empty() { 0 } else { at.div_ceil(cuts.len()) };
    (group, refinement)
}

/// Aligns the two sides of a cut near where they lie now.
fn attempt(group: &Group, inside: &[usize], workshop: &Workshop<'_>) -> Attempt {
    let is_inside = |member: usize| inside.binary_search(&member).is_ok();
    let first = group.part(is_inside);
    let second = group.part(|member| !is_inside(member));
    let now = path_between(&first, &second);
    let profiles = (first.group.profile(workshop.distinct), second.group.profile(workshop.distinct));
    let path = workshop.best_path(&profiles.0, &profiles.1, &Guide::along(&now), workshop.settings.band_min);
    if path.moves == now {
        return Attempt { better: None, cells: path.cells };
    }
    let candidate = first.group.join(&second.group, &path.moves).sorted();
    let is_better =
        across(&candidate, is_inside, workshop.distinct) > across(group, is_inside, workshop.distinct);
    Attempt { better: is_better.then_some(candidate), cells: path.cells }
}

/// What the pairs across a cut contribute to the score; a new alignment of two sides changes no other.
fn across(group: &Group, is_inside: impl Fn(usize) -> bool, distinct: &Distinct<'_>) -> f64 {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (&member, row) in group.members.iter().zip(group.rows(distinct)) {
        if is_inside(member) { first.push(row) } else { second.push(row) }
    }
    sum_across(&Side::new(&first, group.len), &Side::new(&second, group.len))
}
