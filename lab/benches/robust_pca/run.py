"""Times robust PCA against NumPy on the same inputs in the same run, and writes a Markdown table.

    python3 lab/benches/robust_pca/run.py [--quick] [OUTPUT]

Builds the release example `robust_pca_timing`, makes a virtual environment under the target directory
when the NumPy of requirements.txt is not there, lets the contenders take turns (each run a process of its
own), and writes docs/benchmarks/robust-pca.md unless told otherwise. Nothing else should run meanwhile;
processor time is shown beside elapsed time because that is not always to be had.
"""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "benchmarks"
EXAMPLE = TARGET / "release" / "examples" / "robust_pca_timing"
EXTRAPOLATE_ABOVE_SECONDS = 300
CORES = len(os.sched_getaffinity(0))

NAMES = {
    "rust": "**Laggard**",
    "rust_1": "Laggard, one thread",
    "blocked": "NumPy, Gram matrix, cached blocks on threads",
    "in_place": "NumPy, Gram matrix, in place",
    "textbook": "NumPy, textbook (full SVD)",
}


def python():
    """A Python with the pinned NumPy: this one, or that of a virtual environment."""
    wanted = (HERE / "requirements.txt").read_text().split("==")[1].strip()
    try:
        import numpy
        if numpy.__version__ == wanted:
            return sys.executable
    except ImportError:
        pass
    venv = WORK / "venv"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin" / "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    return str(venv / "bin" / "python")


def run(command, **variables):
    out = subprocess.run([str(part) for part in command], env={**os.environ, **variables},
                         check=True, capture_output=True, text=True).stdout
    result = json.loads(out)
    return {**result, "seconds": result["seconds"][0], "cpu": result["cpu"][0]}


class Contest:
    """One shape of input and everyone's results on it."""

    def __init__(self, interpreter, rows, cols):
        self.interpreter, self.rows, self.cols = interpreter, rows, cols
        self.file = WORK / f"latencies-{rows}x{cols}.f64"
        self.results = {}
        self.threads = {}
        subprocess.run([str(EXAMPLE), str(rows), str(cols), "1", "0", str(self.file)], check=True)

    def peer(self, method, blas_threads, iterations=1000):
        return run([self.interpreter, HERE / "peers.py", method, self.file, self.rows, self.cols, 1, iterations],
                   OPENBLAS_NUM_THREADS=str(blas_threads), PEER_THREADS=str(CORES))

    def once(self, name):
        if name == "rust":
            return run([EXAMPLE, self.rows, self.cols, CORES, 1])
        if name == "rust_1":
            return run([EXAMPLE, self.rows, self.cols, 1, 1])
        if name == "blocked":
            return self.peer("gram_blocked", 1)
        if name == "in_place":
            return self.best_threads(name, "gram_in_place", 1000)
        raise ValueError(name)

    def best_threads(self, name, method, iterations):
        """The better of one BLAS thread and one for each core, found on the first call."""
        if name not in self.threads:
            trials = {count: self.peer(method, count, min(iterations, 3)) for count in sorted({1, CORES})}
            self.threads[name] = min(trials, key=lambda count: trials[count]["seconds"])
        return self.peer(method, self.threads[name], iterations)

    def turns(self, names, rounds):
        for _ in range(rounds):
            for name in names:
                self.results.setdefault(name, []).append(self.once(name))

    def textbook(self):
        """The textbook method once, or extrapolated from a few iterations when it takes too long."""
        few = self.best_threads("textbook", "textbook", 3)
        iterations = self.results["rust"][0]["iterations"]
        expected = few["seconds"] / 3 * iterations
        if expected <= EXTRAPOLATE_ABOVE_SECONDS:
            self.results["textbook"] = [self.best_threads("textbook", "textbook", 1000)]
            return
        factor = iterations / 3
        self.results["textbook"] = [{**few, "seconds": expected, "cpu": few["cpu"] * factor,
                                     "iterations": "3, extrapolated", "cosines": None}]

    def median(self, name, key):
        return statistics.median(result[key] for result in self.results[name])

    def difference(self, name):
        """Largest difference of a cosine from ours."""
        ours, theirs = self.results["rust"][0]["cosines"], self.results[name][0]["cosines"]
        if theirs is None:
            return "–"
        return f"{max(abs(a - b) for a, b in zip(ours, theirs)):.0e}"

    def table(self):
        lines = ["| | elapsed s (fastest) | times ours | processor s | times ours | peak memory MB | copies of the input"
                 " | iterations | largest difference of a cosine |", "|---|---|---|---|---|---|---|---|---|"]
        size = 8 * self.rows * self.cols
        for name in (name for name in NAMES if name in self.results):
            seconds, cpu, peak = (self.median(name, key) for key in ("seconds", "cpu", "peak_bytes"))
            fastest = min(result["seconds"] for result in self.results[name])
            lines.append(
                f"| {NAMES[name]} | {seconds:.3g} ({fastest:.3g}) | {seconds / self.median('rust', 'seconds'):.1f} | {cpu:.3g}"
                f" | {cpu / max(self.median('rust', 'cpu'), 0.01):.1f} | {peak / 1e6:.0f} | {peak / size:.1f}"
                f" | {self.results[name][0]['iterations']} | {self.difference(name)} |")
        return "\n".join(lines)


