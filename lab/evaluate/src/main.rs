//! `cargo xtask evaluate`: the scorecard and its page of misses on standard output, or into `docs/`.

use laggard_evaluate::{Options, Results, misses_page, run, scorecard};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask evaluate [OPTION…]
    --data DIR         measured data, laid out like ../shared/data (which is the default, when it is there)
    --only TEXT        only groups whose SET/NAME contains this: tracebench, online-boutique, delag, simulator/quiet
    --method NAME      only this method; repeat for more
    --seeds N          seeds of each simulated incident (5)
    --first-seed N     the first of them (1)
    --requests N       simulated requests of each of three services (2700)
    --profile NAME     only simulated days of this kind of system
    --calls-max N      Laggard's methods diagnose at most so many calls of a case; requests are left out beyond, as from a store
    --save FILE        write the results to a file, to be merged later, instead of printing pages
    --merge FILE…      no run: the pages of saved results; of equal cases the later file's
    --write            write docs/scorecard.md and docs/scorecard-misses.md instead of printing
";

struct Arguments {
    options: Options,
    write: bool,
    save: Option<PathBuf>,
    merge: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|arguments| evaluate(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let shared = laggard_testkit::measured_data();
    let data = shared.exists().then_some(shared);
    let mut out = Arguments {
        options: Options { data, ..Options::default() },
        write: false,
        save: None,
        merge: vec![],
    };
    let mut merges = false;
    while let Some(flag) = words.next() {
        if flag == "--write" {
            out.write = true;
            continue;
        }
        if merges && !flag.starts_with("--") {
            out.merge.push(PathBuf::from(flag));
            continue;
        }
        merges = flag == "--merge";
        let value =
            words.next().ok_or_else(|| format!("{flag} needs a value, or is not known\n\n{USAGE}"))?;
        let number = || value.parse().map_err(|_| format!("{flag} takes a number, not {value:?}"));
        let options = &mut out.options;
        match flag.as_str() {
            "--data" => options.data = Some(PathBuf::from(&value)),
            "--only" => options.only = Some(value),
            "--method" => options.methods.push(value),
            "--seeds" => options.seeds = number()?,
            "--first-seed" => options.first_seed = number()?,
            "--calls-max" => options.calls_max = Some(number()?),
            "--profile" => options.profile = Some(value),
            "--save" => out.save = Some(PathBuf::from(value)),
            "--merge" => out.merge.push(PathBuf::from(value)),
            "--requests" => options.requests = number()?.clamp(1, 1_000_000) as u32,
            _ => return Err(format!("{flag} is not known\n\n{USAGE}")),
        }
    }
    Ok(out)
}

fn evaluate(arguments: &Arguments) -> Result<(), String> {
    let results = match arguments.merge.as_slice() {
        [] => measured(&arguments.options)?,
        saved => merged(saved)?,
    };
    if let Some(path) = &arguments.save {
        let text = serde_json::to_string(&results).map_err(|error| error.to_string())?;
        return write(path, &text);
    }
    let (scorecard, misses) = (scorecard(&results), misses_page(&results));
    if !arguments.write {
        let text = format!("{scorecard}\n{misses}");
        return std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string());
    }
    write(&repository().join("docs/scorecard.md"), &scorecard)?;
    write(&repository().join("docs/scorecard-misses.md"), &misses)
}

fn measured(options: &Options) -> Result<Results, String> {
    if options.data.is_none() {
        say("there is no ../shared/data, and no --data: only the simulator is run\n");
    }
    run(options, &mut |line| say(&format!("{line}\n")))
}

fn merged(saved: &[PathBuf]) -> Result<Results, String> {
    let mut all = Results::default();
    for path in saved {
        let error = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|cause| error(&cause))?;
        all.merge(serde_json::from_str(&text).map_err(|cause| error(&cause))?);
    }
    Ok(all)
}

/// Creates the folder too.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, text)).map_err(|error| format!("{}: {error}", path.display()))
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Progress and errors; a reader that went away is no reason to stop.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Arguments, String> {
        parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn options_are_read() {
        let arguments = parsed(&["--only", "delag", "--seeds", "3", "--write", "--data", "x"]).unwrap();
        assert!(arguments.write);
        assert_eq!(arguments.options.seeds, 3);
        assert_eq!(arguments.options.only.as_deref(), Some("delag"));
        assert_eq!(arguments.options.data.as_deref(), Some(Path::new("x")));
    }

    #[test]
    fn several_files_are_merged() {
        let arguments = parsed(&["--merge", "a.json", "b.json", "--write"]).unwrap();
        assert_eq!(arguments.merge, ["a.json", "b.json"].map(PathBuf::from));
        assert!(arguments.write && arguments.save.is_none());
        assert!(parsed(&["--seeds", "3", "b.json"]).is_err());
    }

    #[test]
    fn mistakes_are_errors() {
        let error = |words| parsed(words).err().unwrap_or_default();
        assert!(error(&["--seeds", "few"]).contains("few"));
        assert!(error(&["--nonsense", "1"]).contains("--only TEXT"));
        assert!(error(&["--only"]).contains("needs a value"));
    }
}
