//! The health check of a server on this machine, for containers without a shell.

use crate::settings::ServeSettings;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(4);

/// Requests `/healthz` from the server that runs with these settings. With TLS it only checks that connections are accepted:
/// the certificate is for the server's name, not for this machine's.
///
/// # Errors
/// When there is no response, or not that of a healthy server.
pub fn check_health(settings: &ServeSettings) -> Result<(), String> {
    let address = reachable(settings.http);
    let explain = |error: io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(explain)?;
    if settings.tls.certificate.is_some() {
        return Ok(());
    }
    stream.set_read_timeout(Some(PATIENCE)).map_err(explain)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(explain)?;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(explain)?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).map_err(explain)?;
    match &answer {
        b"HTTP/1.1 200" => Ok(()),
        other => Err(format!("{address}: it answers {:?}", String::from_utf8_lossy(other))),
    }
}

/// A server on all addresses is checked on loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn asked_one_that_answers(answer: &'static [u8]) -> Result<(), String> {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = socket.accept().unwrap();
            let mut request = [0; 256];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(answer).unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let http = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        let result = check_health(&ServeSettings { http, ..ServeSettings::default() });
        assert!(server.join().unwrap().starts_with("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:"));
        result
    }

    #[test]
    fn a_healthy_server_passes() {
        assert_eq!(asked_one_that_answers(b"HTTP/1.1 200 OK\r\n\r\nok\n"), Ok(()));
        let ill = asked_one_that_answers(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap_err();
        assert!(ill.contains("503"), "{ill}");
        assert!(asked_one_that_answers(b"HT").is_err(), "it hangs up");
    }

    #[test]
    fn an_absent_server_fails() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let http = socket.local_addr().unwrap();
        drop(socket);
        assert!(check_health(&ServeSettings { http, ..ServeSettings::default() }).is_err());
    }
}
