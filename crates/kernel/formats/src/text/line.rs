//! One line of a text trace: who, where, when, which event.
//!
//! ```text
//!  Executor task l-2668    [000] d.h2.  8631.939752: sched_waking: comm=x pid=2 …    tracefs, trace-cmd report
//! Executor-2668    1d.h..  8577.382967: irq_handler_entry:    irq=36 …              trace-cmd report -l
//! Executor task l  2644 [001]  8577.529345:      irq:irq_handler_entry: irq=36 …    perf script
//! ```
//!
//! Names of tasks may contain spaces, dashes, and brackets, so the line is parsed from its only unambiguous part: a CPU
//! that is followed by a time of the form `seconds.decimals:`.

use laggard_model::{ContextFlags, Cpu, Tid};

/// The CPU is within this many bytes of a line's beginning, since names of tasks are short.
const ANCHOR_BYTES_MAX: usize = 256;

/// The parts of a line that is an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EventLine<'a> {
    /// The name of the thread that wrote the record.
    pub(super) task: &'a str,
    /// Its number.
    pub(super) tid: Tid,
    pub(super) cpu: Cpu,
    pub(super) flags: Option<ContextFlags>,
    pub(super) time_ns: u64,
    /// Whether the time has fewer than nine decimals.
    pub(super) coarse: bool,
    /// The event's name, without its system.
    pub(super) event: &'a str,
    /// The text after the name: the event's fields.
    pub(super) fields: &'a str,
}

/// The columns between task and event: processor, flags, and time.
struct ClockAnchor<'a> {
    task: &'a str,
    cpu: Cpu,
    flags: Option<ContextFlags>,
    time: LineTime,
    /// Behind the colon of the time.
    rest: &'a str,
}

#[derive(Clone, Copy)]
struct LineTime {
    ns: u64,
    coarse: bool,
}

/// Reads a line; nothing when it is no event.
pub(super) fn parse(line: &str) -> Option<EventLine<'_>> {
    let anchor = bracketed(line).or_else(|| latency_form(line))?;
    let (task, tid) = task_and_tid(anchor.task)?;
    let (event, fields) = event_and_fields(anchor.rest)?;
    Some(EventLine {
        task,
        tid,
        cpu: anchor.cpu,
        flags: anchor.flags,
        time_ns: anchor.time.ns,
        coarse: anchor.time.coarse,
        event,
        fields,
    })
}

/// `task [cpu] flags? time:`; the first bracket that is followed by a time.
fn bracketed(line: &str) -> Option<ClockAnchor<'_>> {
    let mut from = 0;
    while let Some(open) = find_early(line, b'[', from) {
        if let Some(anchor) = behind_bracket(line, open) {
            return Some(anchor);
        }
        from = open + 1;
    }
    None
}

/// Where an ASCII letter stands next, if it is near the line's beginning.
fn find_early(line: &str, letter: u8, from: usize) -> Option<usize> {
    let near = line.bytes().take(ANCHOR_BYTES_MAX).skip(from);
    near.into_iter().position(|byte| byte == letter).map(|index| from + index)
}

fn behind_bracket(line: &str, open: usize) -> Option<ClockAnchor<'_>> {
    let after_bracket = &line[open + 1..];
    let digits = after_bracket.bytes().take_while(u8::is_ascii_digit).count();
    let rest = after_bracket[digits..].strip_prefix(']')?;
    let cpu = Cpu(after_bracket[..digits].parse().ok()?);
    let (first, remainder) = word(rest)?;
    let task = line[..open].trim();
    if let Some(time) = time(first) {
        return Some(ClockAnchor { task, cpu, flags: None, time, rest: remainder });
    }
    let (second, remainder) = word(remainder)?;
    let flags = context_flags(first)?;
    Some(ClockAnchor { task, cpu, flags: Some(flags), time: time(second)?, rest: remainder })
}

/// `task-pid  cpu+flags time:`, as `trace-cmd report -l` writes it.
fn latency_form(line: &str) -> Option<ClockAnchor<'_>> {
    let mut from = 0;
    while let Some(dash) = find_early(line, b'-', from) {
        if let Some(anchor) = behind_dash(line, dash) {
            return Some(anchor);
        }
        from = dash + 1;
    }
    None
}

fn behind_dash(line: &str, dash: usize) -> Option<ClockAnchor<'_>> {
    let (number, rest) = word(&line[dash + 1..])?;
    number.parse::<u32>().ok()?;
    let task_end = line.len() - rest.len();
    let (position, rest) = word(rest)?;
    let digits = position.bytes().take_while(u8::is_ascii_digit).count();
    let cpu = Cpu(position[..digits].parse().ok()?);
    let flags = context_flags(&position[digits..])?;
    let (stamp, rest) = word(rest)?;
    Some(ClockAnchor { task: line[..task_end].trim(), cpu, flags: Some(flags), time: time(stamp)?, rest })
}

/// The next word and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if text.is_empty() {
        return None;
    }
    Some(text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())))
}

/// `8631.939752:` in nanoseconds.
fn time(word: &str) -> Option<LineTime> {
    let (seconds, decimals) = word.strip_suffix(':')?.split_once('.')?;
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(seconds) || !all_digits(decimals) || decimals.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(decimals.len()).ok()?);
    let fraction = decimals.parse::<u64>().ok()? * scale;
    let ns = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)?;
    Some(LineTime { ns, coarse: decimals.len() < 9 })
}

