// The same pages against `laggard serve` itself, with a simulated incident imported through them. Needs LAGGARD_BINARY.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { findings, IN_ORDER, inspect, NARROW, open, overhang, settled, turn, visit, WIDE } from "./browser.mjs";
import { HOUR } from "./views.mjs";

const binary = process.env.LAGGARD_BINARY;

/** The environment without variables that start with the program's name, which would be settings. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("LAGGARD_")));

/** Starts a server in a folder; the first line of its log has the address of the pages. */
async function start(folder) {
  const off = ["--otlp-grpc", "off", "--otlp-http", "off", "--zipkin", "off"];
  const set = ["--set", "store.keep_for=3650d", "--set", "logs.form=json"];
  const server = spawn(binary, ["serve", "--http", "127.0.0.1:0", "--data", folder, ...off, ...set], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  const lines = [];
  const address = await new Promise((known, failed) => {
    createInterface({ input: server.stderr }).on("line", (line) => {
      lines.push(line);
      const found = /"address":"([^"]+)"/.exec(line);
      if (found) known(found[1]);
    });
    server.on("exit", (status) => failed(new Error(`laggard serve ended with ${status}: ${lines.join("\n")}`)));
  });
  /** Stops the server, which saves its state. */
  const stop = () => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    return ended;
  };
  return { url: `http://${address}`, stop, lines };
}

export default () => describe("the real server", { ...IN_ORDER, skip: binary ? false : "LAGGARD_BINARY is not set" }, () => {
  const folder = mkdtempSync(join(tmpdir(), "laggard-pages-"));
  const traces = join(folder, "incident", "traces");
  let server;
  let page;
  before(async () => {
    execFileSync(binary, ["simulate", "--scenario", "random-device", "--seed", "7", "--requests", "200", "--categories", "1", "-o", join(folder, "incident")], { env: environment, stdio: "ignore" });
    server = await start(join(folder, "data"));
    page = await open(server.url, { clock: null });
  });
  after(async () => {
    await page?.done();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("an empty server states that it has no data", async () => {
    for (const path of [`/?${HOUR}`, `/verdict?${HOUR}`, `/categories?${HOUR}`, `/search?${HOUR}`, `/map?${HOUR}`, `/latency?${HOUR}`, `/alerts?${HOUR}`, "/status", "/jobs"]) {
      await visit(page, path);
      const name = /^\/(\w*)/.exec(path)[1] || "overview";
      await inspect(page, `real-empty-${name}`, async () => assert.equal(await overhang(page), 0, path));
    }
  });

  test("an incident is imported", async () => {
    await visit(page, "/import");
    await page.getByLabel("Files").setInputFiles(readdirSync(traces).map((name) => join(traces, name)));
    await page.getByRole("button", { name: /^Import/ }).click();
    await page.locator("main section h2 .chip", { hasText: /imported|failed/ }).first().waitFor({ timeout: 120_000 });
    assert.deepEqual(await page.locator("main section h2 .chip").allInnerTexts(), ["imported"]);
    await page.getByRole("button", { name: "Complete open traces" }).click();
    await inspect(page, "real-import", () => page.getByText("Open traces were completed.").waitFor({ timeout: 60_000 }));
  });

  test("the verdict names the fault", async () => {
    await page.goto(`/verdict?${HOUR}`);
    await page.getByRole("heading", { name: "Suspects", exact: true }).waitFor({ timeout: 120_000 });
    await settled(page);
    assert.match(await page.locator("main").innerText(), /QueueWait/);
    await seen(page, "real-verdict");
    await page.locator('main a[href^="/traces/"]').first().click();
    await page.getByRole("treegrid", { name: "Spans" }).waitFor();
    await settled(page);
    await page.getByRole("complementary", { name: "Suspect: front-end QueueWait" }).getByText(/of its own, usually/).waitFor();
    await seen(page, "real-trace");
  });

  test("overview, categories and search show the incident and link to details", async () => {
    await visit(page, `/?${HOUR}`);
    await seen(page, "real-overview");
    await visit(page, `/categories?${HOUR}`);
    await seen(page, "real-categories");
    await page.locator('main a[href^="/categories/"]').first().click();
    await settled(page);
    await seen(page, "real-category");
    await visit(page, `/search?${HOUR}&min_ms=1`);
    await seen(page, "real-search");
    assert.ok((await page.getByRole("table", { name: "Requests found" }).getByRole("link").count()) > 5);
  });

  test("the map has the suspect's share, and slow requests differ in its time", async () => {
    await page.goto(`/map?${HOUR}&selected=front-end`);
    await page.getByRole("region", { name: "Map" }).getByText(/explains \d+ %/).first().waitFor({ timeout: 120_000 });
    await settled(page);
    await page.getByRole("table", { name: "Latencies by replica" }).getByRole("row", { name: /node\d+/ }).first().waitFor();
    await seen(page, "real-map");
    await visit(page, `/latency?${HOUR}&selected_since=1768208400000000000&selected_until=1768212000000000000&min_ns=150000000`);
    await page.getByRole("table", { name: /own time in a request/ }).getByRole("row", { name: /QueueWait/ }).first().waitFor();
    await seen(page, "real-latency");
  });

  test("two halves of the hour are compared", async () => {
    const halves = "since=2026-01-12T09:30:00Z&until=2026-01-12T10:00:00Z&before-since=2026-01-12T09:00:00Z&before-until=2026-01-12T09:30:00Z";
    await page.goto(`/compare?${halves}&run=1`);
    await page.getByRole("region", { name: "Answer" }).waitFor({ timeout: 120_000 });
    await settled(page);
    await page.getByRole("treegrid", { name: "Call paths" }).waitFor();
    await seen(page, "real-compare");
  });

  test("questions about samples are answered or list missing data", async () => {
    for (const path of [`/changes?${HOUR}&run=1`, `/signature?${HOUR}&run=1`, `/capacity?${HOUR}&run=1&latency-max=500ms`]) {
      await page.goto(path);
      const shown = page.getByRole("region", { name: "Answer" }).or(page.getByRole("alert")).first();
      await inspect(page, `real-${path.slice(1, 7)}`, () => shown.waitFor({ timeout: 120_000 }));
    }
  });

  test("jobs and status list the finished work", async () => {
    await visit(page, "/jobs");
    assert.match(await page.locator("main").innerText(), /compare/);
    await seen(page, "real-jobs");
    await visit(page, "/status");
    await seen(page, "real-status");
    assert.deepEqual(page.wrong, []);
  });
});

async function seen(page, name) {
  for (const [look, size] of [["wide", WIDE], ["narrow", NARROW]]) {
    await turn(page, size);
    await inspect(page, `${name}-${look}`, async () => {
      assert.equal(await overhang(page), 0, `${name}, ${look}`);
      if (size === NARROW) assert.deepEqual(await findings(page), [], name);
    });
  }
  await turn(page, WIDE);
}
