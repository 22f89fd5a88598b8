"""Times reading kernel traces against the tools that write them, on the same files in the same run, and writes a Markdown page.

    python3 lab/benches/kernel/run.py [--quick] [--trace TRACE.DAT] [OUTPUT]

Builds the release example `kernel_throughput`. The input is a recording by trace-cmd, given or made here, repeated to some million
events (repeat.py) and converted by `trace-cmd convert` into every version; and a perf.data that is recorded here. What cannot be
recorded is left out with a message. Writes docs/benchmarks/kernel-reading.md unless told otherwise. Needs trace-cmd and perf.
"""

import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "benchmarks" / "kernel"
EXAMPLE = TARGET / "release" / "examples" / "kernel_throughput"
EVENTS = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new", "irq:irq_handler_entry",
          "irq:irq_handler_exit", "irq:softirq_entry", "irq:softirq_exit", "timer:hrtimer_expire_entry",
          "timer:hrtimer_expire_exit"]
WANTED_EVENTS = 4_000_000


class Run:
    """One process: elapsed and processor seconds, peak memory in MB, what it printed."""

    def __init__(self, command, keep):
        out = subprocess.PIPE if keep else subprocess.DEVNULL
        begin = time.monotonic()
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=subprocess.DEVNULL, text=True)
        self.text = process.stdout.read() if keep else ""
        _, status, usage = os.wait4(process.pid, 0)
        self.elapsed = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command} ended with {process.returncode}")
        self.cpu, self.peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Contest:
    """One file, read by us and by a peer that prints every event as text."""

    def __init__(self, what, path, peer, command):
        self.what, self.path, self.peer, self.command = what, path, peer, command

    def row(self, rounds):
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(Run([EXAMPLE, self.path], keep=True))
            theirs.append(Run(self.command, keep=False))
        events = int(re.search(r"(\d+) events", ours[0].text)[1])
        median = lambda runs, what: statistics.median(getattr(run, what) for run in runs)
        cells = [self.what, f"{events / 1e6:.2f} M", f"{self.path.stat().st_size / 1e6:.0f}"]
        for runs in (ours, theirs):
            cells += [f"{median(runs, 'elapsed'):.2f}", f"{median(runs, 'cpu'):.2f}", f"{median(runs, 'peak'):.0f}"]
        cells[6] = f"{self.peer}: {cells[6]}"
        cells += [f"{median(theirs, what) / median(ours, what):.0f}" for what in ("elapsed", "cpu")]
        cells.append(f"{events / 1e6 / median(ours, 'cpu'):.1f}")
        return "| " + " | ".join(cells) + " |"


def recorded(given):
    """A recording by trace-cmd, in version 6; None when there is none."""
    small = WORK / "small.v6.dat"
    source = given
    if source is None:
        source = WORK / "recorded.dat"
        flags = [word for event in EVENTS for word in ("-e", event)]
        done = subprocess.run(["trace-cmd", "record", "-q", "-C", "mono", "-b", "16000", "-o", source, *flags, "--", "perf",
                               "bench", "sched", "pipe", "-l", "5000"], capture_output=True)
        if done.returncode or not source.exists():
            print("trace-cmd cannot record here: give a recording by --trace", file=sys.stderr)
            return None
    subprocess.run(["trace-cmd", "convert", "-i", source, "-o", small, "--file-version", "6", "--compression", "none"],
                   check=True, capture_output=True)
    return small


def trace_dat(given, quick):
    """trace.dat in every version, each with its contest."""
    small = recorded(given)
    if small is None:
        return []
    events = int(re.search(r"(\d+) events", Run([EXAMPLE, small], keep=True).text)[1])
    times = max(1, WANTED_EVENTS // (10 if quick else 1) // events)
    six = WORK / "v6.dat"
    subprocess.run([sys.executable, HERE / "repeat.py", small, six, str(times)], check=True)
    files = [("trace.dat v6", six)]
    for name, packing in (("plain", "none"), ("zstd", "zstd"), ("zlib", "zlib")):
        path = WORK / f"v7.{packing}.dat"
        done = subprocess.run(["trace-cmd", "convert", "-i", six, "-o", path, "--compression", packing], capture_output=True)
        if done.returncode:
            print(f"this trace-cmd does not write {packing}", file=sys.stderr)
            continue
        files.append((f"trace.dat v7, {name}", path))
    return [Contest(what, path, "trace-cmd report", ["trace-cmd", "report", "-t", "-i", path]) for what, path in files]


def perf_data(quick):
    """perf.data of a program that does little but switch threads."""
    contests = []
    for what, flags in (("perf.data", []), ("perf.data, compressed", ["-z"])):
        path = WORK / f"perf{''.join(flags)}.data"
        loops = "5000" if quick else "150000"
        done = subprocess.run(["perf", "record", "-q", "-a", *flags, "-k", "mono", "-m", "16M", "-e", ",".join(EVENTS), "-o", path,
                               "--", "perf", "bench", "sched", "pipe", "-l", loops], capture_output=True)
        if done.returncode:
            print(f"perf cannot record here: {done.stderr.decode()}", file=sys.stderr)
            return []
        contests.append(Contest(what, path, "perf script", ["perf", "script", "-i", path]))
    return contests


def version(*command):
    out = subprocess.run(command, capture_output=True, text=True)
    return next(iter(re.findall(r"\d+\.\d[\w.]*", out.stdout + out.stderr)), "?")


def machine():
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    return (f"{cpu}, {len(os.sched_getaffinity(0))} cores; {platform.system()} {platform.release()} {platform.machine()}; rustc "
            f"{version('rustc', '--version')}; trace-cmd {version('trace-cmd')}; perf {version('perf', '--version')}")


PAGE = """# Reading kernel traces: time

Generated by `python3 lab/benches/kernel/run.py`; do not edit. Each file is read from its path to its end: by us with every event decoded,
merged by time and touched; by the peer with every event printed to /dev/null. One process each, one thread, turns taken, medians of
{rounds} runs. Load average before and after: {load}; elapsed time depends on that, processor time hardly.

Machine: {machine}.

| file | events | MB | ours: elapsed s | CPU s | peak MB | theirs: elapsed s | CPU s | peak MB | times faster, elapsed | CPU | M events per CPU s |
|---|---|---|---|---|---|---|---|---|---|---|---|
{rows}

The peers write text, which is most of their work, and nobody who wants the events can have them from these tools otherwise; their
libraries alone (libtraceevent and libtracecmd) were not timed. The trace.dat files are a recording of a small program, its pages repeated
with later times, so that caches of names see few names. Peak memory is the process's; events are not kept.
"""


def main(arguments):
    quick = "--quick" in arguments
    given = pathlib.Path(arguments[arguments.index("--trace") + 1]) if "--trace" in arguments else None
    paths = [argument for argument in arguments if not argument.startswith("--") and argument != str(given)]
    output = pathlib.Path(paths[0]) if paths else ROOT / "docs" / "benchmarks" / "kernel-reading.md"
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "-p", "laggard-experiments", "--example", EXAMPLE.name], cwd=ROOT, check=True)
    rounds, load = 1 if quick else 3, os.getloadavg()[0]
    rows = [contest.row(rounds) for contest in trace_dat(given, quick) + perf_data(quick)]
    page = PAGE.format(rounds=rounds, load=f"{load:.1f}, {os.getloadavg()[0]:.1f}", machine=machine(), rows="\n".join(rows))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page)
    print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
