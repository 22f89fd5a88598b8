//! Type checks of the pages by `svelte-check`, and unit tests by Node's test runner.
//!
//! Needs Node and npm; without them the test is skipped, unless `LAGGARD_PAGES=require`.

use laggard_testkit::{Missing, is_installed, npm_install, skip};
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn web_type_checks_and_unit_tests_pass() {
    if let Some(tool) = ["node", "npm"].into_iter().find(|tool| !is_installed(tool)) {
        assert!(env::var("LAGGARD_PAGES").as_deref() != Ok("require"), "there is no {tool}");
        return skip(Missing::Packages("nodejs npm"), &format!("there is no {tool}"));
    }
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../web");
    npm_install(&web);
    for script in ["check", "test"] {
        npm(&web, script);
    }
}

fn npm(web: &Path, script: &str) {
    let mut command = Command::new("npm");
    let output = command.args(["run", "--silent", script]).current_dir(web).stdin(Stdio::null()).output();
    let output = output.expect("npm was found before");
    let output_text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "npm run {script}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output_text)
    );
}
