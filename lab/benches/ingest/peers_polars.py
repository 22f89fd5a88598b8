"""The nearest thing to Laggard's ingestion in Polars: spans out of a file, self times, statistics by operation and replica.

    peers_polars.py FORMAT ENGINE PATTERN

ENGINE is `streaming` or `in-memory`. Prints one line of JSON; the clock starts when the libraries are loaded. OTLP protobuf
is decoded by opentelemetry-proto, since Polars cannot. See docs/benchmarks/ingest.md for what is not computed.
"""

import glob
import json
import os
import resource
import sys
import time

os.environ["POLARS_MAX_THREADS"] = "2"
import polars as pl  # noqa: E402

TEXT, NUMBER = pl.String, pl.Int64
TAGS = pl.List(pl.Struct({"key": TEXT, "value": TEXT}))
PROCESSES_MAX = 32


def span_csv(pattern):
    columns = ["trace_id", "span_id", "parent_span_id", "service", "replica", "operation", "start_ns", "duration_ns", "kind"]
    table = pl.scan_csv(pattern, schema={name: NUMBER if name.endswith("_ns") else TEXT for name in columns})
    return table.rename({"parent_span_id": "parent", "duration_ns": "duration"})


def attribute(name):
    found = pl.col("attributes").list.eval(
        pl.element().filter(pl.element().struct.field("key") == name).struct.field("value").struct.field("stringValue"))
    return found.list.first()


def otlp_json(pattern):
    span = pl.Struct({"traceId": TEXT, "spanId": TEXT, "parentSpanId": TEXT, "name": TEXT, "kind": NUMBER,
                      "startTimeUnixNano": TEXT, "endTimeUnixNano": TEXT})
    attributes = pl.List(pl.Struct({"key": TEXT, "value": pl.Struct({"stringValue": TEXT})}))
    resource_spans = pl.Struct({"resource": pl.Struct({"attributes": attributes}),
                                "scopeSpans": pl.List(pl.Struct({"spans": pl.List(span)}))})
    table = pl.scan_ndjson(pattern, schema={"resourceSpans": pl.List(resource_spans)})
    table = table.explode("resourceSpans").unnest("resourceSpans").unnest("resource")
    table = table.with_columns(service=attribute("service.name"), replica=attribute("service.instance.id"))
    table = table.drop("attributes").explode("scopeSpans").unnest("scopeSpans").explode("spans").unnest("spans")
    return table.select(
        "service", "replica", "kind", trace_id="traceId", span_id="spanId", parent="parentSpanId", operation="name",
        duration=pl.col("endTimeUnixNano").cast(NUMBER) - pl.col("startTimeUnixNano").cast(NUMBER))


def zipkin(pattern):
    schema = {"traceId": TEXT, "id": TEXT, "parentId": TEXT, "kind": TEXT, "name": TEXT, "duration": NUMBER,
              "localEndpoint": pl.Struct({"serviceName": TEXT}), "tags": pl.Struct({"service.instance.id": TEXT})}
    table = pl.concat([pl.read_json(path, schema=schema) for path in glob.glob(pattern)]).lazy()
    return table.select(
        "kind", trace_id="traceId", span_id="id", parent="parentId", operation="name",
        service=pl.col("localEndpoint").struct.field("serviceName"),
        replica=pl.col("tags").struct.field("service.instance.id"), duration=1000 * pl.col("duration"))


def jaeger(pattern):
    names = [f"p{number}" for number in range(1, PROCESSES_MAX + 1)]
    process = pl.Struct({"serviceName": TEXT, "tags": TAGS})
    span = pl.Struct({"spanID": TEXT, "operationName": TEXT, "duration": NUMBER, "processID": TEXT,
                      "references": pl.List(pl.Struct({"spanID": TEXT})), "tags": TAGS})
    schema = {"data": pl.List(pl.Struct({"traceID": TEXT, "spans": pl.List(span),
                                         "processes": pl.Struct({name: process for name in names})}))}
    tables = [pl.read_json(path, schema=schema) for path in glob.glob(pattern)]
    traces = pl.concat(tables).lazy().explode("data").unnest("data")
    tag = lambda key: pl.col("tags").list.eval(  # noqa: E731
        pl.element().filter(pl.element().struct.field("key") == key).struct.field("value")).list.first()
    processes = traces.select("traceID", "processes").unnest("processes")
    processes = processes.unpivot(names, index="traceID", variable_name="processID", value_name="process")
    processes = processes.unnest("process").filter(pl.col("serviceName").is_not_null())
    processes = processes.select("traceID", "processID", service="serviceName", replica=tag("hostname"))
    spans = traces.select("traceID", "spans").explode("spans").unnest("spans")
    spans = spans.join(processes, on=["traceID", "processID"], how="left")
    return spans.select(
        "service", "replica", kind=tag("span.kind"), trace_id="traceID", span_id="spanID", operation="operationName",
        parent=pl.col("references").list.first().struct.field("spanID"), duration=1000 * pl.col("duration"))


