//! `laggard settings`: what can be set by name, with ranges, defaults, and their sources.

use crate::exit::{CommandError, Status};
use crate::output::print;
use clap::{Args, ValueEnum};
use laggard_params::{SettingEntry, SettingsListing};
use laggard_server::ServeSettings;
use std::fmt::Write;

const EXAMPLES: &str = "Examples:
  laggard settings diagnose
  laggard settings diagnose --output json
  laggard settings serve                               the server's configuration
  laggard diagnose traces/ --set cv-min=1.5 --set tail-mad=4";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Settings {
    /// The command that has the settings; all of them if absent
    #[arg(value_name = "COMMAND", value_parser = clap::builder::PossibleValuesParser::new(commands()))]
    command: Option<String>,
    /// Form of the list
    #[arg(long, value_enum, default_value_t = ListForm::Text)]
    output: ListForm,
}

/// Form of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ListForm {
    /// For a terminal
    Text,
    /// For programs
    Json,
    /// Tables, as in the manual
    Markdown,
}

/// The command whose settings are the server's configuration.
const SERVE: &str = "serve";

fn commands() -> Vec<String> {
    SettingsListing::questions().into_iter().chain([SERVE.to_owned()]).collect()
}

fn listing(command: &str) -> Option<SettingsListing> {
    match command {
        SERVE => Some(SettingsListing::from_settings::<ServeSettings>(SERVE)),
        question => SettingsListing::from_question(question),
    }
}

pub(crate) fn run(arguments: &Settings) -> Result<Status, CommandError> {
    let commands = match &arguments.command {
        Some(command) => vec![command.clone()],
        None => commands(),
    };
    let listings: Vec<SettingsListing> = commands.iter().filter_map(|command| listing(command)).collect();
    let text = match arguments.output {
        ListForm::Text => listings.iter().map(text).collect::<Vec<_>>().join("\n"),
        ListForm::Markdown => listings.iter().map(markdown).collect::<Vec<_>>().join("\n"),
        ListForm::Json => {
            let json = match listings.as_slice() {
                [listing] => serde_json::to_string_pretty(listing),
                all => serde_json::to_string_pretty(all),
            };
            json.map_err(CommandError::usage)? + "\n"
        }
    };
    print(&text)?;
    Ok(Status::Done)
}

/// Columns of a terminal that are used.
const WIDTH: usize = 96;

fn text(listing: &SettingsListing) -> String {
    let mut out = String::new();
    for group in listing.settings.chunk_by(|entry, next| entry.group == next.group) {
        let _ = writeln!(out, "laggard {}: {}", listing.question, group[0].group);
        for entry in group {
            let _ = writeln!(out, "  {:<30} {:<12} {}", entry.name, entry.default, allowed(entry));
            let source = match entry.source {
                "" => String::new(),
                source => format!(" Source of the default: {source}."),
            };
            wrap(&mut out, &format!("{}.{source}", entry.description));
        }
    }
    out
}

fn wrap(out: &mut String, text: &str) {
    const INDENT: &str = "     ";
    let mut line = INDENT.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= WIDTH {
            let _ = writeln!(out, "{line}");
            line = INDENT.to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

fn allowed(entry: &SettingEntry) -> String {
    if entry.unit.is_empty() { entry.allowed.clone() } else { format!("{}; {}", entry.allowed, entry.unit) }
}

fn markdown(listing: &SettingsListing) -> String {
    let mut out = format!("## `laggard {}`\n", listing.question.replace("kernel-", "kernel "));
    for group in listing.settings.chunk_by(|entry, next| entry.group == next.group) {
        if group[0].group != listing.question {
            let _ = write!(out, "\n### {}\n", group[0].group);
        }
        let has_sources = group.iter().any(|entry| !entry.source.is_empty());
        let (title, rule) = if has_sources { (" source of the default |", "---|") } else { ("", "") };
        let _ = writeln!(out, "\n| name | default | allowed | meaning |{title}\n|---|---|---|---|{rule}");
        for entry in group {
            let mut cells = vec![entry.default.clone(), allowed(entry), entry.description.to_owned()];
            cells.extend(has_sources.then(|| entry.source.to_owned()));
            let cells: Vec<String> = cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(out, "| `{}` | {} |", entry.name, cells.join(" | "));
        }
    }
    out
}
