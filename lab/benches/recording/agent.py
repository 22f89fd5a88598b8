"""Measures what `laggard agent` costs a host: the same work with and without its flight recorder, in pairs.

    python3 lab/benches/recording/agent.py [--rounds N] [--debug] [OUTPUT]

Builds `laggard`, optimized unless --debug, and starts a server on loopback whose rule lets this host record. In every round each work
is done once with an agent that records and once without any, in an order that is drawn anew. An overhead is the median over the rounds
of the ratio within a round: of the time that the work itself tells, and of the CPU time of all its processes, which other programs on
the machine change less. Needs root and perf. Writes docs/benchmarks/agent.md unless told otherwise.
"""

import json
import os
import pathlib
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROFILE = "debug" if "--debug" in sys.argv else "release"
LAGGARD = TARGET / PROFILE / "laggard"
ADDRESS = "127.0.0.1:24316"

WORKS = {
    "messaging": ["perf", "bench", "sched", "messaging", "-g", "10", "-l", "300"],
    "pipe": ["perf", "bench", "sched", "pipe", "-l", "60000"],
}


def get(path):
    with urllib.request.urlopen(f"http://{ADDRESS}{path}", timeout=10) as answer:
        return json.load(answer)


def until(what, is_so):
    for _ in range(500):
        if is_so():
            return
        time.sleep(0.05)
    raise SystemExit(f"never: {what}")


class Tracefs:
    """tracefs, mounted for this program."""

    def __init__(self, folder):
        self.folder = folder
        subprocess.run(["mount", "-t", "tracefs", "tracefs", folder], check=True)

    def buffer(self, pid):
        return next((path for path in (self.folder / "instances").iterdir() if path.name.startswith(f"laggard-{pid}-")), None)

    def events(self, pid):
        """Events recorded so far, by the agent with this number."""
        count = 0
        for path in (self.buffer(pid) / "per_cpu").glob("cpu*/stats"):
            for line in path.read_text().splitlines():
                name, _, value = line.partition(":")
                if name in ("entries", "overrun", "read events"):
                    count += int(value)
        return count

    def close(self):
        subprocess.run(["umount", self.folder], check=True)


def work(command):
    """Seconds that the workload reports, and its CPU seconds."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        raise SystemExit(f"{command}: {status}")
    line = next(line for line in output.splitlines() if "Total time:" in line)
    return float(line.split()[2]), usage.ru_utime + usage.ru_stime


def with_agent(command, folder, tracefs):
    agent = subprocess.Popen(
        [LAGGARD, "agent", "--server", f"http://{ADDRESS}", "--host", "measured", "--spool", folder / "spool"], stderr=subprocess.DEVNULL
    )
    try:
        until("the agent records", lambda: (b := tracefs.buffer(agent.pid)) and (b / "tracing_on").read_text().strip() == "1")
        before = tracefs.events(agent.pid)
        wall, cpu = work(command)
        return wall, cpu, tracefs.events(agent.pid) - before
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()


def measure(rounds, folder, tracefs):
    times = {name: [] for name in WORKS}
    random.seed(1)
    for number in range(rounds):
        for name, command in WORKS.items():
            pair = {}
            for contender in random.sample(["none", "agent"], 2):
                pair[contender] = (*work(command), 0) if contender == "none" else with_agent(command, folder, tracefs)
            times[name].append(pair)
        print(f"round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return times


def overhead(pairs, index):
    ratios = sorted(100 * (pair["agent"][index] / pair["none"][index] - 1) for pair in pairs)
    low, _, high = statistics.quantiles(ratios, n=4)
    return f"**{statistics.median(ratios):+.1f} %** ({low:+.1f} … {high:+.1f}; {ratios[0]:+.1f} … {ratios[-1]:+.1f})"


def median(pairs, contender, index):
    return statistics.median(pair[contender][index] for pair in pairs)


def event_cost(pairs):
    """CPU time for each recorded event, from the totals of all rounds."""
    more = sum(pair["agent"][1] - pair["none"][1] for pair in pairs)
    return 1e9 * more / sum(pair["agent"][2] for pair in pairs)


def table(times):
    lines = ["| work | events | events per s | s without | CPU s without | longer | more CPU | CPU per event |", "|---|---|---|---|---|---|---|---|"]
    for name, pairs in times.items():
        events, seconds = median(pairs, "agent", 2), median(pairs, "agent", 0)
        lines.append(
            f"| {name} | {events:,.0f} | {events / seconds:,.0f} | {median(pairs, 'none', 0):.3f} | {median(pairs, 'none', 1):.3f} "
            f"| {overhead(pairs, 0)} | {overhead(pairs, 1)} | {event_cost(pairs):.0f} ns |"
        )
    return "\n".join(lines)


def page(rounds, times, memory, loads):
    works = "\n".join(f"- **{name}**: `{' '.join(command)}`." for name, command in WORKS.items())
    version = subprocess.run(["perf", "--version"], capture_output=True, text=True).stdout.strip()
    return f"""# What the agent costs

