//! Complete outputs compared with golden files and checked for the properties of each output format.

#![expect(clippy::unwrap_used, reason = "tests")]

mod capacity;
mod cause;
mod changes;
mod clauses;
mod comparison;
mod contrast;
mod fixtures;
mod golden;
mod headline;
mod html;
mod json_schema;
mod kernel;
mod markdown;
mod markup_reader;
mod properties;
mod schemas;
mod signature;
mod text;

use laggard_report::{ColorChoice, Output, Report, TextStyle, render};

const PLAIN: TextStyle = TextStyle { color: ColorChoice::Off, width: 100 };

fn rendered(output: Output, report: &Report, style: &TextStyle) -> String {
    let mut bytes = Vec::new();
    render(output, report, style, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}
