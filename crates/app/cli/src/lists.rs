//! Commands that list what the program knows (`formats`, `methods`, `schema`), and completions and the man page.

use crate::Arguments;
use crate::exit::{CommandError, Status};
use crate::output::print;
use clap::CommandFactory;
use laggard_diagnose::METHODS;
use laggard_formats::FORMATS;
use laggard_kernel_formats::KERNEL_FORMATS;
use laggard_metrics_questions::CHANGE_METHODS;
use laggard_model::MethodRow;
use laggard_report::SCHEMAS;
use std::fmt::Write;
use std::path::Path;

pub(crate) fn formats() -> Result<Status, CommandError> {
    let mut text = String::new();
    for format in FORMATS {
        let _ = writeln!(text, "{:<12} {}", format.name, format.title);
        let _ = writeln!(text, "{:<12} {}; {}", "", format.fills.name(), format.manual);
    }
    for format in KERNEL_FORMATS {
        let _ = writeln!(text, "{:<12} {}", format.name, format.about);
        let _ = writeln!(text, "{:<12} kernel events; {}", "", format.manual);
    }
    text.push_str(
        "\nEach plain, gzip or zstd, in files, folders, patterns, tar archives and on standard input;\nkernel events in \
         files, and in folders of CTF.\n",
    );
    print(&text)?;
    Ok(Status::Done)
}

pub(crate) fn methods() -> Result<Status, CommandError> {
    let mut text = String::new();
    METHODS.iter().for_each(|method| describe(&mut text, method));
    CHANGE_METHODS.iter().for_each(|method| describe(&mut text, method));
    print(&text)?;
    Ok(Status::Done)
}

fn describe<M>(text: &mut String, method: &MethodRow<M>) {
    let _ = writeln!(text, "{:<12} {}", method.name, method.question);
    let _ = writeln!(text, "{:<12} reads {}; {}", "", method.reads, method.source);
    let _ = writeln!(text, "{:<12} {}", "", method.manual);
}

/// The schema that is an OpenAPI document; not listed, since a running server has it at `/api/v1/openapi.json`.
const API: &str = "api";

/// The schemas of the tools that assistants have; not listed, since a client has them from `tools/list`.
const TOOLS: &str = "mcp";

/// The JSON Schema of a report, or the list of all.
pub(crate) fn schema(report: Option<&str>) -> Result<Status, CommandError> {
    let Some(name) = report else {
        let rows = SCHEMAS.iter().map(|schema| format!("{:<16} {}\n", schema.name, schema.title));
        return print(&rows.collect::<String>()).map(|()| Status::Done);
    };
    if name == API {
        return print(&format!("{:#}\n", laggard_server::openapi())).map(|()| Status::Done);
    }
    if name == TOOLS {
        return print(&format!("{:#}\n", crate::mcp::schemas())).map(|()| Status::Done);
    }
    let Some(schema) = SCHEMAS.iter().find(|schema| schema.name == name) else {
        let known: Vec<&str> = SCHEMAS.iter().map(|schema| schema.name).collect();
        return Err(CommandError::usage(format!(
            "there is no report {name:?}; there is {}",
            known.join(", ")
        )));
    };
    print(&format!("{:#}\n", (schema.schema)()))?;
    Ok(Status::Done)
}

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Status, CommandError> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "laggard", &mut out);
    print(&String::from_utf8_lossy(&out))?;
    Ok(Status::Done)
}

pub(crate) fn man() -> Result<Status, CommandError> {
    let mut out = Vec::new();
    let command = Arguments::command();
    let failed = |error| CommandError::unreadable(format!("cannot render the man page: {error}"));
    clap_mangen::Man::new(command.clone()).render(&mut out).map_err(failed)?;
    for subcommand in command.get_subcommands() {
        let name = format!("laggard-{}", subcommand.get_name());
        let page = clap_mangen::Man::new(subcommand.clone().name(name));
        page.render_description_section(&mut out).map_err(failed)?;
        page.render_options_section(&mut out).map_err(failed)?;
    }
    print(&String::from_utf8_lossy(&out))?;
    Ok(Status::Done)
}

/// Writes the pages of all commands, to which the page of the program refers.
pub(crate) fn man_pages(folder: &Path) -> Result<Status, CommandError> {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Arguments::command(), folder));
    let failed = |error| CommandError::unreadable(format!("cannot write to {}: {error}", folder.display()));
    written.map(|()| Status::Done).map_err(failed)
}
