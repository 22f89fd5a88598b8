"""Times `laggard diagnose` against DuckDB and Polars on the same files in the same run, and writes a Markdown page.

    python3 lab/benches/ingest/run.py [--quick] [--keep] [OUTPUT]

Builds `laggard`, generates a million spans in each format under the target directory (removed afterwards unless --keep), makes
a virtual environment there when the versions of requirements.txt are not at hand, and lets the contenders take turns on the
same two cores, every run a process of its own. Writes docs/benchmarks/ingest.md unless told otherwise. Nothing else should run
meanwhile; processor time is shown beside elapsed time because that is not always to be had. About five minutes.
"""

import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "benchmarks" / "ingest"
LAGGARD = TARGET / "release" / "laggard"
CORES = sorted(os.sched_getaffinity(0))[:2]
ROUNDS = 5
# A contender that took longer than this the first time has only so many runs.
SLOW_SECONDS, SLOW_ROUNDS = 4, 2
REQUESTS_PER_MILLION_SPANS = 3200

INPUTS = [("span-csv", "plain"), ("span-csv", "zstd"), ("otlp-json", "plain"), ("otlp-json", "gzip"), ("otlp-proto", "plain"),
          ("jaeger", "plain"), ("zipkin", "plain"), ("call-log", "plain")]
SCALES = [0.25, 0.5, 1, 2, 4]


def python():
    """A Python with the pinned libraries: this one, or that of a virtual environment."""
    pins = [line.split("==") for line in (HERE / "requirements.txt").read_text().split()]
    try:
        if all(importlib.metadata.version(name) == version for name, version in pins):
            return sys.executable
    except importlib.metadata.PackageNotFoundError:
        pass
    venv = TARGET / "benchmarks" / "venv-ingest"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    return str(venv / "bin" / "python")


def simulate(name, kind, requests, window_s=3600):
    """Generates traces; returns their folder and the number of spans."""
    folder = WORK / f"{name}-{kind}-{requests}-{window_s}"
    if not folder.exists():
        subprocess.run([LAGGARD, "simulate", "--scenario", "bursts", "--requests", str(requests), "--seed", "5",
                        "--window", str(window_s), "--format", name, "--compression", kind, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    return folder / "traces", json.loads((folder / "truth.json").read_text())["spans"]


def diagnose(traces, *options):
    """One run of the whole program: read, assemble, diagnose, report. Peak memory is that of the process."""
    report = WORK / "report.json"
    command = [LAGGARD, "diagnose", traces, "--method", "clouddiag", "--threads", "2", "--output", "json", "-o", report, *options]
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 4):
        raise SystemExit(f"{command} failed with {process.returncode}")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024,
            "report": json.loads(report.read_text())}


