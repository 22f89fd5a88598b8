//! `docs/campaign.md` from the results.

use crate::peers::PeerAnswer;
use crate::results::{Detection, REPLAYED, RunResult};
use crate::rules::RuleAlarm;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The page before the results.
const HEAD: &str = "\
<!-- Written by `cargo xtask campaign`. Do not edit. -->

# Campaign: a real shop, broken in known ways

The [bookstore](../examples/bookstore/README.md) runs under a live
`laggard serve`, is broken by one of its switches, and what the server's incident says at the end is compared with the truth that the
bookstore wrote.

| column | means |
|---|---|
| detected after | from the first time that a process of the shop met the fault until the incident opened |
| first name | the operation, service, or edge of the first clause, in the first verdict and at the end of the fault; the other columns are about the end |
| replicas, tenant | those of the clause *Where*: exactly those to blame, and none where all are hit |
| class of cause | that of the incident is one of those in the truth |
| onset off by | the incident's start less the truth's, where the clause *Since* says that it is known |
| false statements | clauses that contradict the truth, as far as a program can see, and further incidents about something else: [listed below](#misses-and-false-statements) |
| 95th percentile | a rule of a dashboard: of a page, over five minutes, more than 1.5 times that of the normal operation before, twice in a row, a minute apart. It names pages |
| share of errors | the same with more than 5 % (at least 5) failed answers |
| MicroRank, TraceRCA | the [published methods](accuracy.md) of `laggard-evaluate`. They are given the time of the fault, and all normal operation before it, so they detect nothing: they explain. Right or wrong is their first operation with its replica |

Before the first fault the shop runs for ten minutes. Each fault has a server of its own, loaded with all normal operation of the same
shop so far; faults and the first 45 seconds after them are left out of that. So a fault has between twelve minutes and an hour and a half of normal
operation to be compared with, not the weeks of a real server. It lasts for at most eight minutes, and ends two to three minutes after its incident opened. That is shortened: verdicts
get better with time (after 2, 4, 8 minutes), and alerts about the CPU of servers need 150 minutes of samples, so none of those can fire here.

```sh
cargo xtask campaign --faults slow-replica-sleep,errors --runs 5   # live; results are added to lab/campaign/results.jsonl
cargo xtask campaign --harmless --agents                           # all harmless days, with kernel recordings (as root)
cargo xtask campaign --replay target/campaign/errors-1795470213    # a recording under the present Laggard, without the shop
cargo xtask campaign --judge target/campaign/*                     # the same incidents, judged again
cargo xtask campaign --note errors-1795470213 'why it is a miss'
```

";

/// The page; `remarks` are about the conditions.
pub(crate) fn page(results: &[RunResult], remarks: &str) -> String {
    let (days, faults): (Vec<&RunResult>, Vec<&RunResult>) =
        results.iter().partition(|result| result.is_harmless);
    let mut out = HEAD.to_owned();
    conditions(&mut out, results);
    out.push_str(remarks);
    out.push('\n');
    summary(&mut out, &faults, &days);
    faults_table(&mut out, &faults);
    others_table(&mut out, &faults);
    statements(&mut out, &faults);
    misses(&mut out, &faults);
    harmless(&mut out, &days);
    early(&mut out, results);
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a text cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

fn conditions(out: &mut String, results: &[RunResult]) {
    let machines: BTreeSet<&str> = results.iter().map(|result| result.machine.as_str()).collect();
    let mut loads: Vec<f64> = results.iter().flat_map(|result| [result.load.0, result.load.1]).collect();
    loads.sort_by(f64::total_cmp);
    let clients: BTreeSet<u32> = results.iter().map(|result| result.clients).collect();
    let quantile =
        |share: f64| loads.get((share * (loads.len().max(1) - 1) as f64) as usize).copied().unwrap_or(0.0);
    line(out, format_args!("## Conditions\n"));
    for machine in machines {
        line(out, format_args!("- Machine: {machine}."));
    }
    let (least, median, most) = (quantile(0.0), quantile(0.5), quantile(1.0));
    line(
        out,
        format_args!(
            "- Runnable processes before and after a fault (load average of a minute): {least:.1} to {most:.1}, median {median:.1}."
        ),
    );
    let clients: Vec<String> = clients.iter().map(ToString::to_string).collect();
    line(out, format_args!("- Clients of the shop: {}; think time 2 s, shopping mix.", clients.join(", ")));
    let nice: BTreeSet<String> = results.iter().map(|result| result.nice.to_string()).collect();
    let nice = nice.into_iter().collect::<Vec<_>>().join(", ");
    line(
        out,
        format_args!("- Priority of shop and server (`nice`; below 0 is before the other work): {nice}."),
    );
    let with_agents = results.iter().filter(|result| result.agents).count();
    line(out, format_args!("- Agents recorded the kernel in {with_agents} of {} runs.", results.len()));
}

fn summary(out: &mut String, faults: &[&RunResult], days: &[&RunResult]) {
    let (five, one) = (latest(faults, RUNS), latest(faults, 1));
    line(
        out,
        format_args!(
            "## Summary\n\n| | of {} runs of {} faults | of the latest {RUNS} of each, {} runs | of the latest of each |\n|---|---|---|---|",
            faults.len(),
            one.len(),
            five.len(),
        ),
    );
    let rows = summary_rows(faults).into_iter().zip(summary_rows(&five)).zip(summary_rows(&one));
    for (((what, of_all), (_, of_five)), (_, of_one)) in rows {
        line(out, format_args!("| {what} | {of_all} | {of_five} | {of_one} |"));
    }
    let quiet = |days: &[&RunResult]| {
        let quiet = days.iter().filter(|day| day.is_right()).count();
        format!("{quiet} of {}", days.len())
    };
    let (five, one) = (latest(days, RUNS), latest(days, 1));
    line(
        out,
        format_args!(
            "| harmless days without an incident | {} | {} | {} |\n",
            quiet(days),
            quiet(&five),
            quiet(&one)
        ),
    );
}

/// How often each fault should be run.
const RUNS: usize = 5;

/// The latest runs of each fault: earlier ones are of earlier builds, or were run again for a reason that the page states. Of a recording, the
/// latest result counts.
fn latest<'a>(results: &[&'a RunResult], runs: usize) -> Vec<&'a RunResult> {
    let mut recordings: BTreeMap<(&str, &str), &RunResult> = BTreeMap::new();
    for result in results {
        let known = recordings.entry((&result.fault, recording(result))).or_insert(result);
        if (result.is_replay, result.began_ns) >= (known.is_replay, known.began_ns) {
            *known = result;
        }
    }
    let mut by_fault: BTreeMap<&str, Vec<&RunResult>> = BTreeMap::new();
    for ((fault, _), result) in recordings {
        by_fault.entry(fault).or_default().push(result);
    }
    let latest = by_fault.into_values().flat_map(|mut own| {
        // The number at the end of a run is the second in which its shop was started; a replay is at another time.
        own.sort_by(|a, b| recording(b).cmp(recording(a)));
        own.into_iter().take(runs)
    });
    latest.collect()
}

