//! Calls of probed functions: entry and return probes of a thread are nested, so that each call has its caller.
//!
//! ```text
//! handle ──────────────────────┐ return        a request: the outermost call
//!   query ────────┐ return                     and the calls within it on the same thread
//! ```

use crate::executions::field_number;
use crate::membership::Membership;
use crate::tid_map::TidMap;
use laggard_model::{
    EventKind, HostSnapshot, KernelEvent, KernelTexts, KernelTime, Loss, Losses, TextId, Tid,
};

/// Return probes of one thread that the kernel follows at a time (`MAX_URETPROBE_DEPTH`); calls nested deeper have none.
const DEPTH_MAX: usize = 64;

// Limit: calls of probed functions of one request | the request is left out (`memory_limit`)
/// Calls of one request.
const CALLS_MAX: usize = 1 << 20;

/// A call of a probed function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbedCall {
    /// The name of the event at its begin.
    pub event: TextId,
    /// The caller: its index among the calls of the request. `None` for the outermost call.
    pub caller: Option<u32>,
    /// When it began.
    pub begin: KernelTime,
    /// When it returned.
    pub end: KernelTime,
}

/// An outermost call with all calls within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbedRequest<'a> {
    /// The thread of all of them.
    pub tid: Tid,
    /// Its process, or the thread itself if the process is unknown.
    pub process: Tid,
    /// In the order of their begins: the outermost first.
    pub calls: &'a [ProbedCall],
}

/// Calls of a trace. Events are passed in time order; requests come out as they end.
#[derive(Debug, Default)]
pub struct ProbedCalls {
    membership: Membership,
    threads: TidMap<OpenRequest>,
    losses: Losses,
    /// Requests that returned and are complete.
    complete: u64,
}

/// Requests found, and what is missing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProbedTotals {
    /// Requests that returned with all of their calls.
    pub requests: u64,
    /// Calls and requests that were left out.
    pub losses: Losses,
}

/// The request that a thread is in, if any call is open.
#[derive(Debug, Default)]
struct OpenRequest {
    calls: Vec<ProbedCall>,
    /// Calls that have not returned: the address of the function, and the call's index.
    open: Vec<(u64, u32)>,
    is_damaged: bool,
}

impl ProbedCalls {
    /// For a trace whose recorder saw these threads.
    pub fn new(snapshot: Option<HostSnapshot>) -> ProbedCalls {
        let mut calls = ProbedCalls::default();
        snapshot.into_iter().for_each(|snapshot| calls.membership.add_snapshot(snapshot));
        calls
    }

