import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document } from "../src/api/generated.ts";
import { explainedBy, heatOf, shareByService } from "../src/map/excess.ts";
import { neighbor, placed } from "../src/map/layout.ts";

const figures = { calls: 1, call_errors: 0, call_p50_ns: 1, call_p99_ns: 1 };
const map = (services: string, links: string) => ({
  services: services.split(" ").map((name) => ({ name, ...figures })),
  links: links === "" ? [] : links.split(" ").map((pair) => ({ caller: pair[0] ?? "", callee: pair[1] ?? "", ...figures })),
});
const columns = (services: string, links: string) => Object.fromEntries(placed(map(services, links)).services.map(({ name, column }) => [name, column]));

test("callers stand left of what they call", () => {
  assert.deepEqual(columns("d c b a", "ab bc ac cd"), { a: 0, b: 1, c: 2, d: 3 });
  assert.deepEqual(columns("a b", ""), { a: 0, b: 0 });
});

test("services that call each other in a circle are placed, each once", () => {
  assert.deepEqual(columns("a b c", "ab bc ca"), { a: 0, b: 1, c: 2 });
  assert.deepEqual(columns("x a b", "xa ab ba"), { x: 0, a: 1, b: 2 });
});

test("two hundred services have places of their own", () => {
  const names = Array.from({ length: 200 }, (_, at) => `s${at}`);
  const links = names.slice(1).map((callee, at) => ({ caller: names[Math.floor(at / 3)] ?? "", callee, ...figures }));
  const { services, width, height } = placed({ services: names.map((name) => ({ name, ...figures })), links });
  assert.equal(new Set(services.map(({ x, y }) => `${x} ${y}`)).size, 200);
  assert.ok(services.every(({ x, y }) => x >= 0 && y >= 0 && x < width && y < height));
});

test("services are ordered so that straight calls do not cross", () => {
  const rows = Object.fromEntries(placed(map("a b y x", "ax by")).services.map(({ name, row }) => [name, row]));
  assert.deepEqual([rows.a === rows.x, rows.b === rows.y], [true, true]);
});

test("arrow keys lead to the next service", () => {
  const { services } = placed(map("a b c", "ab ac"));
  const at = (name: string) => services.find((one) => one.name === name);
  assert.equal(neighbor(services, undefined, "ArrowRight")?.name, "a");
  assert.equal(neighbor(services, at("b"), "ArrowLeft")?.name, "a");
  assert.equal(neighbor(services, at("b"), "ArrowDown")?.name, "c");
  assert.equal(neighbor(services, at("c"), "ArrowDown"), undefined);
  assert.equal(neighbor(services, at("c"), "ArrowRight"), undefined);
});

test("shares of the excess are those of the suspects of each service", () => {
  const row = (service: string, operation: string, share: number | null) => ({
    cells: [{ text: [{ text: "1" }] }, { text: [{ text: service, style: "service" }, { text: " " }, { text: operation, style: "operation" }] }, { text: [], ...(share === null ? {} : { value: share }) }],
  });
  const table = { type: "table", columns: [{ title: "#" }, { title: "operation" }, { title: "explains" }], rows: [row("db", "read", 0.5), row("db", "write", 0.2), row("web", "buy", null)] };
  const document = { sections: [{ id: "suspects", blocks: [{ content: table }] }] } as unknown as Document;
  assert.deepEqual(explainedBy(document)[1], { rank: 2, service: "db", operation: "write", share: 0.2 });
  assert.deepEqual([...shareByService(explainedBy(document))], [["db", 0.7], ["web", 0]]);
  assert.deepEqual(explainedBy(undefined), []);
  assert.deepEqual([undefined, 0, 0.01, 0.5, 1].map(heatOf), [0, 1, 1, 4, 7]);
});
