//! The children of one call: their order, and how much of the caller's time they cover (algorithms §1.2.5).

use crate::clocks::ClockAgreement;
use crate::trace::{Links, same_clock};
use laggard_model::{Loss, Losses, Nanos, SpanKind, SpanRow};

/// How much of a call's inclusive time its callees cover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Covered {
    /// The callees cover this much.
    Length(Nanos),
    /// All of it: a callee ran longer than the call that announced it.
    Everything,
}

/// A child in order.
#[derive(Clone, Copy)]
pub(crate) struct OrderedChild {
    pub(crate) at: u32,
    pub(crate) order_group: u32,
    /// How long the caller waited for this child and for no later one.
    pub(crate) awaited: Nanos,
}

/// An interval in nanoseconds after the parent's start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interval {
    pub(crate) from: i64,
    pub(crate) to: i64,
}

/// Scratch space for one parent at a time.
#[derive(Default)]
pub(crate) struct Children {
    ordered: Vec<OrderedChild>,
    remote: Vec<u32>,
    /// Covered parts of the parent's interval, on its own clock.
    local: Vec<Interval>,
    /// The same, each with its index in `ordered`.
    child_intervals: Vec<ChildInterval>,
    /// Remote children as recorded, with their clock.
    recorded: Vec<(laggard_model::ReplicaId, Interval)>,
    /// For each of `recorded`, its index in `remote`.
    recorded_at: Vec<usize>,
    /// Whether every remote child lies inside the parent as recorded.
    contained: bool,
    asynchronous: bool,
}

impl Children {
    /// Children in order; numbers of order groups grow.
    pub(crate) fn ordered(&self) -> impl DoubleEndedIterator<Item = OrderedChild> + '_ {
        self.ordered.iter().copied()
    }

    /// Orders the children of row `at` and measures what they cover.
    ///
    /// Children on the parent's clock come first, by start; those that overlap share an order group. Remote
    /// children come last, all in one group: the parent's clock does not show when they ran.
    pub(crate) fn arrange(
        &mut self,
        links: &Links<'_>,
        index: u32,
        losses: &mut Losses,
        clocks: &mut ClockAgreement,
    ) -> Covered {
        self.clear();
        let parent = links.row(index);
        let mut busy_until = i64::MIN;
        let mut group = 0;
        for &child in links.children(index) {
            let row = links.row(child);
            if !same_clock(parent.replica, row.replica) {
                self.remote.push(child);
                self.add_remote(parent, row, losses, clocks);
                continue;
            }
            let span = interval(parent, row);
            if span.from >= busy_until && busy_until != i64::MIN {
                group += 1;
            }
            busy_until = busy_until.max(span.to);
            self.add_local(parent, row, span, losses);
            self.ordered.push(OrderedChild { at: child, order_group: group, awaited: Nanos::ZERO });
        }
        let last = group + 1;
        self.ordered.extend(self.remote.iter().map(|&index| OrderedChild {
            at: index,
            order_group: last,
            awaited: Nanos::ZERO,
        }));
        let covered = self.covered(parent.inclusive);
        self.distribute_time(links, covered, parent);
        covered
    }

    fn clear(&mut self) {
        self.ordered.clear();
        self.remote.clear();
        self.local.clear();
        self.child_intervals.clear();
        self.recorded.clear();
        self.recorded_at.clear();
        self.contained = true;
        self.asynchronous = false;
    }

    fn add_local(&mut self, parent: &SpanRow, child: &SpanRow, span: Interval, losses: &mut Losses) {
        if is_message(parent, child) {
            return;
        }
        // A duration that a client made up may be longer than any time between two timestamps.
        let end = i64::try_from(parent.inclusive.ns()).unwrap_or(i64::MAX);
        if span.from < 0 {
            losses.add(Loss::ChildBeforeParent, || format!("trace {}", parent.trace));
        }
        if span.to > end {
            losses.add(Loss::ChildOutlivesParent, || format!("trace {}", parent.trace));
        }
        let clipped = Interval { from: span.from.clamp(0, end), to: span.to.clamp(0, end) };
        if clipped.from < clipped.to {
            self.local.push(clipped);
            self.child_intervals.push(ChildInterval { child: self.ordered.len(), span: clipped });
        }
    }

    fn add_remote(
        &mut self,
        parent: &SpanRow,
        child: &SpanRow,
        losses: &mut Losses,
        clocks: &mut ClockAgreement,
    ) {
        if is_message(parent, child) {
            return;
        }
        if child.inclusive > parent.inclusive {
            self.asynchronous = true;
            losses.add(Loss::AsynchronousCallee, || format!("trace {}", parent.trace));
            return;
        }
        let span = interval(parent, child);
        let end_offset = child.end().since(parent.end()).ns();
        clocks.add(parent.replica, child.replica, span.from, end_offset);
        if span.from < 0 || end_offset > 0 {
            self.contained = false;
            losses.add(Loss::ClockSkew, || format!("trace {}", parent.trace));
        }
        self.recorded.push((child.replica, span));
        self.recorded_at.push(self.remote.len() - 1);
    }

    /// The union of what ran on the parent's clock, plus the remote callees' own lengths.
    fn covered(&mut self, inclusive: Nanos) -> Covered {
        if self.asynchronous {
            return Covered::Everything;
        }
        let mut total = union_length(&mut self.local);
        match self.recorded[..] {
            [] => {}
            [(_, only)] => total = total.saturating_add(only.to - only.from),
            _ => total = self.with_parallel_remote(total),
        }
        Covered::Length(Nanos::from_ns(total.max(0) as u64).min(inclusive))
    }

    /// Divides the covered time among the callees: children whose times can be compared by a walk along the
    /// caller's critical path, the others in proportion to their length. The parts sum to what is covered.
    fn distribute_time(&mut self, links: &Links<'_>, covered: Covered, parent: &SpanRow) {
        let Covered::Length(covered) = covered else {
            let awaited = |row: &SpanRow| if is_message(parent, row) { 0 } else { row.inclusive.ns() };
            let lengths: Vec<u64> = self.ordered.iter().map(|child| awaited(links.row(child.at))).collect();
            for (child, part) in self.ordered.iter_mut().zip(proportional(&lengths, parent.inclusive.ns())) {
                child.awaited = Nanos::from_ns(part);
            }
            return;
        };
        let first_remote = self.ordered.len() - self.remote.len();
        let compared = self.contained && self.recorded.len() > 1;
        if compared {
            let remote = self.recorded.iter().zip(&self.recorded_at);
            self.child_intervals.extend(
                remote.map(|(&(_, span), &index)| ChildInterval { child: first_remote + index, span }),
            );
        }
        let mut remaining = covered.ns();
        walk_back(&mut self.child_intervals, |child, length| {
            let length = length.min(remaining);
            remaining -= length;
            self.ordered[child].awaited = self.ordered[child].awaited.plus(Nanos::from_ns(length));
        });
        if !compared {
            let lengths: Vec<u64> =
                self.recorded.iter().map(|(_, span)| (span.to - span.from) as u64).collect();
            for (&index, part) in self.recorded_at.iter().zip(proportional(&lengths, remaining)) {
                self.ordered[first_remote + index].awaited = Nanos::from_ns(part);
            }
        }
    }

    /// Several remote callees may have run in parallel. If all lie inside the parent as recorded, the skew is
    /// bounded by the slack around them and the recorded times are used; otherwise only callees on one clock
    /// are compared with each other, and clocks are added up.
    fn with_parallel_remote(&mut self, local: i64) -> i64 {
        if self.contained {
            self.local.extend(self.recorded.iter().map(|&(_, span)| span));
            return union_length(&mut self.local);
        }
        let mut by_clock = self.recorded.clone();
        by_clock.sort_unstable_by_key(|&(replica, _)| replica);
        let mut total = local;
        for clock in by_clock.chunk_by(|a, b| a.0 == b.0) {
            let mut spans: Vec<Interval> = clock.iter().map(|&(_, span)| span).collect();
            total = total.saturating_add(union_length(&mut spans));
        }
        total
    }
}

