import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceSpan } from "../src/api/generated.ts";
import { seen, treeRows, unfolded } from "../src/parts/tree.ts";
import { aligned, bar, callTree, extent, servicesByTime, waterfall } from "../src/trace/layout.ts";

/** A span of the shop on one host, in nanoseconds. */
function span(id: string, parent: string | null, start_ns: number, inclusive_ns: number, rest: Partial<TraceSpan> = {}): TraceSpan {
  const plain = { service: "shop", operation: id, kind: "server", replica: "host-1", status: "ok" as const, self_ns: 1, path_ns: 0, depth: 0 };
  return { span: id, parent, start_ns, inclusive_ns, ...plain, ...rest };
}

test("rows have their level, their children and all descendants", () => {
  const rows = treeRows(["root", "a", "a1", "b"], (_, at) => [-1, 0, 1, 0][at] ?? -1);
  assert.deepEqual(rows.map((row) => [row.level, row.children, row.below]), [[0, 2, 3], [1, 1, 1], [2, 0, 0], [1, 0, 0]]);
});

test("a parent after its child is ignored", () => {
  const rows = treeRows([1, 2, 3], (_, at) => [2, 1, 99][at] ?? -1);
  assert.deepEqual(rows.map((row) => row.parent), [-1, -1, -1]);
});

test("folded rows hide only their descendants", () => {
  const rows = treeRows(["root", "a", "a1", "a2", "b"], (_, at) => [-1, 0, 1, 1, 0][at] ?? -1);
  const names = (folded: string[]) => unfolded(rows, (row) => folded.includes(row.value)).map((row) => row.value);
  assert.deepEqual(names([]), ["root", "a", "a1", "a2", "b"]);
  assert.deepEqual(names(["a"]), ["root", "a", "b"]);
  assert.deepEqual(names(["root"]), ["root"]);
  assert.deepEqual(names(["b"]), ["root", "a", "a1", "a2", "b"], "a leaf cannot be folded");
});

test("only the visible part of a long list is rendered", () => {
  const part = seen(100_000, 20, 1_000_000, 400);
  assert.ok(part.first <= 50_000 && part.last >= 50_020 && part.last - part.first < 50, JSON.stringify(part));
  assert.deepEqual(seen(0, 20, 0, 400), { first: 0, last: 0 });
});

test("the extent goes from the first start to the last end", () => {
  assert.deepEqual(extent([span("a", null, 100, 50), span("b", "a", 90, 200)]), { since_ns: 90, length_ns: 200 });
  assert.equal(extent([]).length_ns, 1);
});

test("bars are clipped to the visible interval", () => {
  const shown = { since_ns: 100, length_ns: 100 };
  assert.deepEqual(bar(span("a", null, 150, 25), shown), { left: 50, width: 25 });
  assert.deepEqual(bar(span("a", null, 50, 1000), shown), { left: 0, width: 100 });
  assert.equal(bar(span("a", null, 300, 10), shown), null);
});

test("a call on a host with a wrong clock is centered in its caller, with its callees on that host", () => {
  const day = 86_400e9;
  const spans = [
    span("root", null, 0, 100_000),
    span("far", "root", day, 40_000, { replica: "host-2" }),
    span("local", "far", day + 5_000, 10_000, { replica: "host-2" }),
    span("back", "far", 50_000, 10_000, { replica: "host-1" }),
  ];
  const { spans: drawn, moved } = aligned(spans);
  assert.deepEqual(drawn.map((one) => one.start_ns), [0, 30_000, 35_000, 50_000]);
  assert.equal(moved, 2);
  assert.equal(spans[1]?.start_ns, day, "what was recorded stays");
});

test("consistent clocks are trusted", () => {
  const spans = [
    span("root", null, 0, 100_000),
    span("far", "root", 70_000, 29_000, { replica: "host-2" }),
    span("late", "root", 90_000, 200_000, { replica: "host-3" }),
  ];
  assert.equal(aligned(spans).moved, 0);
});

test("a waterfall keeps orphans as roots", () => {
  const rows = waterfall([span("root", null, 0, 10), span("child", "root", 1, 2), span("orphan", "gone", 3, 1)]);
  assert.deepEqual(rows.map((row) => row.level), [0, 1, 0]);
});

test("a call tree aggregates calls of one operation from one position", () => {
  const spans = [
    span("root", null, 0, 100, { self_ns: 10 }),
    span("1", "root", 0, 10, { operation: "read", self_ns: 3, status: "error" }),
    span("2", "1", 0, 5, { operation: "disk", self_ns: 5 }),
    span("3", "root", 20, 30, { operation: "write", self_ns: 30 }),
    span("4", "root", 60, 20, { operation: "read", self_ns: 7, replica: "host-2" }),
    span("5", "4", 60, 5, { operation: "disk", self_ns: 5 }),
    span("6", "4", 70, 5, { operation: "cache", self_ns: 1 }),
  ];
  const rows = callTree(spans);
  assert.deepEqual(rows.map((row) => [row.level, row.value.operation, row.value.calls, row.value.self_ns]), [
    [0, "root", 1, 10],
    [1, "read", 2, 10],
    [2, "disk", 2, 10],
    [2, "cache", 1, 1],
    [1, "write", 1, 30],
  ]);
  assert.deepEqual([rows[1]?.value.errors, rows[1]?.value.replicas.size], [1, 2]);
});

test("services are ordered by self time", () => {
  assert.deepEqual(servicesByTime([span("a", null, 0, 9, { self_ns: 2 }), span("b", "a", 0, 3, { service: "db", self_ns: 3 })]), ["db", "shop"]);
});
