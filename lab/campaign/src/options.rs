//! The command line.

use crate::server::Ports;
use crate::{CampaignError, repository};
use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str = "\
cargo xtask campaign [OPTION…]
    --faults A,B       these faults of the bookstore (all, without the harmless days)
    --harmless [A,B]   harmless days instead (all)
    --runs N           runs of each (1)
    --warm-up MINUTES  normal operation before the first fault (10)
    --minutes N        longest time that a fault lasts (8)
    --after MINUTES    time that a fault lasts after its incident opened (2.5)
    --clients N        clients of the shop (30)
    --port N           the first of the shop's 14 ports (18400)
    --serve-port N     the server's port; spans are received two further on (16 after --port)
    --running          the shop runs already, with its history: it is neither started nor stopped, and not warmed up
    --agents           record the kernel of the replicas, as root
    --folder DIR       folder of the shop and of the recordings (target/campaign)
    --laggard FILE     the program (target/release/laggard)
    --replay DIR…      recordings instead of the shop, their times moved to now
    --judge DIR…       recordings are judged again, as they are
    --note RUN TEXT    why a run is a miss, for the page
    --results FILE     results that accumulate, a line each (lab/campaign/results.jsonl)
    --page FILE        the page of all results (docs/campaign.md)
    --write            only writes the page, which every other run does as well
";

/// The requested action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// Faults of the shop.
    Live(Faults),
    /// Recordings, sent to a server again.
    Replay(Vec<PathBuf>),
    /// Recordings, judged again.
    Judge(Vec<PathBuf>),
    /// Why a run is a miss.
    Note(String, String),
    /// The page alone.
    Page,
}

/// Which faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Faults {
    /// Those in which something is wrong.
    All,
    /// Those in which nothing is.
    Harmless,
    /// By name.
    Named(Vec<String>),
}

/// All options.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) work: Work,
    pub(crate) runs: u32,
    pub(crate) warm_up: Duration,
    pub(crate) fault_max: Duration,
    pub(crate) after: Duration,
    pub(crate) clients: u32,
    pub(crate) first_port: u16,
    serve_port: Option<u16>,
    pub(crate) is_running: bool,
    pub(crate) agents: bool,
    pub(crate) folder: PathBuf,
    pub(crate) laggard: PathBuf,
    pub(crate) results: PathBuf,
    pub(crate) page: PathBuf,
}

impl Options {
    fn new() -> Options {
        Options {
            work: Work::Live(Faults::All),
            runs: 1,
            warm_up: minutes(10.0),
            fault_max: minutes(8.0),
            after: minutes(2.5),
            clients: 30,
            first_port: 18_400,
            serve_port: None,
            is_running: false,
            agents: false,
            folder: repository("target/campaign"),
            laggard: repository("target/release/laggard"),
            results: repository("lab/campaign/results.jsonl"),
            page: repository("docs/campaign.md"),
        }
    }

    /// Reads the command line.
    ///
    /// # Errors
    /// The invalid argument and the usage.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Options, CampaignError> {
        let mut out = Options::new();
        let mut words = words.peekable();
        while let Some(flag) = words.next() {
            let mut values = Vec::new();
            while let Some(value) = words.next_if(|word| !word.starts_with("--")) {
                values.push(value);
            }
            out.set(&flag, values)?;
        }
        Ok(out)
    }

    /// Where the server listens.
    pub(crate) fn ports(&self) -> Ports {
        let http = self.serve_port.unwrap_or(self.first_port + 16);
        Ports { http, otlp: http + 2 }
    }

    fn set(&mut self, flag: &str, values: Vec<String>) -> Result<(), CampaignError> {
        let paths = || values.iter().map(PathBuf::from).collect::<Vec<_>>();
        let single = || match values.as_slice() {
            [value] => Ok(value.as_str()),
            _ => Err(format!("{flag} takes one value, not {}\n\n{USAGE}", values.len())),
        };
        let number = || single()?.parse::<f64>().map_err(|_| format!("{flag} takes a number\n\n{USAGE}"));
        let count = |max: f64| match number()? {
            number if (1.0..=max).contains(&number) && number.fract() == 0.0 => Ok(number as u32),
            number => Err(format!("{flag} takes a number from 1 to {max}, not {number}")),
        };
        let span = || match number()? {
            number if (0.0..=600.0).contains(&number) => Ok(minutes(number)),
            number => Err(format!("{flag} takes 0 to 600 minutes, not {number}")),
        };
        let names = |values: &[String]| {
            values.iter().flat_map(|value| value.split(',').map(str::to_owned)).collect::<Vec<_>>()
        };
        match (flag, values.len()) {
            ("--faults", 1..) => self.work = Work::Live(Faults::Named(names(&values))),
            ("--harmless", 0) => self.work = Work::Live(Faults::Harmless),
            ("--harmless", _) => self.work = Work::Live(Faults::Named(names(&values))),
            ("--replay", 1..) => self.work = Work::Replay(paths()),
            ("--judge", 1..) => self.work = Work::Judge(paths()),
            ("--note", 2..) => self.work = Work::Note(values[0].clone(), values[1..].join(" ")),
            ("--write", 0) => self.work = Work::Page,
            ("--agents", 0) => self.agents = true,
            ("--running", 0) => self.is_running = true,
            ("--serve-port", _) => self.serve_port = Some(count(65_000.0)? as u16),
            ("--runs", _) => self.runs = count(1_000.0)?,
            ("--clients", _) => self.clients = count(10_000.0)?,
            ("--port", _) => self.first_port = count(65_000.0)? as u16,
            ("--warm-up", _) => self.warm_up = span()?,
            ("--minutes", _) => self.fault_max = span()?,
            ("--after", _) => self.after = span()?,
            ("--folder", _) => self.folder = PathBuf::from(single()?),
            ("--laggard", _) => self.laggard = PathBuf::from(single()?),
            ("--results", _) => self.results = PathBuf::from(single()?),
            ("--page", _) => self.page = PathBuf::from(single()?),
            _ => return Err(format!("{flag} is not known, or lacks its value\n\n{USAGE}")),
        }
        Ok(())
    }
}

fn minutes(minutes: f64) -> Duration {
    Duration::from_secs_f64(60.0 * minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options, CampaignError> {
        Options::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let options = parsed("--faults errors,leak --runs 5 --minutes 0.5 --agents").unwrap();
        assert_eq!(options.work, Work::Live(Faults::Named(vec!["errors".into(), "leak".into()])));
        assert_eq!((options.runs, options.fault_max.as_secs(), options.agents), (5, 30, true));
        assert_eq!(parsed("--harmless").unwrap().work, Work::Live(Faults::Harmless));
        assert_eq!(parsed("--replay a b").unwrap().work, Work::Replay(vec!["a".into(), "b".into()]));
        assert_eq!(parsed("").unwrap().work, Work::Live(Faults::All));
    }

    #[test]
    fn mistakes_are_errors() {
        for words in
            ["--runs", "--runs 0", "--runs 1.5", "--minutes x", "--minutes 1 2", "--nonsense", "--replay"]
        {
            assert!(parsed(words).is_err(), "{words}");
        }
    }
}
