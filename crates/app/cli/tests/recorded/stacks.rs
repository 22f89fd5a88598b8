//! Call stacks of waits: recorded by Laggard and by perf.

use crate::program::{compiled, report};
use crate::recorder::{diagnose, folder, is_installed, machine, record, stderr_text, workload};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Two threads that hand a turn to each other by a pipe, which needs no library: reads and writes are calls of the kernel.
const PIPES: &str = r#"
#include <pthread.h>
#include <unistd.h>
#define CALLED __attribute__((noinline, optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")))
static int there[2], back[2];
CALLED int get(int from, char *turn) { int got = read(from, turn, 1); __asm__ volatile("" ::: "memory"); return got; }
CALLED int put(int to, char *turn) { int given = write(to, turn, 1); __asm__ volatile("" ::: "memory"); return given; }
CALLED int await_turn(char *turn) { int got = get(back[0], turn); __asm__ volatile("" ::: "memory"); return got; }
CALLED int give_back(char *turn) { int given = put(back[1], turn); __asm__ volatile("" ::: "memory"); return given; }
static void *answer(void *nothing) {
    char turn;
    while (read(there[0], &turn, 1) == 1) {
        usleep(2000);
        if (give_back(&turn) != 1) break;
    }
    return nothing;
}
int main(void) {
    pthread_t thread;
    char turn = 0;
    if (pipe(there) || pipe(back)) return 2;
    pthread_create(&thread, 0, answer, 0);
    for (int n = 0; n < 50; n++) if (write(there[1], &turn, 1) != 1 || await_turn(&turn) != 1) return 3;
    close(there[1]);
    return pthread_join(thread, 0);
}
"#;

/// Where the main thread of the program waits for the other one and is woken from.
fn check_stacks(report: &Value) {
    let waits = report["waits"].as_array().unwrap();
    let with_stacks =
        waits.iter().filter(|wait| wait["stacks"].as_array().is_some_and(|stacks| !stacks.is_empty()));
    let wait =
        with_stacks.max_by_key(|wait| wait["total_ns"].as_u64()).unwrap_or_else(|| panic!("{waits:#?}"));
    let stack = &wait["stacks"][0];
    let functions = |side: &str| stack[side].as_array().unwrap().clone();
    let has = |side: &str, name: &str| {
        functions(side).iter().any(|function| function.as_str().unwrap().contains(name))
    };
    // Not the function of a pipe alone, which may be inlined.
    assert!(has("waiting", "_read") && has("waking", "_write"), "{stack:#}");
    for side in ["waiting", "waking"] {
        let all = functions(side);
        assert!(all.iter().all(|function| !function.as_str().unwrap().starts_with("0x")), "{stack:#}");
        assert!(!["schedule", "__schedule"].iter().any(|name| all[0] == *name), "{stack:#}");
    }
    // The function that calls one of a library without frame pointers is not seen, but the one that calls it.
    assert!(has("waiting", "pipes:await_turn") && has("waking", "pipes:give_back"), "{stack:#}");
}

fn path_of_main_thread(file: &Path, program: &str) -> Value {
    report(&["kernel", "path", file.to_str().unwrap(), "--executions", &format!("process:{program}")])
}

#[test]
fn waits_show_where_a_thread_waits_and_is_woken_from() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let Some(pipes) = compiled(folder.path(), "pipes", PIPES) else { return };
    for form in ["v6", "v7"] {
        let file = folder.path().join(form);
        let options = ["-o", file.to_str().unwrap(), "--format", form, "--stacks", "--"];
        let output = record(&[&options[..], &[pipes.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{}", stderr_text(&output));
        check_stacks(&path_of_main_thread(&file, "pipes"));
    }
    let text = Command::new(crate::recorder::LAGGARD)
        .args(["kernel", "path", folder.path().join("v7").to_str().unwrap(), "--executions", "process:pipes"])
        .output()
        .unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("waits in") && text.contains("woken by"), "{text}");
    assert!(text.contains("pipes:await_turn") && text.contains("pipes:give_back"), "{text}");
}

#[test]
fn stacks_of_perf_are_read() {
    let Some(_machine) = machine() else { return };
    if !is_installed("perf") {
        return;
    }
    let folder = folder();
    let Some(pipes) = compiled(folder.path(), "pipes", PIPES) else { return };
    let output = record(&["--print-commands", "--stacks", "--", pipes.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| {
            line.starts_with("perf record") || (line.starts_with("cp ") && line.contains("perf.data"))
        })
        .collect();
    let shell = Command::new("sh").args(["-e", "-c", &lines.join("\n")]).current_dir(folder.path()).output();
    let shell = shell.unwrap();
    assert!(lines.len() == 2 && shell.status.success(), "{lines:#?}\n{}", stderr_text(&shell));
    let file = folder.path().join("perf.data");
    check_stacks(&path_of_main_thread(&file, "pipes"));
    // Without names of functions, their addresses remain.
    std::fs::remove_file(folder.path().join("perf.data.kallsyms")).unwrap();
    let report = path_of_main_thread(&file, "pipes").to_string();
    assert!(report.contains("\"0xffff"), "{report}");
}

#[test]
fn an_abnormal_wait_shows_its_stacks() {
    let Some(_machine) = machine() else { return };
    let (folder, workload) = (folder(), workload());
    let (file, truth) = (folder.path().join("trace.dat"), folder.path().join("truth.json"));
    let name = format!("stacks{}-", std::process::id());
    let program =
        [workload.to_str().unwrap(), "run", "--name", &name, "--kinds", "handoff", "--slow", "handoff"];
    let sets = ["--v1", "20", "--v2", "20", "--truth", truth.to_str().unwrap()];
    let options = ["-o", file.to_str().unwrap(), "--marker", "--stacks", "--"];
    let output = record(&[&options[..], &program, &sets].concat());
    assert!(output.status.success(), "{}", stderr_text(&output));
    let (normal, sample) = (format!("{name}v1*"), format!("{name}v2*"));
    let labels = ["--normal-label", &normal, "--sample-label", &sample];
    let report = diagnose(&[&[file.to_str().unwrap()], &labels[..]].concat());
    assert_eq!(report["verdict"], "slower", "{}", report["headline"]);
    // The other thread sleeps, and then releases the lock.
    let wait = report["waits"].as_array().unwrap().iter().find(|wait| wait["cause"] == "timer").unwrap();
    let has = |side: &str, name: &str| {
        let functions = wait["stacks"][0][side].as_array().unwrap_or_else(|| panic!("{wait:#}"));
        functions.iter().any(|function| function.as_str().unwrap().contains(name))
    };
    assert!(has("waiting", "futex_wait") && has("waking", "futex_wake"), "{wait:#}");
}
