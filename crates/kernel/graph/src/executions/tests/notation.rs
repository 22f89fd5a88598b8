//! A notation for events, one per line: `TIME[.CPU] TID WORD …`, and the executions found in them.

use crate::executions::{DelimitedExecutions, Delimiter, Execution, ExecutionFinder};
use laggard_model::{
    Cpu, EventKind, HostSnapshot, KernelEvent, KernelTexts, KernelTime, Losses, PrevState, StatedumpStatus,
    Tid,
};

fn number(word: &str) -> u32 {
    word.parse().unwrap_or_else(|_| panic!("`{word}` is a number"))
}

fn kind(words: &[&str], texts: &mut KernelTexts) -> EventKind {
    let rest = words[1..].join(" ");
    match words {
        ["marker", ..] => EventKind::Marker { text: texts.intern(&rest) },
        ["exec", file] => EventKind::Exec { tid: Tid(0), filename: texts.intern(file) },
        ["exit"] => EventKind::Exit { tid: Tid(0) },
        ["fork", child, name] => {
            EventKind::Fork { parent: Tid(0), child: Tid(number(child)), child_name: texts.intern(name) }
        }
        ["enter", call] => EventKind::SyscallEntry { number: number(call), name: texts.intern("") },
        ["leave", call, returned] => EventKind::SyscallExit {
            number: number(call),
            name: texts.intern(""),
            returned: returned.parse().expect("a number"),
        },
        ["call", name] => EventKind::SyscallEntry { number: u32::MAX, name: texts.intern(name) },
        ["return", name, returned] => EventKind::SyscallExit {
            number: u32::MAX,
            name: texts.intern(name),
            returned: returned.parse().expect("a number"),
        },
        ["switch", next, name] => EventKind::Switch {
            prev: Tid(0),
            prev_name: texts.intern(""),
            prev_state: PrevState::SLEEPING,
            next: Tid(number(next)),
            next_name: texts.intern(name),
        },
        ["rename", name] => EventKind::Rename { tid: Tid(0), name: texts.intern(name) },
        ["process", pid] => EventKind::Statedump {
            tid: Tid(0),
            pid: Tid(number(pid)),
            name: texts.intern(""),
            status: StatedumpStatus::Running,
        },
        ["lost"] => EventKind::Lost { count: None },
        [name, ..] => EventKind::Other { name: texts.intern(name), fields: texts.intern(&rest) },
        [] => panic!("an event needs a word"),
    }
}

/// The events of a drawing. Events about a thread are about the thread that writes them.
pub(super) fn events(text: &str) -> (Vec<KernelEvent>, KernelTexts) {
    let mut texts = KernelTexts::default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let event = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (time, cpu) = words[0].split_once('.').unwrap_or((words[0], "0"));
        let tid = Tid(number(words[1]));
        let mut kind = kind(&words[2..], &mut texts);
        match &mut kind {
            EventKind::Exec { tid: writer, .. }
            | EventKind::Exit { tid: writer }
            | EventKind::Rename { tid: writer, .. }
            | EventKind::Statedump { tid: writer, .. }
            | EventKind::Fork { parent: writer, .. }
            | EventKind::Switch { prev: writer, .. } => *writer = tid,
            _ => {}
        }
        KernelEvent {
            time: KernelTime::from_ns(u64::from(number(time))),
            cpu: Cpu(number(cpu) as u16),
            flags: None,
            recorded: Some(tid),
            kind,
        }
    };
    let events = lines.map(event).collect();
    (events, texts)
}

/// The executions of a delimiter in a drawing.
pub(super) fn find(delimiter: &str, drawing: &str) -> DelimitedExecutions {
    find_with(delimiter, drawing, &HostSnapshot::default())
}

/// The same in a recording with what the recorder saw.
pub(super) fn find_with(delimiter: &str, drawing: &str, snapshot: &HostSnapshot) -> DelimitedExecutions {
    let (events, texts) = events(drawing);
    let mut finder = ExecutionFinder::new(Delimiter::parse(delimiter).unwrap());
    for event in &events {
        finder.push(event, &texts);
    }
    finder.add_snapshot(snapshot);
    let mut losses = Losses::none();
    let delimited = finder.finish(&mut losses);
    assert_eq!(losses.iter().map(|(_, loss)| loss.count).sum::<u64>(), delimited.unfinished);
    delimited
}

/// `label key TID>END_TID FROM..TO depth`.
pub(super) fn row(execution: &Execution) -> String {
    format!(
        "{} {} {}>{} {}..{} {}",
        execution.label,
        execution.key.as_deref().unwrap_or("-"),
        execution.tid.0,
        execution.end_tid.0,
        execution.window.from.ns(),
        execution.window.to.ns(),
        execution.depth
    )
}

/// Checks the executions and the number of unpaired events.
pub(super) fn check(delimiter: &str, drawing: &str, expected: &[&str], unfinished: u64) {
    let delimited = find(delimiter, drawing);
    let rows: Vec<String> = delimited.executions.iter().map(row).collect();
    assert_eq!(rows, expected, "{delimiter}");
    assert_eq!(delimited.unfinished, unfinished, "{delimiter}");
}
