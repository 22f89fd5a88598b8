//! `laggard demo --live`: the bookstore of a checkout, started, broken, diagnosed by a live server, and mended.

use crate::exit::{CommandError, Status};
use crate::output::print;
use clap::Args;
use laggard_record::StopSignals;
use laggard_server::client::{ServerAddress, WantedForm, query_server};
use laggard_system::http::ClientOptions;
use serde_json::Value;
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Settings of the server: shorter windows and intervals than the defaults, so that the demonstration is quick.
const SERVER_SETTINGS: [&str; 4] =
    ["alerts.every=10s", "alerts.window=2m", "alerts.short_window=1m", "recordings.hosts=store-*"];
/// Replicas of the store with an agent: the one that most faults hit, and one that they do not.
const AGENTS: [&str; 2] = ["store-1", "store-2"];
/// Clients of the shop: about 30 requests a second.
const LOAD: [&str; 6] = ["drive", "--detach", "--clients", "30", "--think", "1"];
const START: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_secs(1);
/// Longest time from the fault to its incident.
const PATIENCE: Duration = Duration::from_secs(300);
/// After the incident opened: its verdict is reached, and spans of the latest requests arrive.
const VERDICT: Duration = Duration::from_secs(30);

/// Flags of the live demonstration.
#[derive(Args, Debug)]
pub(crate) struct LiveDemo {
    /// Start the bookstore of a checkout, break it, and diagnose it with a live server
    #[arg(long)]
    pub(crate) live: bool,
    /// The bookstore of a checkout
    #[arg(long, value_name = "FILE", default_value = "examples/bookstore/bookstore", requires = "live")]
    bookstore: PathBuf,
    /// What is broken: `bookstore faults` lists the names
    #[arg(long, value_name = "NAME", default_value = "slow-replica-lock", requires = "live")]
    fault: String,
    /// The first of the shop's 14 ports
    #[arg(long, value_name = "PORT", default_value_t = 8400, requires = "live")]
    port: u16,
    /// Address of the server's API and pages
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4316", requires = "live")]
    http: String,
    /// Address at which it receives spans
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4318", requires = "live")]
    otlp_http: String,
    /// Record the kernel for two replicas of the store, so that the incident says what the slow one waits for; needs root
    #[arg(long, requires = "live")]
    agents: bool,
    /// Seconds of normal operation before the fault
    #[arg(long, value_name = "SECONDS", default_value_t = 150, requires = "live")]
    warm_up: u64,
}

impl LiveDemo {
    /// Runs it, with its data below a folder.
    pub(crate) fn run(&self, directory: &Path) -> Result<Status, CommandError> {
        let mut signals = StopSignals::catch()
            .map_err(|error| CommandError::unreadable(format!("signals cannot be caught: {error}")))?;
        let shop = Shop::new(&self.bookstore, &directory.join("shop"), self.port)?;
        let server = Server::start(self, &directory.join("server"))?;
        let hosts = if self.agents { &AGENTS[..] } else { &[] };
        let agents: Result<Vec<Process>, CommandError> =
            hosts.iter().map(|host| server.agent(host, &directory.join("server"))).collect();
        let _agents = agents?;
        say("The shop starts; the first time, its libraries are installed, which takes a minute.")?;
        shop.run(&["up", "--otlp", &format!("http://{}", self.otlp_http)])?;
        shop.run(&LOAD)?;
        say(&format!(
            "The shop is at http://127.0.0.1:{}/home?item=1, Laggard at {}.\nNormal operation for {} s.",
            self.port,
            server.url(),
            self.warm_up
        ))?;
        if signals.wait(Duration::from_secs(self.warm_up)) {
            return Ok(Status::Done);
        }
        let what = shop.summary(&self.fault)?;
        shop.run(&["break", &self.fault])?;
        say(&format!("Broken now: {what}."))?;
        let broken = Instant::now();
        while server.incident()?.is_none() {
            if broken.elapsed() > PATIENCE {
                return Err(CommandError::too_little(format!("no incident in {} s", PATIENCE.as_secs())));
            }
            if signals.wait(POLL) {
                return Ok(Status::Done);
            }
        }
        let seconds = broken.elapsed().as_secs();
        if signals.wait(VERDICT) {
            return Ok(Status::Done);
        }
        let incident = server.incident()?.unwrap_or_default();
        say(&format!("An incident opened after {seconds} s:\n\n{}", story(&incident)))?;
        say(&format!("\nRead on:\n{}", links(&server, &incident)))?;
        if std::io::stdin().is_terminal() {
            say("\nCtrl-C mends and stops everything.")?;
            while !signals.wait(Duration::from_secs(3_600)) {}
        }
        shop.run(&["mend", &self.fault])?;
        say("Mended. The shop and the server stop.")?;
        Ok(Status::Done)
    }
}

