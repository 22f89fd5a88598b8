//! `laggard serve`: ingests, stores, and answers until it is stopped.

use crate::exit::{CommandError, Status};
use crate::write::print;
use clap::Args;
use laggard_server::{
    Origin, ServeSettings, SettingSources, SettingText, check_health, environment_name, fields,
    load_settings, serve,
};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard serve                                        on this machine only; pages on http://127.0.0.1:4316
  laggard serve --data /var/lib/laggard --set store.keep_for=30d
  laggard serve --config /etc/laggard/laggard.yaml
  laggard serve --config laggard.yaml --check-config   check the configuration only

Every setting can be given as --set KEY=VALUE, as an environment variable (store.keep_for: LAGGARD_STORE_KEEP_FOR) or in
the file; the first of these counts. SIGTERM and SIGINT stop it after requests in flight have finished.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) config: Config,
    /// Print the effective configuration (secrets hidden) or its first error, and exit
    #[arg(long)]
    pub(crate) check_config: bool,
    /// Check health of the running server; exit 0 if healthy
    #[arg(long, conflicts_with = "check_config")]
    pub(crate) check_health: bool,
}

/// Where the settings come from.
#[derive(Args, Debug)]
pub(crate) struct Config {
    /// Configuration file (YAML) [default: the value of LAGGARD_CONFIG, else none]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address for API and pages [default: 127.0.0.1:4316]
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Address for OTLP/gRPC, or off [default: 127.0.0.1:4317]
    #[arg(long, value_name = "ADDRESS")]
    otlp_grpc: Option<String>,
    /// Address for OTLP/HTTP, or off [default: 127.0.0.1:4318]
    #[arg(long, value_name = "ADDRESS")]
    otlp_http: Option<String>,
    /// Address for Zipkin spans, or off [default: 127.0.0.1:9411]
    #[arg(long, value_name = "ADDRESS")]
    zipkin: Option<String>,
    /// Data folder [default: laggard-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// File with a token that clients must send
    #[arg(long, value_name = "FILE")]
    token_file: Option<String>,
    /// Allow non-loopback addresses without authentication
    #[arg(long)]
    insecure: bool,
    /// Any setting of the configuration file; repeat for more
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<Setting>,
}

/// One setting with its value.
#[derive(Clone, Debug)]
struct Setting {
    key: String,
    text: String,
}

pub(crate) fn run(arguments: &Serve) -> Result<Status, CommandError> {
    let settings = arguments.config.settings()?;
    if arguments.check_health {
        return check_health(&settings).map(|()| Status::Done).map_err(CommandError::unreadable);
    }
    let yaml = settings.to_yaml();
    let checked = settings.check().map_err(CommandError::usage)?;
    if arguments.check_config {
        print(&yaml)?;
        return Ok(Status::Done);
    }
    serve(checked, std::env::var_os("NOTIFY_SOCKET").as_deref()).map_err(CommandError::unreadable)?;
    Ok(Status::Done)
}

impl Config {
    /// Flag before environment before file.
    fn settings(&self) -> Result<ServeSettings, CommandError> {
        let named = || std::env::var_os("LAGGARD_CONFIG").filter(|name| !name.is_empty());
        let file = self.config.clone().or_else(|| named().map(PathBuf::from));
        let texts = environment().into_iter().chain(self.flags()).collect();
        load_settings(&SettingSources { file, texts }).map_err(CommandError::usage)
    }

    fn flags(&self) -> Vec<SettingText> {
        let single = [
            ("http", "--http", &self.http),
            ("otlp_grpc", "--otlp-grpc", &self.otlp_grpc),
            ("otlp_http", "--otlp-http", &self.otlp_http),
            ("zipkin", "--zipkin", &self.zipkin),
            ("data", "--data", &self.data),
            ("token_file", "--token-file", &self.token_file),
        ];
        let flag = |key: &str, text: &str, name: &str| SettingText {
            key: key.to_owned(),
            text: text.to_owned(),
            origin: Origin::Flag(name.to_owned()),
        };
        let single =
            single.into_iter().filter_map(|(key, name, text)| Some(flag(key, text.as_deref()?, name)));
        let insecure = self.insecure.then(|| flag("insecure", "true", "--insecure"));
        let any = self.set.iter().map(|setting| flag(&setting.key, &setting.text, "--set"));
        any.chain(single).chain(insecure).collect()
    }
}

/// Settings from environment variables. Other variables with our prefix are ignored: Kubernetes sets some for every
/// service, including one named laggard.
fn environment() -> Vec<SettingText> {
    let from_environment = |key: &str| {
        let name = environment_name(key);
        let text = std::env::var(&name).ok()?;
        Some(SettingText { key: key.to_owned(), text, origin: Origin::Environment(name) })
    };
    fields().iter().filter_map(|field| from_environment(field.key)).collect()
}

fn setting(text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once('=').ok_or("give KEY=VALUE, for example store.keep_for=30d")?;
    Ok(Setting { key: key.trim().to_owned(), text: value.to_owned() })
}
