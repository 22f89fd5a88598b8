//! Differences between a call-tree shape and its nearest relative.

use std::cmp::Ordering;
use std::collections::HashSet;

/// Calls per request change when they differ by this factor …
const CALLS_FACTOR: f64 = 1.5;

/// … and by this many calls.
const CALLS_LEAST: f64 = 1.0;

/// One call path of a shape. Paths are numbered so that a caller's path has a smaller number than its callees'.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathCalls {
    /// Number of the path.
    pub path: u32,
    /// Number of the caller's path; `None` at the entry.
    pub parent: Option<u32>,
    /// Mean calls per request of the shape.
    pub calls: f64,
}

/// A shape as its call paths.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShapeProfile {
    /// By ascending path, each once.
    pub paths: Vec<PathCalls>,
}

/// How a shape differs from its relative at one path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PathDifference {
    /// The path is only in this shape, and its caller is in both.
    Added {
        /// The path.
        path: u32,
        /// Calls per request.
        calls: f64,
    },
    /// The path is only in the relative, and its caller is in both.
    Removed {
        /// The path.
        path: u32,
        /// Calls per request in the relative.
        calls: f64,
    },
    /// Both have the path, with calls that differ by a factor of 1.5 and by one call at least.
    Calls {
        /// The path.
        path: u32,
        /// Calls per request in the relative.
        from: f64,
        /// Calls per request in the shape.
        to: f64,
    },
}

/// The nearest relative of a shape.
#[derive(Clone, PartialEq, Debug)]
pub struct Nearest {
    /// Index of the nearest candidate.
    pub candidate: usize,
    /// Common paths over all paths of the two (Jaccard), 0..=1.
    pub similarity: f64,
    /// What distinguishes the two; empty when the same calls differ only in order or grouping.
    pub differences: Vec<PathDifference>,
}

/// The candidate with the largest share of common paths; among equals the one with the largest share of common
/// calls (Ružička), then the first. `None` without candidates. Time is linear in the candidates' paths.
pub fn nearest<'a>(
    shape: &ShapeProfile,
    candidates: impl Iterator<Item = &'a ShapeProfile>,
) -> Option<Nearest> {
    let mut best: Option<(usize, Likeness, &ShapeProfile)> = None;
    for (index, candidate) in candidates.enumerate() {
        let likeness = Likeness::of(shape, candidate);
        if best.as_ref().is_none_or(|(_, known, _)| likeness.compare(known) == Ordering::Greater) {
            best = Some((index, likeness, candidate));
        }
    }
    let (candidate, likeness, relative) = best?;
    Some(Nearest { candidate, similarity: likeness.paths, differences: differences(shape, relative) })
}

#[derive(Clone, Copy)]
struct Likeness {
    paths: f64,
    calls: f64,
}

impl Likeness {
    fn of(a: &ShapeProfile, b: &ShapeProfile) -> Likeness {
        let (mut common, mut all, mut least, mut most) = (0.0, 0.0, 0.0, 0.0);
        for (in_a, in_b) in side_by_side(a, b) {
            let (calls_a, calls_b) =
                (in_a.map_or(0.0, |path| path.calls), in_b.map_or(0.0, |path| path.calls));
            all += 1.0;
            common += if in_a.is_some() && in_b.is_some() { 1.0 } else { 0.0 };
            least += calls_a.min(calls_b);
            most += calls_a.max(calls_b);
        }
        let share = |part: f64, total: f64| if total > 0.0 { part / total } else { 1.0 };
        Likeness { paths: share(common, all), calls: share(least, most) }
    }

    fn compare(&self, other: &Likeness) -> Ordering {
        self.paths.total_cmp(&other.paths).then(self.calls.total_cmp(&other.calls))
    }
}

/// Every path of either shape, with its entry in each.
fn side_by_side<'a>(
    a: &'a ShapeProfile,
    b: &'a ShapeProfile,
) -> impl Iterator<Item = (Option<&'a PathCalls>, Option<&'a PathCalls>)> {
    let (mut in_a, mut in_b) = (a.paths.iter().peekable(), b.paths.iter().peekable());
    std::iter::from_fn(move || match (in_a.peek(), in_b.peek()) {
        (None, None) => None,
        (Some(x), Some(y)) => match x.path.cmp(&y.path) {
            Ordering::Less => Some((in_a.next(), None)),
            Ordering::Greater => Some((None, in_b.next())),
            Ordering::Equal => Some((in_a.next(), in_b.next())),
        },
        (Some(_), None) => Some((in_a.next(), None)),
        (None, Some(_)) => Some((None, in_b.next())),
    })
}