/// The clauses of an incident, a line each.
fn story(incident: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let clauses = incident["clauses"].as_array().into_iter().flatten();
    let lines: Vec<String> =
        clauses.map(|clause| format!("  {:<12} {}", text(&clause["title"]), text(&clause["text"]))).collect();
    if lines.is_empty() { format!("  {}", text(&incident["headline"])) } else { lines.join("\n") }
}

/// Pages and commands that show more.
fn links(server: &Server, incident: &Value) -> String {
    let url = server.url();
    let mut lines =
        vec![format!("  the incident    {url}/incidents/{}", incident["id"].as_str().unwrap_or_default())];
    if let Some(page) = incident["clauses"][0]["page"].as_str() {
        lines.push(format!("  its evidence    {url}{page}"));
        if let Some(trace) = server.example(page) {
            lines.push(format!("  a slow request  {url}{trace}"));
        }
    }
    lines.join("\n")
}

/// The bookstore in its data folder. Dropping it stops it.
struct Shop {
    program: PathBuf,
    data: PathBuf,
    port: String,
}

impl Shop {
    fn new(program: &Path, data: &Path, port: u16) -> Result<Shop, CommandError> {
        let Ok(program) = program.canonicalize() else {
            return Err(CommandError::usage(format!(
                "{} is not here: run this in a checkout of Laggard's repository, or name the program with --bookstore",
                program.display()
            )));
        };
        let unreadable = |error| CommandError::unreadable(format!("{}: {error}", data.display()));
        std::fs::create_dir_all(data).map_err(unreadable)?;
        let data = data.canonicalize().map_err(unreadable)?;
        let shop = Shop { program, data, port: port.to_string() };
        match shop.run(&["missing"])?.trim() {
            "" => Ok(shop),
            missing => Err(CommandError::unreadable(format!(
                "the shop's programs are not all installed; on Debian: apt-get install {missing}"
            ))),
        }
    }