/// A child's part of its caller's interval.
#[derive(Clone, Copy)]
pub(crate) struct ChildInterval {
    pub(crate) child: usize,
    pub(crate) span: Interval,
}

/// A message's consumer does not block its producer.
fn is_message(parent: &SpanRow, child: &SpanRow) -> bool {
    parent.kind == SpanKind::Producer || child.kind == SpanKind::Consumer
}

fn interval(parent: &SpanRow, child: &SpanRow) -> Interval {
    let from = child.start.since(parent.start).ns();
    Interval { from, to: from.saturating_add_unsigned(child.inclusive.ns()) }
}

/// Walks from the last end to the first start: at any moment the child that ends last was waited for. Lengths
/// sum to the length of the union.
fn walk_back(child_intervals: &mut [ChildInterval], mut take: impl FnMut(usize, u64)) {
    if child_intervals.len() > 1 {
        child_intervals.sort_unstable_by_key(|child_interval| {
            std::cmp::Reverse((child_interval.span.to, child_interval.span.from, child_interval.child))
        });
    }
    let mut reached = i64::MAX;
    for child_interval in child_intervals {
        let to = child_interval.span.to.min(reached);
        if to > child_interval.span.from {
            take(child_interval.child, (to - child_interval.span.from) as u64);
            reached = child_interval.span.from;
        }
    }
}

/// Splits a total in proportion to some lengths, rounded down; nothing if all lengths are 0.
fn proportional(lengths: &[u64], sum: u64) -> Vec<u64> {
    let total: u128 = lengths.iter().map(|&length| u128::from(length)).sum();
    let part = |&length: &u64| (u128::from(length) * u128::from(sum)).checked_div(total).unwrap_or(0) as u64;
    lengths.iter().map(part).collect()
}

fn union_length(spans: &mut [Interval]) -> i64 {
    if !spans.is_sorted() {
        spans.sort_unstable();
    }
    let mut total = 0_i64;
    let mut reached = i64::MIN;
    for span in spans {
        total = total.saturating_add((span.to - span.from.max(reached)).max(0));
        reached = reached.max(span.to);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_waits_for_the_child_that_ends_last() {
        let child_interval = |child, from, to| ChildInterval { child, span: Interval { from, to } };
        let mut awaited = [0; 4];
        let mut child_intervals = [
            child_interval(0, 0, 10),
            child_interval(1, 5, 30),
            child_interval(2, 6, 29),
            child_interval(3, 40, 50),
        ];
        walk_back(&mut child_intervals, |child, length| awaited[child] += length);
        assert_eq!(awaited, [5, 25, 0, 10]);
        assert_eq!(proportional(&[1, 3], 8), [2, 6]);
        assert_eq!(proportional(&[0, 0], 8), [0, 0]);
    }

    #[test]
    fn overlapping_intervals_count_once() {
        let spans = |list: &[(i64, i64)]| -> Vec<Interval> {
            list.iter().map(|&(from, to)| Interval { from, to }).collect()
        };
        assert_eq!(union_length(&mut spans(&[(0, 10), (5, 15), (20, 25)])), 20);
        assert_eq!(union_length(&mut spans(&[(5, 6), (0, 10)])), 10);
        assert_eq!(union_length(&mut spans(&[])), 0);
    }
}