class Contest:
    """One input and everyone's results on it."""

    def __init__(self, interpreter, name, kind):
        self.interpreter, self.name, self.kind = interpreter, name, kind
        self.traces, self.spans = simulate(name, kind, REQUESTS_PER_MILLION_SPANS)
        self.bytes = sum(path.stat().st_size for path in self.traces.iterdir())
        self.results, self.engine, self.failures = {}, None, {}

    def peer(self, program, *arguments):
        command = [self.interpreter, "-W", "ignore", HERE / program, self.name, *arguments, self.traces / "*"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise RuntimeError(f"status {done.returncode}: {last[:200]}")
        result = json.loads(done.stdout)
        if result["spans"] != self.spans:
            raise SystemExit(f"{command}: {result['spans']} spans instead of {self.spans}")
        return result

    def polars(self):
        """The better of the two engines, found on the first call."""
        if self.engine is None:
            trials = {engine: self.peer("peers_polars.py", engine) for engine in ("streaming", "in-memory")}
            self.engine = min(trials, key=lambda engine: trials[engine]["seconds"])
            return trials[self.engine]
        return self.peer("peers_polars.py", self.engine)

    def once(self, contender):
        if contender == "laggard":
            return diagnose(self.traces)
        return self.polars() if contender == "polars" else self.peer("peers_duckdb.py")

    def turn(self, contender, rounds):
        past = self.results.setdefault(contender, [])
        if contender in self.failures or len(past) >= rounds:
            return
        if len(past) >= SLOW_ROUNDS and past[0]["seconds"] > SLOW_SECONDS:
            return
        try:
            past.append(self.once(contender))
        except RuntimeError as failure:
            self.failures[contender] = str(failure)

    def turns(self, rounds):
        # DuckDB has no way to read protobuf.
        contenders = ["laggard", "polars"] if self.name == "otlp-proto" else ["laggard", "duckdb", "polars"]
        for _ in range(rounds):
            for contender in contenders:
                self.turn(contender, rounds)
        self.check()

    def check(self):
        """Both peers must have found the same groups and the same self time."""
        found = {(result["groups"], result["self_ns"]) for name in ("duckdb", "polars") for result in self.results.get(name, [])}
        if len(found) > 1:
            raise SystemExit(f"{self.name}: the peers disagree: {found}")

    def median(self, contender, key):
        return statistics.median(result[key] for result in self.results[contender])

    def peer_cells(self, contender):
        if contender in self.failures:
            return "failed | | "
        if not self.results.get(contender):
            return "cannot | | "
        seconds, cpu, peak = (self.median(contender, key) for key in ("seconds", "cpu", "peak_bytes"))
        ratio = seconds / self.median("laggard", "seconds")
        return f"{seconds:.2f} ({ratio:.1f}x) | {cpu:.2f} | {peak / 1e6:.0f}"

    def line(self):
        seconds, cpu, peak = (self.median("laggard", key) for key in ("seconds", "cpu", "peak_bytes"))
        label = self.name if self.kind == "plain" else f"{self.name}, {self.kind}"
        return (f"| {label} | {self.bytes / 1e6:.0f} | **{seconds:.2f}** | {cpu:.2f} | {self.spans / seconds / 1e6:.2f}"
                f" | {self.bytes / seconds / 1e6:.0f} | {peak / 1e6:.0f} | {self.peer_cells('duckdb')}"
                f" | {self.peer_cells('polars')} |")


HEAD = ("| input | MB | Laggard s | processor s | million spans/s | MB/s | peak MB | DuckDB s (times ours) | processor s | peak MB"
        " | Polars s (times ours) | processor s | peak MB |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|")


def scale_line(label, spans, runs):
    seconds, cpu, peak = (statistics.median(run[key] for run in runs) for key in ("seconds", "cpu", "peak_bytes"))
    return f"| {label} | {spans:,} | {seconds:.2f} | {cpu:.2f} | {peak / 1e6:.0f} |"


def tenth(window):
    """Options for a tenth of a period, in its middle."""
    middle, length = (window["since_ns"] + window["until_ns"]) // 2, (window["until_ns"] - window["since_ns"]) // 10
    return ["--since", str(middle - length // 2), "--until", str(middle + length // 2)]


def scaling(rounds):
    """Laggard alone: more rows, a narrower window, less memory."""
    lines = ["| run | spans in the file | s | processor s | peak MB |", "|---|---|---|---|---|"]
    for scale in SCALES:
        traces, spans = simulate("span-csv", "plain", int(REQUESTS_PER_MILLION_SPANS * scale))
        lines.append(scale_line(f"{scale} million", spans, [diagnose(traces) for _ in range(rounds)]))
    lines.append(scale_line("4 million, `--memory 64MiB --beyond-memory thin`", spans,
                            [diagnose(traces, "--memory", "64MiB", "--beyond-memory", "thin") for _ in range(rounds)]))
    traces, spans = simulate("span-csv", "plain", REQUESTS_PER_MILLION_SPANS * 4, 24 * 3600)
    whole = [diagnose(traces) for _ in range(rounds)]
    lines.append(scale_line("4 million over a day", spans, whole))
    options = tenth(whole[0]["report"]["window"])
    lines.append(scale_line("the same, a tenth of the day (`--since`, `--until`)", spans,
                            [diagnose(traces, *options) for _ in range(rounds)]))
    return "\n".join(lines)


def machine(interpreter):
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    memory = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemTotal"))
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
    code = ("import duckdb, polars, platform; print('Python', platform.python_version() + ', DuckDB', duckdb.__version__ + "
            "', Polars', polars.__version__)")
    peers = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    return (f"{cpu}, {len(CORES)} cores used, {memory / 2**20:.0f} GiB; {platform.system()} {platform.machine()}; "
            f"rustc {rust}; {peers}")


def notes(contests):
    """What is odd about single results."""
    lines = []
    for contest in contests:
        label = f"{contest.name}, {contest.kind}"
        lines += [f"- {label}: {name} failed: {why}" for name, why in contest.failures.items()]
        for name, results in contest.results.items():
            if 0 < len(results) < len(contest.results["laggard"]):
                lines.append(f"- {label}: {name} is slow; {len(results)} runs.")
    engines = sorted({f"{contest.name} {contest.kind}: {contest.engine}" for contest in contests if contest.engine})
    return "\n".join([*lines, "- Polars' better engine: " + ", ".join(engines) + "."])


PAGE = """# Reading and diagnosing a million spans: time and memory

Generated by `lab/benches/ingest/run.py`; do not edit. Medians of {rounds} run(s) of each contender taking turns on the same {cores} cores, every
run a process of its own; times in brackets are multiples of Laggard's. Elapsed time depends on what else the machine does (load
average before and after: {load}), processor time hardly.

Machine: {machine}.

Input: `laggard simulate --scenario bursts --requests 3200 --seed 5`: {spans:,} spans of 9,600 requests, twelve services on a hundred
nodes, with clocks that disagree. The files are in the page cache.

## Formats

{formats}

{notes}

What is timed:

- **Laggard**: the whole process of `laggard diagnose --method clouddiag`, from start to the report written: reading (and decompressing), rebuilding call
  trees (duplicates, orphans, cycles, clock skew, the union of overlapping callees), grouping requests by the shape of their tree, robust
  PCA on the request matrices, replica tests, report.
- **DuckDB, Polars**: from a loaded library to the result in memory; the start of the interpreter and of the libraries is not counted.
  They read the file with given columns (no sniffing), bring it to one row a span, add up the durations of each span's children, subtract
  them from the span's own duration, and aggregate by service, operation, kind and replica: count, mean, sum and three exact quantiles.
  That is where a person would start looking, and less than Laggard's work: children that overlap are simply added up (no union, so that self times
  may be negative), nothing is checked (duplicates, orphans, clocks), no tree is built, no request is compared with its like, and nobody
  is suspected. Two threads each. DuckDB's and Polars' results are checked against each other: same groups, same sum of self times.
- **call-log**: the peers pair each start with its return as neighbors at one depth of a fragment (window functions), and find the caller by
  an as-of join; they trust that nothing is lost.
- **jaeger**: the file is one JSON document, as the query API answers; neither peer can read that in parts.
- **otlp-proto**: DuckDB cannot read protobuf. In Polars' place stands the official Python library (`opentelemetry-proto`, its C decoder), which
  fills columns that Polars then aggregates.

Peak memory is that of the process; the interpreter and the libraries are part of the peers'.

## Rows, window and memory limit

Laggard alone, span-csv, medians of {scaling_rounds} run(s).

{scaling}

Memory grows with what is kept: a row is 64 bytes whatever its text was. Rows that start more than an hour outside `--since` and `--until` are not kept (the hour keeps
requests at the edges whole and allows for clocks). With `--beyond-memory thin`, whole traces are let go beyond `--memory` by a hash of their id, and the report says so; without, spans
go to a temporary file ([spilling](spilling.md)).
"""


def main(arguments):
    quick = "--quick" in arguments
    paths = [argument for argument in arguments if not argument.startswith("--")]
    output = pathlib.Path(paths[0]) if paths else ROOT / "docs" / "benchmarks" / "ingest.md"
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "-p", "laggard"], cwd=ROOT, check=True)
    os.sched_setaffinity(0, CORES)
    load, rounds, scaling_rounds, interpreter = os.getloadavg()[0], 1 if quick else ROUNDS, 1 if quick else 3, python()
    contests = [Contest(interpreter, name, kind) for name, kind in INPUTS]
    for contest in contests:
        contest.turns(rounds)
    scales = scaling(scaling_rounds)
    load = f"{load:.1f}, {os.getloadavg()[0]:.1f}"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(PAGE.format(
        rounds=rounds, cores=len(CORES), load=load, machine=machine(interpreter), spans=contests[0].spans, notes=notes(contests),
        formats="\n".join([HEAD, *(contest.line() for contest in contests)]), scaling=scales, scaling_rounds=scaling_rounds))
    if "--keep" not in arguments:
        shutil.rmtree(WORK)


if __name__ == "__main__":
    main(sys.argv[1:])
