"""Writes all OTLP messages that the shop sends to files that Laggard reads, and passes them on.

A file is what the Collector's file exporter writes with `format: proto`: messages after their length in four bytes.
"""

import struct
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shop.layout import HOST, Layout

FILES = {"/v1/traces": "traces.binpb", "/v1/metrics": "metrics.binpb"}
TIMEOUT_S = 10

folder = Layout.from_environment().data / "recording"
lock = threading.Lock()


class Recorder(BaseHTTPRequestHandler):
    """A receiver of OTLP over HTTP, as protobuf."""

    protocol_version = "HTTP/1.1"
    next_hop = ""

    def do_POST(self) -> None:
        body = self.body()
        name = FILES.get(self.path)
        if name is None or self.headers.get("Content-Encoding"):
            return self.answer(415, b"")
        with lock, open(folder / name, "ab") as file:
            file.write(struct.pack(">I", len(body)) + body)
        if not self.next_hop:
            return self.answer(200, b"")
        request = urllib.request.Request(self.next_hop + self.path, body, {"Content-Type": self.headers["Content-Type"]})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                self.answer(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.read())
        except OSError:
            # Only writing matters: the recording must not depend on the receiver.
            self.answer(200, b"")

    def body(self) -> bytes:
        # The SDK of Node sends chunks (RFC 9112, 7.1), that of Python a length.
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # Trailers.
        return b"".join(parts)

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    folder.mkdir(exist_ok=True)
    Recorder.next_hop = sys.argv[1]
    ThreadingHTTPServer((HOST, Layout.from_environment().recorder), Recorder).serve_forever()
