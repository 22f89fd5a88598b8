//! `laggard serve`: ingests, stores, and answers until it is stopped.

use crate::exit::{CommandError, Status};
use crate::output::print;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use laggard_params::SetArgument;
use laggard_server::{
    OtelVariables, ServeEnvironment, ServeSettings, SettingSources, SettingText, check_health,
    environment_name, load_settings, serve,
};
use laggard_settings::Settings;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard serve                                        on this machine only; pages on http://127.0.0.1:4316
  laggard serve --data /var/lib/laggard --set store.keep_for=30d
  laggard serve --config /etc/laggard/laggard.yaml
  laggard serve --config laggard.yaml --check-config   check the configuration only

Every setting is available as --set KEY=VALUE, as an environment variable (store.keep_for: LAGGARD_STORE_KEEP_FOR) or in
the file; the first of these counts. SIGTERM and SIGINT stop it after requests in flight have finished; SIGHUP makes it read
tokens and certificates again.";

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

/// Where the settings come from: a file, flags of single settings, and `--set`.
#[derive(Args, Debug)]
pub(crate) struct Config {
    /// Configuration file (YAML) [default: the value of LAGGARD_CONFIG, else none]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: SettingFlags,
    /// Any setting of the configuration file; repeat for more (`laggard settings serve` lists them)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<SetArgument>,
}

/// Settings that have flags of their own, each with the name of its value.
const FLAGS: [(&str, &str); 7] = [
    ("http", "ADDRESS"),
    ("otlp_grpc", "ADDRESS"),
    ("otlp_http", "ADDRESS"),
    ("zipkin", "ADDRESS"),
    ("data", "DIR"),
    ("token_file", "FILE"),
    ("insecure", ""),
];

/// The flags of [`FLAGS`], with the help of their declarations.
#[derive(Debug, Default)]
struct SettingFlags {
    /// Keys and values.
    texts: Vec<(&'static str, String)>,
}

fn flag_name(key: &str) -> String {
    key.replace('_', "-")
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let mut command = command;
        ServeSettings::default().visit(&mut |row, default| {
            let Some((key, value_name)) = FLAGS.iter().find(|(key, _)| *key == row.name) else { return };
            let help = row.doc.trim().replace('`', "");
            let flag = Arg::new(*key).long(flag_name(key));
            let flag = match default.text().as_str() {
                "false" => flag.action(ArgAction::SetTrue).help(help),
                "off" => flag.value_name(*value_name).help(help),
                text => flag.value_name(*value_name).help(format!("{help} [default: {text}]")),
            };
            command = std::mem::take(&mut command).arg(flag);
        });
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        SettingFlags::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingFlags, clap::Error> {
        let mut flags = SettingFlags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (key, value_name) in FLAGS {
            let text = match value_name {
                "" => matches.get_flag(key).then(|| true.to_string()),
                _ => matches.get_one::<String>(key).cloned(),
            };
            self.texts.extend(text.map(|text| (key, text)));
        }
        Ok(())
    }
}

pub(crate) fn run(arguments: &Serve) -> Result<Status, CommandError> {
    let sources = arguments.config.sources();
    let settings = load_settings(&sources).map_err(CommandError::usage)?;
    if arguments.check_health {
        return check_health(&settings).map(|()| Status::Done).map_err(CommandError::unreadable);
    }
    let yaml = settings.to_yaml();
    let checked = settings.check().map_err(CommandError::usage)?;
    #[cfg(feature = "cluster")]
    let workers = crate::cluster::workers_of_server(&checked.raw.cluster)?;
    #[cfg(not(feature = "cluster"))]
    let workers = match checked.raw.cluster.workers.is_empty() {
        true => None,
        false => {
            return Err(CommandError::usage(
                "cluster.workers: this program cannot use workers; build it with --features cluster",
            ));
        }
    };
    if arguments.check_config {
        print(&yaml)?;
        return Ok(Status::Done);
    }
    let environment = ServeEnvironment {
        sources,
        notify_socket: std::env::var_os("NOTIFY_SOCKET"),
        otel: OtelVariables::read(|name| std::env::var(name).ok()),
        return_freed_memory: Some(crate::allocator::return_freed_memory),
        workers,
    };
    serve(checked, environment).map_err(|error| match error.is_of_settings() {
        true => CommandError::usage(error),
        false => CommandError::unreadable(error),
    })?;
    Ok(Status::Done)
}

impl Config {
    /// Flag before environment before file.
    fn sources(&self) -> SettingSources {
        let named = || std::env::var_os("LAGGARD_CONFIG").filter(|name| !name.is_empty());
        let file = self.config.clone().or_else(|| named().map(PathBuf::from));
        let texts = environment().into_iter().chain(self.texts()).collect();
        SettingSources { file, texts }
    }

    fn texts(&self) -> Vec<SettingText> {
        let text = |key: &str, text: &str, origin: String| SettingText {
            key: key.to_owned(),
            text: text.to_owned(),
            origin,
        };
        let set = self.set.iter().map(|set| text(&set.name, &set.value, "--set".to_owned()));
        let flags = &self.flags.texts;
        let flags = flags.iter().map(|(key, value)| text(key, value, format!("--{}", flag_name(key))));
        set.chain(flags).collect()
    }
}

/// Settings from environment variables. Other variables with our prefix are ignored: Kubernetes sets some for every
/// service, including one named laggard.
fn environment() -> Vec<SettingText> {
    let from_environment = |key: &str| {
        let name = environment_name(key);
        let text = std::env::var(&name).ok()?;
        Some(SettingText { key: key.to_owned(), text, origin: format!("environment variable {name}") })
    };
    ServeSettings::default().values().into_iter().filter_map(|(key, _)| from_environment(key)).collect()
}
