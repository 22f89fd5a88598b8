//! Functions of a program without instrumentation: recorded by probes, and diagnosed as spans.

use crate::program::{compiled, report};
use crate::recorder::{LAGGARD, Tracefs, ended, folder, machine, record, stderr_text, until};
use std::path::Path;
use std::process::{Command, Stdio};

/// Two threads that handle a hundred requests each, which from the given number on are slow in `stock`: by so much that the
/// pauses of a busy virtual machine do not hide it.
const SHOP: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static int slow_from;
static void wait_ms(int ms) { struct timespec t = {0, ms * 1000000L}; nanosleep(&t, 0); }
__attribute__((noinline)) void price(int n) { wait_ms(1); __asm__ volatile("" : : "r"(n) : "memory"); }
__attribute__((noinline)) void stock(int n) {
    wait_ms(n >= slow_from ? 31 : 1);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void handle(int n) { price(n); stock(n); __asm__ volatile("" ::: "memory"); }
static void *work(void *nothing) {
    for (int n = 0; n < 100; n++) handle(n);
    return nothing;
}
int main(int count, char **words) {
    slow_from = count > 1 ? atoi(words[1]) : 0;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
"#;

/// Records the shop with probes on its functions.
fn recorded(shop: &Path, file: &Path, slow_from: &str) {
    let probes = ["handle", "price", "stock"].map(|function| format!("{}:{function}", shop.display()));
    let options: Vec<&str> = probes.iter().flat_map(|probe| ["--uprobe", probe]).collect();
    let command = ["--", shop.to_str().unwrap(), slow_from];
    let output = record(&[&["-o", file.to_str().unwrap()], &options[..], &command].concat());
    assert!(output.status.success(), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("laggard diagnose"), "{}", stderr_text(&output));
}

#[test]
fn a_slow_function_of_a_program_without_instrumentation_is_diagnosed() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let Some(shop) = compiled(folder.path(), "shop", SHOP) else { return };
    let [usual, slow] = ["usual.dat", "slow.dat"].map(|name| folder.path().join(name));
    recorded(&shop, &usual, "100");
    recorded(&shop, &slow, "0");
    let [usual, slow] = [&usual, &slow].map(|path| path.to_str().unwrap());
    let diagnosis = report(&["diagnose", slow, "--baseline", usual]);
    assert_eq!(diagnosis["input"]["requests"], 200, "{}", diagnosis["input"]);
    assert_eq!(diagnosis["input"]["spans"], 600, "{}", diagnosis["input"]);
    assert_eq!(diagnosis["verdict"], "suspects", "{}", diagnosis["suspects"]);
    let suspect = &diagnosis["suspects"][0];
    assert_eq!((&suspect["service"], &suspect["operation"]), (&"shop".into(), &"stock".into()));
    let effect_ms = suspect["effect_ns"].as_f64().unwrap() / 1e6;
    assert!((20.0..90.0).contains(&effect_ms), "30 ms more, and pauses of the machine: {effect_ms} ms");

    // The same file says what a slow call waited for.
    let trace = suspect["trace_ids"][0].as_str().unwrap_or_else(|| panic!("{suspect:#}"));
    let path = report(&["kernel", "path", slow, "--traces", slow, "--trace-id", trace]);
    // Waits for a CPU are of the machine's other load.
    let causes = path["causes"].as_array().unwrap();
    let main = causes.iter().find(|cause| !cause["cause"].as_str().unwrap().starts_with("cpu")).unwrap();
    assert_eq!(main["cause"], "timer", "{}", path["causes"]);
    assert!(main["total_ns"].as_u64().unwrap() > 30_000_000, "{}", path["causes"]);
}

#[test]
fn probes_are_removed_after_an_error_and_after_a_signal() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let Some(shop) = compiled(folder.path(), "shop", SHOP) else { return };
    let (file, tracefs) = (folder.path().join("trace.dat"), Tracefs::mount());
    let probe = |function: &str| format!("{}:{function}", shop.display());
    let file = file.to_str().unwrap();
    let output = record(&["-o", file, "--uprobe", &probe("handle"), "--uprobe", &probe("handel"), "--all"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("no function 'handel'"), "{}", stderr_text(&output));
    assert_eq!(probes_of(&tracefs, &shop), 0);

    let stripped = folder.path().join("stripped");
    std::fs::copy(&shop, &stripped).unwrap();
    assert!(Command::new("strip").arg(&stripped).status().unwrap().success());
    let output = record(&["-o", file, "--uprobe", &format!("{}:handle", stripped.display()), "--all"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("it is stripped"), "{}", stderr_text(&output));

    let output = record(&["-o", file, "--uprobe", &probe("handle"), "--", "true"]);
    assert!(stderr_text(&output).contains("Never called: shop:handle"), "{}", stderr_text(&output));
    let output = record(&["-o", file, "--uprobe", &probe("0x3"), "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("no code at 0x3"), "{}", stderr_text(&output));

    for signal in ["INT", "KILL"] {
        let recorder = Command::new(LAGGARD)
            .args(["record", "-o", file, "--uprobe", &probe("handle"), "--all"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = recorder.id().to_string();
        until("probing", || probes_of(&tracefs, &shop) == 2 && tracefs.has_buffer_of(recorder.id()));
        std::thread::sleep(std::time::Duration::from_millis(100));
        Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
        ended(recorder);
        until("the probes are gone", || probes_of(&tracefs, &shop) == 0);
    }
}

#[test]
fn a_recording_without_probes_has_nothing_to_diagnose() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let file = folder.path().join("trace.dat");
    assert!(record(&["-o", file.to_str().unwrap(), "--", "true"]).status.success());
    let diagnose = |path: &Path| Command::new(LAGGARD).arg("diagnose").arg(path).output().unwrap();
    let named = diagnose(&file);
    assert_eq!(named.status.code(), Some(3), "{}", stderr_text(&named));
    assert!(stderr_text(&named).contains("--uprobe PROGRAM:FUNCTION"), "{}", stderr_text(&named));
    // In a folder it may be something else that lies there.
    let found = diagnose(folder.path());
    assert!(stderr_text(&found).contains("no calls of functions"), "{}", stderr_text(&found));
}

/// Probes on a program.
fn probes_of(tracefs: &Tracefs, program: &Path) -> usize {
    let program = program.canonicalize().unwrap();
    tracefs.text("uprobe_events").matches(program.to_str().unwrap()).count()
}