Generated by `lab/benches/recording/agent.py`; do not edit. {rounds} rounds; in each, every work was done once with `laggard agent` recording and
once without, in drawn order. An overhead is the median over the rounds of the ratio within a round, then the quartiles, then the extremes.
Load average before and after: {loads[0]:.1f}, {loads[1]:.1f}.

Machine: {os.cpu_count()} CPUs, Linux {platform.release()}; {version}. The agent had {memory[0]:,} KiB of ring buffers and {memory[1]:,} KiB of
memory of its own (resident, Laggard {"without optimization" if PROFILE == "debug" else "optimized"}). Its rule allowed half of the CPUs, so that it never paused.

{table(times)}

{works}

A recorded event costs a fraction of a microsecond where it happens; a work is slowed in proportion to the events it makes. Two processes
that only wake each other are the worst case there is: with its usual rule the agent pauses there.
"""


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    rounds = 15
    if arguments[:1] == ["--rounds"]:
        rounds, arguments = int(arguments[1]), arguments[2:]
    output = pathlib.Path(arguments[0]) if arguments else ROOT / "docs" / "benchmarks" / "agent.md"
    optimized = [] if PROFILE == "debug" else ["--release"]
    subprocess.run(["cargo", "build", "-q", *optimized, "-p", "laggard", "--bins"], cwd=ROOT, check=True)
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=TARGET) as name:
        folder = pathlib.Path(name)
        (folder / "tracefs").mkdir()
        off = [part for flag in ("--otlp-grpc", "--otlp-http", "--zipkin") for part in (flag, "off")]
        rule = ["--set", "recordings.hosts=measured", "--set", "recordings.cpu=0.5", "--set", "logs.level=warn"]
        server = subprocess.Popen([LAGGARD, "serve", "--data", folder / "data", "--http", ADDRESS, *off, *rule])
        tracefs = Tracefs(folder / "tracefs")
        try:
            time.sleep(2)
            memory = with_agent_memory(folder, tracefs)
            times = measure(rounds, folder, tracefs)
        finally:
            tracefs.close()
            server.terminate()
            server.wait()
    output.write_text(page(rounds, times, memory, (before, os.getloadavg()[0])))


def with_agent_memory(folder, tracefs):
    """KiB of the ring buffers and of the process, while it records."""
    agent = subprocess.Popen(
        [LAGGARD, "agent", "--server", f"http://{ADDRESS}", "--host", "measured", "--spool", folder / "spool"], stderr=subprocess.DEVNULL
    )
    try:
        until("the agent records", lambda: tracefs.buffer(agent.pid) and any(one["recording"] for one in get("/api/v1/recordings")["agents"]))
        status = pathlib.Path(f"/proc/{agent.pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        return int((tracefs.buffer(agent.pid) / "buffer_total_size_kb").read_text()), resident
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()


if __name__ == "__main__":
    main()
