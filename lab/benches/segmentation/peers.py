"""Change points of a linear model by ruptures, timed.

    peers.py METHOD FILE WINDOWS JUMP ARGUMENT

METHOD is `dynp` (ARGUMENT: number of change points) or `pelt` (ARGUMENT: penalty on the sum of squares). FILE holds windows of 14
counts and a utilization as little-endian doubles. Candidate cuts are multiples of JUMP. One line of JSON is printed.
"""

import json
import resource
import sys
import time

import numpy as np
import ruptures


def main(method, file, windows, jump, argument):
    data = np.fromfile(file, dtype="<f8").reshape(-1, 15)[: int(windows)]
    # The observed variable, then the constant and the counts in thousands.
    signal = np.column_stack([100 * data[:, 14], np.ones(len(data)), data[:, :14] / 1000])
    start, cpu = time.perf_counter(), time.process_time()
    if method == "dynp":
        cuts = ruptures.Dynp(model="linear", min_size=16, jump=int(jump)).fit(signal).predict(n_bkps=int(argument))
    else:
        cuts = ruptures.Pelt(model="linear", min_size=16, jump=int(jump)).fit(signal).predict(pen=float(argument))
    print(json.dumps({
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "cuts": [int(cut) for cut in cuts],
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
