//! The commands of `examples/bookstore`.

use crate::{CampaignError, repository};
use laggard_system::http::ClientOptions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// Longest time for an answer of the shop, also while it is broken.
const ANSWER: Duration = Duration::from_secs(30);
/// Requests of which one must succeed, a second apart.
const ATTEMPTS: u32 = 10;

/// A shop in its data folder. Dropping it stops it if it was started by this program.
pub(crate) struct Bookstore {
    data: PathBuf,
    first_port: u16,
    stops: bool,
}

impl Bookstore {
    /// A shop, started or not.
    ///
    /// # Errors
    /// When programs are missing, with what to install.
    pub(crate) fn new(data: &Path, first_port: u16, stops: bool) -> Result<Bookstore, CampaignError> {
        // PostgreSQL, which does not run as root, must be able to enter it.
        std::fs::create_dir_all(data).map_err(|error| crate::in_file(data, &error))?;
        let shop = Bookstore { data: data.to_owned(), first_port, stops };
        match shop.run(&["missing"])?.trim() {
            "" => Ok(shop),
            missing => Err(format!("the bookstore needs: apt-get install {missing}")),
        }
    }

    /// Runs a command of the shop: what it prints.
    ///
    /// # Errors
    /// When it fails, with what it says.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, CampaignError> {
        let mut command = Command::new(repository("examples/bookstore/bookstore"));
        command.arg("--data").arg(&self.data).args(["--port", &self.first_port.to_string()]);
        let output = command.args(arguments).output();
        let output = output.map_err(|error| format!("bookstore {arguments:?}: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!("bookstore {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Whether users get answers: a run of a shop that was stopped by something else is no run. The first ones after a restart may
    /// fail, by connections that were open before.
    ///
    /// # Errors
    /// When there is no answer, or an error.
    pub(crate) fn check(&self) -> Result<(), CampaignError> {
        let url = format!("http://127.0.0.1:{}/home?item=1", self.first_port);
        let failure = |error: &dyn std::fmt::Display| format!("the shop does not answer at {url}: {error}");
        let agent = ClientOptions::new(ANSWER).agent().map_err(|error| failure(&error))?;
        let mut answers = (0..ATTEMPTS).map(|attempt| {
            sleep(Duration::from_secs(u64::from(attempt > 0)));
            let answer = agent.get(&url).call().map_err(|error| failure(&error))?;
            if answer.status().is_success() { Ok(()) } else { Err(failure(&answer.status())) }
        });
        answers.find(Result::is_ok).unwrap_or_else(|| Err(failure(&"no answer of several was a success")))
    }

    /// The names of all faults, or of the harmless days.
    ///
    /// # Errors
    /// When the command fails.
    pub(crate) fn faults(&self, kind: &str) -> Result<Vec<String>, CampaignError> {
        let listed = self.run(&["faults", "--kind", kind])?;
        Ok(listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
    }

    /// Its data folder.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// The latest truth about a fault.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn truth(&self, fault: &str) -> Result<PathBuf, CampaignError> {
        let folder = self.data.join("truth");
        let files = std::fs::read_dir(&folder).map_err(|error| crate::in_file(&folder, &error))?;
        let prefix = format!("{fault}-");
        let began = |path: &PathBuf| {
            let name = path.file_stem()?.to_str()?.strip_prefix(&prefix)?;
            name.parse::<u64>().ok()
        };
        let paths = files.filter_map(|entry| Some(entry.ok()?.path()));
        let newest = paths.filter(|path| began(path).is_some()).max_by_key(began);
        newest.ok_or_else(|| format!("{}: no truth about {fault}", folder.display()))
    }
}

impl Drop for Bookstore {
    fn drop(&mut self) {
        if self.stops
            && let Err(error) = self.run(&["down"])
        {
            crate::say(&error);
        }
    }
}
