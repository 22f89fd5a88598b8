"""How soon a running `laggard serve` is idle after work of each kind is canceled.

    python3 lab/experiments/examples/faults/cancellations.py target/release/laggard [ROUNDS] [SEED]

Imports some millions of simulated spans and samples, asks questions that take seconds, cancels each at a random time,
and measures until the process uses no processor any more. That is an upper bound: detection and compaction go on beside it.
For imports it is the time until no more of their spans are stored.
"""

import gzip
import http.client
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import uuid

REQUESTS = 30_000  # of each of three services, about 108 spans each
KERNEL_BYTES = 2 << 30  # of an uploaded kernel trace, unpacked
IMPORT_BYTES = 2 << 30  # of an imported file, unpacked
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, binary, data):
        command = [binary, "serve", "--data", data, "--http", "127.0.0.1:0", "--otlp-grpc", "off", "--otlp-http", "off"]
        command += ["--zipkin", "off", "--set", "logs.form=json", "--set", "store.keep_for=3650d"]
        command += ["--set", "limits.upload=1GiB", "--set", "alerts.enabled=false"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.port = None
        log = []
        while self.port is None:
            line = self.process.stderr.readline()
            assert line, "the server ended: " + "".join(log)
            log.append(line)
            found = re.search(r'"127\.0\.0\.1:(\d+)"', line) if "http" in line else None
            self.port = found and int(found[1])
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def request(self, method, path, body=None, kind="application/json"):
        connection = self.connection()
        connection.request(method, path, body, {"Content-Type": kind})
        response = connection.getresponse()
        return response.status, response.read()

    def processor_s(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def appended_spans(self):
        lines = self.request("GET", "/metrics")[1].decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("laggard_store_appended_spans_total"))

    def wait_until_idle(self, patience_s=60.0):
        """Seconds until the process has used less than a tenth of a processor for a fifth of a second."""
        began = time.monotonic()
        used = [(began, self.processor_s())]
        while time.monotonic() - began < patience_s:
            time.sleep(0.02)
            now = time.monotonic()
            used.append((now, self.processor_s()))
            earlier = next((then for then in reversed(used) if now - then[0] >= 0.2), None)
            if earlier and used[-1][1] - earlier[1] <= 0.1 * (now - earlier[0]):
                return earlier[0] - began
        return float("inf")


def multipart(files, settings):
    cut = uuid.uuid4().hex
    out = io.BytesIO()
    out.write(f'--{cut}\r\nContent-Disposition: form-data; name="settings"\r\n\r\n{json.dumps(settings)}\r\n'.encode())
    for name, file, content in files:
        head = f'--{cut}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n'
        out.write(head.encode() + content + b"\r\n")
    out.write(f"--{cut}--\r\n".encode())
    return out.getvalue(), f"multipart/form-data; boundary={cut}"


def ftrace(bytes_min):
    """A compressed text of scheduler events with increasing times, as `trace-cmd report` and `/sys/kernel/tracing/trace` print it."""
    packed = io.BytesIO()
    written, at_us = 0, 1_000_000_000
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as out:
        out.write(b"# tracer: nop\n#\n")
        while written < bytes_min:
            lines = []
            for step in range(20_000):
                at_us += 50
                process = 1000 + step % 50
                stamp = f"{at_us // 1_000_000}.{at_us % 1_000_000:06d}"
                if step % 2 == 0:
                    lines.append(
                        f"          <idle>-0       [000] d..2. {stamp}: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 "
                        f"prev_state=R ==> next_comm=worker next_pid={process} next_prio=120\n"
                    )
                else:
                    lines.append(
                        f"          worker-{process - 1}    [000] d..2. {stamp}: sched_switch: prev_comm=worker prev_pid={process - 1} "
                        f"prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n"
                    )
            text = "".join(lines).encode()
            out.write(text)
            written += len(text)
    return packed.getvalue()


def span_table(bytes_min):
    packed = io.BytesIO()
    written, number = 0, 0
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as out:
        out.write(b"trace_id,span_id,parent_span_id,service,operation,start_ns,duration_ns\n")
        while written < bytes_min:
            lines = []
            for _ in range(20_000):
                number += 1
                lines.append(f"{number:032x},{number:016x},,shop,GET /,{1_760_000_000_000_000_000 + number * 100_000},1000000\n")
            text = "".join(lines).encode()
            out.write(text)
            written += len(text)
    return packed.getvalue()


def cancel_job(server, path, body, kind, after_s):
    status, text = server.request("POST", path, body, kind)
    assert status == 202, (path, status, text[:300])
    job = json.loads(text)["job"]
    until = time.monotonic() + after_s
    while time.monotonic() < until:
        time.sleep(0.005)
    state = json.loads(server.request("GET", f"/api/v1/jobs/{job}")[1])["state"]
    if state != "running":
        return state, None
    began = time.monotonic()
    server.request("DELETE", f"/api/v1/jobs/{job}")
    while json.loads(server.request("GET", f"/api/v1/jobs/{job}")[1])["state"] == "running":
        time.sleep(0.005)
    ended_s = time.monotonic() - began
    return state, ended_s + server.wait_until_idle()


def abandon(server, path, body, kind, after_s):
    """The client closes its connection while it waits for the answer."""
    connection = server.connection()
    connection.request("POST", path, body, {"Content-Type": kind})
    time.sleep(after_s)
    connection.close()
    return "running", server.wait_until_idle()


def abandon_import(server, path, body, kind, after_s):
    """The same for an import: seconds until no more of its spans are stored. They are flushed and merged afterwards, as all spans are."""
    connection = server.connection()
    connection.request("POST", path, body, {"Content-Type": kind})
    time.sleep(after_s)
    connection.close()
    began = time.monotonic()
    latest, changed = server.appended_spans(), began
    while time.monotonic() - changed < 2.0:
        time.sleep(0.02)
        appended = server.appended_spans()
        if appended != latest:
            latest, changed = appended, time.monotonic()
    return "running", changed - began


def import_traces(server, binary, folder):
    """Some nine million simulated spans; waits until they are stored and merged."""
    subprocess.run([binary, "simulate", "-o", f"{folder}/traces", "--requests", str(REQUESTS), "--compression", "gzip"], check=True, stdout=subprocess.DEVNULL)
    for name in os.listdir(f"{folder}/traces/traces"):
        content = open(f"{folder}/traces/traces/{name}", "rb").read()
        status, text = server.request("POST", "/api/v1/import", content, "application/octet-stream")
        assert status == 200, (status, text[:300])
    while True:
        status = json.loads(server.request("GET", "/api/v1/status")[1])
        if status["open_spans"] == 0:
            break
        time.sleep(0.5)
    server.wait_until_idle(120)
    print(f"{status['spans_stored']} spans are stored", flush=True)


def duration(server, path, body, kind):
    began = time.monotonic()
    status, text = server.request("POST", path + "?wait=true", body, kind)
    print(f"{path}: whole: {time.monotonic() - began:.2f} s, status {status} {'' if status == 200 else text[:200]}", flush=True)
    return time.monotonic() - began


def main():
    binary, rounds, seed = sys.argv[1], int((sys.argv + ["12"])[2]), int((sys.argv + ["", "1"])[3])
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "simulate", "-o", f"{folder}/shop", "--scenario", "tpcw"], check=True, stdout=subprocess.DEVNULL)
        server = Server(binary, f"{folder}/data")
        try:
            import_traces(server, binary, folder)
            samples = [("file", name, open(f"{folder}/shop/samples/{name}", "rb").read()) for name in os.listdir(f"{folder}/shop/samples")]
            kernel, table = ftrace(KERNEL_BYTES), span_table(IMPORT_BYTES)
            window = {"since": "2026-01-12T00:00:00Z", "until": "2026-01-13T00:00:00Z"}
            halves = {"since": "2026-01-12T10:00:00Z", "until": "2026-01-13T00:00:00Z", "before-since": "2026-01-12T00:00:00Z", "before-until": "2026-01-12T10:00:00Z"}
            as_json = lambda settings: (json.dumps(settings), "application/json")
            kinds = {
                "diagnose": (cancel_job, "/api/v1/diagnose", *as_json(window)),
                "diagnose, abandoned": (abandon, "/api/v1/diagnose?wait=true", *as_json(window)),
                "compare": (cancel_job, "/api/v1/compare", *as_json(halves)),
                "changes": (cancel_job, "/api/v1/changes", *multipart(samples, {})),
                "capacity": (cancel_job, "/api/v1/capacity", *multipart(samples, {"latency-max": "500ms"})),
                "signature": (cancel_job, "/api/v1/signature", *multipart(samples, {})),
                "kernel stats": (cancel_job, "/api/v1/kernel/stats", *multipart([("file", "trace.txt.gz", kernel)], {})),
                "kernel path": (cancel_job, "/api/v1/kernel/path", *multipart([("file", "trace.txt.gz", kernel)], {"thread": "worker"})),
                "kernel diagnose": (cancel_job, "/api/v1/kernel/diagnose", *multipart([("normal", "a.txt.gz", kernel), ("sample", "b.txt.gz", kernel)], {})),
                "import, abandoned": (abandon_import, "/api/v1/import", table, "application/octet-stream"),
            }
            print("| work | canceled after, s | rounds | idle after: median, s | longest, s |\n|---|---|---|---|---|")
            for name, (how, path, body, kind) in kinds.items():
                whole = 6.0 if "kernel" in name or "import" in name else duration(server, path.split("?")[0], body, kind)
                found, latest = [], 0.0
                for attempt in range(rounds * 3):
                    after = generator.uniform(0.02, max(0.05, 0.8 * whole))
                    state, idle = how(server, path, body, kind, after)
                    if idle is not None:
                        found.append(idle)
                        latest = max(latest, after)
                    server.wait_until_idle(60)
                    if len(found) == rounds:
                        break
                found.sort()
                row = (f"{found[len(found) // 2]:.2f} | {found[-1]:.2f}") if found else "– | –"
                print(f"| {name} | up to {latest:.1f} of {whole:.1f} | {len(found)} | {row} |", flush=True)
        finally:
            server.process.terminate()
            server.process.wait(60)


if __name__ == "__main__":
    main()
