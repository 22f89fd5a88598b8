"""The payment gateway and its name server. Both belong to a third party and are not instrumented."""

import os
import random
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shop.layout import HOST, Layout
from shop.switches import Switches

AUTHORIZE_S = 0.015
TTL_S = 5

layout = Layout.from_environment()
switches = Switches(layout)


class Gateway(BaseHTTPRequestHandler):
    """Authorizes every payment after a delay."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(random.uniform(0.5, 1.5) * AUTHORIZE_S)
        switches.apply("POST /authorize")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:
        pass


def answer_names() -> None:
    """Answers every query with the address of this machine (RFC 1035, section 4.1), unless it is to drop them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((HOST, layout.names))
        while True:
            query, sender = sock.recvfrom(512)
            if switches.value("drop_names", False):
                continue
            header = query[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0)
            answer = struct.pack(">3HIH", 0xC00C, 1, 1, TTL_S, 4) + socket.inet_aton(HOST)
            sock.sendto(header + query[12:] + answer, sender)


if __name__ == "__main__":
    os.environ.setdefault("OTEL_SDK_DISABLED", "true")
    threading.Thread(target=answer_names, daemon=True).start()
    ThreadingHTTPServer((HOST, layout.payment), Gateway).serve_forever()
