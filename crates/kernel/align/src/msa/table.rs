//! The alignment of two profiles: the best path through a table, with affine gaps, inside a band.
//!
//! Memory: two rows of scores, a byte of directions per cell of at most [`BLOCK_CELLS`] cells, and a saved row per block of
//! rows: a table too large for one block is computed twice, block by block from the end.

use super::band::{Band, Guide, Move};
use super::scores::{TableScores, round};

/// Cells whose directions are held at a time: 16 MiB.
const BLOCK_CELLS: usize = 1 << 24;

/// Less than any score; costs can be subtracted from it without overflow.
const UNREACHABLE: i32 = -(1 << 30);

/// Where the best score of a cell comes from.
const FROM_MASK: u8 = 3;
const FROM_FIRST: u8 = 1;
const FROM_SECOND: u8 = 2;
/// The gap in the second profile, if the path is in one here, was longer.
const FIRST_CONTINUES: u8 = 4;
/// The same for a gap in the first.
const SECOND_CONTINUES: u8 = 8;

/// A path, and the number of cells computed to find it.
pub(super) struct BestPath {
    pub(super) moves: Vec<Move>,
    pub(super) cells: u64,
}

/// The best path near `guide`. The band starts `half` columns wide to either side and doubles while the path touches
/// its edge.
pub(super) fn best_path(scores: &impl TableScores, guide: &Guide, half: usize) -> BestPath {
    best_path_in_blocks(scores, guide, half, BLOCK_CELLS)
}

fn best_path_in_blocks(
    scores: &impl TableScores,
    guide: &Guide,
    half: usize,
    block_cells: usize,
) -> BestPath {
    let (mut half, mut cells) = (half.max(1), 0);
    loop {
        let band = guide.band(scores.columns(), half);
        cells += band.cells();
        let moves = ScoreTable::new(scores, &band).solve(block_cells);
        if !band.is_touched_by(&moves, scores.columns()) {
            return BestPath { moves, cells };
        }
        half *= 2;
    }
}

struct ScoreTable<'a, S> {
    scores: &'a S,
    band: &'a Band,
    /// Best score of each cell of the last row that was computed, and of the one before.
    best: Vec<i32>,
    above: Vec<i32>,
    /// Best score of paths that end in a gap in the second profile.
    first_gap: Vec<i32>,
    row_scores: Vec<i32>,
}

/// The state of the table after a row.
struct SavedRow {
    row: usize,
    best: Vec<i32>,
    first_gap: Vec<i32>,
}

impl<'a, S: TableScores> ScoreTable<'a, S> {
    fn new(scores: &'a S, band: &'a Band) -> Self {
        let width = scores.columns() + 1;
        ScoreTable {
            scores,
            band,
            best: vec![UNREACHABLE; width],
            above: vec![UNREACHABLE; width],
            first_gap: vec![UNREACHABLE; width],
            row_scores: vec![0; band.width_max()],
        }
    }

    fn solve(mut self, block_cells: usize) -> Vec<Move> {
        let rows = self.scores.rows() + 1;
        let width = self.band.width_max();
        let block = (block_cells / width.max(1)).clamp(1, rows);
        let mut directions = vec![0_u8; block * width];
        let mut saved = Vec::new();
        for row in 0..rows {
            if row % block == 0 && row > 0 {
                saved.push(self.save(row - 1));
            }
            self.advance(row, &mut directions[row % block * width..][..width]);
        }
        let mut back =
            Traceback { row: rows - 1, column: self.scores.columns(), state: 0, moves: Vec::new() };
        let mut start = (rows - 1) / block * block;
        loop {
            back.walk(self.band, &directions, start, width);
            let Some(last) = saved.pop() else { break };
            // The block before: from its first row to the saved one, which is the row above this block.
            let end = start;
            start -= block;
            self.restore(saved.last());
            debug_assert_eq!(last.row + 1, end);
            for row in start..end {
                self.advance(row, &mut directions[(row - start) * width..][..width]);
            }
        }
        back.moves.reverse();
        back.moves
    }

    fn save(&self, row: usize) -> SavedRow {
        let range = self.band.low[row] as usize..self.band.high[row] as usize;
        SavedRow { row, best: self.best[range.clone()].to_vec(), first_gap: self.first_gap[range].to_vec() }
    }

    /// Restores the state after a saved row, or the initial state.
    fn restore(&mut self, saved: Option<&SavedRow>) {
        self.best.fill(UNREACHABLE);
        self.above.fill(UNREACHABLE);
        self.first_gap.fill(UNREACHABLE);
        if let Some(saved) = saved {
            let range = self.band.low[saved.row] as usize..self.band.high[saved.row] as usize;
            self.best[range.clone()].copy_from_slice(&saved.best);
            self.first_gap[range].copy_from_slice(&saved.first_gap);
        }
    }

