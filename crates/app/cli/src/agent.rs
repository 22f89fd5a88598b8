//! `laggard agent`: a flight recorder of this host, for a server.

use crate::exit::{CommandError, Status};
use crate::record::GUARDIAN;
use crate::small_files::text_of;
use clap::Args;
use laggard_agent::{Agent, AgentError, AgentSettings, RecordRule, Recorder, ServerAccess};
use laggard_model::Timestamp;
use laggard_record::{FlightRecorder, FlightSettings, GuardianProgram, StopSignals};
use laggard_system::now;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "Examples:
  sudo laggard agent --server http://laggard.example:4316
  sudo laggard agent --server https://laggard.example --token-file /etc/laggard/agent-token --host web-1

It records nothing until the server's configuration names this host (recordings.hosts), and sends nothing that the server
does not request. What it records: docs/manual/agent.md. It may be stopped, killed, and restarted at any time.

Exit status: 0 after SIGTERM or SIGINT, 2 invalid usage, 3 the spool cannot be used.";

/// Folder of recordings that are not yet sent.
const SPOOL: &str = "/var/lib/laggard-agent";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AgentArguments {
    /// The server (`laggard serve`): http://localhost:4316
    #[arg(long, value_name = "URL")]
    server: String,
    /// File with a bearer token for the server
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Tenant of the recordings, where the server has several
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// File with the certificates (PEM) of the authorities to trust for the server, instead of the well-known ones
    #[arg(long, value_name = "FILE")]
    server_ca_file: Option<PathBuf>,
    /// Name of this host, as the replicas of spans have it [default: the name of the machine]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Folder of recordings that are not yet sent
    #[arg(long, value_name = "DIR", default_value = SPOOL)]
    spool: PathBuf,
}

pub(crate) fn run(arguments: &AgentArguments) -> Result<Status, CommandError> {
    let mut signals = StopSignals::catch()
        .map_err(|error| CommandError::unreadable(format!("signals cannot be caught: {error}")))?;
    let spool = arguments.spool.clone();
    let guardian = guardian()?;
    let start = move |rule: &RecordRule| {
        let settings = FlightSettings {
            buffer_bytes: rule.buffer_bytes,
            folder: spool.clone(),
            guardian: guardian.clone(),
        };
        let recorder = FlightRecorder::start(&settings).map_err(|error| error.to_string())?;
        Ok(Box::new(KernelRecorder(recorder)) as Box<dyn Recorder>)
    };
    let mut agent = Agent::new(settings(arguments)?, Box::new(start)).map_err(|error| match error {
        AgentError::Settings(_) => CommandError::usage(error),
        _ => CommandError::unreadable(error),
    })?;
    loop {
        let round = agent.round(Instant::now(), now());
        for message in &round.messages {
            // A closed standard error does not matter.
            let _ = writeln!(io::stderr(), "laggard agent: {message}");
        }
        if signals.wait(round.pause) {
            return Ok(Status::Done);
        }
    }
}

fn settings(arguments: &AgentArguments) -> Result<AgentSettings, CommandError> {
    let text = |file: &Option<PathBuf>| file.as_deref().map(text_of).transpose();
    Ok(AgentSettings {
        server: ServerAccess {
            url: arguments.server.clone(),
            token: text(&arguments.token_file)?.map(|token| token.trim().to_owned()),
            tenant: arguments.tenant.clone(),
            authorities_pem: text(&arguments.server_ca_file)?.map(String::into_bytes),
        },
        host: match &arguments.host {
            Some(host) => host.clone(),
            None => machine_name()?,
        },
        spool: arguments.spool.clone(),
    })
}

fn machine_name() -> Result<String, CommandError> {
    let file = Path::new("/proc/sys/kernel/hostname");
    text_of(file).map(|name| name.trim().to_owned())
}

fn guardian() -> Result<GuardianProgram, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::unreadable(format!("this program's own file is not known: {error}"))
    })?;
    Ok(GuardianProgram { program, arguments: vec![GUARDIAN.into()] })
}

/// The kernel's scheduler events as what the agent hands over.
struct KernelRecorder(FlightRecorder);

impl Recorder for KernelRecorder {
    fn recorded_events(&self) -> u64 {
        self.0.recorded_events()
    }

    fn pause(&mut self) -> Result<(), String> {
        self.0.pause().map_err(|error| error.to_string())
    }

    fn resume(&mut self) -> Result<(), String> {
        self.0.resume().map_err(|error| error.to_string())
    }

    fn snapshot(&mut self, since: Timestamp, until: Timestamp, out: &mut File) -> Result<u64, String> {
        let written = self.0.snapshot((since, until), out);
        written.map(|snapshot| snapshot.events).map_err(|error| error.to_string())
    }
}
