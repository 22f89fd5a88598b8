//! Writes sample reports in every form: `cargo run -p laggard-report --example sample_report -- DIRECTORY`.

#[path = "../tests/it/fixtures.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use more of it")]
mod fixtures;

use laggard_report::{ColorChoice, Output, TextStyle, render};
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory =
        env::args_os().nth(1).map_or_else(|| env::temp_dir().join("laggard-samples"), PathBuf::from);
    fs::create_dir_all(&directory)?;
    let style = TextStyle { color: ColorChoice::On, width: 100 };
    for fixture in fixtures::all() {
        for (output, extension) in Output::ALL.into_iter().zip(["txt", "json", "md", "html"]) {
            let mut file = fs::File::create(directory.join(format!("{}.{extension}", fixture.name)))?;
            render(output, &fixture.report, &style, &mut file)?;
        }
    }
    Ok(())
}
