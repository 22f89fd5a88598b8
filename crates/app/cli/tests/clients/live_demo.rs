//! A shortened `laggard demo --live`: it starts the bookstore, injects a fault, and prints the server's diagnosis.

use crate::bookstore::{PROGRAM, free_ports, missing};
use crate::install::{command, folder};
use laggard_testkit::{Missing, skip};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

/// Runs the demonstration in a folder with additional flags.
fn demo(directory: &Path, flags: &[&str]) -> Output {
    let mut laggard = command(env!("CARGO_BIN_EXE_laggard"));
    laggard.env("BOOKSTORE_INSTALLED", folder("bookstore"));
    laggard.arg("demo").arg(directory).arg("--live").args(flags).output().unwrap()
}

#[test]
fn the_live_demonstration_names_the_injected_fault() {
    if let Some(packages) = missing() {
        return skip(Missing::Packages(packages), "not all programs of the bookstore are installed");
    }
    let temporary = tempfile::tempdir().unwrap();
    // PostgreSQL, which does not run as root, must be able to enter it.
    fs::set_permissions(temporary.path(), Permissions::from_mode(0o755)).unwrap();
    let shop = free_ports();
    let [http, otlp] = [14, 15].map(|port| format!("127.0.0.1:{}", shop + port));
    let port = shop.to_string();
    let flags =
        ["--bookstore", PROGRAM, "--port", &port, "--http", &http, "--otlp-http", &otlp, "--warm-up", "90"];
    let output = demo(temporary.path(), &flags);
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{stdout}{stderr}");
    let cause = stdout
        .lines()
        .find(|line| line.trim_start().starts_with("What"))
        .unwrap_or_else(|| panic!("{stdout}"));
    assert!(cause.contains("`store` operation `GET /item`"), "{stdout}");
    assert!(
        stdout.contains("(store-2)") && stdout.contains("/incidents/") && stdout.contains("Mended."),
        "{stdout}"
    );
}

#[test]
fn without_a_checkout_the_live_demonstration_lists_its_requirements() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo(temporary.path(), &["--bookstore", "no/such/bookstore"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("checkout") && stderr.contains("--bookstore"), "{stderr}");
}
