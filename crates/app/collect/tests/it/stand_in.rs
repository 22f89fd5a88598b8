//! A host that serves files from memory, and a collector for it.

use laggard_collect::{
    ClientSettings, CollectSettings, Collector, Folder, Round, Source, SourceStatus, parse_source,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a host responds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// With range support.
    Ranges,
    /// Always with the whole file.
    NoRanges,
    /// Not at all.
    Hangs,
    /// With a number of bytes of the body; then the connection breaks.
    Breaks(usize),
    /// With a number of bytes of the body; then the connection stalls.
    Stalls(usize),
    /// With a status and additional header lines.
    Status(u16, &'static str),
    /// Compressed, although the request forbids it.
    Packs,
    /// With another range than the requested one.
    WrongRange,
}

/// A request that a host or server received.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
struct Shared {
    manner: Manner,
    with_etags: bool,
    files: BTreeMap<String, Vec<u8>>,
    requests: Vec<ReceivedRequest>,
}

/// Its threads end with the process.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

impl Host {
    pub(crate) fn start() -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared =
            Shared { manner: Manner::Ranges, with_etags: true, files: BTreeMap::new(), requests: vec![] };
        let shared = Arc::new(Mutex::new(shared));
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&of_thread);
                // The client may have closed the connection.
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Host { address, shared }
    }

    pub(crate) fn behaves(&self, manner: Manner) {
        self.shared.lock().unwrap().manner = manner;
    }

    pub(crate) fn without_etags(&self) {
        self.shared.lock().unwrap().with_etags = false;
    }

    /// Replaces a file.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        self.shared.lock().unwrap().files.insert(path.to_owned(), content.as_ref().to_vec());
    }

    pub(crate) fn append(&self, path: &str, content: &str) {
        let mut shared = self.shared.lock().unwrap();
        shared.files.entry(path.to_owned()).or_default().extend_from_slice(content.as_bytes());
    }

    /// The requests since the last call.
    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut self.shared.lock().unwrap().requests)
    }

    pub(crate) fn source(&self, name: &str, path: &str) -> Source {
        parse_source(&format!("{name}=http://{}{path}", self.address)).unwrap()
    }
}

/// Reads one request with its body.
pub(crate) fn request(stream: &mut BufReader<TcpStream>) -> std::io::Result<ReceivedRequest> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        stream.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(ReceivedRequest { line: line.trim_end().to_owned(), headers, body })
}

fn serve(stream: TcpStream, shared: &Mutex<Shared>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let request = request(&mut reader)?;
    let path = request.line.split(' ').nth(1).unwrap().to_owned();
    let (manner, file, with_etags) = {
        let mut shared = shared.lock().unwrap();
        shared.requests.push(request.clone());
        (shared.manner.clone(), shared.files.get(&path).cloned(), shared.with_etags)
    };
    match (&manner, file) {
        (Manner::Hangs, _) => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        (Manner::Status(status, further), _) => answer(stream, *status, further, b"", None),
        (_, None) => answer(stream, 404, "", b"", None),
        (manner, Some(file)) => {
            let etag =
                format!("\"{:x}-{}\"", file.iter().map(|&byte| u64::from(byte)).sum::<u64>(), file.len());
            let mut further = if with_etags { format!("ETag: {etag}\r\n") } else { String::new() };
            if with_etags && request.headers.get("if-none-match") == Some(&etag) {
                return answer(stream, 304, &further, b"", None);
            }
            let breaks = match manner {
                Manner::Breaks(bytes) | Manner::Stalls(bytes) => Some(*bytes),
                _ => None,
            };
            let _open = matches!(manner, Manner::Stalls(_)).then(|| Late(stream.try_clone()));
            if *manner == Manner::Packs {
                further.push_str("Content-Encoding: br\r\n");
            }
            let range = request.headers.get("range").filter(|_| *manner != Manner::NoRanges);
            let Some((start, last)) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'))
            else {
                return answer(stream, 200, &further, &file, breaks);
            };
            let (start, last): (usize, usize) = (start.parse().unwrap(), last.parse().unwrap());
            if start >= file.len() {
                further.push_str(&format!("Content-Range: bytes */{}\r\n", file.len()));
                return answer(stream, 416, &further, b"", None);
            }
            let end = file.len().min(last + 1);
            let first = start + usize::from(*manner == Manner::WrongRange);
            further.push_str(&format!("Content-Range: bytes {first}-{}/{}\r\n", end - 1, file.len()));
            answer(stream, 206, &further, &file[start..end], breaks)
        }
    }
}

fn answer(
    mut stream: TcpStream,
    status: u16,
    further: &str,
    body: &[u8],
    breaks: Option<usize>,
) -> std::io::Result<()> {
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {length}\r\n{further}\r\n")?;
    stream.write_all(&body[..length.min(breaks.unwrap_or(length))])
}

/// Small limits, so that a few bytes reach them.
pub(crate) fn settings(folder: &Path) -> CollectSettings {
    CollectSettings {
        state: folder.join("state.json"),
        client: ClientSettings { token: None, authorities_pem: None, timeout: Duration::from_secs(2) },
        parallel: 4,
        chunk_bytes_max: 64,
        round_bytes_max: 1 << 20,
        whole_bytes_max: 4096,
        header: None,
        rotated: Some(".1".to_owned()),
        whole: false,
        pause: Duration::ZERO,
    }
}

/// A collector into `into` below a folder.
pub(crate) fn collector(folder: &Path, sources: Vec<Source>) -> Collector<Folder> {
    Collector::new(settings(folder), sources, Folder::open(&folder.join("into")).unwrap()).unwrap()
}

/// The result of the only source.
#[track_caller]
pub(crate) fn only(round: Round) -> SourceStatus {
    assert_eq!((round.sources.len(), round.waiting), (1, 0), "{round:?}");
    round.sources.into_iter().next().unwrap()
}

/// The result of the only source, which must be successful.
#[track_caller]
pub(crate) fn fine(round: Round) -> SourceStatus {
    let status = only(round);
    assert_eq!((&status.failure, status.cautions.len()), (&None, 0), "{status:?}");
    status
}

/// A file that was collected.
#[track_caller]
pub(crate) fn collected(folder: &Path, name: &str) -> String {
    let path = folder.join("into").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Keeps a connection open for long.
struct Late(std::io::Result<TcpStream>);

impl Drop for Late {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_secs(60));
        let _ = &self.0;
    }
}
