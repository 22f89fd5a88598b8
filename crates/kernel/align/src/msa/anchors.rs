//! Anchors of the alignment of two long profiles: words of their most frequent states that are unique in each.

use super::band::Guide;
use super::profile::Profile;

/// Profiles shorter than this need no anchors.
const LONG: usize = 1000;

/// Length of an anchor in states; long enough to be unlikely by chance among tens of thousands of columns.
const WORD: usize = 16;

/// Minimum share of rows with a state for a column to be part of a word.
const FILLED: f32 = 0.5;

/// Maximum distance of an anchor from the diagonal of its neighbors: this number of columns plus this share of their
/// distance.
const OFF: usize = 32;
const OFF_SHARE: f64 = 0.25;

/// An initial guess of the path, and the lengths of its longest section between anchors.
pub(super) struct PathGuess {
    pub(super) guide: Guide,
    pub(super) span: (usize, usize),
}

/// The guess between two profiles: straight from anchor to anchor, or from corner to corner where there is none.
pub(super) fn guide_between(first: &Profile, second: &Profile) -> PathGuess {
    let (n, m) = (first.len(), second.len());
    if n.max(m) < LONG {
        return PathGuess { guide: Guide::straight(n, m), span: (n, m) };
    }
    let anchors = supported(ascending(&shared_words(first, second)));
    let mut span = (0, 0);
    let mut from = (0, 0);
    for &(row, column) in anchors.iter().chain(&[(n, m)]) {
        let range = (row - from.0, column - from.1);
        // The band depends on the longer side and the difference of both.
        let reach = |(rows, columns): (usize, usize)| rows.max(columns).max(10 * rows.abs_diff(columns));
        if reach(range) > reach(span) {
            span = range;
        }
        from = (row, column);
    }
    PathGuess { guide: Guide::through(n, m, &anchors), span }
}

/// A word and the column where it begins.
type WordPosition = (u128, usize);

/// The words that occur once, sorted.
fn unique_words(profile: &Profile) -> Vec<WordPosition> {
    let filled = (0..profile.len()).filter(|&column| profile.filled()[column] >= FILLED * profile.rows());
    let most = |column: usize| {
        let counts = profile.counts(column);
        let largest = (0..counts.len()).rev().max_by(|&a, &b| counts[a].total_cmp(&counts[b])).unwrap_or(0);
        (profile.states().get(largest).copied().unwrap_or(0), column)
    };
    let states: Vec<(u8, usize)> = filled.map(most).collect();
    let word = |states: &[(u8, usize)]| {
        (states.iter().fold(0, |word, &(state, _)| (word << 8) | u128::from(state)), states[0].1)
    };
    let mut words: Vec<WordPosition> = states.windows(WORD).map(word).collect();
    words.sort_unstable();
    words.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0]).collect()
}

/// Pairs of columns where the same word begins, ascending by the first.
fn shared_words(first: &Profile, second: &Profile) -> Vec<(usize, usize)> {
    let theirs = unique_words(second);
    let partner = |&(word, column): &WordPosition| {
        let index = theirs.binary_search_by_key(&word, |&(word, _)| word).ok()?;
        Some((column, theirs[index].1))
    };
    let mut pairs: Vec<(usize, usize)> = unique_words(first).iter().filter_map(partner).collect();
    pairs.sort_unstable();
    pairs
}

/// The longest subsequence that ascends in the second columns too.
fn ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length the pair with the smallest end, and for each pair the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) =
        (Vec::new(), Vec::with_capacity(pairs.len()));
    for (index, &(_, column)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < column);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() { ends.push(index) } else { ends[length] = index }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        chain.push(pairs[index]);
        next = before[index];
    }
    chain.reverse();
    chain
}

/// Anchors near the diagonal of the one before and of the one after: a word shared by chance has no others nearby.
fn supported(anchors: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let agree = |a: (usize, usize), b: (usize, usize)| {
        let (rows, columns) = (b.0 - a.0, b.1 - a.1);
        rows.abs_diff(columns) as f64 <= OFF as f64 + OFF_SHARE * rows.max(columns) as f64
    };
    let is_supported = |index: usize| {
        let before = index > 0 && agree(anchors[index - 1], anchors[index]);
        let after = index + 1 < anchors.len() && agree(anchors[index], anchors[index + 1]);
        before && after
    };
    (0..anchors.len()).filter(|&index| is_supported(index)).map(|index| anchors[index]).collect()
}
