//! The peer of a client call, by a name shared by all of its replicas.

/// The host of `server.address`, if it is the name of a service. Addresses and names with digits are mostly those of replicas or
/// machines, and so are ports: with them, each replica would have operations and call trees of its own.
pub(super) fn shared_host(host: &str) -> Option<&str> {
    let is_of_name = |byte: u8| byte.is_ascii_alphabetic() || b".-_".contains(&byte);
    (!host.is_empty() && host != "localhost" && host.bytes().all(is_of_name)).then_some(host)
}

/// The same of an absolute URL.
pub(super) fn shared_host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    shared_host(host.split(':').next()?)
}
