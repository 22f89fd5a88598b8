//! Maps spans to executions: the thread and window of each span.

use super::execution::{Execution, TraceContext};
use crate::path::Window;
use crate::worker::HostId;
use laggard_model::{ClockMap, Nanos, Tid, Timestamp};
use std::collections::HashMap;

/// The thread a span ran on (`thread.id`, if that is the kernel's tid).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanThread {
    /// The host.
    pub host: HostId,
    /// The thread.
    pub tid: Tid,
}

/// The attributes of a span that are needed to find its execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpanInterval {
    /// Its name in the report: service and operation.
    pub label: String,
    /// Its ids.
    pub context: TraceContext,
    /// Its beginning.
    pub start: Timestamp,
    /// Its duration.
    pub inclusive: Nanos,
    /// Its thread, if recorded.
    pub thread: Option<SpanThread>,
}

/// Why a span has no execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpanExecutionError {
    /// No marker contains its ids, and it has no thread attribute.
    NoThread,
    /// It has a thread attribute, but the trace's clock cannot be mapped to calendar time.
    NoCalendar,
    /// It is not entirely within the trace.
    OutsideTrace,
    /// Its thread does not run while it lasts: the number is not the kernel's (a runtime's own, or that of another host).
    OtherThread,
}

/// A span's execution, or why there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpanExecution {
    /// 0-based index of the span in the input.
    pub span: usize,
    /// Its execution.
    pub execution: Result<Execution, SpanExecutionError>,
}

/// Returns the execution of each span, in the order of the spans: the one whose marker contains the span's ids, else
/// the span's thread over the span's time.
///
/// `marked` are executions found by markers, `traced` is the time covered by the kernel trace, and `calendar` maps its
/// clock to calendar time.
pub fn executions_of_spans(
    spans: &[SpanInterval],
    marked: &[Execution],
    traced: Window,
    calendar: Option<ClockMap>,
) -> Vec<SpanExecution> {
    let mut by_context = HashMap::new();
    for execution in marked {
        if let Some(context) = execution.context {
            by_context.entry(context).or_insert(execution);
        }
    }
    let matched = |span: &SpanInterval| match by_context.get(&span.context) {
        Some(&marked) => Ok(Execution { label: span.label.clone(), ..marked.clone() }),
        None => by_thread(span, traced, calendar),
    };
    spans
        .iter()
        .enumerate()
        .map(|(index, span)| SpanExecution { span: index, execution: matched(span) })
        .collect()
}

fn by_thread(
    span: &SpanInterval,
    traced: Window,
    calendar: Option<ClockMap>,
) -> Result<Execution, SpanExecutionError> {
    let thread = span.thread.ok_or(SpanExecutionError::NoThread)?;
    let calendar = calendar.ok_or(SpanExecutionError::NoCalendar)?;
    let from = calendar.to_kernel(span.start);
    let window = Window { from, to: from.plus_ns(span.inclusive.ns()) };
    // A span before the clock's origin would be clamped to it.
    let exact = calendar.to_unix(from) == span.start;
    if !exact || window.from < traced.from || window.to > traced.to {
        return Err(SpanExecutionError::OutsideTrace);
    }
    Ok(Execution {
        label: span.label.clone(),
        key: None,
        context: Some(span.context),
        host: thread.host,
        tid: thread.tid,
        end_tid: thread.tid,
        window,
        depth: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{KernelTime, SpanId, TraceId};

    const SECOND: u64 = 1_000_000_000;

    fn context(span: u64) -> TraceContext {
        TraceContext { trace: TraceId::from_value(7), span: SpanId::new(span).unwrap() }
    }

    fn span(id: u64, start_ns: i64, tid: Option<u32>) -> SpanInterval {
        SpanInterval {
            label: format!("shop/{id}"),
            context: context(id),
            start: Timestamp::from_unix_ns(start_ns),
            inclusive: Nanos::from_ns(1000),
            thread: tid.map(|tid| SpanThread { host: HostId(0), tid: Tid(tid) }),
        }
    }

    fn traced() -> Window {
        Window { from: KernelTime::from_ns(SECOND), to: KernelTime::from_ns(2 * SECOND) }
    }

    #[test]
    fn a_marker_wins_over_the_thread_and_its_time() {
        let window = Window { from: KernelTime::from_ns(SECOND + 5), to: KernelTime::from_ns(SECOND + 9) };
        let marked = Execution {
            label: "traceparent".to_owned(),
            key: None,
            context: Some(context(1)),
            host: HostId(0),
            tid: Tid(3),
            end_tid: Tid(4),
            window,
            depth: 0,
        };
        let span_executions = executions_of_spans(&[span(1, 0, Some(9))], &[marked], traced(), None);
        let execution = span_executions[0].execution.as_ref().unwrap();
        assert_eq!(
            (execution.label.as_str(), execution.end_tid, execution.window),
            ("shop/1", Tid(4), window)
        );
    }

    #[test]
    fn a_thread_and_a_calendar_give_a_window() {
        let calendar = Some(ClockMap::from_offset_ns(100));
        let start = (SECOND + 600) as i64;
        let span_executions = executions_of_spans(&[span(1, start, Some(9))], &[], traced(), calendar);
        let execution = span_executions[0].execution.as_ref().unwrap();
        assert_eq!(execution.tid, Tid(9));
        assert_eq!((execution.window.from.ns(), execution.window.to.ns()), (SECOND + 500, SECOND + 1500));
    }

    #[test]
    fn missing_data_is_reported() {
        let calendar = Some(ClockMap::from_offset_ns(100));
        let delimiter_reason = |span: SpanInterval, calendar| {
            executions_of_spans(&[span], &[], traced(), calendar)[0].execution.clone().unwrap_err()
        };
        assert_eq!(
            delimiter_reason(span(1, SECOND as i64 + 600, None), calendar),
            SpanExecutionError::NoThread
        );
        assert_eq!(
            delimiter_reason(span(1, SECOND as i64 + 600, Some(9)), None),
            SpanExecutionError::NoCalendar
        );
        assert_eq!(delimiter_reason(span(1, 600, Some(9)), calendar), SpanExecutionError::OutsideTrace);
        assert_eq!(delimiter_reason(span(1, -600, Some(9)), calendar), SpanExecutionError::OutsideTrace);
        assert_eq!(
            delimiter_reason(span(1, 2 * SECOND as i64, Some(9)), calendar),
            SpanExecutionError::OutsideTrace
        );
    }
}