fn recording(result: &RunResult) -> &str {
    result.run.trim_end_matches(REPLAYED)
}

/// What is counted, and its count.
fn summary_rows(faults: &[&RunResult]) -> Vec<(&'static str, String)> {
    let detected = |is: &dyn Fn(&Detection) -> bool| {
        faults.iter().filter(|result| result.detection.as_ref().is_some_and(is)).count().to_string()
    };
    let any = |is: &dyn Fn(&RunResult) -> bool| faults.iter().filter(|result| is(result)).count().to_string();
    let on_replicas = |result: &RunResult| result.expected.contains(" on ");
    let is_right_replica =
        |result: &RunResult| result.detection.as_ref().is_some_and(|d| d.is_target && d.is_replica);
    let peers = |name: &str| any(&|result| peer(result, name).is_some_and(|peer| peer.is_right));
    let of_replicas = format!(
        "{} of {}",
        any(&|result| on_replicas(result) && is_right_replica(result)),
        any(&on_replicas)
    );
    vec![
        ("detected", detected(&|_| true)),
        (
            "right operation, service, or edge first, in the first verdict",
            detected(&|d| d.is_target_at_first),
        ),
        ("… at the end", detected(&|d| d.is_target)),
        ("… and the replicas or tenant, none where all are hit", any(&is_right_replica)),
        ("the same where replicas are to blame", of_replicas),
        ("class of cause right", detected(&|d| d.is_cause)),
        (
            "onset within two minutes",
            detected(&|d| d.onset_error_s.is_some_and(|error_s| error_s.abs() <= 120.0)),
        ),
        ("no false statement", detected(&|d| d.false_statements.is_empty())),
        ("a 95th percentile fires", any(&|result| result.rules.p95.minutes.is_some())),
        ("a share of errors fires", any(&|result| result.rules.errors.minutes.is_some())),
        ("MicroRank names it first, given the time", peers("MicroRank")),
        ("TraceRCA names it first, given the time", peers("TraceRCA")),
    ]
}

