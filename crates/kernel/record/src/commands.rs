//! The same recording by other programs.

use crate::events::{EventGroup, EventName, PATH_EVENTS, WantedEvent};
use crate::settings::{MarkerMode, RecordSettings, RecordTarget, Uprobe};
use std::fmt::Write;

/// Files of the function tracer that trace-cmd wants to write to even when it records events only.
const FUNCTION_TRACER_FILES: [&str; 5] = [
    "/sys/kernel/tracing/set_ftrace_filter",
    "/sys/kernel/tracing/set_ftrace_notrace",
    "/sys/kernel/tracing/set_ftrace_pid",
    "/sys/kernel/tracing/set_ftrace_notrace_pid",
    "/proc/sys/kernel/ftrace_enabled",
];

/// Names of LTTng that differ from the kernel's.
const LTTNG_NAMES: [(&str, &str); 5] = [
    ("softirq_entry", "irq_softirq_entry"),
    ("softirq_exit", "irq_softirq_exit"),
    ("hrtimer_expire_entry", "timer_hrtimer_expire_entry"),
    ("hrtimer_expire_exit", "timer_hrtimer_expire_exit"),
    ("netif_receive_skb", "net_if_receive_skb"),
];

/// The command lines of trace-cmd, perf and LTTng that record the same: a shell script's text, a line for each
/// command, with comments.
pub fn equivalent_commands(settings: &RecordSettings) -> String {
    let command = command(settings);
    let events = events(settings);
    let mut text = String::new();
    probes(&mut text, &settings.uprobes);
    trace_cmd(&mut text, settings, &events, &command);
    perf(&mut text, settings, &events, &command);
    lttng(&mut text, settings, &events, &command);
    text
}

/// Everything recorded, except what is optional, in the order of the list.
fn events(settings: &RecordSettings) -> Vec<EventName> {
    let mut events: Vec<EventName> = PATH_EVENTS.iter().map(WantedEvent::event).collect();
    let groups = settings.groups.iter().flat_map(|group| group.events());
    events.extend(groups.map(WantedEvent::event));
    events.extend(settings.events.iter().cloned());
    events
}

/// The command that other programs run: ours, or one that takes as long.
fn command(settings: &RecordSettings) -> String {
    let sleep = |target: &str| match settings.duration {
        Some(duration) => format!("timeout {} {target}", duration.as_secs_f64()),
        None => target.to_owned(),
    };
    match &settings.target {
        RecordTarget::Command(words) => {
            let words: Vec<String> = words.iter().map(|word| quoted(&word.to_string_lossy())).collect();
            words.join(" ")
        }
        RecordTarget::Process(pid) => sleep(&format!("tail --pid={pid} -f /dev/null")),
        RecordTarget::Everything => match settings.duration {
            Some(duration) => format!("sleep {}", duration.as_secs_f64()),
            None => "sleep infinity".to_owned(),
        },
    }
}

/// A word as the shell needs it.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Probes have to be made before and removed after.
fn probes(text: &mut String, uprobes: &[Uprobe]) {
    if uprobes.is_empty() {
        return;
    }
    text.push_str("# Probes, for trace-cmd and perf\n");
    for uprobe in uprobes {
        let binary = quoted(&uprobe.binary.to_string_lossy());
        let (function, back) = (quoted(&uprobe.function), quoted(&format!("{}%return", uprobe.function)));
        let _ = writeln!(text, "perf probe -q -x {binary} {function}\nperf probe -q -x {binary} {back}");
    }
    text.push_str("# … and `perf probe -q -d 'probe_*:*'` in the end.\n\n");
}

fn trace_cmd(text: &mut String, settings: &RecordSettings, events: &[EventName], command: &str) {
    let kilobytes = settings.buffer_bytes.unwrap_or(16 << 20) / 1024;
    let mut line = format!("trace-cmd record -q -C mono -b {kilobytes} -o trace.dat");
    for event in events {
        line.push_str(&format!(" -e {event}"));
        // A trigger belongs to the event before it.
        match event.name.as_str() {
            "sched_switch" if settings.stacks => line.push_str(" -R 'stacktrace if prev_state & 255'"),
            "sched_waking" if settings.stacks => line.push_str(" -R stacktrace"),
            _ => {}
        }
    }
    if !settings.uprobes.is_empty() {
        line.push_str(" -e 'probe_*:*'");
    }
    let _ = write!(line, " {command}");
    let _ = writeln!(text, "# trace-cmd, with markers\n{line}\n");
    let files = FUNCTION_TRACER_FILES.join(" ");
    let inner = format!("for file in {files}; do mount --bind /dev/null $file; done; exec {line}");
    text.push_str(
        "# Where that ends with \"Can't enable ftrace\": the same with the function tracer's files hidden\n",
    );
    let _ = writeln!(text, "unshare --mount sh -c {}\n", quoted(&inner));
}

