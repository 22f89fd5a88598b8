//! Forms of output that flags choose from.

use clap::ValueEnum;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OutputForm {
    /// A verdict card for a terminal
    Text,
    /// The report as data
    Json,
    /// For an incident channel, at most 40 lines
    Markdown,
    /// One self-contained page
    Html,
    /// The report as blocks (laggard schema document)
    Document,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}
