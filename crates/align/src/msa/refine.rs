//! Tree-dependent refinement: cut an edge of the tree, align its two sides anew, keep what scores higher.

use super::band::Guide;
use super::group::{Distinct, Group, path_between};
use super::pairs::{Bits, sum_across};
use super::progressive::Workshop;
use super::settings::ColumnScore;
use super::tree::Tree;
use laggard_numeric::parallel_map;

/// How refinement went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refinement {
    /// Sweeps over the tree that were begun.
    pub sweeps: usize,
    /// Alignments that were kept.
    pub improvements: usize,
    /// Cells of the tables that were computed.
    pub cells: u64,
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

/// Refines first by the columns' sum of pairs, which raises the score most, then by log expectation, which closes the
/// staggered columns that the first leaves. Each never lowers the sum of pairs.
pub(super) fn refine(group: Group, tree: &Tree, workshop: &Workshop<'_>) -> (Group, Refinement) {
    let mut refiner = Refiner { workshop, tree, members: tree.members(), refinement: Refinement::default() };
    let group = refiner.sweep(group, ColumnScore::SumOfPairs);
    let group = refiner.sweep(group, ColumnScore::LogExpectation);
    (group, refiner.refinement)
}

struct Refiner<'a> {
    workshop: &'a Workshop<'a>,
    tree: &'a Tree,
    members: Vec<Vec<usize>>,
    refinement: Refinement,
}

impl Refiner<'_> {
    /// Sweeps over the cuts of the tree until as many cuts as there are changed nothing in a row. Cuts are tried
    /// several at a time but taken in order: those after a success are tried again, so the answer is that of one at a
    /// time.
    fn sweep(&mut self, mut group: Group, score: ColumnScore) -> Group {
        let cuts = self.tree.cuts();
        let settings = self.workshop.settings;
        let tries = cuts.len() * settings.sweeps_max;
        let mut bits = group.bits();
        let (mut at, mut unchanged) = (0, 0);
        while at < tries && unchanged < cuts.len() && self.refinement.end != RefinementEnd::Cells {
            // Soon after a success another is likely, and what was tried beyond it is lost.
            let most = (4 * settings.threads.get()).min(unchanged + 1);
            let batch: Vec<usize> = (at..tries.min(at + most))
                .take(cuts.len() - unchanged)
                .map(|at| cuts[at % cuts.len()])
                .collect();
            let attempts =
                parallel_map(&batch, settings.threads, |&cut| self.attempt(&group, &bits, cut, score));
            for attempt in attempts {
                (at, unchanged) = (at + 1, unchanged + 1);
                if !self.count(attempt.cells) {
                    break;
                }
                if let Some(better) = attempt.better {
                    (group, unchanged) = (better, 0);
                    bits = group.bits();
                    self.refinement.improvements += 1;
                    break;
                }
            }
        }
        self.refinement.sweeps += at.div_ceil(cuts.len().max(1));
        if unchanged < cuts.len() && self.refinement.end != RefinementEnd::Cells {
            self.refinement.end = RefinementEnd::Sweeps;
        }
        group
    }

    /// Whether these cells are still allowed.
    fn count(&mut self, cells: u64) -> bool {
        self.refinement.cells += cells;
        let is_within = self.refinement.cells <= self.workshop.settings.refinement_cells_max;
        if !is_within {
            self.refinement.end = RefinementEnd::Cells;
        }
        is_within
    }

    /// Aligns the two sides of a cut near where they lie now.
    fn attempt(&self, group: &Group, bits: &Bits, cut: usize, score: ColumnScore) -> Attempt {
        let (inside, distinct) = (&self.members[cut], self.workshop.distinct);
        let is_inside = |member: usize| inside.binary_search(&member).is_ok();
        let (first, second) = (group.part(is_inside), group.part(|member| !is_inside(member)));
        let now = path_between(&first, &second);
        let profiles = (first.group.profile(distinct), second.group.profile(distinct));
        let sides = (&profiles.0, &profiles.1);
        let path =
            self.workshop.best_path(sides, score, &Guide::along(&now), self.workshop.settings.band_min);
        if path.moves == now {
            return Attempt { better: None, cells: path.cells };
        }
        let joined = first.group.join(&second.group, &path.moves);
        let new_bits = joined.bits();
        let across = Across { members: &joined.members, inside: inside.len(), distinct };
        let gaps = across.gaps(|i, j| new_bits.gaps(i, &new_bits, j));
        // Rows of the whole group are in the order of its members.
        let gaps_now = across.gaps(|i, j| bits.gaps(joined.members[i], bits, joined.members[j]));
        let is_better = sum_across(sides, &path.moves, gaps) > sum_across(sides, &now, gaps_now);
        Attempt { better: is_better.then(|| joined.sorted()), cells: path.cells }
    }
}

/// The pairs of one of the first members and one of the others.
struct Across<'a> {
    members: &'a [usize],
    inside: usize,
    distinct: &'a Distinct<'a>,
}

impl Across<'_> {
    /// Weighted number of gaps, by the number in the rows at two places.
    fn gaps(&self, gaps: impl Fn(usize, usize) -> f64) -> f64 {
        let weight = |place: usize| f64::from(self.distinct.weights[self.members[place]]);
        let of = |i: usize| (self.inside..self.members.len()).map(|j| weight(j) * gaps(i, j)).sum::<f64>();
        (0..self.inside).map(|i| weight(i) * of(i)).sum()
    }
}
