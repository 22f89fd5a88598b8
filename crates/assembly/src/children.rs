//! The children of one call: their order, and how much of the caller's time they cover (algorithms §1.2.5).

use crate::clocks::ClockAgreement;
use crate::trace::{Links, same_clock};
use laggard_model::{Loss, Losses, Nanos, SpanKind, SpanRow};

/// How much of a call's inclusive time its callees account for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Covered {
    /// This much.
    Length(Nanos),
    /// All of it: a callee ran longer than the call that announced it.
    Everything,
}

/// A child in its place.
#[derive(Clone, Copy)]
pub(crate) struct OrderedChild {
    pub(crate) at: u32,
    pub(crate) order_group: u32,
}

/// An interval in nanoseconds after the parent's start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    from: i64,
    to: i64,
}

/// Scratch space for one parent at a time.
#[derive(Default)]
pub(crate) struct Children {
    ordered: Vec<OrderedChild>,
    remote: Vec<u32>,
    /// Covered parts of the parent's interval, on its own clock.
    local: Vec<Interval>,
    /// Remote children as recorded, with their clock.
    recorded: Vec<(laggard_model::ReplicaId, Interval)>,
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
    /// children come last, all in one group: nothing on the parent's clock says when they ran.
    pub(crate) fn arrange(
        &mut self,
        links: &Links<'_>,
        at: u32,
        losses: &mut Losses,
        clocks: &mut ClockAgreement,
    ) -> Covered {
        self.clear();
        let parent = links.row(at);
        let mut busy_until = i64::MIN;
        let mut group = 0;
        for &child in links.children(at) {
            let row = links.row(child);
            if !same_clock(parent.replica, row.replica) {
                self.remote.push(child);
                self.take_remote(parent, row, losses, clocks);
                continue;
            }
            let span = interval(parent, row);
            if span.from >= busy_until && busy_until != i64::MIN {
                group += 1;
            }
            busy_until = busy_until.max(span.to);
            self.ordered.push(OrderedChild { at: child, order_group: group });
            self.take_local(parent, row, span, losses);
        }
        let last = group + 1;
        self.ordered.extend(self.remote.iter().map(|&at| OrderedChild { at, order_group: last }));
        self.covered(parent.inclusive)
    }

    fn clear(&mut self) {
        self.ordered.clear();
        self.remote.clear();
        self.local.clear();
        self.recorded.clear();
        self.contained = true;
        self.asynchronous = false;
    }

    fn take_local(&mut self, parent: &SpanRow, child: &SpanRow, span: Interval, losses: &mut Losses) {
        if is_message(parent, child) {
            return;
        }
        let end = parent.inclusive.ns() as i64;
        if span.from < 0 {
            losses.add(Loss::ChildBeforeParent, || format!("trace {}", parent.trace));
        }
        if span.to > end {
            losses.add(Loss::ChildOutlivesParent, || format!("trace {}", parent.trace));
        }
        let clipped = Interval { from: span.from.clamp(0, end), to: span.to.clamp(0, end) };
        if clipped.from < clipped.to {
            self.local.push(clipped);
        }
    }

    fn take_remote(
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
            _ => total = self.with_several_remote(total),
        }
        Covered::Length(Nanos::from_ns(total.max(0) as u64).min(inclusive))
    }

    /// Several remote callees may have run in parallel. If all lie inside the parent as recorded, the skew is
    /// bounded by the slack around them and the recorded times are used; otherwise only callees on one clock
    /// are compared with each other, and clocks are added up.
    fn with_several_remote(&mut self, local: i64) -> i64 {
        if self.contained {
            self.local.extend(self.recorded.iter().map(|&(_, span)| span));
            return union_length(&mut self.local);
        }
        self.recorded.sort_unstable_by_key(|&(replica, _)| replica);
        let mut total = local;
        for clock in self.recorded.chunk_by(|a, b| a.0 == b.0) {
            let mut spans: Vec<Interval> = clock.iter().map(|&(_, span)| span).collect();
            total = total.saturating_add(union_length(&mut spans));
        }
        total
    }
}

/// A message's consumer does not hold up its producer.
fn is_message(parent: &SpanRow, child: &SpanRow) -> bool {
    parent.kind == SpanKind::Producer || child.kind == SpanKind::Consumer
}

fn interval(parent: &SpanRow, child: &SpanRow) -> Interval {
    let from = child.start.since(parent.start).ns();
    Interval { from, to: from.saturating_add_unsigned(child.inclusive.ns()) }
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
    fn overlapping_intervals_count_once() {
        let spans = |list: &[(i64, i64)]| -> Vec<Interval> {
            list.iter().map(|&(from, to)| Interval { from, to }).collect()
        };
        assert_eq!(union_length(&mut spans(&[(0, 10), (5, 15), (20, 25)])), 20);
        assert_eq!(union_length(&mut spans(&[(5, 6), (0, 10)])), 10);
        assert_eq!(union_length(&mut spans(&[])), 0);
    }
}
