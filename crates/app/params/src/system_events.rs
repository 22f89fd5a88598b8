//! Deployments declared with a question: `cart@1.4.3=2026-11-01T10:02:00Z`.

use crate::{FromText, Moment};
use laggard_model::Timestamp;
use laggard_report::{SystemEvent, SystemEventKind};

/// A deployment of a service.
#[derive(Clone, PartialEq, Debug)]
pub struct ServiceDeployment {
    /// The service.
    pub service: String,
    /// The version, if it was named.
    pub version: Option<String>,
    /// When.
    pub time: Moment,
}

impl ServiceDeployment {
    /// The deployment as an event.
    pub fn event(&self, now: Timestamp) -> SystemEvent {
        let version = self.version.clone();
        let time = self.time.at(now);
        SystemEvent {
            version,
            ..SystemEvent::declared(SystemEventKind::Deployment, self.service.clone(), time)
        }
    }
}

impl FromText for ServiceDeployment {
    fn from_text(text: &str) -> Result<ServiceDeployment, String> {
        let error = || format!("{text:?} is not a deployment; write cart@1.4.3=2026-01-12T09:10:00Z");
        let (subject, time) = text.rsplit_once('=').ok_or_else(error)?;
        let (service, version) = match subject.split_once('@') {
            Some((service, version)) if !version.trim().is_empty() => {
                (service.trim(), Some(version.trim().to_owned()))
            }
            Some(_) => return Err(error()),
            None => (subject.trim(), None),
        };
        if service.is_empty() {
            return Err(error());
        }
        Ok(ServiceDeployment { service: service.to_owned(), version, time: time.trim().parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_has_a_service_a_version_and_a_time() {
        let read =
            |text| ServiceDeployment::from_text(text).map(|deployment| deployment.event(Timestamp::MIN));
        let full = read("cart@1.4.3=2026-01-12T09:00:00Z").unwrap();
        assert_eq!((full.service.as_str(), full.version.as_deref()), ("cart", Some("1.4.3")));
        assert_eq!(full.at().unix_ns(), 1_768_208_400_000_000_000);
        let tagged = read("cart@registry/cart@sha256:1=2026-01-12T09:00:00Z").unwrap();
        assert_eq!(tagged.version.as_deref(), Some("registry/cart@sha256:1"));
        assert_eq!(read("cart=2026-01-12T09:00:00Z").unwrap().version, None);
        for wrong in
            ["", "cart", "cart@1", "@1=2026-01-12T09:00:00Z", "cart@=2026-01-12T09:00:00Z", "cart@1=noon"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
