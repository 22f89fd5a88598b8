import assert from "node:assert/strict";
import { test } from "node:test";
import { endsOf, pixels, positionExcesses, rowOrder } from "../src/charts/matrix.ts";
import { logShare, mixed, rgbOf } from "../src/charts/scale.ts";
import { press, type Selection } from "../src/charts/selection.ts";
import { pathOf, position, spaced } from "../src/document/axis.ts";

test("colors mix and scales stay in their range", () => {
  assert.deepEqual(mixed(rgbOf("#000"), rgbOf("#ffffff"), 0.5), { red: 128, green: 128, blue: 128 });
  assert.equal(logShare(100, 1, 10_000), 0.5);
  assert.deepEqual([logShare(0, 1, 10), logShare(-4, 1, 10), logShare(99, 1, 10), logShare(5, 0, 0)], [0, 0, 1, 0]);
});

test("keys move a cursor, select with Shift, confirm with Enter", () => {
  const at = (pressed: ReturnType<typeof press>) => (pressed.kind === "moved" ? pressed.selection : null);
  let now: Selection | null = at(press(null, "ArrowLeft", false, 10));
  assert.deepEqual(now, { at: 9, from: null });
  now = at(press(now, "ArrowLeft", true, 10));
  assert.deepEqual(now, { at: 8, from: 9 });
  now = at(press(now, "Home", true, 10));
  assert.deepEqual(now, { at: 0, from: 9 });
  assert.deepEqual(press(now, "Enter", false, 10), { kind: "selected", first: 0, last: 9 });
  assert.deepEqual(at(press(now, "Escape", false, 10)), { at: 0, from: null });
  assert.deepEqual(at(press({ at: 9, from: null }, "ArrowRight", false, 10)), { at: 9, from: null });
  assert.equal(press({ at: 3, from: null }, "Enter", false, 10).kind, "ignored");
  assert.equal(press(null, "ArrowLeft", false, 0).kind, "ignored");
  assert.equal(press(null, "Tab", false, 9).kind, "ignored");
});

const MATRIX = {
  id: "c",
  requests: [{ trace: "a", start_ns: 2, latency_ns: 30 }, { trace: "b", start_ns: 1, latency_ns: 90 }],
  positions: [{ position: 0, service: "s", operation: "o", flagged: false }, { position: 4, service: "s", operation: "p", flagged: true }],
  original: [[10, 20], [10, 80]],
  low_rank: [[10, 20], [10, 20]],
  sparse: [[0, -1], [0, 60]],
  omitted_requests: 0,
  omitted_positions: 0,
  converged: true,
};

test("rows of a matrix are ordered by start, latency and excess", () => {
  assert.deepEqual(rowOrder(MATRIX, "time"), [1, 0]);
  assert.deepEqual(rowOrder(MATRIX, "latency"), [1, 0]);
  assert.deepEqual(rowOrder({ ...MATRIX, sparse: [[9, 0], [0, 2]] }, "excess"), [0, 1]);
});

test("an image has its cells in the order of the rows", () => {
  const inks = { more: (share: number) => ({ red: Math.round(share * 255), green: 0, blue: 0 }), less: () => ({ red: 0, green: 0, blue: 9 }) };
  const ends = endsOf(MATRIX);
  assert.deepEqual(ends, { low: 1, high: 80 });
  const bytes = pixels(MATRIX.sparse, [1, 0], 2, ends, inks);
  const cell = (at: number) => Array.from(bytes.slice(at * 4, at * 4 + 4));
  const shade = Math.round((Math.log(60) / Math.log(80)) * 255);
  assert.deepEqual([cell(0), cell(1), cell(2), cell(3)], [[0, 0, 0, 255], [shade, 0, 0, 255], [0, 0, 0, 255], [0, 0, 9, 255]]);
});

test("excess is summed by position", () => {
  const [found, ...others] = positionExcesses(MATRIX);
  assert.deepEqual([found?.position, found?.excess_ns, found?.share, found?.requests, others.length], [4, 60, 1, 1, 0]);
});

test("positions are to scale and inside the chart", () => {
  const axis = { scale: "linear" as const, from: 1000, to: 3000, ticks: [] };
  assert.deepEqual([1000, 1500, 9e9, -9e9, Number.NaN].map((value) => position(axis, value)), [0, 0.25, 1, 0, 0]);
  assert.ok(Math.abs(position({ ...axis, scale: "log", from: 1e3, to: 1e9 }, 1e6) - 0.5) < 1e-9);
});

test("overlapping labels are omitted", () => {
  assert.deepEqual(spaced([0, 0.05, 0.3, 0.31, 0.6, 0.99], (at) => at, 0.2), [0.3, 0.6]);
});

test("lines have gaps and bands have two edges", () => {
  const series = { name: "", color: "quiet", shape: "line" as const, x: [0, 1, 2, 3], y: [1, 2, null, 4] };
  const same = (value: number) => value;
  assert.equal(pathOf(series, same, same, 0), "M0.0 1.0L1.0 2.0M3.0 4.0h0");
  assert.equal(pathOf({ ...series, shape: "band", y: [5, 6], x: [0, 1], low: [1, 2] }, same, same, 0), "M0.0 5.0L1.0 6.0L1.0 2.0L0.0 1.0Z");
});
