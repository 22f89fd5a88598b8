//! Rejects requests that a browser sends on behalf of another site.
//!
//! A server on loopback without tokens trusts all users of the machine, but not every page in their browsers. Such a page
//! could reach the server by DNS rebinding (then `Host` is the name of the other site), or by a cross-site request (then
//! the browser declares it).

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method, Uri};
use std::net::IpAddr;

/// Whether the request names this server: by an address, `localhost`, or a name from the settings.
pub(super) fn names_us(uri: &Uri, headers: &HeaderMap, names: &[String]) -> bool {
    let host = match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => headers.get(HOST).and_then(|value| value.to_str().ok()),
    };
    // HTTP/1.0 needs no host name, and browsers always send one.
    let Some(host) = host else { return true };
    let name = without_port(host);
    is_address(name)
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a browser was made by another site to send this, and it would change something.
pub(super) fn crosses_sites(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    if method.is_safe() {
        return false;
    }
    if let Some(site) = headers.get("sec-fetch-site") {
        return site != "same-origin" && site != "none";
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let Ok(origin) = origin.to_str() else { return true };
    let origin_host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let host = uri.authority().map(|authority| authority.as_str());
    let host = host.or_else(|| headers.get(HOST).and_then(|value| value.to_str().ok()));
    host != Some(origin_host)
}

fn without_port(host: &str) -> &str {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(host, |(address, _)| address);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

fn is_address(name: &str) -> bool {
    name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn path() -> Uri {
        "/api/v1/import".parse().unwrap()
    }

    #[test]
    fn only_the_servers_own_host_names_are_accepted() {
        let names = ["laggard.example.com".to_owned()];
        for host in ["localhost:4316", "127.0.0.1:4316", "[::1]:4316", "10.1.2.3", "Laggard.example.com:443"]
        {
            assert!(names_us(&path(), &headers(&[("host", host)]), &names), "{host}");
        }
        for host in ["evil.example:4316", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
            assert!(!names_us(&path(), &headers(&[("host", host)]), &names), "{host}");
        }
        let absolute: Uri = "http://evil.example/api".parse().unwrap();
        assert!(!names_us(&absolute, &headers(&[("host", "localhost")]), &names));
    }

    #[test]
    fn cross_site_requests_cannot_change_state() {
        let crosses =
            |method: Method, pairs: &[(&'static str, &str)]| crosses_sites(&method, &path(), &headers(pairs));
        assert!(!crosses(Method::POST, &[]), "no browser");
        assert!(!crosses(Method::POST, &[("sec-fetch-site", "same-origin")]));
        assert!(!crosses(Method::POST, &[("sec-fetch-site", "none")]));
        assert!(crosses(Method::POST, &[("sec-fetch-site", "cross-site")]));
        assert!(crosses(Method::DELETE, &[("sec-fetch-site", "same-site")]));
        assert!(!crosses(Method::GET, &[("sec-fetch-site", "cross-site")]), "it changes nothing");
        assert!(!crosses(Method::POST, &[("host", "a:1"), ("origin", "http://a:1")]));
        assert!(crosses(Method::POST, &[("host", "a:1"), ("origin", "http://b:1")]));
        assert!(crosses(Method::POST, &[("host", "a:1"), ("origin", "null")]));
    }
}