def machine(interpreter):
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags"))
    widest = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
    code = ("import numpy, platform; b = numpy.show_config(mode='dicts')['Build Dependencies']['blas'];"
            "print('Python', platform.python_version() + ', NumPy', numpy.__version__, 'with', b['name'], b['version'])")
    numpy = subprocess.run([interpreter, "-c", code], capture_output=True, text=True).stdout.strip()
    return f"{cpu}, {CORES} cores, {widest}; {platform.system()} {platform.machine()}; rustc {rust}; {numpy}"


def scaling(contests):
    lines = ["| rows | Laggard elapsed s | processor s | ns of processor an element and iteration | NumPy in place: elapsed s | processor s |",
             "|---|---|---|---|---|---|"]
    for contest in contests:
        cpu, iterations = contest.median("rust", "cpu"), contest.results["rust"][0]["iterations"]
        each = 1e9 * cpu / (contest.rows * contest.cols * iterations)
        lines.append(f"| {contest.rows:,} | {contest.median('rust', 'seconds'):.3g} | {cpu:.3g} | {each:.1f}"
                     f" | {contest.median('in_place', 'seconds'):.3g} | {contest.median('in_place', 'cpu'):.3g} |")
    return "\n".join(lines)


PAGE = """# Robust PCA: time and memory

Generated by `lab/benches/robust_pca/run.py`; do not edit. Input: generated request latencies (a common size factor, lognormal noise,
one culprit column), tolerance 1e-7, growth 1.5, default lambda. Medians of {rounds} runs of each contender taking turns, every run a
process of its own; the textbook method ran once. Elapsed time depends on what else the machine does (load average before and after:
{load}), processor time hardly. Laggard used {cores} threads; NumPy's BLAS the better of 1 and {cores} threads.

Machine: {machine}.

The peers are in `lab/benches/robust_pca/peers.py`: the method as printed with a full singular value decomposition an iteration; the Gram
matrix instead, whole-array operations in preallocated arrays; and the algorithm of Laggard as far as NumPy lets one write it (blocks
of rows that stay in cache, spread over threads, one pass an iteration, one iteration more than the others because it overwrites
what it measures).

## 2,000 x 50

{small}

The interpreter and its libraries are part of NumPy's memory, which is all there is to see at this size.

## 100,000 x 117

{large}

## Rows, at 117 columns

{scaling}
"""


def main(arguments):
    quick = "--quick" in arguments
    paths = [argument for argument in arguments if not argument.startswith("--")]
    output = pathlib.Path(paths[0]) if paths else ROOT / "docs" / "benchmarks" / "robust-pca.md"
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "-p", "laggard-experiments", "--example", EXAMPLE.name],
                   cwd=ROOT, check=True)
    load, rounds, interpreter = os.getloadavg()[0], 1 if quick else 5, python()
    everyone = ["rust", "rust_1", "blocked", "in_place"]
    small, large = Contest(interpreter, 2000, 50), Contest(interpreter, 20_000 if quick else 100_000, 117)
    for contest in (small, large):
        contest.turns(everyone, rounds - rounds // 2)
        contest.textbook()
        contest.turns(everyone, rounds // 2)
    steps = [Contest(interpreter, large.rows // divisor, 117) for divisor in (8, 4, 2)]
    for contest in steps:
        contest.turns(["rust", "in_place"], rounds)
    load = f"{load:.1f}, {os.getloadavg()[0]:.1f}"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(PAGE.format(rounds=rounds, load=load, cores=CORES, machine=machine(interpreter),
                                  small=small.table(), large=large.table(), scaling=scaling([*steps, large])))
    for contest in (small, large, *steps):
        contest.file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
