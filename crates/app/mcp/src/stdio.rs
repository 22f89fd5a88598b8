//! The protocol on two pipes: a message a line.
//!
//! ```text
//! reader ─► replies at once (lists, errors)
//!    └────► queue ─► workers ─► replies
//! ```

use crate::{Received, RequestId, RpcError, ToolCall, ToolServer};
use laggard_parallel::{CancelReason, Cancellation};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, Read, Write};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

// Limit: bytes of a message to `laggard mcp` | refused with an error
const LINE_BYTES_MAX: u64 = 1 << 20;

// Limit: calls to `laggard mcp` that wait or run | further ones are refused with an error until some have ended
const CALLS_MAX: usize = 64;

/// Answers a call: returns the reply. It is done until the call is canceled, see [`Cancellation::run`].
pub type CallWork = dyn Fn(&ToolCall, &Cancellation) -> String + Send + Sync;

/// Answers messages until there are no more, then returns, even if calls are running: nobody waits for their answers. Nothing else
/// may write to `output`.
///
/// # Errors
/// Those of the pipes; a client that is gone is none.
pub fn serve_lines(
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
    server: &ToolServer,
    workers: NonZeroUsize,
    work: Box<CallWork>,
) -> io::Result<()> {
    let shared = Arc::new(Shared {
        output: Mutex::new(Box::new(output)),
        calls: Mutex::default(),
        arrived: Condvar::new(),
        work,
    });
    for _ in 0..workers.get() {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || shared.work_on_calls());
    }
    let mut line = Vec::new();
    let ended = loop {
        match read_line(&mut input, &mut line) {
            Ok(InputLine::End) => break Ok(()),
            Ok(InputLine::TooLong) => {
                let reason = format!("a message is longer than {LINE_BYTES_MAX} bytes");
                shared.write(&crate::reply_without_id(&RpcError::new(RpcError::INVALID_REQUEST, reason)));
            }
            Ok(InputLine::Text) if line.trim_ascii().is_empty() => {}
            Ok(InputLine::Text) => shared.receive(server.receive(&line)),
            Err(error) => break Err(error),
        }
        if shared.calls().is_closed {
            break Ok(());
        }
    };
    shared.close();
    ended
}

enum InputLine {
    Text,
    TooLong,
    End,
}

/// Reads a line; of one that is too long, no more than a message's bytes are held.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<InputLine> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let read = input.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', line)?;
        let is_complete = line.last() == Some(&b'\n');
        if read == 0 || is_complete {
            let is_end = read == 0 && line.is_empty() && !is_too_long;
            return Ok(match (is_end, is_too_long) {
                (true, _) => InputLine::End,
                (_, true) => InputLine::TooLong,
                _ => InputLine::Text,
            });
        }
        if line.len() as u64 > LINE_BYTES_MAX {
            is_too_long = true;
            line.clear();
        }
    }
}

struct Shared {
    output: Mutex<Box<dyn Write + Send>>,
    calls: Mutex<OpenCalls>,
    arrived: Condvar,
    work: Box<CallWork>,
}

#[derive(Default)]
struct OpenCalls {
    waiting: VecDeque<ToolCall>,
    /// Those that wait or run.
    open: BTreeMap<RequestId, Cancellation>,
    /// The client is gone.
    is_closed: bool,
}

impl Shared {
    fn receive(&self, received: Received) {
        match received {
            Received::Reply { text, .. } => self.write(&text),
            Received::Call(call) => self.take(call),
            Received::Cancel(id) => self.cancel(&id),
            Received::Nothing => {}
        }
    }

    fn take(&self, call: ToolCall) {
        let mut calls = self.calls();
        let refused = if calls.open.contains_key(&call.id) {
            Some(RpcError::new(RpcError::INVALID_REQUEST, "a request with this id has not been answered yet"))
        } else if calls.open.len() >= CALLS_MAX {
            let busy = format!(
                "{CALLS_MAX} calls are being answered already; wait for some of them, or cancel some"
            );
            Some(RpcError::new(RpcError::INTERNAL, busy))
        } else {
            None
        };
        if let Some(error) = refused {
            drop(calls);
            return self.write(&call.fail(&error));
        }
        calls.open.insert(call.id.clone(), Cancellation::default());
        calls.waiting.push_back(call);
        self.arrived.notify_one();
    }

    /// Ends a call; it is never replied to.
    fn cancel(&self, id: &RequestId) {
        let mut calls = self.calls();
        if let Some(cancellation) = calls.open.remove(id) {
            cancellation.cancel(CancelReason::Unwanted);
            calls.waiting.retain(|call| call.id != *id);
        }
    }