    /// Applies an event; the request that ends with it is passed to `each`.
    pub fn push(
        &mut self,
        event: &KernelEvent,
        texts: &KernelTexts,
        each: &mut dyn FnMut(&ProbedRequest<'_>),
    ) {
        self.membership.push(event, texts);
        match event.kind {
            EventKind::Other { name, fields } => {
                let (Some(tid), fields) = (event.recorded, texts.text(fields)) else { return };
                match ProbeSide::from_fields(fields) {
                    Some(ProbeSide::Call(address)) => self.begin(tid, name, address, event.time),
                    Some(ProbeSide::Return(address)) => self.end(tid, address, event.time, each),
                    None => {}
                }
            }
            // Its calls cannot return any more.
            EventKind::Exit { tid } | EventKind::Exec { tid, .. } => {
                let open = self.threads.remove(tid);
                open.into_iter().for_each(|request| self.abandon(tid, &request));
            }
            // Any of the open requests may lack a call.
            EventKind::Lost { .. } => self.threads.each(|request| request.is_damaged = true),
            _ => {}
        }
    }

    /// After the last event: calls that have not returned count as lost.
    pub fn finish(mut self) -> ProbedTotals {
        for (tid, request) in std::mem::take(&mut self.threads).sorted() {
            self.abandon(tid, &request);
        }
        ProbedTotals { requests: self.complete, losses: self.losses }
    }

    fn begin(&mut self, tid: Tid, event: TextId, address: u64, time: KernelTime) {
        let request = self.threads.entry(tid);
        if request.open.len() >= DEPTH_MAX {
            self.losses.add(Loss::DepthLimit, || format!("thread {}", tid.0));
            return;
        }
        let caller = request.open.last().map(|&(_, index)| index);
        let index = request.calls.len() as u32;
        request.open.push((address, index));
        if request.calls.len() < CALLS_MAX {
            request.calls.push(ProbedCall { event, caller, begin: time, end: time });
        } else {
            request.is_damaged = true;
            self.losses.add(Loss::MemoryLimit, || format!("thread {}", tid.0));
        }
    }

    fn end(&mut self, tid: Tid, address: u64, time: KernelTime, each: &mut dyn FnMut(&ProbedRequest<'_>)) {
        let request = self.threads.entry(tid);
        let Some(position) = request.open.iter().rposition(|&(open, _)| open == address) else {
            self.losses.add(Loss::StrayReturn, || format!("thread {}", tid.0));
            return;
        };
        // What is above it was left without a return: by longjmp, or its event was lost.
        let unreturned = request.open.len() - position - 1;
        if unreturned > 0 {
            request.is_damaged = true;
            self.losses.add_many(Loss::MissingReturn, unreturned as u64, || format!("thread {}", tid.0));
        }
        let index = request.open[position].1 as usize;
        request.open.truncate(position);
        if let Some(call) = request.calls.get_mut(index) {
            call.end = time;
        }
        if position > 0 {
            return;
        }
        if request.is_damaged {
            self.losses.add(Loss::PartialRequest, || format!("thread {}", tid.0));
        } else {
            self.complete += 1;
            let process = self.membership.threads.process_of(tid);
            each(&ProbedRequest { tid, process, calls: &request.calls });
        }
        request.calls.clear();
        request.is_damaged = false;
    }

    fn abandon(&mut self, tid: Tid, request: &OpenRequest) {
        let example = || format!("thread {}", tid.0);
        self.losses.add_many(Loss::MissingReturn, request.open.len() as u64, example);
        if !request.open.is_empty() {
            self.losses.add(Loss::PartialRequest, example);
        }
    }
}

/// The event of a probe on a function, with the function's address in the process.
enum ProbeSide {
    Call(u64),
    Return(u64),
}

/// The lowest address of the kernel's half; probes on its functions are no calls of the program.
const KERNEL_HALF: u64 = 1 << 63;

impl ProbeSide {
    fn from_fields(fields: &str) -> Option<ProbeSide> {
        // Most other events are neither, and looking for a field in them takes longer.
        if !fields.starts_with("__probe_") {
            return None;
        }
        let call = field_number(fields, "__probe_ip").map(ProbeSide::Call);
        let side = call.or_else(|| field_number(fields, "__probe_func").map(ProbeSide::Return))?;
        let (ProbeSide::Call(address) | ProbeSide::Return(address)) = &side;
        (*address < KERNEL_HALF).then_some(side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Cpu;

    /// Feeds `TIME TID +NAME` (call), `TIME TID -NAME` (return), `TIME TID exit` and `TIME TID lost`; requests as text.
    fn requests(lines: &str) -> (Vec<String>, ProbedTotals) {
        let (mut calls, mut texts, mut found) = (ProbedCalls::new(None), KernelTexts::default(), Vec::new());
        for line in lines.split(',') {
            let [time, tid, what] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
            let tid = Tid(tid.parse().unwrap());
            let address = |name: &str| 0x1000 + u64::from(name.as_bytes()[0]);
            let mut other = |name: &str, fields: String| EventKind::Other {
                name: texts.intern(name),
                fields: texts.intern(&fields),
            };
            let kind = match what.split_at(1) {
                ("+", name) => other(name, format!("__probe_ip={:#x}", address(name))),
                ("-", name) => other("r", format!("__probe_func={} __probe_ret_ip=0x77", address(name))),
                ("k", name) => other(name, "__probe_ip=0xffffffff81000000".to_owned()),
                ("e", _) => EventKind::Exit { tid },
                _ => EventKind::Lost { count: None },
            };
            let time = KernelTime::from_ns(time.parse().unwrap());
            let event = KernelEvent { time, cpu: Cpu(0), flags: None, recorded: Some(tid), kind };
            calls.push(&event, &texts, &mut |request| {
                let call = |call: &ProbedCall| {
                    let caller = call.caller.map_or(String::new(), |caller| format!("<{caller}"));
                    format!("{}{caller} {}-{}", texts.text(call.event), call.begin.ns(), call.end.ns())
                };
                let calls: Vec<String> = request.calls.iter().map(call).collect();
                found.push(format!("{}: {}", request.tid.0, calls.join(", ")));
            });
        }
        (found, calls.finish())
    }

    #[test]
    fn calls_are_nested_by_thread() {
        let (found, totals) = requests(
            "1 7 +a,2 7 +b,3 8 +a,4 7 -b,5 7 +c,6 7 +b,7 7 -b,8 8 -a,9 7 -c,10 7 -a,11 7 +b,12 7 -b",
        );
        assert_eq!(found, ["8: a 3-8", "7: a 1-10, b<0 2-4, c<0 5-9, b<2 6-7", "7: b 11-12"]);
        assert_eq!((totals.requests, totals.losses.is_empty()), (3, true));
    }

    #[test]
    fn recursion_deeper_than_the_kernel_follows_is_folded() {
        let calls = (0..70).map(|time| format!("{time} 7 +a,"));
        let returns: Vec<String> = (100..164).map(|time| format!("{time} 7 -a")).collect();
        let (found, totals) = requests(&(calls.collect::<String>() + &returns.join(",")));
        assert!(found.len() == 1 && found[0].starts_with("7: a 0-163, a<0 1-162,"), "{found:?}");
        assert_eq!(totals.losses.count(Loss::DepthLimit), 6);
    }

    #[test]
    fn requests_that_may_lack_a_call_are_left_out() {
        for (lines, missing, stray, partial) in [
            // Begun before the recording, and not returned after it.
            ("1 7 -a,2 7 +b", 1, 1, 1),
            // b was left by a jump.
            ("1 7 +a,2 7 +b,3 7 -a", 1, 0, 1),
            ("1 7 +a,2 7 exit,3 7 -a", 1, 1, 1),
            ("1 7 +a,2 7 +b,3 8 lost,4 7 -b,5 7 -a", 0, 0, 1),
        ] {
            let (found, totals) = requests(lines);
            let count = |loss| totals.losses.count(loss);
            let counts = (count(Loss::MissingReturn), count(Loss::StrayReturn), count(Loss::PartialRequest));
            assert_eq!((found.len(), counts), (0, (missing, stray, partial)), "{lines}");
        }
        assert_eq!(requests("1 7 lost,2 7 +a,3 7 kf,4 7 -a").0, ["7: a 2-4"]);
    }
}