fn perf(text: &mut String, settings: &RecordSettings, events: &[EventName], command: &str) {
    let mut names: Vec<String> = events.iter().map(EventName::to_string).collect();
    if !settings.uprobes.is_empty() {
        names.push("'probe_*:*'".to_owned());
    }
    let lost = if settings.markers == MarkerMode::Required { ", WITHOUT markers: perf has none" } else { "" };
    let stacks = if settings.stacks { " -g" } else { "" };
    let _ = writeln!(text, "# perf{lost}");
    let _ = writeln!(
        text,
        "perf record -q -a -k mono -m 4M{stacks} -o perf.data -e {} -- {command}",
        names.join(",")
    );
    if settings.stacks {
        text.push_str("cp /proc/kallsyms perf.data.kallsyms # names of the kernel's functions\n");
    }
    text.push('\n');
}

fn lttng(text: &mut String, settings: &RecordSettings, events: &[EventName], command: &str) {
    let syscalls = settings.groups.contains(&EventGroup::Syscalls);
    let names = events.iter().filter(|event| event.system != "raw_syscalls").map(|event| {
        let other = LTTNG_NAMES.iter().find(|(kernel, _)| *kernel == event.name);
        other.map_or(event.name.as_str(), |(_, lttng)| lttng)
    });
    // It has no renaming of threads.
    let names: Vec<&str> = names.filter(|name| *name != "task_rename").collect();
    text.push_str("# LTTng (needs its kernel modules)\n");
    text.push_str("lttng create laggard --output=laggard-ctf\n");
    text.push_str("lttng enable-channel --kernel --subbuf-size=1M --num-subbuf=16 laggard\n");
    let _ = writeln!(text, "lttng enable-event --kernel --channel=laggard {}", names.join(","));
    if syscalls {
        text.push_str("lttng enable-event --kernel --channel=laggard --syscall --all\n");
    }
    for uprobe in &settings.uprobes {
        let probe = quoted(&format!("elf:{}:{}", uprobe.binary.display(), uprobe.function));
        let name = quoted(&uprobe.function);
        let _ =
            writeln!(text, "lttng enable-event --kernel --channel=laggard --userspace-probe={probe} {name}");
    }
    let stacks = if settings.stacks { " --type=callstack-kernel --type=callstack-user" } else { "" };
    let _ = writeln!(text, "lttng add-context --kernel --channel=laggard --type=tid{stacks}");
    let _ = writeln!(text, "lttng start\n{command}\nlttng stop\nlttng destroy");
    if settings.stacks {
        text.push_str("cp /proc/kallsyms laggard-ctf/kallsyms # names of the kernel's functions\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{BufferLocation, DatForm, GuardianProgram, RecordMode};
    use std::time::Duration;

    fn settings(target: RecordTarget) -> RecordSettings {
        RecordSettings {
            output: "trace.dat".into(),
            form: DatForm::V7,
            target,
            duration: None,
            groups: Vec::new(),
            events: Vec::new(),
            uprobes: Vec::new(),
            stacks: false,
            buffer_bytes: None,
            mode: RecordMode::Stream,
            markers: MarkerMode::IfPossible,
            location: BufferLocation::Auto,
            guardian: GuardianProgram { program: "laggard".into(), arguments: Vec::new() },
        }
    }

    #[test]
    fn every_program_records_the_same_events() {
        let command = RecordTarget::Command(vec!["./a b".into(), "it's".into()]);
        let text =
            equivalent_commands(&RecordSettings { groups: vec![EventGroup::Syscalls], ..settings(command) });
        let line = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap().to_owned();
        assert!(line("trace-cmd").ends_with(r"-e exceptions:page_fault_user './a b' 'it'\''s'"), "{text}");
        assert_eq!(line("trace-cmd").matches(" -e ").count(), PATH_EVENTS.len() + 3);
        assert_eq!(line("perf").matches(',').count(), PATH_EVENTS.len() + 2);
        assert!(line("lttng enable-event").contains("irq_softirq_entry,irq_softirq_exit,timer_hrtimer"));
        assert!(text.contains("--syscall --all") && !text.contains("raw_syscalls:sys_enter,lttng"));
        // The work-around quotes the whole line again.
        assert!(line("unshare").contains(r"'\''./a b'\''"), "{text}");
    }

    #[test]
    fn commands_wait_for_existing_processes_and_durations() {
        let text = |target, seconds: Option<u64>| {
            let duration = seconds.map(Duration::from_secs);
            equivalent_commands(&RecordSettings { duration, ..settings(target) })
        };
        assert!(text(RecordTarget::Process(7), None).contains("-- tail --pid=7 -f /dev/null"));
        assert!(text(RecordTarget::Process(7), Some(3)).contains("-- timeout 3 tail --pid=7 -f /dev/null"));
        assert!(text(RecordTarget::Everything, Some(3)).contains("-- sleep 3\n"));
        assert!(text(RecordTarget::Everything, None).contains("-- sleep infinity\n"));
    }
}