fn faults_table(out: &mut String, faults: &[&RunResult]) {
    line(
        out,
        format_args!(
            "## Faults\n\n| fault | should be named | detected after | first name, at first | at the end | replicas, tenant | class of cause | onset off by | kernel clause | false statements |\n|---|---|---|---|---|---|---|---|---|---|"
        ),
    );
    for result in faults {
        let name = format!("| `{}` | {}; {} |", result.fault, result.expected, result.causes.join(" or "));
        match &result.detection {
            None => line(out, format_args!("{name} **not**, in {:.0} min | | | | | | | |", result.minutes)),
            Some(detection) => line(
                out,
                format_args!(
                    "{name} {:.1} min | {} | {} | {} | {} ({}) | {} | {} | {} |",
                    detection.minutes,
                    mark(detection.is_target_at_first),
                    mark(detection.is_target),
                    mark(detection.is_replica),
                    mark(detection.is_cause),
                    detection.class.as_deref().unwrap_or("none"),
                    onset(detection.onset_error_s),
                    if detection.kernel.is_some() { "yes" } else { "none" },
                    detection.false_statements.len(),
                ),
            ),
        }
    }
    out.push('\n');
}

fn others_table(out: &mut String, faults: &[&RunResult]) {
    line(
        out,
        format_args!(
            "## Others on the same recordings\n\n| fault | 95th percentile | share of errors | MicroRank | TraceRCA |\n|---|---|---|---|---|"
        ),
    );
    for result in faults {
        let peers = ["MicroRank", "TraceRCA"].map(|name| peer(result, name).map(named).unwrap_or_default());
        line(
            out,
            format_args!(
                "| `{}` | {} | {} | {} | {} |",
                result.fault,
                alarm(&result.rules.p95),
                alarm(&result.rules.errors),
                peers[0],
                peers[1]
            ),
        );
    }
    out.push('\n');
}

fn statements(out: &mut String, faults: &[&RunResult]) {
    line(out, format_args!("## What the incidents said\n"));
    for result in faults {
        let Some(detection) = &result.detection else { continue };
        line(out, format_args!("**{}** ({})\n", result.fault, result.run));
        for clause in &detection.clauses {
            line(out, format_args!("- {} ({}): {}", clause.kind, clause.certainty, clause.text));
        }
        if detection.clauses.is_empty() {
            line(out, format_args!("- {}", detection.headline));
        }
        out.push('\n');
    }
}

fn misses(out: &mut String, faults: &[&RunResult]) {
    line(out, format_args!("## Misses and false statements\n\n| run | what is wrong | why |\n|---|---|---|"));
    for result in faults {
        let mut wrong: Vec<String> = Vec::new();
        match &result.detection {
            None => wrong.push("no incident".to_owned()),
            Some(detection) => {
                let class = detection.class.as_deref().unwrap_or("none");
                wrong.extend((!detection.is_cause).then(|| format!("class of cause: {class}")));
                wrong.extend(
                    (!detection.is_replica)
                        .then(|| format!("where: {}", or(&detection.place, "no replica or tenant named"))),
                );
                wrong.extend(detection.false_statements.iter().cloned());
            }
        }
        if !wrong.is_empty() {
            line(
                out,
                format_args!(
                    "| {} | {} | {} |",
                    result.run,
                    cell(&wrong.join("; ")),
                    cell(result.note.as_deref().unwrap_or("not examined"))
                ),
            );
        }
    }
    out.push('\n');
}

