//! The GitHub Action and the GitLab template: their commands, run as a runner runs them.

use crate::outcome::{Outcome, finish, laggard};
use laggard_testkit::{Missing, is_installed, skip};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn repository(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::read_to_string(root.join(name)).unwrap()
}

/// The lines that stand further in than `indent`, without that much indentation.
fn block<'a>(lines: impl Iterator<Item = &'a str>, indent: usize) -> String {
    let width = |line: &str| line.len() - line.trim_start().len();
    let inside: Vec<&str> = lines.take_while(|line| line.trim().is_empty() || width(line) > indent).collect();
    let margin =
        inside.iter().filter(|line| !line.trim().is_empty()).map(|line| width(line)).min().unwrap_or(0);
    inside.iter().map(|line| line.get(margin..).unwrap_or("").to_owned() + "\n").collect()
}

/// The script of a step of the action, by its name.
fn step(name: &str) -> String {
    let action = repository("packaging/github/action.yml");
    let (_, after) = action.split_once(&format!("- name: {name}\n")).expect("the action has this step");
    let mut lines = after.lines().take_while(|line| !line.trim_start().starts_with("- name: "));
    let run = lines.find(|line| line.trim_start().starts_with("run: ")).expect("it runs something");
    match run.trim_start() {
        "run: |" => block(lines, run.len() - run.trim_start().len()),
        one => one["run: ".len()..].to_owned(),
    }
}

/// The lines below `key:` of a job of the template, each an item of a script.
fn items(job: &str, key: &str) -> String {
    let template = repository("packaging/gitlab/laggard.yml");
    let (_, after) = template.split_once(&format!("\n{job}:\n")).expect("the template has this job");
    let job = block(after.lines(), 0);
    let (_, after) = job.split_once(&format!("{key}:\n")).expect("the job has this part");
    let list = block(after.lines(), 0);
    let mut script = String::new();
    let mut lines = list.lines().peekable();
    while let Some(line) = lines.next() {
        match line.strip_prefix("- ") {
            Some("|") => {
                let rest: Vec<&str> =
                    std::iter::from_fn(|| lines.next_if(|next| !next.starts_with("- "))).collect();
                script += &block(rest.into_iter(), 0);
            }
            Some(command) => script += &format!("{command}\n"),
            None => assert!(line.trim_start().starts_with('#') || line.is_empty(), "{line:?}"),
        }
    }
    script
}

/// A job's folder, with the tested binary and stand-ins of other programs on its path.
struct Runner {
    folder: TempDir,
}

impl Runner {
    fn new() -> Runner {
        let runner = Runner { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(runner.path("bin")).unwrap();
        runner
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A program that writes its arguments to `called`.
    fn stand_in(&self, name: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, "#!/bin/sh\nprintf '%s\\n' \"$@\" >called\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn with_laggard(self) -> Runner {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_laggard"), self.path("bin/laggard")).unwrap();
        self
    }

    fn run(&self, shell: &[&str], script: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut path = OsString::from(self.path("bin"));
        path.push(":/usr/bin:/bin");
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(script).current_dir(&self.folder).env_clear().env("PATH", path);
        finish(command.envs(variables.iter().copied()))
    }

    /// As GitHub's runner does for `shell: bash`.
    fn github(&self, script: &str, variables: &[(&str, &str)]) -> Outcome {
        let files = ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH"];
        let files = files.map(|name| (name, self.path(name).to_str().unwrap().to_owned()));
        let temp = self.folder.path().to_str().unwrap();
        let mut all: Vec<(&str, &str)> = files.iter().map(|(name, path)| (*name, path.as_str())).collect();
        all.extend([("RUNNER_TEMP", temp)]);
        all.extend(variables);
        self.run(&["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"], script, &all)
    }

    /// As GitLab's runner does in an image without bash.
    fn gitlab(&self, script: &str, variables: &[(&str, &str)]) -> Outcome {
        self.run(&["sh", "-e", "-c"], script, variables)
    }

