//! `laggard mcp`: the questions as tools of assistants, about local files or the data of a server.

mod calls;
mod file_tools;
mod readable;

use crate::exit::{CommandError, Status};
use crate::server::{Access, STORED_GROUP};
use clap::Args;
use file_tools::FileTools;
use laggard_mcp::{CallWork, RpcError, Tool, ToolAnswer, ToolServer, serve_lines};
use laggard_params::INSTRUCTIONS;
use laggard_server::client::{QueryError, ServerAddress, call_tool};
use laggard_system::available_threads;
use readable::ReadablePaths;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples, as commands of an assistant's configuration (docs/manual/mcp.md):
  laggard mcp /var/traces /var/metrics
  laggard mcp --server http://localhost:4316
  laggard mcp --server https://laggard.example.com --token-file ~/.laggard-token";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mcp {
    /// Folders and files that the tools may read, nothing else; relative paths are below the first [default: the current folder]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Number of threads of a question [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Memory for the data of a question; one is answered at a time
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    memory: usize,
    /// Query the data stored by this server (`laggard serve`) instead of reading files: http://localhost:4316
    #[arg(long, value_name = "URL", group = STORED_GROUP, conflicts_with_all = ["paths", "threads", "memory"])]
    server: Option<String>,
    #[command(flatten)]
    access: Access,
}

/// The lists of tools, with the schemas of their arguments and answers.
pub(crate) fn schemas() -> Value {
    let listed = |tools: Vec<Tool>| tools.iter().map(Tool::to_value).collect::<Vec<Value>>();
    json!({"files": listed(file_tools::tools()), "server": listed(laggard_server::tools())})
}

/// Calls that are forwarded to a server at a time; it has a queue of its own.
const FORWARDED_AT_ONCE: NonZeroUsize = NonZeroUsize::new(8).expect("not zero");

pub(crate) fn run(arguments: &Mcp) -> Result<Status, CommandError> {
    let service = match &arguments.server {
        Some(url) => Service::from_server(arguments.access.address(url)?)?,
        None => Service::from_files(FileTools::new(
            ReadablePaths::new(&arguments.paths)?,
            arguments.threads.unwrap_or_else(available_threads),
            arguments.memory,
        )),
    };
    if io::stdin().is_terminal() {
        // It waits for a program; a person would wait for it.
        let _ = writeln!(
            io::stderr(),
            "laggard: waiting for an assistant's messages on standard input; docs/manual/mcp.md has how to configure one"
        );
    }
    let server = ToolServer::new(service.tools, INSTRUCTIONS);
    serve_lines(io::stdin().lock(), io::stdout(), &server, service.workers, service.work)
        .map_err(|error| CommandError::unreadable(format!("cannot read standard input: {error}")))?;
    Ok(Status::Done)
}

/// Tools, and who answers their calls.
struct Service {
    tools: Vec<Tool>,
    workers: NonZeroUsize,
    work: Box<CallWork>,
}

impl Service {
    fn from_files(files: FileTools) -> Service {
        Service {
            tools: file_tools::tools(),
            workers: NonZeroUsize::MIN,
            work: Box::new(move |call, _| call.reply(&files.answer(&call.tool, call.arguments.clone()))),
        }
    }

    /// The tools are those of this version; another version of the server says what it does not know.
    fn from_server(server: ServerAddress) -> Result<Service, CommandError> {
        server.check().map_err(CommandError::usage)?;
        Ok(Service {
            tools: laggard_server::tools(),
            workers: FORWARDED_AT_ONCE,
            work: Box::new(move |call, _| match call_tool(&server, &call.tool, &call.arguments) {
                Ok(Ok(result)) => call.reply_with(result),
                Ok(Err(error)) => call.fail(&RpcError { data: None, ..error }),
                Err(
                    QueryError::Invalid(reason)
                    | QueryError::TooLittleData(reason)
                    | QueryError::Unanswered(reason),
                ) => call.reply(&ToolAnswer::failed(reason)),
            }),
        })
    }
}