fn harmless(out: &mut String, days: &[&RunResult]) {
    line(
        out,
        format_args!(
            "## Harmless days\n\n| day | minutes | incidents | 95th percentile | share of errors | MicroRank | TraceRCA |\n|---|---|---|---|---|---|---|"
        ),
    );
    for day in days {
        let incidents =
            day.detection.as_ref().map_or_else(|| "none".to_owned(), |detection| cell(&detection.headline));
        let peers = ["MicroRank", "TraceRCA"]
            .map(|name| peer(day, name).map(|peer| or(&peer.first, "nothing")).unwrap_or_default());
        line(
            out,
            format_args!(
                "| `{}` | {:.0} | {incidents} | {} | {} | {} | {} |",
                day.fault,
                day.minutes,
                alarm(&day.rules.p95),
                alarm(&day.rules.errors),
                peers[0],
                peers[1]
            ),
        );
    }
    out.push('\n');
}

fn early(out: &mut String, results: &[RunResult]) {
    let early: Vec<_> = results.iter().filter(|result| !result.early.is_empty()).collect();
    line(out, format_args!("## Incidents before a fault\n"));
    if early.is_empty() {
        line(
            out,
            format_args!(
                "None in {} runs, of which each has at least a minute and a half of normal operation under evaluation.",
                results.len()
            ),
        );
    }
    for result in early {
        line(out, format_args!("- {}: {}", result.run, result.early.join("; ")));
    }
}

fn peer<'a>(result: &'a RunResult, name: &str) -> Option<&'a PeerAnswer> {
    result.peers.iter().find(|peer| peer.method == name)
}

fn named(peer: &PeerAnswer) -> String {
    match &peer.error {
        Some(error) => cell(error),
        None => format!("{}: {}", mark(peer.is_right), cell(&or(&peer.first, "nothing"))),
    }
}

fn alarm(alarm: &RuleAlarm) -> String {
    alarm.minutes.map_or_else(
        || "–".to_owned(),
        |minutes| format!("{minutes:.0} min: {}", cell(&alarm.pages.join(", "))),
    )
}

fn onset(error_s: Option<f64>) -> String {
    error_s.map_or_else(|| "not known".to_owned(), |error_s| format!("{error_s:+.0} s"))
}

fn mark(is_right: bool) -> &'static str {
    if is_right { "right" } else { "**wrong**" }
}

fn or(text: &str, instead: &str) -> String {
    if text.is_empty() { instead.to_owned() } else { text.to_owned() }
}

/// Text that does not end a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::result;

    #[test]
    fn every_miss_is_listed_with_its_reason() {
        let note = Some("too few | requests".to_owned());
        let text = page(&[RunResult { note, ..result("leak", "leak-1") }, result("errors", "errors-1")], "");
        assert!(text.contains("| leak-1 | no incident | too few \\| requests |"), "{text}");
        assert!(text.contains("| errors-1 | no incident | not examined |"), "{text}");
        assert!(text.contains("| detected | 0 | 0 | 0 |"), "{text}");
    }

    #[test]
    fn the_latest_runs_of_each_fault_are_counted_on_their_own() {
        let runs = [(1, "leak-1"), (3, "leak-3"), (2, "leak-2")].map(|(began_ns, run)| {
            let mut result = RunResult { began_ns, ..result("leak", run) };
            result.rules.p95.minutes = (began_ns == 3).then_some(2.0);
            result
        });
        let text = page(&runs, "");
        assert!(
            text.contains(
                "| | of 3 runs of 1 faults | of the latest 5 of each, 3 runs | of the latest of each |"
            ),
            "{text}"
        );
        assert!(text.contains("| a 95th percentile fires | 1 | 1 | 1 |"), "{text}");
        let mut replayed = RunResult { is_replay: true, ..result("leak", "leak-3-replayed") };
        replayed.rules.p95.minutes = None;
        let text = page(&[&runs[..], &[replayed]].concat(), "");
        assert!(text.contains("| a 95th percentile fires | 1 | 0 | 0 |"), "a recording counts once: {text}");
    }

    #[test]
    fn a_harmless_day_without_an_incident_is_right() {
        let day = RunResult { is_harmless: true, ..result("backup", "backup-1") };
        let text = page(&[day], "");
        assert!(text.contains("| harmless days without an incident | 1 of 1 | 1 of 1 | 1 of 1 |"), "{text}");
        assert!(!text.contains("| backup-1 |"), "{text}");
    }
}
