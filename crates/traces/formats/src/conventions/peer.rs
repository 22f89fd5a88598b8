//! What a client calls, by a name that all of its replicas share.

use super::template::replace_ids;

/// The other side of a client's call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Peer<'a> {
    /// The name of a service.
    Service(&'a str),
    Host(&'a str),
    /// The port at a host that has an address only: replicas have different addresses, and mostly the same port.
    Port(&'a str),
}

impl<'a> Peer<'a> {
    /// From `server.address` and `server.port`; `None` for an IP address without a port.
    pub(super) fn from_address(host: &'a str, port: Option<&'a str>) -> Option<Peer<'a>> {
        let is_name = !host.contains(':') && host.bytes().any(|byte| byte.is_ascii_alphabetic());
        match is_name && host != "localhost" {
            true => Some(Peer::Host(host)),
            false => port.map(Peer::Port),
        }
    }

    /// From an absolute URL.
    pub(super) fn from_url(url: &'a str) -> Option<Peer<'a>> {
        let (_, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?;
        // The colons of an IPv6 address are within brackets.
        let end = host.rfind(']').map_or(0, |bracket| bracket + 1);
        let port = host[end..].find(':').map(|colon| end + colon);
        let digits = port.map(|colon| &host[colon + 1..]).filter(|digits| !digits.is_empty());
        let name = port.map_or(host, |colon| &host[..colon]);
        Peer::from_address(name, digits).filter(|_| !name.is_empty())
    }

    /// Appends the name.
    pub(super) fn write(self, text: &mut String) {
        match self {
            Peer::Service(name) => text.push_str(name),
            Peer::Host(host) => replace_ids(host, text),
            Peer::Port(port) => {
                text.push(':');
                text.push_str(port);
            }
        }
    }
}
