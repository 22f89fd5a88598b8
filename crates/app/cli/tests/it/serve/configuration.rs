//! Sources of settings, their precedence, and errors in them.

use crate::outcome::{command, finish, laggard};

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn checked(arguments: &[&str]) -> String {
    laggard(&[&["serve", "--check-config"], arguments].concat()).text()
}

#[test]
fn flags_override_variables_and_variables_override_the_file() {
    let file = file("store:\n  keep_for: 1d\n  idle: 20s\n  slice: 10m\n");
    let path = file.path().to_str().unwrap();
    let arguments = ["serve", "--check-config", "--config", path, "--set", "store.keep_for=3d"];
    let mut run = command(&arguments);
    run.env("LAGGARD_STORE_KEEP_FOR", "2d").env("LAGGARD_STORE_IDLE", "30s");
    // Variables that Kubernetes sets for a service named `laggard` are ignored.
    run.env("LAGGARD_PORT", "tcp://10.0.0.1:4316").env("LAGGARD_SERVICE_HOST", "10.0.0.1");
    let printed = finish(&mut run).text();
    for line in ["  keep_for: 3d", "  idle: 30s", "  slice: 10m", "http: 127.0.0.1:4316"] {
        assert!(printed.lines().any(|found| found == line), "{line:?} is not in\n{printed}");
    }
    // The printed configuration is valid.
    let again = self::file(&printed);
    assert_eq!(checked(&["--config", again.path().to_str().unwrap()]), printed);
}

#[test]
fn errors_in_the_configuration_file_have_a_line() {
    let file = file("http: 127.0.0.1:4316\nstore:\n  keepfor: 3d\n");
    let path = file.path().to_str().unwrap();
    laggard(&["serve", "--config", path]).fails(2, &[path, "line 3", "keepfor"]);
    laggard(&["serve", "--config", "/no/such.yaml"]).fails(2, &["/no/such.yaml"]);
    laggard(&["serve", "--set", "keep_for=3d"]).fails(2, &["--set", "store.keep_for"]);
    laggard(&["serve", "--set", "limits.connections=0"]).fails(2, &["limits.connections", "1 to 100000"]);
    laggard(&["serve", "--set", "logs.level=info,x=loud"]).fails(2, &["logs.level"]);
    let mut run = command(&["serve", "--check-config"]);
    finish(run.env("LAGGARD_STORE_IDLE", "soon")).fails(2, &["environment variable LAGGARD_STORE_IDLE"]);
}

#[test]
fn workers_need_a_token_and_a_program_that_can_use_them() {
    let token = file("secret");
    let token = format!("cluster.token_file={}", token.path().to_str().unwrap());
    for alone in [&token, "cluster.workers=w1:4320,w2:4320"] {
        laggard(&["serve", "--check-config", "--set", alone]).fails(2, &["must both be set"]);
    }
    let both = ["serve", "--check-config", "--set", &token, "--set", "cluster.workers=w1:4320,w2:4320"];
    let receiving = ["--set", "store.url=file:///x", "--set", "store.role=receive"];
    laggard(&[&both[..], &receiving].concat()).fails(2, &["cluster.workers", "answers no questions"]);
    match cfg!(feature = "cluster") {
        true => {
            let printed = laggard(&both).text();
            assert!(printed.contains("w1:4320"), "{printed}");
            let wrong = [&both[..], &["--set", "cluster.workers=w1"]].concat();
            laggard(&wrong).fails(2, &["no address of a worker"]);
        }
        false => laggard(&both).fails(2, &["cluster.workers", "--features cluster"]),
    }
}

#[test]
fn non_loopback_addresses_need_authentication_or_insecure() {
    laggard(&["serve", "--check-config", "--http", "0.0.0.0:0"])
        .fails(2, &["http is 0.0.0.0:0", "--insecure"]);
    laggard(&["serve", "--check-config", "--zipkin", "[::]:0"]).fails(2, &["zipkin is [::]:0"]);
    checked(&["--http", "0.0.0.0:0", "--insecure"]);
    let token = file("0123456789abcdef0123456789abcdef\n");
    let path = token.path().to_str().unwrap();
    let printed = checked(&["--http", "0.0.0.0:0", "--token-file", path]);
    assert!(printed.contains(path) && !printed.contains("0123456789abcdef"), "{printed}");
    let short = file("secret\n");
    laggard(&["serve", "--check-config", "--token-file", short.path().to_str().unwrap()])
        .fails(2, &["6 characters", "at least 16"]);
}
