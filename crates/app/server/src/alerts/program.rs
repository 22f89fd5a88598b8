//! A program that is told of alerts on its standard input. No shell: the configuration names it and its arguments.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A program with fixed arguments.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<String>,
    /// It is killed after this, and what it started.
    pub(super) time_max: Duration,
}

/// Of what it complains about so much is told.
const COMPLAINT_BYTES_MAX: u64 = 1_000;

/// How long its complaint is waited for once it has ended: what it started may hold the pipe for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

impl Program {
    /// Runs it with this input, until it ends or its time is over. Of the environment it gets `PATH` alone: settings
    /// in variables are none of its business.
    ///
    /// # Errors
    /// When it cannot be started, fails, or does not end in time.
    pub(super) fn run(&self, input: &[u8]) -> Result<(), String> {
        let started = Instant::now();
        let mut child = self.start().map_err(|error| format!("{}: {error}", self.path.display()))?;
        feed(&mut child, input);
        let complaint = complaint_of(&mut child);
        let ended = wait(&mut child, started, self.time_max);
        // Whatever it started and left behind goes with it; then nobody holds its pipes any more.
        kill_all(&mut child);
        let status = match ended {
            Some(status) => status.map_err(|error| error.to_string())?,
            None => {
                let _ = child.wait();
                return Err(format!("it was killed after {} s", self.time_max.as_secs_f64()));
            }
        };
        match status.success() {
            true => Ok(()),
            false => {
                Err(format!("{status}: {}", complaint.recv_timeout(LAST_WORDS).unwrap_or_default().trim()))
            }
        }
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).env_clear().process_group(0);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    }
}

/// Writes the input from a thread of its own, which nobody waits for: a program that reads nothing holds nobody up.
fn feed(child: &mut Child, input: &[u8]) {
    let mut stdin = child.stdin.take().expect("it was asked for");
    let input = input.to_owned();
    std::thread::spawn(move || {
        // Who ends without reading it all has what it wants.
        let _ = stdin.write_all(&input);
    });
}

/// What it says on standard error, so far as that is told; the rest is read and forgotten.
fn complaint_of(child: &mut Child) -> Receiver<String> {
    let mut stderr = child.stderr.take().expect("it was asked for");
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut words = Vec::new();
        let _ = (&mut stderr).take(COMPLAINT_BYTES_MAX).read_to_end(&mut words);
        let words = String::from_utf8_lossy(&words).into_owned();
        // Who has ended well is not asked what it said.
        let _ = tell.send(words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect());
        let _ = io::copy(&mut stderr, &mut io::sink());
    });
    told
}

/// `None` when its time is over.
fn wait(child: &mut Child, started: Instant, time_max: Duration) -> Option<io::Result<ExitStatus>> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(Ok(status)),
            Err(error) => return Some(Err(error)),
            Ok(None) if started.elapsed() >= time_max => return None,
            Ok(None) => std::thread::sleep(LOOK),
        }
    }
}

/// It leads a group of its own, which its children are in unless they left it. Elsewhere than on Linux only itself is
/// killed.
fn kill_all(child: &mut Child) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        // Most often there is nobody left.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, time_max: Duration) -> Program {
        Program { path: "/bin/sh".into(), arguments: vec!["-c".to_owned(), script.to_owned()], time_max }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn it_gets_the_message_and_little_else() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let script = format!("cat > {0}; env >> {0}", out.display());
        shell(&script, LONG).run(b"{\"version\":\"4\"}\n").unwrap();
        let written = std::fs::read_to_string(out).unwrap();
        assert!(written.starts_with("{\"version\":\"4\"}\n"), "{written}");
        assert!(!written.contains("CARGO") && !written.contains("HOME="), "{written}");
    }

    #[test]
    fn what_goes_wrong_is_told() {
        let failed = shell("echo no room >&2; exit 3", LONG).run(b"").unwrap_err();
        assert!(failed.contains('3') && failed.contains("no room"), "{failed}");
        let missing = Program { path: "/no/such/program".into(), arguments: Vec::new(), time_max: LONG };
        assert!(missing.run(b"").unwrap_err().contains("/no/such/program"));
    }

    #[test]
    fn one_that_does_not_end_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", out.display());
        let killed = shell(&script, Duration::from_millis(300)).run(&vec![b'x'; 1 << 20]).unwrap_err();
        assert!(killed.contains("killed"), "{killed}");
        let pid = std::fs::read_to_string(out).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..200 {
            if !alive() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the program that it started is still there");
    }

    #[test]
    fn what_it_leaves_behind_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("pid");
        let script = format!(
            "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600' & while ! test -e {0}; do sleep 0.01; done; exit 3",
            out.display()
        );
        let failed = shell(&script, LONG).run(&vec![b'x'; 1 << 20]).unwrap_err();
        assert!(failed.contains('3'), "{failed}");
        let pid = std::fs::read_to_string(out).unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn one_that_reads_nothing_or_says_much_holds_nobody_up() {
        shell("exit 0", LONG).run(&vec![b'x'; 4 << 20]).unwrap();
        shell("head -c 2000000 /dev/zero >&2", LONG).run(b"").unwrap();
    }
}
