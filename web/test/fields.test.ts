import assert from "node:assert/strict";
import { test } from "node:test";
import { lacking, type Field, settingsOf } from "../src/api/fields.ts";

const FIELDS: Field[] = [{ name: "latency-max", label: "Target", needed: true }, { name: "set", label: "What if", many: true }, { name: "front", label: "Front" }];
const values = (given: Record<string, string>) => (name: string) => given[name] ?? "";

test("settings have the names of the flags; empty ones are left out", () => {
  assert.deepEqual(settingsOf(FIELDS, values({ "latency-max": " 500ms ", front: "  ", other: "x" })), { "latency-max": "500ms" });
});

test("several are told apart by commas", () => {
  assert.deepEqual(settingsOf(FIELDS, values({ set: "app.servers=4, ,cart.demand=-30%" })), { set: ["app.servers=4", "cart.demand=-30%"] });
});

test("what is needed and not given is named", () => {
  assert.deepEqual(lacking(FIELDS, values({})).map((field) => field.label), ["Target"]);
  assert.deepEqual(lacking(FIELDS, values({ "latency-max": "1s" })), []);
});
