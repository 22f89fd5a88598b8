//! What a condition requires of times and trace ids, so that segments without such rows are not read.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use laggard_model::{Timestamp, TraceId};
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What rows must have; further conditions are checked by the engine.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bounds {
    /// The table's time, both ends included.
    pub(crate) window: RangeInclusive<Timestamp>,
    /// The only traces there can be rows of.
    pub(crate) traces: Option<Arc<HashSet<TraceId>>>,
}

impl Bounds {
    /// Those of conditions that all hold, on these columns.
    pub(crate) fn of(conditions: &[Expr], time: Option<&str>, trace: Option<&str>) -> Bounds {
        let mut bounds = Bounds { window: Timestamp::MIN..=Timestamp::MAX, traces: None };
        conditions.iter().for_each(|condition| bounds.add(condition, time, trace));
        bounds
    }

    fn add(&mut self, condition: &Expr, time: Option<&str>, trace: Option<&str>) {
        if let Some(ids) = trace.and_then(|column| traces_of(condition, column)) {
            self.traces = Some(match &self.traces {
                None => Arc::new(ids),
                Some(known) => Arc::new(known.intersection(&ids).copied().collect()),
            });
            return;
        }
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.add(left, time, trace);
                self.add(right, time, trace);
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if time.is_some() => {
                if column_of(left) == time {
                    self.add_time(*op, instant_of(right));
                } else if let Some(op) = op.swap().filter(|_| column_of(right) == time) {
                    self.add_time(op, instant_of(left));
                }
            }
            Expr::Between(Between { expr, negated: false, low, high })
                if time.is_some() && column_of(expr) == time =>
            {
                self.add_time(Operator::GtEq, instant_of(low));
                self.add_time(Operator::LtEq, instant_of(high));
            }
            _ => {}
        }
    }

    /// The instant itself stays in the window, also where it is excluded: the engine checks that.
    fn add_time(&mut self, op: Operator, value: Option<Timestamp>) {
        let Some(instant) = value else { return };
        let (mut since, mut until) = (*self.window.start(), *self.window.end());
        if matches!(op, Operator::Gt | Operator::GtEq | Operator::Eq) {
            since = since.max(instant);
        }
        if matches!(op, Operator::Lt | Operator::LtEq | Operator::Eq) {
            until = until.min(instant);
        }
        self.window = since..=until;
    }

    /// Whether nothing can fulfill them.
    pub(crate) fn are_empty(&self) -> bool {
        self.window.is_empty() || self.traces.as_ref().is_some_and(|traces| traces.is_empty())
    }
}

/// The only traces that a condition admits, if it says so: `=`, `in`, and any of several such ones, as which the engine writes a short
/// list.
fn traces_of(condition: &Expr, column: &str) -> Option<HashSet<TraceId>> {
    let ids = |texts: &[Expr]| {
        texts.iter().map(|text| TraceId::parse_text(text_of(text)?).map(|parsed| parsed.id)).collect()
    };
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            match (column_of(left) == Some(column), column_of(right) == Some(column)) {
                (true, false) => ids(std::slice::from_ref(&**right)),
                (false, true) => ids(std::slice::from_ref(&**left)),
                _ => None,
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let mut all = traces_of(left, column)?;
            all.extend(traces_of(right, column)?);
            Some(all)
        }
        Expr::InList(InList { expr, list, negated: false }) if column_of(expr) == Some(column) => ids(list),
        _ => None,
    }
}

fn column_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Column(column) => Some(&column.name),
        _ => None,
    }
}

fn instant_of(expression: &Expr) -> Option<Timestamp> {
    match expression {
        Expr::Literal(ScalarValue::TimestampNanosecond(Some(ns), _), _) => Some(Timestamp::from_unix_ns(*ns)),
        _ => None,
    }
}

fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{col, lit};

    fn instant(ns: i64) -> Expr {
        lit(ScalarValue::TimestampNanosecond(Some(ns), Some("UTC".into())))
    }

    fn bounds(condition: Expr) -> Bounds {
        Bounds::of(&[condition], Some("time"), Some("trace_id"))
    }

    fn window(condition: Expr) -> (i64, i64) {
        let window = bounds(condition).window;
        (window.start().unix_ns(), window.end().unix_ns())
    }

    const FIRST: i64 = Timestamp::MIN.unix_ns();
    const LAST: i64 = Timestamp::MAX.unix_ns();

    #[test]
    fn conditions_on_the_time_bound_the_window() {
        assert_eq!(window(col("time").gt(instant(5))), (5, LAST));
        assert_eq!(window(instant(5).gt_eq(col("time"))), (FIRST, 5));
        assert_eq!(window(col("time").eq(instant(5))), (5, 5));
        assert_eq!(window(col("time").between(instant(3), instant(9))), (3, 9));
        let both = col("time").gt_eq(instant(3)).and(col("time").lt(instant(9)).and(col("value").gt(lit(1))));
        assert_eq!(window(both), (3, 9));
        assert!(bounds(col("time").lt(instant(3)).and(col("time").gt(instant(9)))).are_empty());
    }

    #[test]
    fn other_conditions_bound_nothing() {
        let unbounded = (FIRST, LAST);
        assert_eq!(window(col("time").gt(instant(5)).or(col("value").gt(lit(1)))), unbounded);
        assert_eq!(window(col("time").not_eq(instant(5))), unbounded);
        assert_eq!(window(col("value").gt(instant(5))), unbounded);
        assert_eq!(window(col("time").not_between(instant(3), instant(9))), unbounded);
        assert_eq!(window(col("time").gt(col("value"))), unbounded);
        assert_eq!(bounds(col("trace_id").not_eq(lit("a"))).traces, None);
        assert_eq!(bounds(col("trace_id").in_list(vec![lit("a")], true)).traces, None);
        let without_columns = col("time").between(instant(3), instant(9));
        let nothing = Bounds::of(&[without_columns, lit(1).in_list(vec![lit("a")], false)], None, None);
        assert_eq!((nothing.window.start().unix_ns(), nothing.traces), (FIRST, None));
    }

    #[test]
    fn several_conditions_on_the_trace_leave_the_traces_of_all() {
        let ids = |condition: Expr| bounds(condition).traces.map(|traces| traces.len());
        assert_eq!(ids(col("trace_id").eq(lit("a"))), Some(1));
        assert_eq!(ids(col("trace_id").in_list(vec![lit("a"), lit("b")], false)), Some(2));
        let either = col("trace_id").eq(lit("a")).or(lit("b").eq(col("trace_id")));
        assert_eq!(ids(either.clone()), Some(2));
        assert_eq!(ids(either.or(col("value").gt(lit(1)))), None);
        let both = col("trace_id").in_list(vec![lit("a"), lit("b")], false).and(lit("c").eq(col("trace_id")));
        assert!(bounds(both).are_empty());
    }
}
