"""Times segmentation against ruptures on the same data in the same run, and writes a Markdown page.

    python3 lab/benches/segmentation/run.py [--quick] [OUTPUT]

Builds the release example `segmentation_timing`, makes a virtual environment under the target directory when ruptures is
not there, and writes docs/benchmarks/segmentation.md unless told otherwise. Nothing else should run meanwhile; processor
time is shown beside elapsed time because that is not always to be had.
"""

import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "benchmarks"
EXAMPLE = TARGET / "release" / "examples" / "segmentation_timing"
CORES = len(os.sched_getaffinity(0))
PATIENCE_SECONDS = 300

NAMES = {
    "ours": "**Laggard**, {cores} threads",
    "ours_1": "Laggard, one thread",
    "pelt": "ruptures PELT, cuts at multiples of {jump}",
    "dynp": "ruptures dynamic programming for {argument} cuts at multiples of {jump}",
}


def python():
    """A Python with ruptures: this one, or that of a virtual environment."""
    try:
        import ruptures  # noqa: F401
        return sys.executable
    except ImportError:
        pass
    venv = WORK / "venv-segmentation"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin" / "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    return str(venv / "bin" / "python")


def run(command):
    """The program's line of JSON, or None when it takes too long."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        out = subprocess.run([str(part) for part in command], env=environment, check=True, capture_output=True,
                             text=True, timeout=PATIENCE_SECONDS).stdout
    except subprocess.TimeoutExpired:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result = json.loads(out)
    result.setdefault("cpu", cpu)
    return result


def ours(windows, threads, file=None):
    command = [EXAMPLE, windows, threads, 1, 0] + ([file] if file else [])
    result = run(command)
    return {**result, "seconds": result["seconds"][0]}


def row(name, results, reference, **words):
    if results[0] is None:
        return f"| {NAMES[name].format(cores=CORES, **words)} | more than {PATIENCE_SECONDS} | > {PATIENCE_SECONDS / reference:.0f} | | |"
    seconds = statistics.median(result["seconds"] for result in results)
    fastest = min(result["seconds"] for result in results)
    cpu = statistics.median(result["cpu"] for result in results)
    segments = results[0].get("segments") or len(results[0]["cuts"])
    return (f"| {NAMES[name].format(cores=CORES, **words)} | {seconds:.3g} ({fastest:.3g}) | {seconds / reference:.3g}"
            f" | {cpu:.3g} | {segments} |")


HEAD = "| | elapsed s (fastest) | times ours | processor s | segments |\n|---|---|---|---|---|"


def contest(interpreter, windows, rounds, peers):
    """A table: ours on all pairs of cuts, and peers (method, jump, argument)."""
    file = WORK / f"windows-{windows}.f64"
    mine = [ours(windows, CORES, file) for _ in range(rounds)]
    single = [ours(windows, 1) for _ in range(rounds)]
    reference = statistics.median(result["seconds"] for result in mine)
    lines = [HEAD, row("ours", mine, reference), row("ours_1", single, reference)]
    for method, jump, argument in peers:
        results = [run([interpreter, HERE / "peers.py", method, file, windows, jump, argument])]
        lines.append(row(method, results, reference, jump=jump, argument=argument))
    file.unlink()
    return "\n".join(lines)


def month(rounds):
    results = [ours(43_200, CORES) for _ in range(rounds)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    reference = statistics.median(result["seconds"] for result in results)
    return "\n".join([HEAD, row("ours", results, reference)]), peak


def online(pushes):
    times = sorted(run([EXAMPLE, 1800, 1, 0, pushes])["push_ms"])
    pick = lambda share: times[min(len(times) - 1, int(share * len(times)))]
    return f"median {pick(0.5):.2g} ms, 99 % within {pick(0.99):.2g} ms, longest {times[-1]:.2g} ms ({pushes} windows)"


def machine(interpreter):
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags"))
    widest = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
    code = ("import numpy, platform, importlib.metadata as m; print('Python', platform.python_version() + ', NumPy',"
            "numpy.__version__ + ', ruptures', m.version('ruptures'))")
    peer = subprocess.run([interpreter, "-c", code], capture_output=True, text=True).stdout.strip()
    return f"{cpu}, {CORES} cores, {widest}; {platform.system()} {platform.machine()}; rustc {rust}; {peer}"


PAGE = """# Segmentation: time

Generated by `python3 lab/benches/segmentation/run.py`; do not edit. Input: windows of 14 transaction types in which mix, load and
demands change and something foreign runs at times. Ours is the published method as a whole: every fit to a segment (non-negative least
squares with 15 coefficients), the search for the penalty (about 22 segmentations), and the verdicts. Medians of {rounds} runs; peers
once, one BLAS thread, given up after {patience} s. Elapsed time depends on what else the machine does (load average before and after:
{load}), processor time hardly.

Machine: {machine}.

The peers fit by unconstrained least squares and answer another question: PELT for a given penalty on the sum of squares, dynamic
programming for a given number of cuts; neither searches for a penalty. With cuts at multiples of `j` they look at one pair of cuts in
`j²`. Segments are shown to tell how much there was to find, not as a contest.

## 300 windows

{small}

## 1,800 windows (30 hours of minutes)

1,620,900 fits.

{large}

## 43,200 windows (30 days of minutes)

Cuts on a grid of 5 windows, then each moved by up to 5: 37 million fits. Largest process: {peak:.0f} MB.

{month}

## One more window

The last 1,800 windows are kept; a window is appended, the oldest forgotten, and everything is judged anew, on one thread: {online}.
"""


def main(arguments):
    quick = "--quick" in arguments
    paths = [argument for argument in arguments if not argument.startswith("--")]
    output = pathlib.Path(paths[0]) if paths else ROOT / "docs" / "benchmarks" / "segmentation.md"
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "-p", "laggard-experiments", "--example", EXAMPLE.name], cwd=ROOT, check=True)
    load, rounds, interpreter = os.getloadavg()[0], 1 if quick else 5, python()
    small = contest(interpreter, 300, rounds, [("pelt", 1, 100), ("dynp", 1, 3)])
    large = [("pelt", 5, 100), ("dynp", 5, 12)] + ([] if quick else [("pelt", 1, 100), ("dynp", 1, 12)])
    large = contest(interpreter, 1800, rounds, large)
    month_table, peak = month(1 if quick else 3)
    page = PAGE.format(rounds=rounds, patience=PATIENCE_SECONDS, load=f"{load:.1f}, {os.getloadavg()[0]:.1f}",
                       machine=machine(interpreter), small=small, large=large, month=month_table, peak=peak,
                       online=online(50 if quick else 500))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page)
    print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
