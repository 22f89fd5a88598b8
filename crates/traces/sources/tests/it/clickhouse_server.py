"""ClickHouse's HTTP interface for tests: the engine is ClickHouse's own (chdb), the server around it is not.

Usage: clickhouse_server.py ROWS.json. Prints its port. The tables are those of the OpenTelemetry Collector's exporter and of SigNoz.
"""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from chdb.session import Session

RAW = """
CREATE TABLE raw (
    trace_id String, span_id String, parent_id String, trace_state String, name String, kind String, service String,
    resource Map(String, String), attributes Map(String, String), numbers Map(String, Float64),
    start Int64, duration UInt64, status String
) ENGINE = MergeTree ORDER BY start
"""

# exporter/clickhouseexporter/example/default_ddl/traces.sql, without codecs, indices, events, and links
COLLECTOR = """
CREATE TABLE otel.otel_traces (
    Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, TraceState String,
    SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
    ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion String,
    SpanAttributes Map(LowCardinality(String), String), Duration UInt64,
    StatusCode LowCardinality(String), StatusMessage String
) ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, Timestamp)
"""

FILL_COLLECTOR = """
INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, ParentSpanId, TraceState, SpanName, SpanKind, ServiceName,
    ResourceAttributes, SpanAttributes, Duration, StatusCode)
SELECT fromUnixTimestamp64Nano(start), trace_id, span_id, parent_id, trace_state, name, kind, service, resource,
    mapConcat(attributes, mapApply((k, v) -> (k, toString(v)), numbers)), duration, status
FROM raw
"""

# TracesMigrations of signoz-otel-collector, the columns that are not derived
SIGNOZ = """
CREATE TABLE signoz_traces.distributed_signoz_index_v3 (
    ts_bucket_start UInt64, resource_fingerprint String, timestamp DateTime64(9), trace_id FixedString(32),
    span_id String, trace_state String, parent_span_id String, flags UInt32, name LowCardinality(String), kind Int8,
    kind_string String, duration_nano UInt64, status_code Int16, status_message String, status_code_string String,
    attributes_string Map(LowCardinality(String), String), attributes_number Map(LowCardinality(String), Float64),
    attributes_bool Map(LowCardinality(String), Bool), resources_string Map(LowCardinality(String), String),
    has_error Bool,
    `resource_string_service$$name` LowCardinality(String) DEFAULT resources_string['service.name']
) ENGINE = MergeTree PARTITION BY toDate(timestamp)
ORDER BY (ts_bucket_start, resource_fingerprint, has_error, name, timestamp)
"""

FILL_SIGNOZ = """
INSERT INTO signoz_traces.distributed_signoz_index_v3 (ts_bucket_start, timestamp, trace_id, span_id, trace_state,
    parent_span_id, name, kind_string, duration_nano, status_code_string, attributes_string, attributes_number,
    resources_string)
SELECT intDiv(start, 1800000000000) * 1800, fromUnixTimestamp64Nano(start), trace_id, span_id, trace_state, parent_id,
    name, kind, duration, status, attributes, numbers, resource
FROM raw
"""


def filled(rows):
    session = Session()
    for statement in ["CREATE DATABASE otel", "CREATE DATABASE signoz_traces", "USE otel", RAW, COLLECTOR, SIGNOZ]:
        session.query(statement)
    session.query(f"INSERT INTO raw SELECT * FROM file('{rows}', 'JSONEachRow')")
    session.query(FILL_COLLECTOR)
    session.query(FILL_SIGNOZ)
    return session


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)["query"][0]
        try:
            status, body = 200, SESSION.query(query, "JSONEachRow").bytes()
        except Exception as error:
            # ClickHouse's own status of an unknown table is 404.
            status, body = 404 if "UNKNOWN_TABLE" in str(error) else 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


SESSION = filled(sys.argv[1])
SERVER = HTTPServer(("127.0.0.1", 0), Handler)
print(SERVER.server_port, flush=True)
SERVER.serve_forever()