    /// Samples in which `Home` takes so many milliseconds, as `name`.
    fn samples(&self, name: &str, home_ms: f64) {
        let mut text =
            "time_s,utilization,count:Home,count:Cart,response_ms:Home,response_ms:Cart\n".to_owned();
        for row in 0..60 {
            let used = 0.2 + 0.05 * f64::from(row % 8);
            let noise = 1.0 + 0.004 * (f64::from(row * 7 % 11) - 5.0);
            let [home, cart] = [home_ms, 9.0].map(|ms| ms * noise / (1.0 - used));
            let time = 1_700_000_000 / 60 * 60 + 60 * row;
            let _ = writeln!(text, "{time},{used},{},{},{home},{cart}", 50 + row % 5, 20 + row % 3);
        }
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The signature of samples, as the base branch has it.
    fn base_signature(&self) {
        self.samples("main.csv", 4.0);
        let [from, to] = ["main.csv", "main.json"].map(|name| self.path(name));
        laggard(&["signature", from.to_str().unwrap(), "-o", to.to_str().unwrap()]).text();
    }

    /// Traces before and after an upgrade that made an operation slower.
    fn traces(&self) {
        for (name, scenario) in [("main", "quiet"), ("change", "code-bug")] {
            let folder = self.path(name);
            let size = ["--seed", "5", "--requests", "150", "--categories", "3"];
            let flags = ["simulate", "--scenario", scenario, "-o", folder.to_str().unwrap()];
            laggard(&[&flags[..], &size].concat()).text();
        }
    }
}

#[test]
fn the_action_fails_when_a_transaction_got_slower() {
    let runner = Runner::new().with_laggard();
    runner.base_signature();
    let compare = step("Compare");
    for (milliseconds, expected) in [(4.0, "0"), (5.0, "1")] {
        runner.samples("load test.csv", milliseconds);
        std::fs::write(runner.path("GITHUB_OUTPUT"), "").unwrap();
        let outcome = runner.github(
            &compare,
            &[
                ("COMMAND", "signature"),
                ("BEFORE", "main.json"),
                ("AFTER", "load test.csv"),
                ("ARGUMENTS", "--window 60s --cores 1"),
                ("LABEL", "0123abc"),
            ],
        );
        // The step itself passes, so that comment and upload follow; the last one fails.
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        assert_eq!(runner.read("GITHUB_OUTPUT"), format!("status={expected}\n"));
        let last = runner.github(&step("Result"), &[("STATUS", expected)]);
        assert_eq!(last.status.to_string(), expected);
    }
    assert!(runner.read("laggard.md").starts_with("### Laggard: slower\n"), "{}", runner.read("laggard.md"));
    assert!(runner.read("GITHUB_STEP_SUMMARY").ends_with(&runner.read("laggard.md")));
    assert!(runner.read("laggard.xml").contains("failures=\"1\""));
    assert!(runner.read("laggard.sarif").contains("\"transaction-slower\""));
    assert!(runner.read("signature.json").contains("0123abc"));
}

#[test]
fn the_action_compares_traces() {
    let runner = Runner::new().with_laggard();
    runner.traces();
    let variables =
        [("COMMAND", "compare"), ("BEFORE", "main/traces"), ("AFTER", "change/traces"), ("ARGUMENTS", "")];
    let outcome = runner.github(&step("Compare"), &variables);
    assert_eq!(
        (outcome.status, runner.read("GITHUB_OUTPUT").as_str()),
        (0, "status=1\n"),
        "{}",
        outcome.stderr
    );
    assert!(runner.read("laggard.md").starts_with("### Laggard: slower\n"));
    assert!(runner.read("laggard.xml").contains("<failure type=\"slower\""));
}

#[test]
fn the_action_stops_at_what_it_cannot_read() {
    let runner = Runner::new().with_laggard();
    let run = |command: &str| {
        let variables = [("COMMAND", command), ("BEFORE", "none"), ("AFTER", "none"), ("ARGUMENTS", "")];
        runner.github(&step("Compare"), &variables).status
    };
    assert_eq!((run("compare"), run("signature"), run("both")), (3, 3, 2));
    assert_eq!(runner.read("GITHUB_STEP_SUMMARY"), "");
}

/// Names in inputs are arguments, never commands.
#[test]
fn inputs_of_the_action_are_no_script() {
    let runner = Runner::new().with_laggard();
    let hostile = "$(touch owned); touch owned";
    let variables = [
        ("COMMAND", "compare"),
        ("BEFORE", hostile),
        ("AFTER", hostile),
        ("ARGUMENTS", "--set $(touch owned)"),
    ];
    assert_ne!(runner.github(&step("Compare"), &variables).status, 0);
    assert!(!runner.path("owned").exists());
    let action = repository("packaging/github/action.yml");
    for name in ["Install", "Compare", "Comment", "Result"] {
        assert!(action.contains(&format!("- name: {name}\n")) && !step(name).contains("${{"), "{name}");
    }
}

#[test]
fn the_action_comments_on_the_pull_request() {
    let runner = Runner::new();
    runner.stand_in("gh");
    let outcome = runner.github(&step("Comment"), &[("PULL_REQUEST", "https://git.example/a/b/pull/7")]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let called = runner.read("called");
    assert!(called.starts_with("pr\ncomment\nhttps://git.example/a/b/pull/7\n"), "{called}");
    assert!(called.ends_with("--body-file\nlaggard.md\n"), "{called}");
}

/// A release in a folder: an archive with a program that prints a word, and its checksum.
fn fake_release(runner: &Runner) -> Option<String> {
    if !is_installed("curl") {
        skip(Missing::Packages("curl"), "there is no curl");
        return None;
    }
    let script = "arch=$(uname -m); name=laggard-9.9.9-$arch-unknown-linux-musl; mkdir -p v9.9.9 $name; \
                  printf '#!/bin/sh\\necho downloaded\\n' >$name/laggard; chmod +x $name/laggard; \
                  tar -czf v9.9.9/$name.tar.gz $name; cd v9.9.9; echo other >other.deb; sha256sum * >SHA256SUMS";
    let outcome = runner.gitlab(script, &[]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    Some(format!("file://{}", runner.folder.path().display()))
}

#[test]
fn a_release_is_downloaded_and_its_checksum_verified() {
    let runner = Runner::new();
    let Some(downloads) = fake_release(&runner) else { return };
    let action = [("VERSION", "9.9.9"), ("DOWNLOADS", downloads.as_str())];
    let outcome = runner.github(&step("Install"), &action);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let folder = runner.read("GITHUB_PATH");
    let installed = finish(&mut Command::new(Path::new(folder.trim()).join("laggard")));
    assert_eq!(installed.text(), "downloaded\n");

    let template = [("LAGGARD_VERSION", "9.9.9"), ("LAGGARD_DOWNLOADS", downloads.as_str())];
    let script = items(".laggard", "before_script") + "laggard\n";
    let outcome = runner.gitlab(&script, &template);
    assert!(outcome.stdout.ends_with("downloaded\n"), "{}{}", outcome.stdout, outcome.stderr);

    // A file that is not what the checksums say is not unpacked.
    let changed = "cd v9.9.9; for f in *.tar.gz; do echo x >>$f; done; rm -rf ../laggard ../laggard-program";
    assert_eq!(runner.gitlab(changed, &[]).status, 0);
    assert_ne!(runner.github(&step("Install"), &action).status, 0);
    assert_ne!(runner.gitlab(&items(".laggard", "before_script"), &template).status, 0);
    assert!(!runner.path("laggard").exists() && !runner.path("laggard-program").exists());
}

#[test]
fn the_template_compares_signatures_and_traces() {
    let runner = Runner::new().with_laggard();
    runner.base_signature();
    runner.samples("change.csv", 5.0);
    runner.traces();
    let variables = [
        ("LAGGARD_BEFORE", "main.json"),
        ("LAGGARD_AFTER", "change.csv"),
        ("LAGGARD_ARGUMENTS", "--window 60s --cores 1"),
        ("CI_COMMIT_SHA", "0123abc"),
    ];
    let outcome = runner.gitlab(&items(".laggard-signature", "script"), &variables);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(runner.read("laggard.xml").contains("<testsuites name=\"laggard signature\""));
    assert!(runner.read("laggard.sarif").contains("\"transaction-slower\""));
    let variables = [("LAGGARD_BEFORE", "main/traces"), ("LAGGARD_AFTER", "main/traces")];
    let outcome = runner.gitlab(&items(".laggard-compare", "script"), &variables);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(runner.read("laggard.xml").contains("<testsuites name=\"laggard compare\""));
}

#[test]
fn the_template_comments_on_the_merge_request() {
    let runner = Runner::new();
    runner.stand_in("curl");
    let script = items(".laggard", "after_script");
    assert_eq!(runner.gitlab(&script, &[]).status, 0, "without a token there is no comment");
    assert_eq!(runner.read("called"), "");
    std::fs::write(runner.path("laggard.md"), "### Laggard: slower\n").unwrap();
    let variables = [
        ("LAGGARD_TOKEN", "secret"),
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_PROJECT_ID", "42"),
        ("CI_API_V4_URL", "https://git.example/api/v4"),
    ];
    assert_eq!(runner.gitlab(&script, &variables).status, 0);
    let called = runner.read("called");
    assert!(called.ends_with("https://git.example/api/v4/projects/42/merge_requests/7/notes\n"), "{called}");
    assert!(called.contains("PRIVATE-TOKEN: secret\n") && called.contains("body@laggard.md\n"), "{called}");
}

#[test]
fn every_fork_runs_the_checks_of_the_repository() {
    let workflow = repository(".github/workflows/ci.yml");
    assert!(workflow.contains("pull_request:") && workflow.contains("- run: .ci/run\n"), "{workflow}");
    // The packages of a release are built and tried for every change, not for the first time when it is made.
    let packages = repository(".github/workflows/packages.yml");
    assert!(packages.contains("packaging/release.sh --target x86_64-unknown-linux-musl --complete\n"));
    for caller in [workflow, repository(".github/workflows/release.yml")] {
        assert!(caller.contains("uses: ./.github/workflows/packages.yml\n"), "{caller}");
    }
}
