"""Measures what instrumentation, collection, and the agent cost the bookstore, and how many requests it answers.

    python3 lab/benches/shop/run.py [--rounds N] [--rates A,B] [--laggard FILE] [OUTPUT]

Starts the shop (examples/bookstore) anew in every round and each condition, in an order that is drawn anew, and sends it the same open
arrivals. A cost is the CPU time a request of the shop's processes, from /proc, which other programs on the machine change less than
times; the ratio is within a round. Then the arrivals are raised step by step with traces stored by Laggard. Needs what the bookstore
needs; the agent needs root and is left out otherwise. Builds `laggard` unless it is given. Eight minutes for a round and five for the rates.
Writes docs/benchmarks/shop.md unless told otherwise.
"""

import argparse
import contextlib
import csv
import http.server
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BOOKSTORE = ROOT / "examples" / "bookstore" / "bookstore"
PORT, HTTP, OTLP, SINK = 19400, 19430, 19431, 19432
WARM_UP_S, MEASURED_S, STEP_S = 20, 60, 20
RATE = 15
TICKS = os.sysconf("SC_CLK_TCK")

#: What is on in each condition; each has what the one before has.
CONDITIONS = {
    "no telemetry": "no process is instrumented",
    "instrumented": "traces and metrics of all processes, sent to a server that reads and discards them",
    "stored": "the same, received, stored, and watched by `laggard serve`",
    "recorded": "the same, with the flight recorder of `laggard agent`",
}


class Discard(http.server.BaseHTTPRequestHandler):
    """Accepts any OTLP message."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if self.headers["Content-Length"] is not None:
            self.rfile.read(int(self.headers["Content-Length"]))
        else:
            while size := int(self.rfile.readline(), 16):
                self.rfile.read(size + 2)
            self.rfile.readline()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def stat(pid):
    """The parent of a process and its CPU seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS


def cpu_by_root(roots):
    """CPU seconds of processes and all that they started, by the number of the first."""
    known = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            known[int(folder.name)] = stat(folder.name)
    sums = dict.fromkeys(roots, 0.0)
    for pid, (_, seconds) in known.items():
        ancestor = pid
        while ancestor in known and ancestor not in sums:
            ancestor = known[ancestor][0]
        if ancestor in sums:
            sums[ancestor] += seconds
    return sums


