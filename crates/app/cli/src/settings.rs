//! `laggard settings`: what can be set by name, with ranges, defaults, and their sources.

use crate::exit::{CommandError, Status};
use crate::write::print;
use clap::{Args, ValueEnum};
use laggard_params::{SettingEntry, SettingsListing};
use std::fmt::Write;

const EXAMPLES: &str = "Examples:
  laggard settings diagnose
  laggard settings diagnose --output json
  laggard diagnose traces/ --set cv-min=1.5 --set tail-mad=4";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Settings {
    /// The question that has the settings; all of them if absent
    #[arg(value_name = "QUESTION", value_parser = clap::builder::PossibleValuesParser::new(SettingsListing::questions()))]
    question: Option<String>,
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

pub(crate) fn run(arguments: &Settings) -> Result<Status, CommandError> {
    let questions = match &arguments.question {
        Some(question) => vec![question.as_str()],
        None => SettingsListing::questions(),
    };
    let listings: Vec<SettingsListing> =
        questions.into_iter().filter_map(SettingsListing::from_question).collect();
    let text = match arguments.output {
        ListForm::Text => listings.iter().map(text).collect::<Vec<_>>().join("\n"),
        ListForm::Markdown => listings.iter().map(markdown).collect::<Vec<_>>().join("\n"),
        ListForm::Json => {
            let json = match listings.as_slice() {
                [one] => serde_json::to_string_pretty(one),
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
    for group in listing.settings.chunk_by(|one, next| one.group == next.group) {
        let _ = writeln!(out, "laggard {}: {}", listing.question, group[0].group);
        for entry in group {
            let _ = writeln!(out, "  {:<30} {:<12} {}", entry.name, entry.default, allowed(entry));
            wrap(&mut out, &format!("{}. Source of the default: {}.", entry.description, entry.source));
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
    for group in listing.settings.chunk_by(|one, next| one.group == next.group) {
        if group[0].group != listing.question {
            let _ = write!(out, "\n### {}\n", group[0].group);
        }
        out.push_str(
            "\n| name | default | allowed | meaning | source of the default |\n|---|---|---|---|---|\n",
        );
        for entry in group {
            let cells = [&entry.default, &allowed(entry), entry.description, entry.source];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(out, "| `{}` | {} |", entry.name, cells.join(" | "));
        }
    }
    out
}