/// The topmost of what was added and removed, then changed numbers of calls below callers whose own calls did
/// not change, the largest change first.
fn differences(shape: &ShapeProfile, relative: &ShapeProfile) -> Vec<PathDifference> {
    let has = |profile: &ShapeProfile, number: u32| {
        profile.paths.binary_search_by_key(&number, |number| number.path).is_ok()
    };
    let caller_in_both =
        |path: &PathCalls| path.parent.is_none_or(|parent| has(shape, parent) && has(relative, parent));
    let mut structure = Vec::new();
    let mut counts: Vec<(u32, f64, f64)> = Vec::new();
    let mut changed: HashSet<u32> = HashSet::new();
    for sides in side_by_side(shape, relative) {
        match sides {
            (Some(new), None) if caller_in_both(new) => {
                structure.push(PathDifference::Added { path: new.path, calls: new.calls });
            }
            (None, Some(old)) if caller_in_both(old) => {
                structure.push(PathDifference::Removed { path: old.path, calls: old.calls });
            }
            (Some(new), Some(old)) => {
                let caller_changed = new.parent.is_some_and(|parent| changed.contains(&parent));
                if !calls_differ(old.calls, new.calls) {
                    continue;
                }
                changed.insert(new.path);
                if !caller_changed {
                    counts.push((new.path, old.calls, new.calls));
                }
            }
            _ => {}
        }
    }
    counts.sort_by(|a, b| (b.2 - b.1).abs().total_cmp(&(a.2 - a.1).abs()).then(a.0.cmp(&b.0)));
    structure.extend(counts.into_iter().map(|(path, from, to)| PathDifference::Calls { path, from, to }));
    structure
}

fn calls_differ(from: f64, to: f64) -> bool {
    (to - from).abs() >= CALLS_LEAST && from.max(to) >= CALLS_FACTOR * from.min(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(paths: &[(u32, Option<u32>, f64)]) -> ShapeProfile {
        let paths = paths.iter().map(|&(path, parent, calls)| PathCalls { path, parent, calls });
        ShapeProfile { paths: paths.collect() }
    }

    /// 0 entry, 1 cart, 2 cart > db, 3 pay, 4 pay > bank.
    fn plain() -> ShapeProfile {
        profile(&[(0, None, 1.0), (1, Some(0), 1.0), (2, Some(1), 3.0)])
    }

    #[test]
    fn the_topmost_added_call_is_reported() {
        let new = profile(&[
            (0, None, 1.0),
            (1, Some(0), 1.0),
            (2, Some(1), 3.0),
            (3, Some(0), 2.0),
            (4, Some(3), 2.0),
        ]);
        let other = profile(&[(0, None, 1.0), (9, Some(0), 1.0)]);
        let relative = nearest(&new, [&other, &plain()].into_iter()).unwrap();
        assert_eq!((relative.candidate, relative.similarity), (1, 0.6));
        assert_eq!(relative.differences, [PathDifference::Added { path: 3, calls: 2.0 }]);
        let back = nearest(&plain(), [&new].into_iter()).unwrap();
        assert_eq!(back.differences, [PathDifference::Removed { path: 3, calls: 2.0 }]);
    }

    #[test]
    fn a_longer_loop_is_reported() {
        let new = profile(&[(0, None, 1.0), (1, Some(0), 1.0), (2, Some(1), 11.0)]);
        let relative = nearest(&new, [&plain()].into_iter()).unwrap();
        assert_eq!(relative.differences, [PathDifference::Calls { path: 2, from: 3.0, to: 11.0 }]);
        let slightly = profile(&[(0, None, 1.0), (1, Some(0), 1.0), (2, Some(1), 4.0)]);
        assert_eq!(nearest(&slightly, [&plain()].into_iter()).unwrap().differences, []);
    }

    #[test]
    fn callees_of_a_longer_loop_are_not_reported_again() {
        let loops = |calls: f64| {
            profile(&[(0, None, 1.0), (1, Some(0), calls), (2, Some(1), calls), (3, Some(2), calls)])
        };
        let relative = nearest(&loops(11.0), [&loops(3.0)].into_iter()).unwrap();
        assert_eq!(relative.differences, [PathDifference::Calls { path: 1, from: 3.0, to: 11.0 }]);
    }

    #[test]
    fn among_equal_paths_the_one_with_similar_calls_is_nearest() {
        let far = profile(&[(0, None, 1.0), (1, Some(0), 1.0), (2, Some(1), 30.0)]);
        let relative = nearest(&plain(), [&far, &plain()].into_iter()).unwrap();
        assert_eq!((relative.candidate, relative.differences), (1, vec![]));
        assert_eq!(nearest(&plain(), std::iter::empty()), None);
    }
}
