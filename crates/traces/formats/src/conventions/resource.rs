//! From the attributes of a resource (OTLP) or a process (Jaeger) to a service and a replica.

use super::UNKNOWN;
use laggard_model::{Attribute, AttributeText, ReplicaSource};

/// The attributes that identify a service or a replica; the first non-empty value of each counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResourceAttributes {
    values: [String; ResourceKey::COUNT],
    /// Key and value of every selected attribute.
    selected: Vec<(String, String)>,
}

/// Service and replica of every span of one resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ResourceNames {
    pub(crate) service: String,
    /// Empty when nothing identifies a replica.
    pub(crate) replica: String,
    pub(crate) replica_source: ReplicaSource,
    /// Name of the host, else its id; empty when unknown.
    pub(crate) host: String,
    /// The selected attributes of the service.
    pub(crate) attributes: AttributeText,
}

impl Default for ResourceNames {
    fn default() -> ResourceNames {
        ResourceAttributes::default().names()
    }
}

#[derive(Clone, Copy)]
#[repr(usize)]
enum ResourceKey {
    ServiceName,
    ServiceInstanceId,
    PodUid,
    PodName,
    K8sContainerName,
    ContainerId,
    HostName,
    HostId,
    JaegerHostname,
    ProcessPid,
    Ip,
}

impl ResourceKey {
    const COUNT: usize = ResourceKey::Ip as usize + 1;

    fn from_name(name: &[u8]) -> Option<ResourceKey> {
        Some(match name {
            b"service.name" => ResourceKey::ServiceName,
            b"service.instance.id" => ResourceKey::ServiceInstanceId,
            b"k8s.pod.uid" => ResourceKey::PodUid,
            b"k8s.pod.name" => ResourceKey::PodName,
            b"k8s.container.name" => ResourceKey::K8sContainerName,
            b"container.id" => ResourceKey::ContainerId,
            b"host.name" => ResourceKey::HostName,
            b"host.id" => ResourceKey::HostId,
            b"hostname" => ResourceKey::JaegerHostname,
            b"process.pid" => ResourceKey::ProcessPid,
            b"ip" => ResourceKey::Ip,
            _ => return None,
        })
    }
}

impl ResourceAttributes {
    /// Adds an attribute; `selected_key` is its key if it is retained.
    pub(crate) fn add(&mut self, name: &[u8], value: &str, selected_key: Option<&str>) {
        if let Some(key) = selected_key
            && !self.selected.iter().any(|(known, _)| known == key)
        {
            self.selected.push((key.to_owned(), value.to_owned()));
        }
        let Some(key) = ResourceKey::from_name(name) else {
            return;
        };
        let place = &mut self.values[key as usize];
        if place.is_empty() {
            place.push_str(value);
        }
    }

    fn get(&self, key: ResourceKey) -> &str {
        &self.values[key as usize]
    }

    /// The names these attributes give, the replica by the first source that is present.
    pub(crate) fn names(&self) -> ResourceNames {
        self.names_in("")
    }

    /// The same in a format that names the service itself, unless that name is empty.
    pub(crate) fn names_in(&self, service: &str) -> ResourceNames {
        let mut names = self.identify();
        if !service.is_empty() {
            names.service = service.to_owned();
        }
        for (key, value) in &self.selected {
            names.attributes.add(Attribute { key, service: &names.service, value });
        }
        names
    }

    fn identify(&self) -> ResourceNames {
        let service = match self.get(ResourceKey::ServiceName) {
            "" => UNKNOWN,
            service => service,
        };
        let sources = [
            (ReplicaSource::ServiceInstanceId, ResourceKey::ServiceInstanceId, None),
            (ReplicaSource::PodUid, ResourceKey::PodUid, None),
            (ReplicaSource::PodName, ResourceKey::PodName, Some(('/', ResourceKey::K8sContainerName))),
            (ReplicaSource::ContainerId, ResourceKey::ContainerId, None),
            // Host names are preferred; ids of the same rank are the fallback.
            (ReplicaSource::Host, ResourceKey::HostName, Some((':', ResourceKey::ProcessPid))),
            (ReplicaSource::Host, ResourceKey::HostId, Some((':', ResourceKey::ProcessPid))),
            (ReplicaSource::Host, ResourceKey::JaegerHostname, Some((':', ResourceKey::ProcessPid))),
            (ReplicaSource::Address, ResourceKey::Ip, None),
        ];
        let host = [ResourceKey::HostName, ResourceKey::HostId, ResourceKey::JaegerHostname]
            .map(|key| self.get(key));
        let host = host.into_iter().find(|host| !host.is_empty()).unwrap_or_default().to_owned();
        let found = sources.into_iter().find(|&(_, key, _)| !self.get(key).is_empty());
        let Some((replica_source, key, part)) = found else {
            let replica_source = ReplicaSource::Unknown;
            return ResourceNames {
                service: service.to_owned(),
                replica: String::new(),
                replica_source,
                host,
                attributes: AttributeText::default(),
            };
        };
        let mut replica = self.get(key).to_owned();
        if let Some((separator, key)) = part
            && !self.get(key).is_empty()
        {
            replica.push(separator);
            replica.push_str(self.get(key));
        }
        let (service, attributes) = (service.to_owned(), AttributeText::default());
        ResourceNames { service, replica, replica_source, host, attributes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(attributes: &[(&str, &str)], replica: &str, source: ReplicaSource) {
        let mut selected = ResourceAttributes::default();
        for (name, value) in attributes {
            selected.add(name.as_bytes(), value, None);
        }
        let names = selected.names();
        assert_eq!((names.replica.as_str(), names.replica_source), (replica, source));
    }

    #[test]
    fn replicas_are_identified_by_the_first_attribute_in_order_of_preference() {
        let mut attributes = vec![
            ("service.instance.id", "627cc493"),
            ("k8s.pod.uid", "275ecb36"),
            ("k8s.pod.name", "cart-0"),
            ("container.id", "a3bf90e0"),
            ("host.name", "node-7"),
            ("host.id", "fdbf79e8"),
            ("hostname", "jaeger-7"),
            ("ip", "10.0.0.7"),
        ];
        let expected = [
            ("627cc493", ReplicaSource::ServiceInstanceId),
            ("275ecb36", ReplicaSource::PodUid),
            ("cart-0", ReplicaSource::PodName),
            ("a3bf90e0", ReplicaSource::ContainerId),
            ("node-7", ReplicaSource::Host),
            ("fdbf79e8", ReplicaSource::Host),
            ("jaeger-7", ReplicaSource::Host),
            ("10.0.0.7", ReplicaSource::Address),
        ];
        for (replica, source) in expected {
            check(&attributes, replica, source);
            attributes.remove(0);
        }
        check(&attributes, "", ReplicaSource::Unknown);
    }

    #[test]
    fn containers_and_processes_refine_pods_and_hosts() {
        let pod = [("k8s.container.name", "main"), ("k8s.pod.name", "cart-0"), ("process.pid", "1")];
        check(&pod, "cart-0/main", ReplicaSource::PodName);
        check(&[("host.name", "node-7"), ("process.pid", "4711")], "node-7:4711", ReplicaSource::Host);
        check(&[("host.name", ""), ("host.name", "b"), ("host.name", "c")], "b", ReplicaSource::Host);
    }

    #[test]
    fn a_service_without_a_name_is_unknown() {
        assert_eq!(ResourceNames::default().service, "unknown");
    }
}
