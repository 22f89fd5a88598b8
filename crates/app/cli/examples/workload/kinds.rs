//! Kinds of executions.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A kind of execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Sleeps again and again. Slow: longer.
    Poll,
    /// Reads what is not in the page cache. Slow: more.
    Read,
    /// Asks a server over loopback. Slow: the server sleeps in the middle.
    Query,
    /// Writes and waits for the disk. Slow: more often.
    Write,
    /// Computes. Slow: more.
    Compute,
    /// Waits for a thread that computes. Slow: that one sleeps, as if for a lock.
    Handoff,
}

/// Whether an execution is as ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    Usual,
    Slow,
}

impl Kind {
    const ALL: [Kind; 6] = [Kind::Poll, Kind::Read, Kind::Query, Kind::Write, Kind::Compute, Kind::Handoff];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Kind::Poll => "poll",
            Kind::Read => "read",
            Kind::Query => "query",
            Kind::Write => "write",
            Kind::Compute => "compute",
            Kind::Handoff => "handoff",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Bytes of one read or write.
const BLOCK: usize = 64 << 10;
/// Blocks of the file that is read.
const BLOCKS: u64 = 64;
/// Steps of arithmetic that take about a tenth of a millisecond without optimization.
const TENTH_MS: u64 = 20_000;

/// What a slow server or thread sleeps each time: several times as long as it works, since on a busy machine usual executions
/// wait for a CPU for as long as they work.
const SLOW_PAUSE: Duration = Duration::from_millis(6);

/// Everything that executions need: files, a server, a thread.
pub(crate) struct Stage {
    read: File,
    read_at: u64,
    write: File,
    server: Option<Server>,
    tasks: Sender<Task>,
    done: Receiver<()>,
    paths: [PathBuf; 2],
}

struct Server {
    process: Child,
    connection: TcpStream,
}

struct Task {
    tenths: u64,
    pause: Duration,
}

impl Stage {
    pub(crate) fn set(with_server: bool, folder: Option<&Path>) -> Stage {
        let folder = folder.filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let path = |name: &str| folder.join(format!("workload-{}-{name}", std::process::id()));
        let paths = [path("read"), path("write")];
        let mut read = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&paths[0])
            .expect("a file");
        (0..BLOCKS).for_each(|block| read.write_all(&vec![block as u8; BLOCK]).expect("a block"));
        read.sync_all().expect("the file is on the disk");
        let (tasks, come) = channel::<Task>();
        let (finished, done) = channel();
        std::thread::spawn(move || {
            for task in come {
                compute(task.tenths);
                std::thread::sleep(task.pause);
                finished.send(()).expect("somebody waits");
            }
        });
        let write = File::create(&paths[1]).expect("a file");
        Stage { read, read_at: 0, write, server: with_server.then(Server::start), tasks, done, paths }
    }

    /// Performs one execution; `size` scales how much of everything is done.
    pub(crate) fn perform(&mut self, kind: Kind, pace: Pace, size: f64) {
        let slow = pace == Pace::Slow;
        let times = |usual: f64| (usual * size).round().max(1.0) as u64;
        match kind {
            Kind::Poll => {
                let pause = Duration::from_micros(if slow { 4000 } else { 1000 });
                (0..times(10.0)).for_each(|_| std::thread::sleep(pause));
            }
            Kind::Read => (0..times(if slow { 36.0 } else { 12.0 })).for_each(|_| self.read()),
            Kind::Query => (0..times(8.0)).for_each(|_| self.server.as_mut().expect("a server").query(slow)),
            // Far more often than a read: a flush waits for the disk twice, and on a fast disk as long as a read.
            Kind::Write => (0..times(if slow { 60.0 } else { 20.0 })).for_each(|_| self.write()),
            Kind::Compute => compute(times(if slow { 300.0 } else { 100.0 })),
            Kind::Handoff => (0..times(10.0)).for_each(|_| self.run_in_worker(slow)),
        }
    }

    /// One query and the processing of its response; with a file, it is written and read again from the page cache.
    pub(crate) fn request(&mut self, with_file: bool) {
        self.server.as_mut().expect("a server").query(false);
        if with_file {
            self.write.write_all(&[7; 4096]).expect("a block");
            self.read.seek(SeekFrom::Start(0)).expect("the begin");
            self.read.read_exact(&mut [0; 4096]).expect("a block");
        }
    }

    fn read(&mut self) {
        // The read must go to the disk.
        let all = 0..BLOCKS * BLOCK as u64;
        rustix::fs::fadvise(&self.read, all.start, all.end.try_into().ok(), rustix::fs::Advice::DontNeed)
            .expect("advice");
        self.read_at = (self.read_at + 7) % BLOCKS;
        self.read.seek(SeekFrom::Start(self.read_at * BLOCK as u64)).expect("a place");
        self.read.read_exact(&mut vec![0; BLOCK / 4]).expect("a block");
        compute(1);
    }

    fn write(&mut self) {
        self.write.seek(SeekFrom::Start(0)).expect("the begin");
        self.write.write_all(&vec![1; BLOCK / 4]).expect("a block");
        self.write.sync_data().expect("the block is on the disk");
        compute(1);
    }

    fn run_in_worker(&mut self, slow: bool) {
        let pause = if slow { SLOW_PAUSE } else { Duration::ZERO };
        self.tasks.send(Task { tenths: 5, pause }).expect("the thread lives");
        self.done.recv().expect("the thread answers");
        compute(1);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Server {
    fn start() -> Server {
        let this = std::env::current_exe().expect("a program");
        let mut process =
            Command::new(this).arg("serve").stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut port = String::new();
        let out = process.stdout.take().expect("its output is piped");
        BufReader::new(out).read_line(&mut port).expect("the server prints its port");
        let connection =
            TcpStream::connect(format!("127.0.0.1:{}", port.trim())).expect("the server listens");
        connection.set_nodelay(true).expect("no delay");
        Server { process, connection }
    }

    fn query(&mut self, slow: bool) {
        self.connection.write_all(&[u8::from(slow); 64]).expect("the query is sent");
        self.connection.read_exact(&mut [0; 64]).expect("the response is received");
        compute(1);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.connection.shutdown(std::net::Shutdown::Both);
        let _ = self.process.wait();
    }
}

/// Answers questions of 64 bytes on one connection, each after some work.
pub(crate) fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a port").port();
    let mut out = std::io::stdout();
    writeln!(out, "{port}").and_then(|()| out.flush()).expect("the port is told");
    let (mut connection, _) = listener.accept().expect("a connection");
    connection.set_nodelay(true).expect("no delay");
    let mut question = [0; 64];
    while connection.read_exact(&mut question).is_ok() {
        compute(4);
        if question[0] == 1 {
            std::thread::sleep(SLOW_PAUSE);
        }
        connection.write_all(&question).expect("an answer goes");
    }
}

/// Arithmetic of a fixed length: who is pre-empted takes longer, not less.
fn compute(tenths: u64) {
    let mut number = black_box(1u64);
    for step in 0..tenths * TENTH_MS {
        number = black_box(number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(step));
    }
    black_box(number);
}
