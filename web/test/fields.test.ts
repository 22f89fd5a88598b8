import assert from "node:assert/strict";
import { test } from "node:test";
import { type Field, missing, settingsOf } from "../src/questions/settings.ts";

const FIELDS: Field[] = [{ name: "latency-max", label: "Target", required: true }, { name: "set", label: "What if", many: true }, { name: "front", label: "Front" }];
const values = (known: Record<string, string>) => (name: string) => known[name] ?? "";

test("settings have the names of the flags, and empty ones are omitted", () => {
  assert.deepEqual(settingsOf(FIELDS, values({ "latency-max": " 500ms ", front: "  ", other: "x" })), { "latency-max": "500ms" });
});

test("lists are separated by commas", () => {
  assert.deepEqual(settingsOf(FIELDS, values({ set: "app.servers=4, ,cart.demand=-30%" })), { set: ["app.servers=4", "cart.demand=-30%"] });
});

test("required fields without a value are named", () => {
  assert.deepEqual(missing(FIELDS, values({})).map((field) => field.label), ["Target"]);
  assert.deepEqual(missing(FIELDS, values({ "latency-max": "1s" })), []);
});
