//! Properties of finders for any events.

use super::notation::events;
use crate::executions::{Delimiter, DelimiterSurvey, ExecutionFinder};
use laggard_model::Losses;
use proptest::prelude::*;
use std::cmp::Reverse;

const DELIMITERS: &[&str] = &[
    "auto",
    "marker",
    "marker@thread",
    "marker@process",
    "marker@container=a*",
    "marker:begin {key},end {key}",
    "events:f_in[key=id],f_out[key=id]",
    "events:f_in,f_out",
    "process",
    "process:a",
    "syscall:read",
    "between:read",
    "thread:*",
    "tid:2",
    "tid:2,0.000000010..0.000000030",
];

const WORDS: &[&str] = &[
    "marker a begin",
    "marker a end",
    "marker begin b 1",
    "marker end b 1",
    "marker B|1|x",
    "marker E|1",
    "marker E",
    "marker S|1|x|2",
    "marker F|1|x|2",
    "marker |",
    "marker end",
    "marker begin 3",
    "exec /bin/a",
    "exit",
    "fork 3 a",
    "fork 2 b",
    "rename ab",
    "process 1",
    "enter 0",
    "leave 0 1",
    "leave 0 -11",
    "switch 2 a",
    "switch 0 swapper",
    "lost",
    "f_in id=1",
    "f_out id=1",
    "f_in",
    "task_newtask pid=3 comm=a clone_flags=0x10000",
    "cgroup_attach_task dst_path=a pid=2",
];

fn drawing() -> impl Strategy<Value = String> {
    let line = (0_u64..3, 0_u32..4, 0_u32..2, prop::sample::select(WORDS));
    prop::collection::vec(line, 0..120).prop_map(|lines| {
        let mut time = 0;
        let text = |(step, tid, cpu, word): (u64, u32, u32, &str)| {
            time += step;
            format!("{time}.{cpu} {tid} {word}\n")
        };
        lines.into_iter().map(text).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn windows_are_ordered_and_within_the_trace(drawing in drawing()) {
        let (events, texts) = events(&drawing);
        let end = events.last().map_or(0, |event| event.time.ns());
        for text in DELIMITERS {
            let mut finder = ExecutionFinder::new(Delimiter::parse(text).unwrap());
            events.iter().for_each(|event| finder.push(event, &texts));
            let delimited = finder.finish(&mut Losses::none());
            for execution in &delimited.executions {
                prop_assert!(execution.window.from <= execution.window.to, "{text}");
                prop_assert!(execution.window.to.ns() <= end, "{text}");
                prop_assert!(!execution.label.is_empty(), "{text}");
            }
            let order = |e: &crate::Execution| (e.window.from, Reverse(e.window.to), e.tid);
            prop_assert!(delimited.executions.is_sorted_by_key(order), "{text}");
            for (index, execution) in delimited.executions.iter().enumerate() {
                let under_way = delimited.executions[..index].iter().filter(|earlier| {
                    earlier.tid == execution.tid && earlier.window.to > execution.window.from
                });
                prop_assert_eq!(execution.depth as usize, under_way.count(), "{}", text);
            }
        }
    }

    #[test]
    fn every_marker_is_paired_or_counted(drawing in drawing()) {
        let (events, texts) = events(&drawing);
        let mut finder = ExecutionFinder::new(Delimiter::parse("marker").unwrap());
        events.iter().for_each(|event| finder.push(event, &texts));
        let delimited = finder.finish(&mut Losses::none());
        let is_mark = |line: &&str| line.contains(" marker ") && !line.ends_with('|');
        let marks = drawing.lines().filter(is_mark).count() as u64;
        prop_assert_eq!(2 * delimited.executions.len() as u64 + delimited.unfinished, marks);
    }

    #[test]
    fn every_proposed_delimiter_finds_executions(drawing in drawing()) {
        let (events, texts) = events(&drawing);
        let mut survey = DelimiterSurvey::default();
        events.iter().for_each(|event| survey.push(event, &texts));
        for proposal in survey.finish(&texts).iter().filter(|proposal| !proposal.delimiter.to_string().contains(':')) {
            let mut finder = ExecutionFinder::new(proposal.delimiter.clone());
            events.iter().for_each(|event| finder.push(event, &texts));
            prop_assert_eq!(finder.finish(&mut Losses::none()).executions.len() as u64, proposal.executions);
        }
    }

    #[test]
    fn any_text_is_a_delimiter_or_an_error(text in "(marker|events|tid|process|between|thread)?:?[ -~é]{0,30}") {
        if let Ok(delimiter) = Delimiter::parse(&text) {
            prop_assert_eq!(Delimiter::parse(&delimiter.to_string()), Ok(delimiter));
        }
    }
}