def bookstore(data, *words):
    command = [BOOKSTORE, "--data", data, "--port", str(PORT), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def answers(data):
    """Milliseconds of the answers so far, and how many failed."""
    with open(data / "answers.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    good = [float(row["ms"]) for row in rows if row["status"].startswith(("2", "3"))]
    return good, len(rows) - len(good)


def spans_received():
    """By the server so far."""
    with urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/api/v1/status", timeout=5) as answer:
        return json.load(answer)["spans_received"]


def wait_for_server():
    for _ in range(300):
        with contextlib.suppress(OSError):
            return spans_received()
        time.sleep(0.1)
    raise SystemExit("laggard serve does not answer")


class Condition:
    """A shop, and what receives its telemetry."""

    def __init__(self, name, laggard, folder):
        self.folder = folder
        self.data = folder / "shop"
        self.processes = {}
        rank = list(CONDITIONS).index(name)
        endpoint = f"http://127.0.0.1:{SINK if rank == 1 else OTLP}"
        if rank >= 2:
            serve = ["serve", "--data", folder / "store", "--http", f"127.0.0.1:{HTTP}", "--otlp-http", f"127.0.0.1:{OTLP}"]
            self.start("laggard serve", laggard, *serve, "--otlp-grpc", "off", "--zipkin", "off", "--set", "recordings.hosts=measured")
            wait_for_server()
        bookstore(self.data, "up", *(["--no-telemetry"] if rank == 0 else ["--otlp", endpoint]))
        if rank >= 3:
            server = f"http://127.0.0.1:{HTTP}"
            self.start("laggard agent", laggard, "agent", "--server", server, "--host", "measured", "--spool", folder / "spool")

    def start(self, name, *command):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def roots(self):
        """Names of processes by number."""
        lines = (line.split() for line in bookstore(self.data, "status").splitlines())
        shop = {int(words[1]): words[0] for words in lines if len(words) == 2 and words[1].isdigit()}
        return shop | {process.pid: name for name, process in self.processes.items()}

    def cpu(self):
        """CPU seconds by name."""
        roots = self.roots()
        return {roots[pid]: seconds for pid, seconds in cpu_by_root(roots).items()}

    def drive(self, rate, seconds):
        """Milliseconds of the answers, failed answers, and CPU seconds by name, of some time."""
        before, (known, failed) = self.cpu(), answers(self.data) if (self.data / "answers.csv").exists() else ([], 0)
        driver = [sys.executable, "-m", "driver", "--rate", str(rate), "--seconds", str(seconds), "--data", self.data, "--port", str(PORT)]
        subprocess.run(driver, check=True, cwd=BOOKSTORE.parent, stdout=subprocess.DEVNULL)
        after, (now, failed_now) = self.cpu(), answers(self.data)
        return now[len(known):], failed_now - failed, {name: after[name] - before.get(name, 0.0) for name in after}

    def stop(self):
        bookstore(self.data, "down")
        for process in reversed(self.processes.values()):
            process.terminate()
            process.wait()


@contextlib.contextmanager
def running(name, laggard):
    with tempfile.TemporaryDirectory() as folder:
        # PostgreSQL runs as another user.
        os.chmod(folder, 0o755)
        condition = Condition(name, laggard, pathlib.Path(folder))
        try:
            condition.drive(RATE, WARM_UP_S)
            yield condition
        finally:
            condition.stop()


def is_laggard(process):
    return process.startswith("laggard")


def measure(rounds, names, laggard):
    """By round and condition: milliseconds of a request's CPU by the shop and by Laggard's processes, and its times."""
    found = []
    for number in range(rounds):
        figures = {}
        for name in random.sample(names, len(names)):
            with running(name, laggard) as condition:
                spans = spans_received() if name == "stored" else 0
                times, failed, cpu = condition.drive(RATE, MEASURED_S)
                spans = spans_received() - spans if name == "stored" else 0
            if failed:
                raise SystemExit(f"{name}: {failed} requests failed")
            figures[name] = {
                "shop": 1e3 * sum(seconds for process, seconds in cpu.items() if not is_laggard(process)) / len(times),
                "times": times,
                "spans": spans / len(times),
                **{process: 1e3 * seconds / len(times) for process, seconds in cpu.items() if is_laggard(process)},
            }
        found.append(figures)
        print(f"round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return found


def cost_table(names, found):
    lines = [
        "| | CPU of the shop a request, ms | times that without | of `laggard serve`, ms | of `laggard agent`, ms | median, ms | 95th percentile, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in names:
        rounds = [figures[name] for figures in found]
        ratios = sorted(figures[name]["shop"] / figures[names[0]]["shop"] for figures in found)
        ratio = "" if name == names[0] else f"**{statistics.median(ratios):.2f}** ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        own = (
            f"{statistics.median(one[process] for one in rounds):.1f}" if process in rounds[0] else ""
            for process in ("laggard serve", "laggard agent")
        )
        middle = statistics.median(statistics.median(one["times"]) for one in rounds)
        high = statistics.median(statistics.quantiles(one["times"], n=20)[-1] for one in rounds)
        shop = statistics.median(one["shop"] for one in rounds)
        lines.append(f"| {name} | {shop:.1f} | {ratio} | {' | '.join(own)} | {middle:.1f} | {high:.1f} |")
    return "\n".join(lines)


def rate_table(rates, laggard):
    """What is answered at rising rates, and which processes use the CPU at the last."""
    lines = ["| arrivals a second | answered a second | failed | median, ms | 95th percentile, ms | CPUs used by shop and Laggard |", "|---|---|---|---|---|---|"]
    profile = ""
    with running("stored", laggard) as condition:
        for rate in rates:
            times, failed, cpu = condition.drive(rate, STEP_S)
            high = statistics.quantiles(times, n=20)[-1]
            used = sum(cpu.values()) / STEP_S
            lines.append(f"| {rate} | {len(times) / STEP_S:.0f} | {failed} | {statistics.median(times):.1f} | {high:.1f} | {used:.2f} |")
            shares = sorted(((seconds, name) for name, seconds in cpu.items()), reverse=True)
            profile = ", ".join(f"{name} {100 * seconds / sum(cpu.values()):.0f} %" for seconds, name in shares[:9])
            if high > 1e3 or len(times) < 0.9 * rate * STEP_S:
                break
    return "\n".join(lines), profile


def page(found, costs, rates, profile, loads):
    spans = statistics.median(figures["stored"]["spans"] for figures in found)
    conditions = "\n".join(f"- **{name}**: {words}." for name, words in CONDITIONS.items())
    return f"""# What telemetry costs the bookstore

Generated by `lab/benches/shop/run.py`; do not edit. {len(found)} rounds; in each, the [shop](../../examples/bookstore/README.md) was started anew in each condition, in drawn
order, and got {RATE} requests a second (open arrivals, shopping mix) for {MEASURED_S} s. Medians over the rounds; a ratio is within a round, with the least and the
greatest. Load average before and after: {loads[0]:.1f}, {loads[1]:.1f}.

Machine: {os.cpu_count()} CPUs, Linux {platform.release()}.

{costs}

{conditions}

The driver is not counted. A request has {spans:.1f} spans.

## Highest rate

With traces and metrics stored by Laggard on the same machine, as is the driver, {STEP_S} s each; it ends where a tenth of the requests is not answered in time,
or 95 % take more than a second. Two hundred requests are open at most.

{rates}

CPU at the last rate, without the driver: {profile}.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rates", default="25,50,100,150,200,250,300,350")
    parser.add_argument("--laggard", type=pathlib.Path)
    parser.add_argument("output", nargs="?", type=pathlib.Path, default=ROOT / "docs" / "benchmarks" / "shop.md")
    options = parser.parse_args()
    if options.laggard is None:
        subprocess.run(["cargo", "build", "-q", "--release", "-p", "laggard", "--bins"], cwd=ROOT, check=True)
    laggard = (options.laggard or TARGET / "release" / "laggard").resolve()
    names = list(CONDITIONS)[: 4 if os.geteuid() == 0 else 3]
    before = os.getloadavg()[0]
    random.seed(1)
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", SINK), Discard)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    found = measure(options.rounds, names, laggard)
    rates, profile = rate_table([int(rate) for rate in options.rates.split(",")], laggard)
    loads = (before, os.getloadavg()[0])
    options.output.write_text(page(found, cost_table(names, found), rates, profile, loads))


if __name__ == "__main__":
    main()
