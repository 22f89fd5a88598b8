"""Reads the segments of a store with DuckDB and looks for every span once.

usage: segments.py FOLDER TRACES_OF_SENDER_0 TRACES_OF_SENDER_1

Spans of traces 1 to N of sender 0 and of 2^32 + 1 to 2^32 + N of sender 1 must be there, four of each, and no
others of the service `shop`. Copies of a span that was sent again are counted; answers leave them out.
"""

import json
import sys
from pathlib import Path

import duckdb

folder, traces = Path(sys.argv[1]), [int(text) for text in sys.argv[2:4]]
newest = max((folder / "manifest").glob("*.json"))
manifest = json.loads(newest.read_text().splitlines()[0])


def paths(kind):
    """Files of a kind that the manifest names."""
    named = [
        folder / kind / str(segment["slice_ns"] // 10**9) / f"{segment['number']:012}.parquet"
        for segment in manifest["segments"]
        if kind in segment["files"]
    ]
    missing = [str(path) for path in named if not path.is_file()]
    assert not missing, f"named, not there: {missing}"
    return [str(path) for path in named]


def one(query, *parameters):
    return duckdb.execute(query, list(parameters)).fetchone()


spans, requests, calls = paths("spans"), paths("requests"), paths("calls")
rows, distinct, replaced = one(
    "select count(*), count(distinct span), count(distinct (span, trace, operation, start_ns)) "
    "from read_parquet(?) where service = 'shop'",
    spans,
)
assert distinct == replaced, "a span number stands for two spans"
wanted = "select 4 * trace + part as span from (select ? + range as trace from range(?)), (select range as part from range(4))"
for lane, count in enumerate(traces):
    first = lane * 2**32 + 1
    (missing,) = one(
        f"select count(*) from ({wanted}) w where w.span not in (select span from read_parquet(?) where service = 'shop')",
        first,
        count,
        spans,
    )
    assert missing == 0, f"{missing} spans of sender {lane} are missing"
assert distinct == 4 * sum(traces), f"{distinct} spans, {4 * sum(traces)} were acknowledged"
(nodes,) = one("select count(*) from read_parquet(?)", calls)
(entries,) = one("select count(*) from read_parquet(?) where service = 'shop'", requests)
(old,) = one("select count(*) from read_parquet(?) where service = 'archive'", spans)
print(
    f"DuckDB: {len(manifest['segments'])} segments, all readable; {distinct} spans, each there; {rows - distinct} copies; "
    f"{entries} rows of requests with {nodes} calls; {old} spans that retention has not deleted yet; "
    f"{len(manifest.get('quarantined', []))} set aside"
)
