"""Aligns generated sequences of states, ours and MUSCLE 3.8 on the same strings, and writes a Markdown page.

    python3 lab/benches/alignment/run.py [--quick] [OUTPUT]

Needs MUSCLE 3.8 as `muscle3` or `muscle` (Debian package `muscle3`). Builds the release example `alignment_timing` and
writes docs/benchmarks/alignment.md unless told otherwise. Both alignments are scored by the same program. Processor time is
shown beside elapsed time: the latter depends on what else the machine does.
"""

import collections
import json
import os
import pathlib
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "benchmarks"
EXAMPLE = TARGET / "release" / "examples" / "alignment_timing"
MUSCLE = shutil.which("muscle3") or shutil.which("muscle")
PATIENCE_SECONDS = 900
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
STATES = 8

# Sequences, steps of the template, share of steps inserted and of steps left out, seeds.
SETS = [(100, 500, 0.05, 3), (100, 500, 0.02, 1), (100, 500, 0.15, 1), (10, 500, 0.05, 3), (200, 200, 0.05, 1),
        (30, 2000, 0.05, 1)]
QUICK = [(100, 500, 0.05, 1), (10, 500, 0.05, 1)]


def draw(sequences, steps, rate, seed):
    """Sequences of (state, step of the template or None): running and waiting states in turn, with jitter."""
    r = random.Random(f"{sequences} {steps} {rate} {seed}")
    template = [0 if at % 2 == 0 else r.randrange(1, STATES) for at in range(steps)]
    drawn = []
    for _ in range(sequences):
        sequence = []
        for at, state in enumerate(template):
            if r.random() < rate:
                sequence.append((r.randrange(STATES), None))
            if r.random() < rate:
                continue
            sequence.append((r.randrange(STATES) if r.random() < rate / 3 else state, at))
        drawn.append([step for at, step in enumerate(sequence) if at == 0 or step[0] != sequence[at - 1][0]])
    return drawn


def write(sequences, file):
    rows = (f">{row}\n{''.join(LETTERS[state] for state, _ in sequence)}\n" for row, sequence in enumerate(sequences))
    file.write_text("".join(rows))


def identity_matrix(file):
    lines = ["   " + "  ".join(LETTERS)]
    lines += [f"{a} " + " ".join(f"{1 if a == b else -1:2d}" for b in LETTERS) for a in LETTERS]
    file.write_text("\n".join(lines) + "\n")


def true_pairs(sequences, file):
    """Share of the pairs of steps that come from one step of the template and are in one column."""
    columns = collections.defaultdict(list)
    for part in file.read_text().split(">")[1:]:
        name, row = part.split("\n", 1)
        sequence = iter(sequences[int(name)])
        for column, letter in enumerate(row.replace("\n", "")):
            if letter != "-":
                origin = next(sequence)[1]
                if origin is not None:
                    columns[origin].append(column)
    pairs = lambda count: count * (count - 1) / 2
    found = sum(pairs(count) for origin in columns.values() for count in collections.Counter(origin).values())
    return found / sum(pairs(len(origin)) for origin in columns.values())


def timed(command):
    """Elapsed and processor seconds, and standard output; None when it takes too long."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        out = subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"elapsed": elapsed, "processor": processor, "out": out.stdout.decode(errors="replace")}


def judged(sequences, run, output):
    if run is None:
        return None
    score = json.loads(timed([EXAMPLE, "score", output])["out"])["score"]
    return {**run, "score": score, "pairs": true_pairs(sequences, output)}


def contestants(matrix):
    muscle = lambda *options: lambda file, output: [MUSCLE, "-quiet", "-in", file, "-out", output, *options]
    ours = lambda threads: lambda file, output: [EXAMPLE, "align", file, output, threads]
    return [
        ("**Laggard**, 1 thread", ours(1)),
        ("Laggard, 2 threads", ours(2)),
        ("MUSCLE, identity matrix", muscle("-matrix", matrix, "-gapopen", "-2", "-gapextend", "-0.5", "-center", "0")),
        ("MUSCLE, its protein matrix", muscle()),
    ]


def table(set_, matrix):
    sequences_count, steps, rate, seeds = set_
    results = collections.defaultdict(list)
    for seed in range(seeds):
        sequences = draw(sequences_count, steps, rate, seed)
        file, output = WORK / "alignment.fa", WORK / "alignment.out.fa"
        write(sequences, file)
        for name, command in contestants(matrix):
            results[name].append(judged(sequences, timed(command(file, output)), output))
            print(name, set_, seed, {k: v for k, v in (results[name][-1] or {}).items() if k != "out"}, file=sys.stderr)
    lines = [f"## {sequences_count} sequences of {steps} steps, {100 * rate:g} % inserted, {100 * rate:g} % left out", "",
             "| | sum of pairs, by seed | true pairs | elapsed s | processor s |", "|---|---|---|---|---|"]
    for name, runs in results.items():
        if None in runs:
            lines.append(f"| {name} | | | more than {PATIENCE_SECONDS} | |")
            continue
        middle = lambda key: statistics.median(run[key] for run in runs)
        scores = ", ".join(f"{run['score']:,.0f}" for run in runs)
        lines.append(f"| {name} | {scores} | {middle('pairs'):.3f} | {middle('elapsed'):.3g} | {middle('processor'):.3g} |")
    return "\n".join(lines)


def machine():
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
    muscle = subprocess.run([MUSCLE, "-version"], capture_output=True, text=True).stdout.strip()
    return f"{cpu}, {len(os.sched_getaffinity(0))} cores; {platform.system()} {platform.machine()}; rustc {rust}; {muscle}"


PAGE = """# Alignment: score and time

Generated by `python3 lab/benches/alignment/run.py`; do not edit. Sequences of 8 states are drawn from a template of running and
waiting states in turn, with steps inserted, left out and (a third as often) replaced, and merged where neighbors are equal. Each
program aligns the same strings in the same run; MUSCLE's as letters, once with +1 for equal letters, −1 for different ones and
the gap costs of our score (`-matrix -gapopen -2 -gapextend -0.5 -center 0`, which makes it use its sum-of-pairs profile score),
once as it comes. Both use up to 16 sweeps of refinement. The sum of pairs (+1, −1, gaps −2 and −0.5, columns where both have a
gap skipped) is computed for all by the same program. *True pairs*: of the pairs of steps drawn from the same step of the template, the
share that is in one column. Medians over seeds, of one run each. MUSCLE 3.8 has one thread.

Elapsed time depends on what else the machine does (load average before and after: {load}), processor time less so.

Machine: {machine}.

{tables}
"""


def main(arguments):
    if MUSCLE is None:
        sys.exit("MUSCLE 3.8 is not installed (Debian: apt-get install muscle3)")
    paths = [argument for argument in arguments if not argument.startswith("--")]
    output = pathlib.Path(paths[0]) if paths else ROOT / "docs" / "benchmarks" / "alignment.md"
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "-p", "laggard-experiments", "--example", EXAMPLE.name], cwd=ROOT, check=True)
    matrix = WORK / "identity.matrix"
    identity_matrix(matrix)
    load = os.getloadavg()[0]
    tables = "\n\n".join(table(set_, matrix) for set_ in (QUICK if "--quick" in arguments else SETS))
    page = PAGE.format(load=f"{load:.1f}, {os.getloadavg()[0]:.1f}", machine=machine(), tables=tables)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page)
    print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