    fn work_on_calls(&self) {
        while let Some((call, cancellation)) = self.next() {
            let work = || cancellation.run(|| (self.work)(&call, &cancellation));
            let reply = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Ok(reply)) => reply,
                Ok(Err(_canceled)) => continue,
                // The panic's message is on standard error.
                Err(_) => {
                    call.fail(&RpcError::new(RpcError::INTERNAL, "the answer could not be computed: a bug"))
                }
            };
            let mut calls = self.calls();
            // The id may be in use again by then.
            if cancellation.reason().is_none() {
                calls.open.remove(&call.id);
                drop(calls);
                self.write(&reply);
            }
        }
    }

    fn next(&self) -> Option<(ToolCall, Cancellation)> {
        let is_idle = |calls: &mut OpenCalls| calls.waiting.is_empty() && !calls.is_closed;
        let waited = self.arrived.wait_while(self.calls(), is_idle);
        let mut calls = waited.expect("no thread panics while it holds the lock");
        let call = calls.waiting.pop_front()?;
        let cancellation = calls.open.get(&call.id).cloned()?;
        Some((call, cancellation))
    }

    /// Ends all calls.
    fn close(&self) {
        let mut calls = self.calls();
        calls.is_closed = true;
        calls.waiting.clear();
        std::mem::take(&mut calls.open).values().for_each(|call| call.cancel(CancelReason::Unwanted));
        self.arrived.notify_all();
    }

    /// Writes a message. When nobody reads any longer, everything ends.
    fn write(&self, message: &str) {
        let mut output = self.output.lock().expect("no thread panics while it holds the lock");
        let written = output.write_all(message.as_bytes()).and_then(|()| output.write_all(b"\n"));
        if written.and_then(|()| output.flush()).is_err() {
            drop(output);
            self.close();
        }
    }

    fn calls(&self) -> MutexGuard<'_, OpenCalls> {
        self.calls.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tool, ToolAnswer};
    use laggard_parallel::check_canceled;
    use serde_json::{Value, json};
    use std::io::{BufReader, PipeReader, PipeWriter, pipe};
    use std::time::Duration;

    /// A server whose tool `wait` works until it is canceled; `answer` replies at once, `fail` panics.
    struct Client {
        to_server: PipeWriter,
        from_server: BufReader<PipeReader>,
        server: std::thread::JoinHandle<io::Result<()>>,
    }

    fn work(call: &ToolCall, _: &Cancellation) -> String {
        match call.tool.as_str() {
            "wait" => loop {
                check_canceled();
                std::thread::sleep(Duration::from_millis(1));
            },
            "fail" => panic!("on purpose"),
            _ => call.reply(&ToolAnswer::from_report(None, "done", json!({}))),
        }
    }

    impl Client {
        fn start(workers: usize) -> Client {
            let (input, to_server) = pipe().unwrap();
            let (from_server, output) = pipe().unwrap();
            let tools = ["wait", "answer", "fail"]
                .map(|name| Tool::for_question(name, name, name, json!({"type": "object"})));
            let server = ToolServer::new(tools.to_vec(), "");
            let workers = NonZeroUsize::new(workers).unwrap();
            let serve = move || serve_lines(BufReader::new(input), output, &server, workers, Box::new(work));
            let from_server = BufReader::new(from_server);
            Client { to_server, from_server, server: std::thread::spawn(serve) }
        }

        fn send(&mut self, message: &Value) {
            self.to_server.write_all(format!("{message}\n").as_bytes()).unwrap();
        }

        fn call(&mut self, id: u64, tool: &str) {
            let params = json!({"name": tool});
            self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        }

        fn cancel(&mut self, id: u64) {
            let params = json!({"requestId": id});
            self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
        }

        fn next(&mut self) -> Value {
            let mut line = String::new();
            self.from_server.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        }
    }

    #[test]
    fn calls_wait_for_their_turn_and_others_are_answered_meanwhile() {
        let mut client = Client::start(1);
        client.call(1, "wait");
        client.call(2, "answer");
        client.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
        assert_eq!(client.next()["id"], 3);
        client.call(1, "answer");
        assert_eq!(client.next()["error"]["code"], RpcError::INVALID_REQUEST, "the id is in use");
        client.cancel(1);
        let answered = client.next();
        assert_eq!((&answered["id"], &answered["result"]["isError"]), (&json!(2), &json!(false)));
        // Canceled and answered ids may be used again.
        client.call(1, "answer");
        assert_eq!(client.next()["id"], 1);
    }

    #[test]
    fn a_waiting_call_is_canceled_before_it_starts() {
        let mut client = Client::start(1);
        client.call(1, "wait");
        client.call(2, "fail");
        client.cancel(2);
        client.cancel(1);
        client.call(3, "answer");
        assert_eq!(client.next()["id"], 3);
    }

    #[test]
    fn a_panic_is_an_error_of_its_call() {
        let mut client = Client::start(1);
        client.call(1, "fail");
        assert_eq!(client.next()["error"]["code"], RpcError::INTERNAL);
        client.call(2, "answer");
        assert_eq!(client.next()["id"], 2);
    }

    #[test]
    fn calls_have_a_limit() {
        let mut client = Client::start(2);
        (0..CALLS_MAX as u64).for_each(|id| client.call(id, "wait"));
        client.call(99, "answer");
        let refused = client.next();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(99), &json!(RpcError::INTERNAL)));
    }

    #[test]
    fn lines_have_a_limit() {
        let mut client = Client::start(1);
        for length in [LINE_BYTES_MAX + 1, 3 * LINE_BYTES_MAX] {
            client.to_server.write_all(&vec![b'x'; length as usize]).unwrap();
            client.to_server.write_all(b"\n\n").unwrap();
            assert_eq!(client.next()["error"]["code"], RpcError::INVALID_REQUEST, "{length}");
        }
        client.to_server.write_all(b"{\n").unwrap();
        assert_eq!(client.next()["error"]["code"], RpcError::PARSE);
        client.call(1, "answer");
        assert_eq!(client.next()["id"], 1);
    }

    #[test]
    fn it_ends_with_its_input_even_if_calls_are_running() {
        let mut client = Client::start(1);
        client.call(1, "wait");
        client.call(2, "wait");
        drop(client.to_server);
        client.server.join().unwrap().unwrap();
        let mut rest = String::new();
        client.from_server.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "canceled calls have no reply");
    }
}
