//! A minimal HTTP/1.1 client: sequential requests over one connection.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// A keep-alive connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

/// Status and body of a response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Read timeout.
const PATIENCE: Duration = Duration::from_secs(300);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Connection> {
        Connection::from_stream(TcpStream::connect(address)?)
    }

    /// From an address of this machine.
    #[cfg(target_os = "linux")]
    pub(crate) fn open_from(source: Ipv4Addr, address: SocketAddr) -> Result<Connection> {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        bind(&socket, &SocketAddr::from((source, 0)))?;
        connect(&socket, &address)?;
        Connection::from_stream(TcpStream::from(socket))
    }

    /// Elsewhere the loopback interface has one address.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open_from(_: Ipv4Addr, address: SocketAddr) -> Result<Connection> {
        Connection::open(address)
    }

    fn from_stream(stream: TcpStream) -> Result<Connection> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream: BufReader::new(stream) })
    }

    /// Sends a request with a JSON body and reads the whole response.
    pub(crate) fn request(&mut self, method: &str, path: &str, body: &str) -> Result<Response> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all((head + body).as_bytes())?;
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(truncated)?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| truncated())?;
            }
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(Response { status, body: String::from_utf8_lossy(&bytes).into_owned() })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(truncated)
    }
}

fn truncated() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the response was truncated")
}

/// Sends one request on its own connection.
pub(crate) fn request(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<Response> {
    Connection::open(address)?.request(method, path, body)
}
