"""Robust PCA (inexact augmented Lagrangian, Lin, Chen, Ma 2009) in NumPy, three ways.

Run as a program it times one of them:

    peers.py NAME FILE ROWS COLS REPEATS [ITERATIONS_MAX]

FILE holds the input as little-endian doubles, row by row. One line of JSON is printed.
"""

import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

GROWTH = 1.5
TOLERANCE = 1e-7


def setup(m):
    spectral = np.sqrt(np.linalg.eigvalsh(m.T @ m)[-1])
    weight = 1.0 / max(m.shape)**0.5
    first = 1.0 / max(spectral, np.abs(m).max() / weight)
    return weight, first, 1.25 / spectral


def textbook(m, iterations_max):
    """As printed: every array new, a full singular value decomposition an iteration."""
    weight, first, mu = setup(m)
    norm, mu_max = np.linalg.norm(m), 1e7 * mu
    y, low_rank = m * first, np.zeros_like(m)
    for iteration in range(1, iterations_max + 1):
        t = m - low_rank + y / mu
        sparse = np.sign(t) * np.maximum(np.abs(t) - weight / mu, 0)
        u, sigma, vt = np.linalg.svd(m - sparse + y / mu, full_matrices=False)
        low_rank = (u * np.maximum(sigma - 1 / mu, 0)) @ vt
        gap = m - low_rank - sparse
        residual = np.linalg.norm(gap) / norm
        if residual <= TOLERANCE:
            break
        y = y + mu * gap
        mu = min(GROWTH * mu, mu_max)
    return low_rank, sparse, iteration, residual


def shrinkage(gram, mu):
    """The matrix that shrinks the singular values by 1/mu, as two thin factors or one square."""
    values, vectors = np.linalg.eigh(gram)
    sigma = np.sqrt(np.maximum(values, 0))
    kept = sigma > 1 / mu
    vectors = vectors[:, kept]
    weighted = (vectors * (1 - 1 / (mu * sigma[kept]))).T
    if 2 * kept.sum() < len(values):
        return vectors, weighted
    return (vectors @ weighted,)


def apply(x, factors, out):
    if len(factors) == 2:
        np.matmul(x @ factors[0], factors[1], out=out)
    else:
        np.matmul(x, factors[0], out=out)


def gram_in_place(m, iterations_max):
    """Gram matrix instead of the decomposition; whole-array operations without new arrays.

    X = M - E + Y/mu and Y = mu (X - L), so Y is never stored; soft(t, c) = t - clip(t, -c, c).
    """
    weight, first, mu = setup(m)
    norm, mu_max = np.linalg.norm(m), 1e7 * mu
    low_rank, w, e, x = np.zeros_like(m), m * (first / mu), np.empty_like(m), np.empty_like(m)
    for iteration in range(1, iterations_max + 1):
        np.subtract(m, low_rank, out=e)
        e += w
        np.clip(e, -weight / mu, weight / mu, out=x)
        e -= x
        np.subtract(m, e, out=x)
        x += w
        apply(x, shrinkage(x.T @ x, mu), low_rank)
        np.subtract(m, low_rank, out=w)
        w -= e
        residual = np.sqrt(np.vdot(w, w)) / norm
        if residual <= TOLERANCE:
            break
        grown = min(GROWTH * mu, mu_max)
        np.subtract(x, low_rank, out=w)
        w *= mu / grown
        mu = grown
    return low_rank, e, iteration, residual


def gram_blocked(m, iterations_max, block=512):
    """The same over blocks of rows that stay in cache, the blocks spread over threads.

    The algorithm of the Rust program, one extra iteration included, as far as NumPy lets one write it.
    """
    workers = int(os.environ.get("PEER_THREADS", "2"))
    weight, first, mu = setup(m)
    norm, mu_max = np.linalg.norm(m), 1e7 * mu
    x, e = m * (first / mu), np.empty_like(m)
    parts = np.array_split(np.arange(0, len(m), block), workers)
    cols = m.shape[1]

    def shrink(rows, t, capped, cut):
        np.clip(t, -cut, cut, out=capped)
        np.subtract(t, capped, out=e[rows])

    def start(starts, cut):
        gram, t, capped = np.zeros((cols, cols)), np.empty((block, cols)), np.empty((block, cols))
        for top in starts:
            rows = slice(top, min(top + block, len(m)))
            count = rows.stop - rows.start
            np.add(m[rows], x[rows], out=t[:count])
            shrink(rows, t[:count], capped[:count], cut)
            x[rows] += m[rows]
            x[rows] -= e[rows]
            gram += x[rows].T @ x[rows]
        return gram, 0.0

    def advance(starts, factors, ratio, cut):
        gram, total = np.zeros((cols, cols)), 0.0
        low, t, capped = (np.empty((block, cols)) for _ in range(3))
        for top in starts:
            rows = slice(top, min(top + block, len(m)))
            count = rows.stop - rows.start
            l, d, c, xb, eb = low[:count], t[:count], capped[:count], x[rows], e[rows]
            apply(xb, factors, l)
            xb -= l
            xb *= ratio
            np.subtract(m[rows], l, out=d)
            np.subtract(d, eb, out=c)
            total += np.vdot(c, c)
            d += xb
            shrink(rows, d, c, cut)
            xb += m[rows]
            xb -= eb
            gram += xb.T @ xb
        return gram, total

    def conclude(starts, factors):
        for top in starts:
            rows = slice(top, min(top + block, len(m)))
            low = x[rows]
            for factor in factors:
                low = low @ factor
            x[rows] = low

    with ThreadPoolExecutor(workers) as pool:
        gram = sum(part[0] for part in pool.map(lambda p: start(p, weight / mu), parts))
        residual = np.inf
        for iteration in range(1, iterations_max + 1):
            factors = shrinkage(gram, mu)
            if residual <= TOLERANCE or iteration == iterations_max:
                break
            grown = min(GROWTH * mu, mu_max)
            results = list(pool.map(lambda p: advance(p, factors, mu / grown, weight / grown), parts))
            gram = sum(result[0] for result in results)
            residual = np.sqrt(sum(result[1] for result in results)) / norm
            mu = grown
        list(pool.map(lambda p: conclude(p, factors), parts))
    return x, e, iteration, residual


def main(name, path, rows, cols, repeats, iterations_max="1000"):
    m = np.fromfile(path, dtype="<f8").reshape(int(rows), int(cols))
    method = {"textbook": textbook, "gram_in_place": gram_in_place, "gram_blocked": gram_blocked}[name]
    seconds, cpu = [], []
    parts = None
    for _ in range(int(repeats)):
        parts = None
        start, start_cpu = time.perf_counter(), time.process_time()
        parts = method(m, int(iterations_max))
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    low_rank, _, iterations, residual = parts
    norms = np.sqrt(np.einsum("ij,ij->j", m, m) * np.einsum("ij,ij->j", low_rank, low_rank))
    cosines = np.abs(np.einsum("ij,ij->j", m, low_rank)) / norms
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_bytes": peak, "iterations": iterations,
                      "residual": float(residual), "cosines": cosines.tolist()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
