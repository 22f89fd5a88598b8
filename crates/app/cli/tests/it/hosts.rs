//! HTTP servers in this process that serve growing logs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Serves files from memory with range requests; its threads end with the process.
pub(crate) struct Hosts {
    address: SocketAddr,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Hosts {
    pub(crate) fn start() -> Hosts {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let files: Arc<Mutex<BTreeMap<String, Vec<u8>>>> = Arc::default();
        let served = Arc::clone(&files);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client may have been killed.
                let _ = answer(stream, &served);
            }
        });
        Hosts { address, files }
    }

    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        self.files.lock().unwrap().insert(name.to_owned(), content.to_vec());
    }

    pub(crate) fn append(&self, name: &str, content: &str) {
        self.files.lock().unwrap().entry(name.to_owned()).or_default().extend_from_slice(content.as_bytes());
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.files.lock().unwrap()[name].clone()).unwrap()
    }

    /// A source argument for the command line.
    pub(crate) fn source(&self, name: &str) -> String {
        format!("{name}=http://{}/{name}.log", self.address)
    }

    /// A file that lists all of them.
    pub(crate) fn list(&self, file: &Path) {
        let names: Vec<String> = self.files.lock().unwrap().keys().cloned().collect();
        let lines: Vec<String> = names.iter().map(|name| self.source(name)).collect();
        std::fs::write(file, format!("# all hosts\n\n{}\n", lines.join("\n"))).unwrap();
    }
}

fn answer(mut stream: TcpStream, files: &Mutex<BTreeMap<String, Vec<u8>>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request_line = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut range = None;
    for line in lines {
        let line = line?.to_lowercase();
        if line.is_empty() {
            break;
        }
        range = range.or(line.strip_prefix("range: bytes=").map(str::to_owned));
    }
    let name = request_line.split(' ').nth(1).unwrap_or_default();
    let file = files.lock().unwrap().get(name.trim_matches('/').trim_end_matches(".log")).cloned();
    let Some(file) = file else { return write!(stream, "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n") };
    let range = range.unwrap();
    let (start, last) = range.split_once('-').unwrap();
    let (start, last): (usize, usize) = (start.parse().unwrap(), last.parse().unwrap());
    if start >= file.len() {
        return write!(stream, "HTTP/1.1 416 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
    let body = &file[start..file.len().min(last + 1)];
    write!(stream, "HTTP/1.1 206 x\r\nConnection: close\r\nContent-Length: {}\r\n", body.len())?;
    write!(stream, "Content-Range: bytes {start}-{}/{}\r\n\r\n", start + body.len() - 1, file.len())?;
    stream.write_all(body)
}
