import assert from "node:assert/strict";
import { test } from "node:test";
import { lanes } from "../src/parts/lanes.ts";
import { type Column, ordered } from "../src/parts/table.ts";

interface Row {
  name: string;
  size: number | null;
}
const ROWS: Row[] = [{ name: "b10", size: 2 }, { name: "b9", size: null }, { name: "a", size: 7 }, { name: "c", size: 2 }];
const COLUMNS: Column<Row>[] = [
  { id: "name", title: "Name", value: (row) => row.name },
  { id: "size", title: "Size", value: (row) => row.size },
];

test("sorting is stable, with unknown values last", () => {
  const names = (column: string, direction: "ascending" | "descending") => ordered(ROWS, COLUMNS, { column, direction }).map((row) => row.name);
  assert.deepEqual(names("name", "ascending"), ["a", "b9", "b10", "c"]);
  assert.deepEqual(names("size", "ascending"), ["b10", "c", "a", "b9"]);
  assert.deepEqual(names("size", "descending"), ["a", "b10", "c", "b9"]);
  assert.deepEqual(names("unknown", "ascending"), ROWS.map((row) => row.name));
});

test("anomalies are placed in lanes within the window, the longest first", () => {
  const one = (category: string, since: number, until: number) => ({ category, service: "s", operation: "o", reason: "r", since_ns: since * 1e6, until_ns: until * 1e6 });
  const found = lanes([one("x", 0, 30), one("y", 50, 300), one("x", 90, 120), one("z", 400, 500)], { sinceMs: 20, untilMs: 120 });
  assert.deepEqual(found.map((lane) => [lane.category, lane.bars.map((bar) => [bar.left, bar.width])]), [
    ["y", [[30, 70]]],
    ["x", [[0, 10], [70, 30]]],
  ]);
});
