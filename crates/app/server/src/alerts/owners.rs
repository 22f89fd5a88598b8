//! Who owns which services: incidents go to the receivers of the owner.
//!
//! ```yaml
//! - owner: team-cart
//!   services: [cart, "cart-*"]
//!   slack_url_file: /etc/laggard/tokens/cart-slack
//! ```

use super::finding::AlertFinding;
use super::lifecycle::Alert;
use laggard_kernel_graph::Glob;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Most bytes of the file, and most owners.
const FILE_BYTES_MAX: u64 = 1 << 20;
const OWNERS_MAX: usize = 1_000;

/// The owners of services; the first that has a service's name owns it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Owners {
    pub(crate) all: Vec<Owner>,
}

/// One owner.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Owner {
    /// The owner's name: the label `owner` of notifications.
    #[serde(rename = "owner")]
    pub(crate) name: String,
    /// Names of services; `*` stands for any characters.
    pub(crate) services: Vec<String>,
    /// A file with the URL of an incoming webhook of Slack.
    #[serde(default)]
    pub(crate) slack_url_file: Option<PathBuf>,
    /// A file with the URL of a webhook of Teams.
    #[serde(default)]
    pub(crate) teams_url_file: Option<PathBuf>,
    /// Addresses that get email.
    #[serde(default)]
    pub(crate) email: Vec<String>,
}

impl Owners {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read, or is not a list of owners.
    pub(crate) fn read(file: &Path) -> Result<Owners, String> {
        let length = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
        if length > FILE_BYTES_MAX {
            return Err(format!("{length} bytes; at most {FILE_BYTES_MAX}"));
        }
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let all: Vec<Owner> = serde_saphyr::from_str(&text).map_err(|error| error.to_string())?;
        if all.len() > OWNERS_MAX {
            return Err(format!("{} owners; at most {OWNERS_MAX}", all.len()));
        }
        for owner in &all {
            if owner.name.trim().is_empty() || owner.services.is_empty() {
                return Err("each entry needs an owner and at least one service".to_owned());
            }
            if all.iter().filter(|other| other.name == owner.name).count() > 1 {
                return Err(format!("{} is listed twice; list all its services in one entry", owner.name));
            }
        }
        Ok(Owners { all })
    }

    /// The owner of a service.
    pub(crate) fn of(&self, service: &str) -> Option<&Owner> {
        self.all.iter().find(|owner| owner.services.iter().any(|pattern| Glob::new(pattern).matches(service)))
    }

    /// The owner of what an alert is about.
    pub(crate) fn of_alert(&self, alert: &Alert) -> Option<&Owner> {
        match &alert.finding {
            AlertFinding::Operation(finding) => self.of(&finding.service),
            AlertFinding::Server(finding) => self.of(&finding.tier),
            AlertFinding::Objective(finding) => self.of(&finding.service),
        }
    }
}

impl Owner {
    /// Whether incidents of its services go to receivers of its own.
    pub(super) fn has_receivers(&self) -> bool {
        self.slack_url_file.is_some() || self.teams_url_file.is_some() || !self.email.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Owners, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Owners::read(file.path())
    }

    #[test]
    fn the_first_owner_of_a_service_owns_it() {
        let owners = read(
            "- owner: cart\n  services: [cart, 'cart-*']\n  email: [a@b.example]\n- {owner: rest, services: ['*']}\n",
        );
        let owners = owners.unwrap();
        assert_eq!(owners.of("cart-db").unwrap().name, "cart");
        assert_eq!(owners.of("web").unwrap().name, "rest");
        assert!(owners.all[0].has_receivers() && !owners.all[1].has_receivers());
    }

    #[test]
    fn invalid_files_are_rejected() {
        for (text, expected) in [
            ("{", ""),
            ("- owner: a", "services"),
            ("- {owner: a, services: []}", "at least one service"),
            ("- {owner: a, services: [x], pager: y}", "pager"),
            ("- {owner: a, services: [x]}\n- {owner: a, services: [y]}", "twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
