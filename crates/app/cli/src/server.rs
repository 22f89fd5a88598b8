//! Questions to a server instead of files.

use crate::exit::{CommandError, Status, Verdicts};
use crate::output::RunOptions;
use crate::small_files::text_of;
use crate::trace_source::SOURCE_GROUP;
use clap::Args;
use laggard_server::client::{QueryError, ServerAddress, query_server};
use serde::Serialize;
use std::path::PathBuf;

/// The group of what names stored data, one of which can be asked.
pub(crate) const STORED_GROUP: &str = "stored-data";

/// The server that answers instead of files.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Querying a server (docs/manual/api.md)")]
pub(crate) struct Server {
    /// Query the data stored by this server (`laggard serve`) instead of reading files: http://localhost:4316
    #[arg(long, value_name = "URL", group = STORED_GROUP, conflicts_with_all = ["paths", "format", "columns", "threads", "memory", "beyond_memory", "spill_folder", SOURCE_GROUP])]
    server: Option<String>,
    #[command(flatten)]
    access: Access,
}

/// How the server that `--server` names is reached.
#[derive(Args, Debug, Default)]
#[group(skip)]
pub(crate) struct Access {
    /// File with a bearer token for the server
    #[arg(long, value_name = "FILE", requires = "server", hide = true)]
    token_file: Option<PathBuf>,
    /// Tenant to query, where the server has several
    #[arg(long, value_name = "NAME", requires = STORED_GROUP, hide = true)]
    tenant: Option<String>,
    /// File with the certificates (PEM) of the authorities to trust, instead of the well-known ones
    #[arg(long = "server-ca-file", value_name = "FILE", requires = "server", hide = true)]
    ca_file: Option<PathBuf>,
}

impl Access {
    /// The server at a URL.
    pub(crate) fn address(&self, url: &str) -> Result<ServerAddress, CommandError> {
        Ok(ServerAddress {
            url: url.to_owned(),
            token: self.token_file.as_deref().map(text_of).transpose()?.map(|token| token.trim().to_owned()),
            tenant: self.tenant.clone(),
            authorities_pem: self.ca_file.as_deref().map(text_of).transpose()?.map(String::into_bytes),
        })
    }
}

impl Server {
    /// Whether `--server` is set.
    pub(crate) fn is_set(&self) -> bool {
        self.server.is_some()
    }

    /// The tenant whose stored data is read.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.access.tenant.as_deref()
    }

    /// Queries the server and writes its answer; `None` without `--server`.
    pub(crate) fn answer(
        &self,
        question: &str,
        settings: &impl Serialize,
        run: &RunOptions,
        verdicts: &Verdicts,
    ) -> Option<Result<Status, CommandError>> {
        let url = self.server.as_ref()?;
        Some(self.query(url, question, settings, run, verdicts))
    }

    fn query(
        &self,
        url: &str,
        question: &str,
        settings: &impl Serialize,
        run: &RunOptions,
        verdicts: &Verdicts,
    ) -> Result<Status, CommandError> {
        let server = self.access.address(url)?;
        let settings = serde_json::to_value(settings).map_err(CommandError::usage)?;
        let answer = query_server(&server, question, &settings, run.wanted()).map_err(unanswered)?;
        run.write_bytes(&answer.report)?;
        Ok(verdicts.status(&answer.verdict))
    }
}

/// Why there is no report.
pub(crate) fn unanswered(error: QueryError) -> CommandError {
    match error {
        QueryError::Invalid(_) => CommandError::usage(error),
        QueryError::TooLittleData(_) => CommandError::too_little(error),
        QueryError::Unanswered(_) => CommandError::unreadable(error),
    }
}