    /// Runs a command of the shop and returns its output.
    fn run(&self, arguments: &[&str]) -> Result<String, CommandError> {
        let mut command = Command::new(&self.program);
        command.arg("--data").arg(&self.data).args(["--port", &self.port]).args(arguments);
        let output = command.stdin(Stdio::null()).output().map_err(|error| {
            CommandError::unreadable(format!("{}: {error}; it needs python3", self.program.display()))
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(CommandError::unreadable(format!("bookstore {}: {}", arguments.join(" "), stderr.trim())))
    }

    /// A description of a fault.
    fn summary(&self, fault: &str) -> Result<String, CommandError> {
        let listed = self.run(&["faults"])?;
        let mut lines = listed.lines().filter_map(|line| line.split_once(char::is_whitespace));
        let known = lines.find(|(name, _)| *name == fault).map(|(_, summary)| summary.trim().to_owned());
        known.ok_or_else(|| {
            CommandError::usage(format!("there is no fault {fault:?}; `bookstore faults` lists them"))
        })
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        if let Err(error) = self.run(&["down"]) {
            error.print();
        }
    }
}

/// This program with other arguments, in a separate process. Dropping it stops it.
struct Process(Child);

impl Process {
    /// Starts it with its output in a file.
    fn start(arguments: &[&str], log: &Path) -> Result<Process, CommandError> {
        let unreadable = |error| CommandError::unreadable(format!("{}: {error}", log.display()));
        let mut command = Command::new(std::env::current_exe().map_err(unreadable)?);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(log).map_err(unreadable)?);
        command.spawn().map(Process).map_err(unreadable)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already. What a server stored is not needed again; an agent's guardian removes its buffer.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running `laggard serve`.
struct Server {
    process: Process,
    address: String,
}

impl Server {
    fn start(demo: &LiveDemo, folder: &Path) -> Result<Server, CommandError> {
        let unreadable = |error| CommandError::unreadable(format!("{}: {error}", folder.display()));
        // Data of an earlier demonstration would count as normal operation.
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).map_err(unreadable)?;
        let (log, store) = (folder.join("serve.log"), folder.join("store").display().to_string());
        let mut arguments =
            vec!["serve", "--data", &store, "--http", &demo.http, "--otlp-http", &demo.otlp_http];
        arguments.extend(["--otlp-grpc", "off", "--zipkin", "off"]);
        arguments.extend(SERVER_SETTINGS.iter().flat_map(|setting| ["--set", setting]));
        let mut server = Server { process: Process::start(&arguments, &log)?, address: demo.http.clone() };
        let started = Instant::now();
        while server.get("/api/v1/status").is_none() {
            if server.process.has_ended() || started.elapsed() > START {
                let log_text = std::fs::read_to_string(&log).unwrap_or_default();
                let last = log_text.lines().last().unwrap_or("its log is empty");
                return Err(CommandError::unreadable(format!("laggard serve does not start: {last}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// An agent with the name of a replica: all replicas run on this machine.
    fn agent(&self, host: &str, folder: &Path) -> Result<Process, CommandError> {
        let spool = folder.join(format!("spool-{host}")).display().to_string();
        let arguments = ["agent", "--server", &self.url(), "--host", host, "--spool", &spool];
        Process::start(&arguments, &folder.join(format!("agent-{host}.log")))
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The API's response; `None` on failure.
    fn get(&self, path: &str) -> Option<Value> {
        let agent = ClientOptions::new(Duration::from_secs(30)).agent().ok()?;
        let mut answer = agent.get(format!("{}{path}", self.url())).call().ok()?;
        let body = answer.body_mut().read_to_string().ok()?;
        serde_json::from_str(&body).ok().filter(|_| answer.status().is_success())
    }

    /// The incident, once there is one.
    fn incident(&self) -> Result<Option<Value>, CommandError> {
        let listed = self.get("/api/v1/incidents");
        let mut listed = listed.ok_or_else(|| CommandError::unreadable("the server does not answer"))?;
        Ok(listed["incidents"].as_array_mut().and_then(|all| (!all.is_empty()).then(|| all.remove(0))))
    }

    /// The page of a slow request of the first suspect, with its call selected; `page` is that of the evidence.
    fn example(&self, page: &str) -> Option<String> {
        let window = page.split_once('?')?.1.split('&').filter_map(|pair| pair.split_once('='));
        let settings: Value = window
            .filter(|(key, _)| ["since", "until"].contains(key))
            .map(|(key, value)| (key.to_owned(), Value::from(value)))
            .collect();
        let server = ServerAddress { url: self.url(), token: None, tenant: None, authorities_pem: None };
        let form = WantedForm { output: "json", width: 80, color: false };
        let answer = query_server(&server, "diagnose", &settings, form).ok()?;
        let report: Value = serde_json::from_slice(&answer.report).ok()?;
        let suspect = &report["suspects"][0];
        let trace = suspect["trace_ids"][0].as_str()?;
        let document = self.get(&format!("/api/v1/traces/{trace}")).unwrap_or_default();
        let is_suspect =
            |span: &&Value| ["service", "operation"].iter().all(|name| span[name] == suspect[name]);
        let span = document["spans"].as_array().into_iter().flatten().find(is_suspect);
        let selected = span.and_then(|span| span["span"].as_str()).map(|span| format!("?span={span}"));
        Some(format!("/traces/{trace}{}", selected.unwrap_or_default()))
    }
}

fn say(text: &str) -> Result<(), CommandError> {
    print(&format!("{text}\n"))
}
