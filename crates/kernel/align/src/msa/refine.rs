//! Tree-dependent refinement: cut an edge of the tree, realign its two sides, and retain the better alignment.

use super::band::Guide;
use super::group::{Distinct, Group, path_between};
use super::pairs::{OccupancyBits, sum_across};
use super::progressive::AlignmentContext;
use super::settings::ColumnScore;
use super::tree::Tree;
use laggard_parallel::parallel_map;

/// A sweep whose relative gain is smaller than this is the last.
const GAIN_MIN: f64 = 1e-4;

/// Result of the refinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refinement {
    /// Sweeps over the tree that were begun.
    pub sweeps: usize,
    /// Number of accepted alignments.
    pub improvements: usize,
    /// Number of computed table cells, plus the equivalent of all other work.
    pub work: u64,
    /// Why it ended.
    pub end: RefinementEnd,
}

/// Why refinement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RefinementEnd {
    /// No cut improves the score, or a whole sweep improves it by less than 0.01 %.
    #[default]
    NothingImproves,
    /// As many sweeps as allowed.
    Sweeps,
    /// As much work as allowed.
    Work,
}

/// An alignment that was tried.
struct RefinementAttempt {
    better: Option<Group>,
    gain: f64,
    work: u64,
}

/// Refines first by the columns' sum of pairs, which raises the score most, then by log expectation, which closes the
/// staggered columns that the first leaves. Each never lowers the sum of pairs.
pub(super) fn refine(
    group: Group,
    score: f64,
    tree: &Tree,
    context: &AlignmentContext<'_>,
) -> (Group, Refinement) {
    let mut refiner =
        Refiner { context, tree, members: tree.members(), score, refinement: Refinement::default() };
    let group = refiner.sweep(group, ColumnScore::SumOfPairs);
    let group = refiner.sweep(group, ColumnScore::LogExpectation);
    (group, refiner.refinement)
}

struct Refiner<'a> {
    context: &'a AlignmentContext<'a>,
    tree: &'a Tree,
    members: Vec<Vec<usize>>,
    /// Sum of pairs of the current alignment.
    score: f64,
    refinement: Refinement,
}

impl Refiner<'_> {
    /// Sweeps over the cuts of the tree until all cuts in a row changed nothing. Several cuts are tried in parallel but
    /// accepted in order: those after a success are tried again, so the result equals that of trying them one by one.
    fn sweep(&mut self, mut group: Group, score: ColumnScore) -> Group {
        let cuts = self.tree.cuts();
        let settings = self.context.settings;
        let tries = cuts.len() * settings.sweeps_max;
        let mut bits = group.bits();
        let (mut attempt_index, mut unchanged) = (0, 0);
        let mut score_of_sweep = self.score;
        while attempt_index < tries && unchanged < cuts.len() && self.refinement.end != RefinementEnd::Work {
            if attempt_index >= cuts.len() && attempt_index % cuts.len() == 0 {
                if self.score - score_of_sweep < GAIN_MIN * self.score.abs() {
                    unchanged = cuts.len();
                    break;
                }
                score_of_sweep = self.score;
            }
            // Soon after a success another is likely, and attempts after it are discarded.
            let most =
                (4 * settings.threads.get()).min(unchanged + 1).min(cuts.len() - attempt_index % cuts.len());
            let batch: Vec<usize> = (attempt_index..tries.min(attempt_index + most))
                .take(cuts.len() - unchanged)
                .map(|attempt_index| cuts[attempt_index % cuts.len()])
                .collect();
            let attempts =
                parallel_map(&batch, settings.threads, |&cut| self.attempt(&group, &bits, cut, score));
            for attempt in attempts {
                (attempt_index, unchanged) = (attempt_index + 1, unchanged + 1);
                if !self.count(attempt.work) {
                    break;
                }
                if let Some(better) = attempt.better {
                    (group, unchanged) = (better, 0);
                    self.score += attempt.gain;
                    bits = group.bits();
                    self.refinement.improvements += 1;
                    break;
                }
            }
        }
        self.refinement.sweeps += attempt_index.div_ceil(cuts.len().max(1));
        if unchanged < cuts.len() && self.refinement.end != RefinementEnd::Work {
            self.refinement.end = RefinementEnd::Sweeps;
        }
        group
    }

    /// Adds work; returns whether the limit still allows it.
    fn count(&mut self, work: u64) -> bool {
        self.refinement.work += work;
        let is_within = self.refinement.work <= self.context.settings.refinement_work_max;
        if !is_within {
            self.refinement.end = RefinementEnd::Work;
        }
        is_within
    }

    /// Realigns the two sides of a cut near their current alignment.
    fn attempt(
        &self,
        group: &Group,
        bits: &OccupancyBits,
        cut: usize,
        score: ColumnScore,
    ) -> RefinementAttempt {
        let (inside, distinct) = (&self.members[cut], self.context.distinct);
        let is_inside = |member: usize| inside.binary_search(&member).is_ok();
        let (first, second) = (group.part(is_inside), group.part(|member| !is_inside(member)));
        let now = path_between(&first, &second);
        let profiles = (first.group.profile(distinct), second.group.profile(distinct));
        let sides = (&profiles.0, &profiles.1);
        let path = self.context.best_path(sides, score, &Guide::along(&now), self.context.settings.band_min);
        // Parts, profiles and the new rows go over every step a few times; gaps over every pair of rows by words.
        let steps: usize = group.columns.iter().map(Vec::len).sum();
        let pairs = inside.len() * (group.members.len() - inside.len());
        let work = path.cells + 2 * steps as u64 + (pairs * (group.len / 64 + 1)) as u64;
        if path.moves == now {
            return RefinementAttempt { better: None, gain: 0.0, work };
        }
        let joined = first.group.join(&second.group, &path.moves);
        let new_bits = joined.bits();
        let across = CrossPairs { members: &joined.members, inside: inside.len(), distinct };
        let gaps = across.gaps(|i, j| new_bits.gaps(i, &new_bits, j));
        // Rows of the whole group are in the order of its members.
        let gaps_now = across.gaps(|i, j| bits.gaps(joined.members[i], bits, joined.members[j]));
        let gain = sum_across(sides, &path.moves, gaps) - sum_across(sides, &now, gaps_now);
        RefinementAttempt { better: (gain > 0.0).then(|| joined.sorted()), gain, work }
    }
}

/// The pairs of one of the first members and one of the others.
struct CrossPairs<'a> {
    members: &'a [usize],
    inside: usize,
    distinct: &'a Distinct<'a>,
}

impl CrossPairs<'_> {
    /// Weighted number of gaps, from the number of gaps of two rows.
    fn gaps(&self, gaps: impl Fn(usize, usize) -> f64) -> f64 {
        let weight = |row: usize| f64::from(self.distinct.weights[self.members[row]]);
        let pairs_of =
            |i: usize| (self.inside..self.members.len()).map(|j| weight(j) * gaps(i, j)).sum::<f64>();
        (0..self.inside).map(|i| weight(i) * pairs_of(i)).sum()
    }
}
