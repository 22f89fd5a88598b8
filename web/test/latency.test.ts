import assert from "node:assert/strict";
import { test } from "node:test";
import { partOf, pressCell, rectangleOf } from "../src/latency/cells.ts";
import { suggestions } from "../src/parts/suggestions.ts";

const MAP = { since_ns: 1_768_208_400_000_000_000, column_ns: 60_000_000_000, columns: 10, edges_ns: [100, 200, 400, 801], counts: [[1], [0], [2]].map((row) => Array.from({ length: 10 }, () => row[0] ?? 0)), requests: 30 };

test("a selection is from one cell to another, and open at the ends of the latencies", () => {
  const part = partOf(MAP, { column: 3, row: 1 }, { column: 2, row: 1 });
  assert.deepEqual([part.selected_since, part.min_ns, part.max_ns], ["1768208520000000000", "200", "399"]);
  // Doubles hold such moments to 256 ns.
  assert.ok(Math.abs(Number(BigInt(part.selected_until) - 1_768_208_640_000_000_000n)) <= 256);
  assert.deepEqual([partOf(MAP, { column: 0, row: 0 }, { column: 0, row: 2 })].map(({ min_ns, max_ns }) => [min_ns, max_ns]), [["", ""]]);
});

test("a selection from the address is drawn where its cells are", () => {
  const close = (a: number | undefined, b: number) => assert.ok(Math.abs((a ?? -1) - b) < 0.01, `${a} is not ${b}`);
  const drawn = rectangleOf(MAP, partOf(MAP, { column: 2, row: 1 }, { column: 3, row: 1 }));
  close(drawn?.left, 0.2);
  close(drawn?.right, 0.4);
  close(drawn?.bottom, 1 / 3);
  close(drawn?.top, 2 / 3);
  assert.equal(rectangleOf(MAP, { selected_since: "", selected_until: "", min_ns: "", max_ns: "" }), null);
  assert.equal(rectangleOf(MAP, { selected_since: "1", selected_until: "2", min_ns: "", max_ns: "" }), null, "of another window");
});

test("the keyboard moves, selects, and clears", () => {
  const start = pressCell(null, "ArrowLeft", false, 10, 3);
  assert.deepEqual(start, { kind: "moved", selection: { at: { column: 9, row: 2 }, from: null } });
  const here = { at: { column: 9, row: 2 }, from: null };
  assert.deepEqual(pressCell(here, "ArrowDown", true, 10, 3), { kind: "moved", selection: { at: { column: 9, row: 1 }, from: { column: 9, row: 2 } } });
  assert.deepEqual(pressCell(here, "ArrowRight", false, 10, 3), { kind: "moved", selection: here });
  assert.deepEqual(pressCell({ ...here, from: { column: 3, row: 0 } }, "Enter", false, 10, 3), { kind: "selected", a: { column: 3, row: 0 }, b: here.at });
  assert.deepEqual([pressCell(here, "Escape", false, 10, 3), pressCell(null, "Enter", false, 10, 3), pressCell(here, "x", false, 10, 3)].map(({ kind }) => kind), ["cleared", "ignored", "ignored"]);
});

test("the last condition of a search is completed", () => {
  const list = { omitted: 0, attributes: [{ name: "tenant", omitted: 0, values: [{ value: "acme", requests: 7 }, { value: "a b", requests: 1 }, { value: 'x"y', requests: 1 }] }, { name: "zone", omitted: 0, values: [{ value: "eu", requests: 2 }] }] };
  const texts = (typed: string) => suggestions(list, typed).map(({ text }) => text);
  assert.deepEqual(texts(""), ["tenant=acme", 'tenant="a b"', "zone=eu"]);
  assert.deepEqual(texts("ZO"), ["zone=eu"]);
  assert.deepEqual(texts('tenant="a b" e'), ['tenant="a b" tenant=acme', 'tenant="a b" tenant="a b"', 'tenant="a b" zone=eu']);
  assert.deepEqual(suggestions(list, "zone")[0], { text: "zone=eu", remark: "2 requests" });
  assert.deepEqual([suggestions(undefined, "x"), texts("zone=eu")], [[], []]);
});