    /// Computes one row from the last.
    fn advance(&mut self, row: usize, directions: &mut [u8]) {
        let (low, high) = (self.band.low[row] as usize, self.band.high[row] as usize);
        let directions = &mut directions[..high - low];
        directions.fill(0);
        if row == 0 {
            self.best[0] = 0;
            self.gaps_in_first(row, low, high, directions);
            return;
        }
        std::mem::swap(&mut self.best, &mut self.above);
        // Values of older rows outside the band of the row above are invalid.
        let (above_low, above_high) = (self.band.low[row - 1] as usize, self.band.high[row - 1] as usize);
        if above_high < high {
            self.above[above_high..high].fill(UNREACHABLE);
            self.first_gap[above_high..high].fill(UNREACHABLE);
        }
        if above_low > 0 {
            self.above[above_low - 1] = UNREACHABLE;
        }
        self.matches_and_gaps_in_second(row, low, high, directions);
        self.gaps_in_first(row, low, high, directions);
    }

    fn matches_and_gaps_in_second(&mut self, row: usize, low: usize, high: usize, directions: &mut [u8]) {
        let gaps = self.scores.first_gaps();
        let (open, extend) = (gaps.open[row - 1], gaps.extend[row - 1]);
        let mut start = low;
        if low == 0 {
            let open = round(open * gaps.share[0]);
            let (gap, longer) = longer_gap(self.above[0] - open, self.first_gap[0] - extend);
            self.first_gap[0] = gap;
            self.best[0] = gap;
            directions[0] = FROM_FIRST | (longer as u8 * FIRST_CONTINUES);
            start = 1;
        }
        let count = high.saturating_sub(start);
        if count == 0 {
            return;
        }
        let row_scores = &mut self.row_scores[..count];
        self.scores.fill(row - 1, start - 1..high - 1, row_scores);
        let best = &mut self.best[start..high];
        let first_gap = &mut self.first_gap[start..high];
        let (diagonal, above) = (&self.above[start - 1..high - 1], &self.above[start..high]);
        let directions = &mut directions[start - low..];
        let shares = &gaps.share[start..high];
        // Slices of one length, so that the loop has no checks and is done several cells at a time.
        for cell in 0..count
            .min(best.len())
            .min(first_gap.len())
            .min(diagonal.len())
            .min(above.len())
            .min(shares.len())
            .min(row_scores.len())
            .min(directions.len())
        {
            let matched = diagonal[cell] + row_scores[cell];
            let open = round(open * shares[cell]);
            let (gap, longer) = longer_gap(above[cell] - open, first_gap[cell] - extend);
            first_gap[cell] = gap;
            best[cell] = if gap > matched { gap } else { matched };
            directions[cell] = ((gap > matched) as u8 * FROM_FIRST) | (longer as u8 * FIRST_CONTINUES);
        }
    }

    fn gaps_in_first(&mut self, row: usize, low: usize, high: usize, directions: &mut [u8]) {
        let gaps = self.scores.second_gaps();
        let share = gaps.share[row];
        let costs = gaps.open[low..high - 1].iter().zip(&gaps.extend[low..high - 1]);
        let (mut gap, mut before) = (UNREACHABLE, self.best[low]);
        let cells = self.best[low + 1..high].iter_mut().zip(&mut directions[1..]);
        for ((best, direction), (&open, &extend)) in cells.zip(costs) {
            // `before` may itself end in this gap, but opening another is never cheaper than going on.
            let (longest, longer) = longer_gap(before - round(open * share), gap - extend);
            gap = longest;
            *direction |= longer as u8 * SECOND_CONTINUES;
            before = *best;
            if gap > *best {
                *best = gap;
                *direction = (*direction & !FROM_MASK) | FROM_SECOND;
            }
        }
    }
}

/// The better of a new gap and a longer one, and whether it is the longer.
#[inline]
fn longer_gap(new: i32, longer: i32) -> (i32, bool) {
    (if longer > new { longer } else { new }, longer > new)
}

/// Traceback from the last cell.
struct Traceback {
    row: usize,
    column: usize,
    /// `FROM_FIRST` or `FROM_SECOND` while in a gap that goes on, else 0.
    state: u8,
    moves: Vec<Move>,
}

impl Traceback {
    /// Walks while the directions are known: to above row `start`, or to the first cell.
    fn walk(&mut self, band: &Band, directions: &[u8], start: usize, width: usize) {
        while (self.row > 0 || self.column > 0) && self.row >= start {
            let direction =
                directions[(self.row - start) * width + self.column - band.low[self.row] as usize];
            let from = if self.state == 0 { direction & FROM_MASK } else { self.state };
            let (step, goes_on) = match from {
                FROM_FIRST => (Move::First, direction & FIRST_CONTINUES != 0),
                FROM_SECOND => (Move::Second, direction & SECOND_CONTINUES != 0),
                _ => (Move::Both, false),
            };
            self.state = if goes_on { from } else { 0 };
            self.moves.push(step);
            self.row -= usize::from(step != Move::Second);
            self.column -= usize::from(step != Move::First);
        }
    }
}
