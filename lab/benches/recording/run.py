"""Measures what recording costs: `laggard record`, trace-cmd and perf with the same events on the same work.

    python3 lab/benches/recording/run.py [--rounds N] [--debug] [OUTPUT]

Builds `laggard` and the example `workload`, optimized unless --debug. In every round each work is done once without recording and once under each
recorder, in an order that is drawn anew; what is reported are medians over the rounds, and the median of the ratios within a
round, which a drift of the machine's speed changes least. Needs root, trace-cmd and perf; what is missing is left out. Nothing
else should run meanwhile: the load average is written down. About ten minutes. Writes docs/benchmarks/recording.md unless told
otherwise.
"""

import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROFILE = "debug" if "--debug" in sys.argv else "release"
LAGGARD = TARGET / PROFILE / "laggard"
WORKLOAD = TARGET / PROFILE / "examples" / "workload"
PIPE_ROUNDS, MESSAGING_GROUPS, MESSAGING_LOOPS = 60_000, 10, 300

WORKS = {
    "requests": ([str(WORKLOAD), "requests", "1500"], "1500 requests over loopback to a server that works a little, every tenth with a file"),
    "messaging": (["perf", "bench", "sched", "messaging", "-g", str(MESSAGING_GROUPS), "-l", str(MESSAGING_LOOPS)],
                  f"`perf bench sched messaging -g {MESSAGING_GROUPS} -l {MESSAGING_LOOPS}`: {40 * MESSAGING_GROUPS} processes that send each other messages over sockets"),
    "pipe": (["perf", "bench", "sched", "pipe", "-l", str(PIPE_ROUNDS)],
             f"`perf bench sched pipe -l {PIPE_ROUNDS}`: two processes that do nothing but wake each other"),
}


def seconds(output):
    """Elapsed time reported by the workload itself, without start and stop of the recorder."""
    for line in output.splitlines():
        words = line.split()
        if "Total time:" in line:
            return float(words[2])
        if len(words) == 2 and all("." in word for word in words):
            return float(words[0])
    raise SystemExit(f"no time in: {output}")


def printed(begin, command, folder):
    """The line of `laggard record --print-commands` that begins so."""
    text = subprocess.run([LAGGARD, "record", "--print-commands", "--", *command], check=True, capture_output=True, text=True).stdout
    line = next(line for line in text.splitlines() if line.startswith(begin))
    return ["unshare", "--mount", "sh", "-c", f"mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing; cd {folder}; {line}"]


def contenders(folder):
    found = {
        "none": lambda command: command,
        "laggard record": lambda command: [LAGGARD, "record", "-o", folder / "trace.dat", "--", *command],
        "laggard record --stacks": lambda command: [LAGGARD, "record", "--stacks", "-o", folder / "trace.dat", "--", *command],
    }
    if shutil.which("trace-cmd"):
        found["trace-cmd record"] = lambda command: printed("unshare --mount", command, folder)
    if shutil.which("perf"):
        found["perf record"] = lambda command: printed("perf record", command, folder)
    return found


def events(name, folder):
    """How many events were recorded."""
    if name == "none":
        return 0
    if name == "perf record":
        text = subprocess.run(["perf", "script", "-i", folder / "perf.data", "-F", "event"], capture_output=True, text=True).stdout
        return len(text.splitlines())
    text = subprocess.run(["unshare", "--mount", "trace-cmd", "report", folder / "trace.dat"], capture_output=True, text=True).stdout
    return sum("] " in line for line in text.splitlines())


def measure(rounds, folder):
    """Seconds by work, contender and round; events of the last round."""
    found = contenders(folder)
    times = {work: {name: [] for name in found} for work in WORKS}
    counts = {work: {} for work in WORKS}
    random.seed(1)
    for number in range(rounds):
        for work, (command, _) in WORKS.items():
            for name in random.sample(list(found), len(found)):
                run = subprocess.run(found[name](command), capture_output=True, text=True)
                if run.returncode != 0:
                    raise SystemExit(f"{name}: {run.stderr}")
                times[work][name].append(seconds(run.stdout))
                if number == rounds - 1:
                    counts[work][name] = events(name, folder)
        print(f"round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return times, counts


def table(times, counts):
    lines = ["| work | recorder | events | median s | overhead (median of ratios) | quartiles |", "|---|---|---|---|---|---|"]
    for work, by_name in times.items():
        base = by_name["none"]
        for name, taken in by_name.items():
            ratios = sorted(100 * (one / other - 1) for one, other in zip(taken, base))
            overhead = "" if name == "none" else f"**{statistics.median(ratios):+.1f} %**"
            low, _, high = statistics.quantiles(ratios, n=4)
            spread = "" if name == "none" else f"{low:+.1f} … {high:+.1f} %"
            lines.append(f"| {work} | {name} | {counts[work][name]:,} | {statistics.median(taken):.3f} | {overhead} | {spread} |")
    return "\n".join(lines)


def version(*command):
    said = subprocess.run(command, capture_output=True, text=True)
    return next(line.strip() for line in (said.stdout + said.stderr).splitlines() if line.strip())


def page(rounds, times, counts, loads):
    works = "\n".join(f"- **{work}**: {words}." for work, (_, words) in WORKS.items())
    tools = ", ".join(version(tool, "--version") for tool in ("trace-cmd", "perf") if shutil.which(tool))
    return f"""# What recording costs

Generated by `lab/benches/recording/run.py`; do not edit. {rounds} rounds; in each, every work was done once without recording and once under
each recorder, in drawn order. An overhead is the median over the rounds of the ratio to the same round without; the quartiles tell how much
the machine's other work matters. Load average before and after: {loads[0]:.1f}, {loads[1]:.1f}; 1.0 or less would be quiet. Laggard was built {"without optimization" if PROFILE == "debug" else "optimized"}.

Machine: {os.cpu_count()} CPUs, Linux {platform.release()}; {tools}. Times are told by the work itself: the start and the end of a recorder
are not in them, what it does meanwhile is.

{table(times, counts)}

{works}

All record the events of a critical path (`laggard record --print-commands`): switches, wake-ups, interrupts, timers, the life of processes.
An event costs a fraction of a microsecond where it happens, whoever records; a work is slowed in proportion to the events it makes. Two
processes that only wake each other are the worst case there is. `--stacks` also records a stack for each wait and each wake-up, which the
others do not, and events of stacks count as events. perf's count is of its own file; a kernel may record fewer switches for it.
"""


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    rounds = 15
    if arguments[:1] == ["--rounds"]:
        rounds, arguments = int(arguments[1]), arguments[2:]
    output = pathlib.Path(arguments[0]) if arguments else ROOT / "docs" / "benchmarks" / "recording.md"
    optimized = [] if PROFILE == "debug" else ["--release"]
    subprocess.run(["cargo", "build", "-q", *optimized, "-p", "laggard", "--bins", "--example", "workload"], cwd=ROOT, check=True)
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        times, counts = measure(rounds, pathlib.Path(folder))
    output.write_text(page(rounds, times, counts, (before, os.getloadavg()[0])))


if __name__ == "__main__":
    main()
