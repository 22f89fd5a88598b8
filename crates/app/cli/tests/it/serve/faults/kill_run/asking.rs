//! HTTP/1.1 as far as a sender needs it: one connection, one request after the other.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection that is kept.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

/// What a server answered.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// A server that says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(300);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the whole answer; every body is JSON.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Answered> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all((head + body).as_bytes())?;
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(cut_off)?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(told) = line.strip_prefix("content-length:") {
                length = told.trim().parse().map_err(|_| cut_off())?;
            }
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(Answered { status, body: String::from_utf8_lossy(&bytes).into_owned() })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(cut_off)
    }
}

fn cut_off() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the answer was cut off")
}

/// Asks once, on a connection of its own.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<Answered> {
    Connection::open(address)?.ask(method, path, body)
}
