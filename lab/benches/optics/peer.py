"""OPTICS by scikit-learn, timed, and compared with labels that are given.

    peer.py ALGORITHM POINTS_FILE COLUMNS LABELS_FILE

The files hold little-endian doubles and 64-bit integers. One line of JSON is printed.
"""

import json
import resource
import sys
import time

import numpy as np
from sklearn.cluster import OPTICS


def main(algorithm, points, columns, labels):
    data = np.fromfile(points, dtype="<f8").reshape(-1, int(columns))
    expected = np.fromfile(labels, dtype="<i8")
    start = time.perf_counter()
    found = OPTICS(min_samples=5, xi=0.05, algorithm=algorithm).fit(data)
    print(json.dumps({
        "seconds": time.perf_counter() - start,
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "clusters": int(found.labels_.max()) + 1,
        "noise": int((found.labels_ < 0).sum()),
        "differing": int((found.labels_ != expected).sum()),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
