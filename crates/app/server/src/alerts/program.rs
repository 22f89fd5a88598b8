//! A program that gets notifications on its standard input. There is no shell: the configuration names the program and
//! its arguments.

use laggard_system::printable;
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
    /// After this it is killed, with the processes it started.
    pub(super) time_max: Duration,
}

/// So much of its standard error is reported.
const ERROR_BYTES_MAX: u64 = 1_000;

/// How long its error text is awaited after it ended: processes it started may hold the pipe forever.
const ERROR_TIMEOUT: Duration = Duration::from_millis(200);

/// How often its exit is checked for.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Program {
    /// Runs it with this input until it ends or times out. Of the environment it gets only `PATH`, since variables may
    /// hold settings of the server.
    ///
    /// # Errors
    /// When it cannot be started, fails, or does not end in time.
    pub(super) fn run(&self, input: &[u8]) -> Result<(), String> {
        let started = Instant::now();
        let mut child = self.start().map_err(|error| format!("{}: {error}", self.path.display()))?;
        feed(&mut child, input);
        let error_text = error_text_of(&mut child);
        let ended = wait(&mut child, started, self.time_max);
        // Processes that it left behind would hold its pipes open.
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
            false => Err(format!(
                "{status}: {}",
                error_text.recv_timeout(ERROR_TIMEOUT).unwrap_or_default().trim()
            )),
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

/// Writes the input on a detached thread: a program that does not read its input must not block the server.
fn feed(child: &mut Child, input: &[u8]) {
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    std::thread::spawn(move || {
        // The program may end without reading everything.
        let _ = stdin.write_all(&input);
    });
}

/// The beginning of its standard error; the rest is read and dropped.
fn error_text_of(child: &mut Child) -> Receiver<String> {
    let mut stderr = child.stderr.take().expect("it is piped");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = (&mut stderr).take(ERROR_BYTES_MAX).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        // The text is not received if the program succeeded.
        let _ = sender.send(printable(&text, usize::MAX));
        let _ = io::copy(&mut stderr, &mut io::sink());
    });
    receiver
}

/// `None` after a timeout.
fn wait(child: &mut Child, started: Instant, time_max: Duration) -> Option<io::Result<ExitStatus>> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(Ok(status)),
            Err(error) => return Some(Err(error)),
            Ok(None) if started.elapsed() >= time_max => return None,
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

/// It leads a process group, which its children belong to unless they left it. Elsewhere than on Linux only the program
/// itself is killed.
fn kill_all(child: &mut Child) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        // It fails if no process is left.
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
    fn the_program_gets_the_message_and_almost_no_environment() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let script = format!("cat > {0}; env >> {0}", out.display());
        shell(&script, LONG).run(b"{\"version\":\"4\"}\n").unwrap();
        let written = std::fs::read_to_string(out).unwrap();
        assert!(written.starts_with("{\"version\":\"4\"}\n"), "{written}");
        assert!(!written.contains("CARGO") && !written.contains("HOME="), "{written}");
    }

    #[test]
    fn failures_are_reported() {
        let failed = shell("echo disk full >&2; exit 3", LONG).run(b"").unwrap_err();
        assert!(failed.contains('3') && failed.contains("disk full"), "{failed}");
        let missing = Program { path: "/no/such/program".into(), arguments: Vec::new(), time_max: LONG };
        assert!(missing.run(b"").unwrap_err().contains("/no/such/program"));
    }

    #[test]
    fn a_hanging_program_is_killed_with_its_children() {
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
        panic!("the child process is still running");
    }

    #[test]
    fn processes_left_behind_do_not_block() {
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
    fn a_program_that_reads_nothing_or_writes_a_lot_does_not_block() {
        shell("exit 0", LONG).run(&vec![b'x'; 4 << 20]).unwrap();
        shell("head -c 2000000 /dev/zero >&2", LONG).run(b"").unwrap();
    }
}
