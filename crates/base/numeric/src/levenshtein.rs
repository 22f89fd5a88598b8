//! Edit distance of sequences, and the alignment behind it (Levenshtein 1966; band: Ukkonen 1985).

/// Unit-cost edit distance of two sequences, if it is at most `limit`.
///
/// Common ends are cut off first; then only cells at most `limit` off the diagonal are computed, and the
/// search ends when no cell of a row is within the limit. Time `O(limit · length)`.
pub fn levenshtein_within<T: PartialEq>(a: &[T], b: &[T], limit: usize) -> Option<usize> {
    let (a, b) = without_common_ends(a, b);
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > limit {
        return None;
    }
    if short.is_empty() {
        return Some(long.len());
    }
    let limit = limit.min(long.len());
    let beyond = limit + 1;
    // `row[j]`: distance of the first `i` of `long` from the first `j` of `short`; `beyond` outside the band.
    let mut row: Vec<usize> = (0..=short.len()).map(|j| if j <= limit { j } else { beyond }).collect();
    for (i, symbol) in long.iter().enumerate() {
        let (from, to) = ((i + 1).saturating_sub(limit), (i + 1 + limit).min(short.len()));
        if !advance(&mut row, symbol, short, i + 1, from, to, beyond) {
            return None;
        }
    }
    row.last().copied().filter(|&distance| distance <= limit)
}

/// The next row of the table, columns `from..=to`; whether any of it is within the limit.
fn advance<T: PartialEq>(
    row: &mut [usize],
    symbol: &T,
    short: &[T],
    i: usize,
    from: usize,
    to: usize,
    beyond: usize,
) -> bool {
    let first = from.max(1);
    let mut diagonal = row[first - 1];
    row[first - 1] = if from == 0 { i.min(beyond) } else { beyond };
    let mut least = row[first - 1];
    for j in first..=to {
        let substituted = diagonal + usize::from(*symbol != short[j - 1]);
        diagonal = row[j];
        row[j] = substituted.min(row[j] + 1).min(row[j - 1] + 1).min(beyond);
        least = least.min(row[j]);
    }
    least < beyond
}

fn without_common_ends<'a, T: PartialEq>(a: &'a [T], b: &'a [T]) -> (&'a [T], &'a [T]) {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (&a[..a.len() - same], &b[..b.len() - same])
}

/// For each element of `b`, the element of `a` that is equal and aligned with it in a cheapest alignment.
///
/// Of several cheapest alignments, the one that is found from the end by preferring a match, then a
/// substitution, then an element of `a` without a partner, then one of `b`. Time and memory
/// `O(a.len() · b.len())`, four bytes a cell.
pub fn levenshtein_matches<T: PartialEq>(a: &[T], b: &[T]) -> Vec<Option<usize>> {
    let mut matches = vec![None; b.len()];
    let (mut i, mut j) = (a.len(), b.len());
    // From the end a match is always preferred, so a common end needs no table.
    while i > 0 && j > 0 && a[i - 1] == b[j - 1] {
        (i, j) = (i - 1, j - 1);
        matches[j] = Some(i);
    }
    let table = DistanceTable::new(&a[..i], &b[..j]);
    while i > 0 && j > 0 {
        let here = table.at(i, j);
        let across = table.at(i - 1, j - 1);
        if a[i - 1] == b[j - 1] && across == here {
            (i, j) = (i - 1, j - 1);
            matches[j] = Some(i);
        } else if across + 1 == here {
            (i, j) = (i - 1, j - 1);
        } else if table.at(i - 1, j) + 1 == here {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    matches
}

/// Distances of all pairs of beginnings.
struct DistanceTable {
    width: usize,
    cells: Vec<u32>,
}

impl DistanceTable {
    fn new<T: PartialEq>(a: &[T], b: &[T]) -> DistanceTable {
        let width = b.len() + 1;
        let mut cells: Vec<u32> = (0..width as u32).collect();
        cells.resize(width * (a.len() + 1), 0);
        for (i, symbol) in a.iter().enumerate() {
            let (before, here) = cells[i * width..].split_at_mut(width);
            here[0] = i as u32 + 1;
            for (j, other) in b.iter().enumerate() {
                let substituted = before[j] + u32::from(symbol != other);
                here[j + 1] = substituted.min(before[j + 1] + 1).min(here[j] + 1);
            }
        }
        DistanceTable { width, cells }
    }

    fn at(&self, i: usize, j: usize) -> u32 {
        self.cells[i * self.width + j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(a: &str, b: &str, limit: usize) -> Option<usize> {
        levenshtein_within(a.as_bytes(), b.as_bytes(), limit)
    }

    #[test]
    fn the_textbook_pair() {
        assert_eq!(within("kitten", "sitting", 9), Some(3));
        assert_eq!(within("kitten", "sitting", 3), Some(3));
        assert_eq!(within("kitten", "sitting", 2), None);
        assert_eq!((within("", "abc", 3), within("", "abc", 2), within("", "", 0)), (Some(3), None, Some(0)));
        assert_eq!(within("abc", "abc", 0), Some(0));
    }

    #[test]
    fn matches_are_found_from_the_end() {
        let matched = |a: &str, b: &str| levenshtein_matches(a.as_bytes(), b.as_bytes());
        // A loop of three of which the last remains; an extra element; nothing in common.
        assert_eq!(matched("abbbc", "abc"), [Some(0), Some(3), Some(4)]);
        assert_eq!(matched("axbc", "abc"), [Some(0), Some(2), Some(3)]);
        assert_eq!(matched("abc", "axc"), [Some(0), None, Some(2)]);
        assert_eq!(matched("xyz", "abc"), [None, None, None]);
        assert_eq!(matched("", "ab"), [None, None]);
    }
}
