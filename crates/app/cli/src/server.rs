//! Questions to a server instead of files.

use crate::exit::{CommandError, Status};
use crate::small_files::text_of;
use crate::write::Destination;
use clap::Args;
use laggard_server::client::{QueryError, ServerAddress, ask};
use serde::Serialize;
use std::path::PathBuf;

/// Which server is asked.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Asking a server (docs/manual/api.md)")]
pub(crate) struct Server {
    /// Ask this server (`laggard serve`) about what it keeps, instead of reading files: http://localhost:4316
    #[arg(long, value_name = "URL", conflicts_with_all = ["paths", "format", "columns", "threads", "memory"])]
    server: Option<String>,
    /// File with a bearer token for the server
    #[arg(long, value_name = "FILE", requires = "server")]
    token_file: Option<PathBuf>,
    /// Tenant whose data are meant, where a server keeps several apart
    #[arg(long, value_name = "NAME", requires = "server")]
    tenant: Option<String>,
    /// File with the certificates (PEM) of the authorities to trust, instead of the well-known ones
    #[arg(long = "server-ca-file", value_name = "FILE", requires = "server")]
    ca_file: Option<PathBuf>,
}

/// What a verdict means for the exit status.
pub(crate) struct Verdicts {
    /// Verdicts that `--exit-code` tells.
    pub(crate) found: &'static [&'static str],
    /// Whether it was given.
    pub(crate) exit_code: bool,
}

impl Server {
    /// Whether a server is asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.server.is_some()
    }

    /// Asks the server, if there is one, and writes its answer; `None` when there is none.
    pub(crate) fn answer(
        &self,
        question: &str,
        settings: &impl Serialize,
        destination: &Destination<'_>,
        verdicts: &Verdicts,
    ) -> Option<Result<Status, CommandError>> {
        let url = self.server.as_ref()?;
        Some(self.ask(url, question, settings, destination, verdicts))
    }

    fn ask(
        &self,
        url: &str,
        question: &str,
        settings: &impl Serialize,
        destination: &Destination<'_>,
        verdicts: &Verdicts,
    ) -> Result<Status, CommandError> {
        let server = ServerAddress {
            url: url.to_owned(),
            token: self.token_file.as_deref().map(text_of).transpose()?.map(|token| token.trim().to_owned()),
            tenant: self.tenant.clone(),
            authorities_pem: self.ca_file.as_deref().map(text_of).transpose()?.map(String::into_bytes),
        };
        let settings = serde_json::to_value(settings).map_err(CommandError::usage)?;
        let answer =
            ask(&server, question, &settings, destination.wanted()).map_err(|error| match error {
                QueryError::Invalid(_) => CommandError::usage(error),
                QueryError::TooLittleData(_) => CommandError::too_little(error),
                QueryError::Unanswered(_) => CommandError::unreadable(error),
            })?;
        destination.write_bytes(&answer.report)?;
        Ok(match answer.verdict.as_str() {
            "insufficient-data" => Status::TooLittle,
            verdict if verdicts.exit_code && verdicts.found.contains(&verdict) => Status::Suspects,
            _ => Status::Done,
        })
    }
}
