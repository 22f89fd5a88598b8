import assert from "node:assert/strict";
import { test } from "node:test";
import { endsOf, pixels, positionExcesses, rowOrder } from "../src/charts/matrix.ts";
import { factorStep, logShare, mixed, rgbOf } from "../src/charts/scale.ts";
import { press, type Selection } from "../src/charts/selection.ts";
import { changeRows } from "../src/report/change_rows.ts";
import { bars, decades } from "../src/report/latency_bars.ts";
import { shapeOf } from "../src/report/tree_shape.ts";

test("steps of the heat scale cover every factor", () => {
  const cases: [number | null, number][] = [[0.2, 0], [1, 0], [1.1, 1], [1.9, 3], [2, 4], [15.9, 6], [16, 7], [Infinity, 7], [null, 0], [NaN, 0], [-1, 0]];
  for (const [factor, step] of cases) assert.equal(factorStep(factor), step, `${factor}`);
});

test("colors mix and scales stay in their range", () => {
  assert.deepEqual(mixed(rgbOf("#000"), rgbOf("#ffffff"), 0.5), { red: 128, green: 128, blue: 128 });
  assert.equal(logShare(100, 1, 10_000), 0.5);
  assert.deepEqual([logShare(0, 1, 10), logShare(-4, 1, 10), logShare(99, 1, 10), logShare(5, 0, 0)], [0, 0, 1, 0]);
});

test("keys move a cursor, select with Shift, take with Enter", () => {
  const at = (pressed: ReturnType<typeof press>) => (pressed.kind === "moved" ? pressed.selection : null);
  let now: Selection | null = at(press(null, "ArrowLeft", false, 10));
  assert.deepEqual(now, { at: 9, from: null });
  now = at(press(now, "ArrowLeft", true, 10));
  assert.deepEqual(now, { at: 8, from: 9 });
  now = at(press(now, "Home", true, 10));
  assert.deepEqual(now, { at: 0, from: 9 });
  assert.deepEqual(press(now, "Enter", false, 10), { kind: "taken", first: 0, last: 9 });
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

test("a picture has its cells in the order of the rows", () => {
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

test("each part of a change starts where the one before ends", () => {
  const rows = changeRows({ requests: 7, window: null, mean_ns: 600, window_mean_ns: 410, slower_ns: -200, mix_ns: 10 });
  assert.deepEqual(rows.map((row) => [row.from, row.to]), [[0, 600], [400, 600], [400, 410], [0, 410]]);
  assert.equal(rows[1]?.name, "same requests faster");
});

test("histograms and their axis", () => {
  assert.deepEqual(bars([0, 3, 1], 4).map((bar) => [bar.at, bar.share]), [[1, 0.75], [2, 0.25]]);
  assert.deepEqual(decades([5e5, 2e7]).map((tick) => tick.ns), [1e6, 2e6, 5e6, 1e7]);
  assert.deepEqual(decades([0, 5]), []);
});

test("the ways to suspects, and a tree whose parents come late", () => {
  const node = (parent: number | null, suspect: number | null) => ({ parent, suspect, service: "", operation: "", self_p50_ns: 1, self_p99_ns: 2, calls_mean: 1 });
  const shape = shapeOf([node(null, null), node(0, null), node(1, 1), node(0, null), node(9, null)]);
  assert.deepEqual([...shape.ways].sort(), [0, 1, 2]);
  assert.deepEqual(shape.depths, [0, 1, 2, 1, 0]);
  assert.equal(shape.longest, 2);
});
