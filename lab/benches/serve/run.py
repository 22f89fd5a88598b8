"""Times `laggard serve` taking OTLP over gRPC against other receivers in the same run, and writes a Markdown page.

    python3 lab/benches/serve/run.py [--quick] [OUTPUT]

Builds `laggard` and the generator of load, makes a virtual environment under the target directory when the versions of
requirements.txt are not at hand, and lets the contenders take turns on the same two cores, which the generator shares. Writes
docs/benchmarks/serve.md unless told otherwise. Nothing else should run meanwhile.
"""

import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "benchmarks" / "serve"
LAGGARD = TARGET / "release" / "laggard"
LOAD = TARGET / "release" / "examples" / "load"
CORES = sorted(os.sched_getaffinity(0))[:2]
LANES = ["--connections", "4", "--streams", "4"]
START_SECONDS_MAX = 30
TICKS = os.sysconf("SC_CLK_TCK")
CONTENDERS = ["laggard", "rotel", "grpcio"]


def build():
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "laggard", "--bin", "laggard"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "laggard-experiments", "--example", "load"], cwd=ROOT, check=True)


def python():
    """A Python with the pinned libraries: this one, or that of a virtual environment."""
    pins = [line.split("==") for line in (HERE / "requirements.txt").read_text().split()]
    try:
        if all(importlib.metadata.version(name) == version for name, version in pins):
            return sys.executable
    except importlib.metadata.PackageNotFoundError:
        pass
    venv = TARGET / "benchmarks" / "venv-serve"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    return str(venv / "bin" / "python")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(contender, interpreter, port):
    """How to start a receiver that listens on this port."""
    if contender == "grpcio":
        return [interpreter, HERE / "peer_grpcio.py", str(port)]
    if contender == "rotel":
        agent = subprocess.run([interpreter, "-c", "import rotel; print(rotel.__path__[0])"], capture_output=True, text=True, check=True)
        return [pathlib.Path(agent.stdout.strip()) / "rotel-agent", "start", "--otlp-grpc-endpoint", f"127.0.0.1:{port}",
                "--otlp-http-endpoint", f"127.0.0.1:{free_port()}", "--exporter", "blackhole"]
    settings = WORK / "laggard.yaml"
    data = WORK / "data"
    shutil.rmtree(data, ignore_errors=True)
    settings.write_text(f"http: 127.0.0.1:{free_port()}\notlp_grpc: 127.0.0.1:{port}\notlp_http: 127.0.0.1:{free_port()}\n"
                        f"zipkin: 127.0.0.1:{free_port()}\ndata: {data}\n")
    return [LAGGARD, "serve", "--config", settings]


class Receiver:
    """A process that receives, and what it used."""

    def __init__(self, contender, interpreter):
        self.port = free_port()
        line = [str(part) for part in command(contender, interpreter, self.port)]
        self.log = open(WORK / f"{contender}.log", "w")
        pin = lambda: os.sched_setaffinity(0, CORES)
        self.process = subprocess.Popen(line, stdout=self.log, stderr=self.log, preexec_fn=pin)
        self.wait()

    def wait(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                raise SystemExit(f"{self.process.args} ended; see {self.log.name}")
            time.sleep(0.1)
        raise SystemExit(f"{self.process.args} does not listen")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def once(contender, interpreter, seconds, seed):
    """One run of a fresh receiver."""
    receiver = Receiver(contender, interpreter)
    try:
        pin = lambda: os.sched_setaffinity(0, CORES)
        line = [str(LOAD), f"127.0.0.1:{receiver.port}", "--seconds", str(seconds), "--seed", str(seed), *LANES]
        done = subprocess.run(line, capture_output=True, text=True, preexec_fn=pin)
        if done.returncode != 0:
            raise SystemExit(f"{line}: {done.stderr}")
        result = json.loads(done.stdout)
        return {**result, "cpu": receiver.cpu_seconds(), "peak_bytes": receiver.peak_bytes()}
    finally:
        receiver.stop()


def row(contender, runs, ours):
    median = lambda name: statistics.median(run[name] for run in runs)
    rate = median("spans_per_second")
    ratio = "" if contender == "laggard" or rate == 0 else f"{ours / rate:.2f}"
    per_million = statistics.median(run["cpu"] / run["spans"] * 1e6 for run in runs)
    spread = f"{min(run['spans_per_second'] for run in runs):,.0f} to {max(run['spans_per_second'] for run in runs):,.0f}"
    return (f"| {contender} | {rate:,.0f} | {spread} | {ratio} | {per_million:.2f} | {median('peak_bytes') / 1e6:,.0f} | "
            f"{sum(run['deferred'] for run in runs)} | {sum(run['failed'] for run in runs)} |")


def machine():
    model = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "?")
    return f"{model}, {len(CORES)} cores used by receiver and generator together; {platform.system()} {platform.machine()}"


def page(results, seconds, rounds, load_before):
    ours = statistics.median(run["spans_per_second"] for run in results["laggard"])
    bytes_a_span = statistics.median(run["bytes"] / run["spans"] for run in results["laggard"])
    rows = "\n".join(row(contender, runs, ours) for contender, runs in results.items())
    return f"""# Taking spans over OTLP/gRPC

Generated by `lab/benches/serve/run.py`; do not edit. {rounds} run(s) of {seconds} s of each contender taking turns on the same two
cores, every run a fresh process with an empty folder; medians. Load average before and after: {load_before:.1f}, {os.getloadavg()[0]:.1f}.

Machine: {machine()}.

`load` ([lab/experiments/examples/load](../../lab/experiments/examples/load/main.rs)) sends messages of 512 spans, {bytes_a_span:.0f} bytes a span, trees of ten spans,
over 4 connections with 4 calls each, as fast as they are acknowledged. It uses the same two cores.

| receiver | spans/s acknowledged | from, to | Laggard's multiple | its processor s for a million spans | peak MB | told to come back | failed |
|---|---|---|---|---|---|---|---|
{rows}

What each of them does with a message before it acknowledges it:

- **laggard** (`laggard serve`, as installed): reads it, writes it to the write-ahead log, and waits until that is on the disk. Meanwhile
  it assembles requests and writes segments.
- **rotel** ([PyPI](https://pypi.org/project/rotel/), a collector in Rust, with its `blackhole` exporter): decodes it and hands it on to be dropped. Nothing is kept.
- **grpcio**: gRPC's server for Python with the official library of messages: decodes it and forgets it. Nothing is kept.
"""


def main():
    quick = "--quick" in sys.argv
    given = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    output = pathlib.Path(given[0]) if given else ROOT / "docs" / "benchmarks" / "serve.md"
    seconds, rounds = (5, 1) if quick else (20, 3)
    WORK.mkdir(parents=True, exist_ok=True)
    build()
    interpreter, load_before = python(), os.getloadavg()[0]
    results = {contender: [] for contender in CONTENDERS}
    for turn in range(rounds):
        for contender in CONTENDERS:
            results[contender].append(once(contender, interpreter, seconds, 1 + turn))
            print(contender, results[contender][-1], file=sys.stderr)
    shutil.rmtree(WORK / "data", ignore_errors=True)
    output.write_text(page(results, seconds, rounds, load_before))


main()