def call_log(pattern):
    """Pairs neighbors at one depth of a fragment; the caller is the last start one level higher, or the announcing call."""
    columns = ["host", "time_us", "request_id", "mid", "method", "flag", "callee_mid"]
    records = pl.scan_csv(pattern, schema={name: NUMBER if name == "time_us" else TEXT for name in columns})
    enters = pl.col("flag") == "E"
    ordered = records.with_row_index("line").sort("mid", "time_us", "line").with_row_index("order")
    depth = pl.when(enters).then(1).otherwise(-1).cum_sum().over("mid") + (~enters).cast(pl.Int32)
    ends = ordered.with_columns(level=depth).with_columns(
        took=pl.col("time_us").shift(-1).over("mid", "level") - pl.col("time_us"))
    calls = ends.filter(enters).with_columns(above=pl.col("level") - 1).collect(engine="in-memory").lazy()
    callers = calls.select("mid", "order", above="level", parent="order").sort("order")
    local = calls.filter(pl.col("above") > 0).sort("order").join_asof(callers, on="order", by=["mid", "above"])
    announcers = calls.filter(pl.col("callee_mid") != "").select(mid="callee_mid", parent="order")
    remote = calls.filter(pl.col("above") == 0).join(announcers, on="mid", how="left")
    wanted = ["host", "request_id", "order", "parent", "method", "took"]
    text = lambda name: pl.col(name).cast(TEXT)  # noqa: E731
    return pl.concat([local.select(wanted), remote.select(wanted)]).select(
        trace_id="request_id", span_id=text("order"), parent=text("parent"), service=pl.lit(""), operation="method",
        kind=pl.lit(""), replica="host", duration=1000 * pl.col("took"))


def otlp_proto(pattern):
    """Length-prefixed TracesData messages, decoded by the official library and laid out as columns."""
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
    names = ["trace_id", "span_id", "parent", "service", "operation", "kind", "replica", "duration"]
    columns = {name: [] for name in names}
    add = [column.append for column in columns.values()]
    for path in glob.glob(pattern):
        content, at = memoryview(open(path, "rb").read()), 0
        while at < len(content):
            length = int.from_bytes(content[at:at + 4], "big")
            message = TracesData.FromString(content[at + 4:at + 4 + length])
            at += 4 + length
            for resource_spans in message.resource_spans:
                attributes = {pair.key: pair.value.string_value for pair in resource_spans.resource.attributes}
                service, replica = attributes.get("service.name"), attributes.get("service.instance.id")
                for scope_spans in resource_spans.scope_spans:
                    for span in scope_spans.spans:
                        row = (span.trace_id, span.span_id, span.parent_span_id or None, service, span.name, span.kind,
                               replica, span.end_time_unix_nano - span.start_time_unix_nano)
                        for append, value in zip(add, row):
                            append(value)
    return pl.LazyFrame(columns)


FORMATS = {"span-csv": span_csv, "otlp-json": otlp_json, "otlp-proto": otlp_proto, "zipkin": zipkin, "jaeger": jaeger,
           "call-log": call_log}


def self_times(spans):
    # A root's empty or missing parent is no span's id, so its group joins nothing.
    covered = spans.group_by("trace_id", "parent").agg(covered=pl.col("duration").sum()).rename({"parent": "span_id"})
    timed = spans.join(covered, on=["trace_id", "span_id"], how="left")
    timed = timed.with_columns((pl.col("duration") - pl.col("covered").fill_null(0)).alias("self_time"))
    time_column = pl.col("self_time")
    quantiles = [time_column.quantile(level, "linear").alias(f"q{level}") for level in (0.5, 0.9, 0.99)]
    return timed.group_by("service", "operation", "kind", "replica").agg(
        pl.len().alias("spans"), time_column.mean().alias("mean"), time_column.sum().alias("sum"), *quantiles)


def main(name, engine, pattern):
    if name == "otlp-proto":
        import opentelemetry.proto.trace.v1.trace_pb2  # noqa: F401
    start, start_cpu = time.perf_counter(), time.process_time()
    table = self_times(FORMATS[name](pattern)).collect(engine=engine)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "groups": len(table), "spans": int(table["spans"].sum()),
                      "self_ns": int(table["sum"].sum()),
                      "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main(*sys.argv[1:])