/// The column of flags: interrupts off, need to reschedule, interrupt context, depth, …
fn context_flags(word: &str) -> Option<ContextFlags> {
    let known =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'#' | b'!' | b'+' | b'*' | b'@');
    if word.len() < 3 || word.len() > 10 || !word.bytes().all(known) {
        return None;
    }
    Some(ContextFlags(match word.as_bytes()[2] {
        b'h' => ContextFlags::HARD_IRQ,
        b's' => ContextFlags::SOFT_IRQ,
        b'H' => ContextFlags::HARD_IRQ | ContextFlags::SOFT_IRQ,
        _ => 0,
    }))
}

/// `name-12`, `name 12`, `name 11/12`, each perhaps followed by a thread group in parentheses.
fn task_and_tid(text: &str) -> Option<(&str, Tid)> {
    let text = without_group(text);
    let cut = text.rfind(['-', ' ', '\t', '/'])?;
    let tid = Tid(text[cut + 1..].parse().ok()?);
    let name = match text.as_bytes()[cut] {
        b'/' => text[..cut].trim_end_matches(|letter: char| letter.is_ascii_digit()),
        _ => &text[..cut],
    };
    Some((name.trim(), tid))
}

fn without_group(text: &str) -> &str {
    let Some(open) = text.strip_suffix(')').and_then(|text| text.rfind('(')) else { return text };
    let inside = text[open + 1..text.len() - 1].trim();
    let group = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if group { text[..open].trim_end() } else { text }
}

/// `sched:sched_waking: comm=…`: the name without its system, and the rest.
fn event_and_fields(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.trim_start();
    let end = rest.find(|letter: char| letter.is_whitespace() || letter == '(').unwrap_or(rest.len());
    let (name, fields) = match rest[..end].strip_suffix(':') {
        Some(name) => (name, &rest[end..]),
        // System calls in tracefs' own words: `sys_read(fd: 3)` and `sys_read -> 0x5`.
        None => (&rest[..end], &rest[end..]),
    };
    let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
    (!name.is_empty()).then(|| (name, fields.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(line: &str) -> (&str, u32, u16, Option<u8>, u64, &str, &str) {
        let parsed = parse(line).expect("an event");
        let flags = parsed.flags.map(|flags| flags.0);
        (parsed.task, parsed.tid.0, parsed.cpu.0, flags, parsed.time_ns, parsed.event, parsed.fields)
    }

    #[test]
    fn tracefs_writes_flags_between_cpu_and_time() {
        assert_eq!(
            head(" Executor task l-2668    [000] d.h2.  8631.939752: sched_waking: comm=x pid=2"),
            ("Executor task l", 2668, 0, Some(0x08), 8_631_939_752_000, "sched_waking", "comm=x pid=2")
        );
    }

    #[test]
    fn tracefs_may_write_the_thread_group() {
        let line = "  my-app-2869    (   2860) [001] dNs3.  8631.000001: softirq_entry: vec=1 [action=TIMER]";
        let expected =
            ("my-app", 2869, 1, Some(0x10), 8_631_000_001_000, "softirq_entry", "vec=1 [action=TIMER]");
        assert_eq!(head(line), expected);
        assert_eq!(head(&line.replace("   2860", "-------")).1, 2869);
    }

    #[test]
    fn trace_cmd_reports_with_and_without_flags() {
        let line =
            "   perf-2739  [000]  8577.378740621: sched_waking:         memfd:sealed-91:2586 [120] CPU:000";
        let expected =
            ("perf", 2739, 0, None, 8_577_378_740_621, "sched_waking", "memfd:sealed-91:2586 [120] CPU:000");
        assert_eq!(head(line), expected);
        assert!(!parse(line).expect("an event").coarse);
        assert_eq!(
            head("Executor-2644    1d.h..  8577.382967: irq_handler_entry:    irq=36 name=virtio1-req.0"),
            (
                "Executor",
                2644,
                1,
                Some(0x08),
                8_577_382_967_000,
                "irq_handler_entry",
                "irq=36 name=virtio1-req.0"
            )
        );
    }

    #[test]
    fn perf_script_separates_task_and_number_by_a_blank() {
        assert_eq!(
            head(" Executor task l  2644 [001]  8577.529345:      irq:irq_handler_entry: irq=36 name=v"),
            ("Executor task l", 2644, 1, None, 8_577_529_345_000, "irq_handler_entry", "irq=36 name=v")
        );
        assert_eq!(head("ping 12/14 [001] 1.5: sched:sched_process_exit: comm=x").1, 14);
    }

    #[test]
    fn names_may_contain_blanks_dashes_and_brackets() {
        let line = "[a] b [1] c-d-7 [003] .N... 1.000000: print: tracing_mark_write: x [1] 2.0: y";
        let parsed = head(line);
        assert_eq!((parsed.0, parsed.1, parsed.2), ("[a] b [1] c-d", 7, 3));
    }

    #[test]
    fn system_calls_have_no_colon() {
        assert_eq!(head("cat-7 [000] ..... 1.0: sys_read(fd: 3, count: 4)").5, "sys_read");
        assert_eq!(head("cat-7 [000] ..... 1.0: sys_read -> 0x5").6, "-> 0x5");
    }

    #[test]
    fn other_lines_are_not_events() {
        for line in
            ["", "# tracer: nop", "cpus=2", "\tffffffff8141e4b0 do_idle", "a-1 [000] x: y", "a-1 [0] 1.2: "]
        {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
