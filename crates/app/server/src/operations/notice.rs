//! Telling systemd that it runs: a datagram to the socket it named.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The notification socket of systemd; without it nothing is sent.
pub(crate) struct Notice {
    socket: Option<SocketAddr>,
}

impl Notice {
    /// `name` is the value of `NOTIFY_SOCKET`: a path, or with `@` a name without a file.
    pub(crate) fn new(name: Option<&OsStr>) -> Notice {
        let socket = name.and_then(|name| match name.as_bytes().strip_prefix(b"@") {
            Some(name) => without_file(name),
            None => SocketAddr::from_pathname(name).ok(),
        });
        Notice { socket }
    }

    pub(crate) fn ready(&self) {
        self.notify("READY=1\n");
    }

    pub(crate) fn stopping(&self) {
        self.notify("STOPPING=1\n");
    }

    /// Errors are ignored: systemd detects missing notifications itself.
    fn notify(&self, text: &str) {
        let Some(address) = &self.socket else { return };
        let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(text.as_bytes(), address));
        if let Err(error) = sent {
            tracing::warn!(%error, "systemd cannot be sent");
        }
    }
}

#[cfg(target_os = "linux")]
fn without_file(name: &[u8]) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(name).ok()
}

#[cfg(not(target_os = "linux"))]
fn without_file(_name: &[u8]) -> Option<SocketAddr> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_notified() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let notice = Notice::new(Some(path.as_os_str()));
        notice.ready();
        notice.stopping();
        let mut bytes = [0; 64];
        let mut next = || {
            let length = socket.recv(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes[..length]).into_owned()
        };
        assert_eq!((next(), next()), ("READY=1\n".to_owned(), "STOPPING=1\n".to_owned()));
        Notice::new(None).ready();
    }
}
