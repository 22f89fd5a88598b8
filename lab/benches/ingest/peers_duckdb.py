"""The nearest thing to Laggard's ingestion in DuckDB: spans out of a file, self times, statistics by operation and replica.

    peers_duckdb.py FORMAT PATTERN

Prints one line of JSON; the clock starts when DuckDB is loaded. See docs/benchmarks/ingest.md for what is not computed.
"""

import json
import resource
import sys
import time

import duckdb

CSV = """
SELECT trace_id, span_id, nullif(parent_span_id, '') AS parent, service, operation, kind, replica, duration_ns AS duration
FROM read_csv('{path}', header = true, auto_detect = false, columns = {{
  'trace_id': 'VARCHAR', 'span_id': 'VARCHAR', 'parent_span_id': 'VARCHAR', 'service': 'VARCHAR', 'replica': 'VARCHAR',
  'operation': 'VARCHAR', 'start_ns': 'BIGINT', 'duration_ns': 'BIGINT', 'kind': 'VARCHAR'}})
"""

ATTRIBUTE = 'STRUCT("key" VARCHAR, "value" STRUCT("stringValue" VARCHAR))[]'
OTLP_JSON = """
WITH resources AS (
  SELECT unnest(resourceSpans) AS resource_spans
  FROM read_ndjson('{path}', columns = {{'resourceSpans': 'STRUCT(resource STRUCT(attributes """ + ATTRIBUTE + """),
    "scopeSpans" STRUCT(spans STRUCT("traceId" VARCHAR, "spanId" VARCHAR, "parentSpanId" VARCHAR, "name" VARCHAR, kind INTEGER,
      "startTimeUnixNano" BIGINT, "endTimeUnixNano" BIGINT)[])[])[]'}})
), scopes AS (
  SELECT list_filter(resource_spans.resource.attributes, lambda a: a.key = 'service.name')[1].value.stringValue AS service,
         list_filter(resource_spans.resource.attributes, lambda a: a.key = 'service.instance.id')[1].value.stringValue AS replica,
         unnest(resource_spans.scopeSpans) AS scope_spans
  FROM resources
), spans AS (SELECT service, replica, unnest(scope_spans.spans) AS span FROM scopes)
SELECT span.traceId AS trace_id, span.spanId AS span_id, nullif(span.parentSpanId, '') AS parent, service, span.name AS operation,
       span.kind AS kind, replica, span.endTimeUnixNano - span.startTimeUnixNano AS duration
FROM spans
"""

ZIPKIN = """
SELECT traceId AS trace_id, id AS span_id, parentId AS parent, localEndpoint.serviceName AS service, name AS operation, kind,
       tags."service.instance.id" AS replica, 1000 * duration AS duration
FROM read_json('{path}', format = 'array', columns = {{
  'traceId': 'VARCHAR', 'id': 'VARCHAR', 'parentId': 'VARCHAR', 'kind': 'VARCHAR', 'name': 'VARCHAR', 'duration': 'BIGINT',
  'localEndpoint': 'STRUCT("serviceName" VARCHAR)', 'tags': 'STRUCT("service.instance.id" VARCHAR)'}})
"""

TAG = 'STRUCT("key" VARCHAR, "value" VARCHAR)[]'
JAEGER_COLUMNS = """{{'data': 'STRUCT(
  spans STRUCT("traceID" VARCHAR, "spanID" VARCHAR, "operationName" VARCHAR, duration BIGINT, "processID" VARCHAR,
    "references" STRUCT("spanID" VARCHAR)[], tags """ + TAG + """)[],
  processes MAP(VARCHAR, STRUCT("serviceName" VARCHAR, tags """ + TAG + """)))[]'}}"""
JAEGER = """
WITH traces AS (
  SELECT unnest(data) AS trace
  FROM read_json('{path}', format = 'unstructured', maximum_object_size = 2000000000, columns = """ + JAEGER_COLUMNS + """)
), spans AS (SELECT unnest(trace.spans) AS span, trace.processes AS processes FROM traces),
placed AS (SELECT span, processes[span.processID] AS process FROM spans)
SELECT span.traceID AS trace_id, span.spanID AS span_id, span.references[1].spanID AS parent,
       process.serviceName AS service, span.operationName AS operation,
       list_filter(span.tags, lambda t: t.key = 'span.kind')[1].value AS kind,
       list_filter(process.tags, lambda t: t.key = 'hostname')[1].value AS replica, 1000 * span.duration AS duration
FROM placed
"""

# A call's start and its return are the two neighbors at one depth of a fragment. Its caller is the last start one level
# higher, or the call that announced the fragment.
CALL_LOG = """
WITH records AS MATERIALIZED (
  SELECT row_number() OVER () AS line, host, time_us, request_id, mid, method, flag, callee_mid
  FROM read_csv('{path}', header = true, auto_detect = false, columns = {{
    'host': 'VARCHAR', 'time_us': 'BIGINT', 'request_id': 'VARCHAR', 'mid': 'VARCHAR', 'method': 'VARCHAR', 'flag': 'VARCHAR',
    'callee_mid': 'VARCHAR'}})
), levels AS (
  SELECT *, sum(CASE flag WHEN 'E' THEN 1 ELSE -1 END) OVER (PARTITION BY mid ORDER BY time_us, line)
            + (flag = 'X')::INTEGER AS level
  FROM records
), calls AS MATERIALIZED (
  SELECT line, host, request_id, mid, method, nullif(callee_mid, '') AS callee_mid, level, flag, time_us,
         lead(time_us) OVER (PARTITION BY mid, level ORDER BY time_us, line) - time_us AS took
  FROM levels QUALIFY flag = 'E'
), remote AS (
  SELECT caller.line AS parent, callee.line AS line FROM calls AS callee JOIN calls AS caller ON caller.callee_mid = callee.mid
  WHERE callee.level = 1
), local AS (
  SELECT caller.line AS parent, callee.line AS line
  FROM (SELECT *, level - 1 AS above FROM calls WHERE level > 1) AS callee
  ASOF JOIN calls AS caller ON caller.mid = callee.mid AND caller.level = callee.above AND callee.line >= caller.line
), parents AS (FROM remote UNION ALL FROM local)
SELECT request_id AS trace_id, calls.line AS span_id, parents.parent, '' AS service, method AS operation, '' AS kind,
       host AS replica, 1000 * took AS duration
FROM calls LEFT JOIN parents USING (line)
"""

SELF_TIMES = """
WITH spans AS MATERIALIZED ({spans}), covered AS (
  SELECT trace_id, parent AS span_id, sum(duration) AS covered FROM spans WHERE parent IS NOT NULL GROUP BY ALL
), timed AS (
  SELECT service, operation, kind, replica, duration - coalesce(covered, 0) AS self
  FROM spans LEFT JOIN covered USING (trace_id, span_id)
)
SELECT service, operation, kind, replica, count(*), avg(self), sum(self), quantile_cont(self, [0.5, 0.9, 0.99])
FROM timed GROUP BY ALL
"""

FORMATS = {"span-csv": CSV, "otlp-json": OTLP_JSON, "zipkin": ZIPKIN, "jaeger": JAEGER, "call-log": CALL_LOG}


def main(name, path):
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    start, start_cpu = time.perf_counter(), time.process_time()
    rows = connection.execute(SELF_TIMES.format(spans=FORMATS[name].format(path=path))).fetchall()
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "groups": len(rows), "spans": sum(row[4] for row in rows),
                      "self_ns": int(sum(row[6] for row in rows)),
                      "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main(*sys.argv[1:])
