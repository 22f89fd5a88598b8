// A trace with its suspect, the service map, and the map of latencies: by mouse and by keyboard.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { IN_ORDER, open, PAGES, settled, visit } from "./browser.mjs";
import { HOUR, OF_SUSPECT } from "./views.mjs";

const params = (page) => Object.fromEntries(new URL(page.url()).searchParams);

async function drag(page, box, from, to) {
  const at = ([x, y]) => [box.x + box.width * x, box.y + box.height * y];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]), { steps: 3 });
  await page.mouse.move(...at(to), { steps: 3 });
  await page.mouse.up();
}

export default () => describe("exploring", IN_ORDER, () => {
  let stub;
  let page;
  before(async () => {
    stub = await startStub({ pages: PAGES });
    page = await open(stub.url);
  });
  after(async () => {
    assert.deepEqual(page.wrong, []);
    await page.done();
    stub.close();
  });

  test("a trace opened from the verdict marks the suspect", async () => {
    await visit(page, `/verdict?${HOUR}`);
    const link = page.locator('main a[href*="suspect_operation"]').first();
    const operation = new URL(await link.getAttribute("href"), stub.url).searchParams.get("suspect_operation");
    await link.click();
    await settled(page);
    await page.getByRole("complementary", { name: `Suspect: front-end ${operation}` }).waitFor();
    await visit(page, OF_SUSPECT);
    const note = page.getByRole("complementary", { name: /^Suspect:/ });
    assert.match(await note.innerText(), /of its own, usually [\d.]+ .?s/);
    const marked = page.getByRole("treegrid").getByRole("row").filter({ hasText: "suspect" });
    assert.ok((await marked.count()) > 0);
    await note.getByRole("button", { name: "Show the call" }).click();
    await page.getByRole("region", { name: "Span", exact: true }).getByText("Usually", { exact: true }).waitFor();
    const heads = await page.getByRole("columnheader").allInnerTexts();
    assert.ok(heads.includes("Usual"), heads.join());
  });

  test("a drag over the minimap zooms, and Escape shows everything", async () => {
    await visit(page, OF_SUSPECT);
    const minimap = page.getByRole("application", { name: /complete trace/ });
    await drag(page, await minimap.boundingBox(), [0.25, 0.5], [0.5, 0.5]);
    await page.waitForFunction(() => location.search.includes("from="));
    const { from, to } = params(page);
    assert.ok(Math.abs((3 * Number(from)) / Number(to) - 1.5) < 0.05, `${from} to ${to}`);
    await page.getByText(/^Shown: /).waitFor();
    await minimap.focus();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.search.includes("from="));
    for (const key of ["ArrowLeft", "Shift+ArrowLeft", "Shift+PageUp", "Enter"]) await page.keyboard.press(key);
    await page.waitForFunction(() => location.search.includes("from="));
    await page.getByRole("button", { name: "Show the complete trace" }).click();
    await page.waitForFunction(() => !location.search.includes("from="));
  });

  test("a drag over the waterfall zooms, twice as deep, and selects no span", async () => {
    await visit(page, "/traces/5b8efff798038103d269b633813fc60c");
    const lane = page.getByRole("treegrid", { name: "Spans" }).getByRole("row").nth(1).locator(".lane");
    await lane.scrollIntoViewIfNeeded();
    await drag(page, await lane.boundingBox(), [0.2, 0.5], [0.7, 0.5]);
    await page.waitForFunction(() => location.search.includes("from="));
    const first = params(page);
    assert.equal(first.span, undefined);
    assert.ok(Math.abs((3.5 * Number(first.from)) / Number(first.to) - 1) < 0.05, `${first.from} to ${first.to}`);
    await settled(page);
    await drag(page, await lane.boundingBox(), [0.25, 0.5], [0.75, 0.5]);
    await page.waitForFunction((to) => new URL(location.href).searchParams.get("to") !== to, first.to);
    const second = params(page);
    const length = Number(first.to) - Number(first.from);
    assert.ok(Math.abs((Number(second.from) - Number(first.from)) / length - 0.25) < 0.02, `${second.from} to ${second.to} in ${first.from} to ${first.to}`);
    assert.ok(Math.abs((Number(second.to) - Number(second.from)) / length - 0.5) < 0.02, `${second.from} to ${second.to} in ${first.from} to ${first.to}`);
    await lane.click();
    await page.waitForFunction(() => location.search.includes("span="));
  });

  test("a trace has a flame graph", async () => {
    await visit(page, OF_SUSPECT);
    await page.getByRole("button", { name: "Flame graph" }).click();
    const graph = page.getByRole("application", { name: /Enter zooms/ });
    await graph.focus();
    for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    await page.getByRole("status").filter({ hasText: "of its own, usually" }).waitFor();
  });

  test("the service map is walked by keyboard", async () => {
    await visit(page, `/map?${HOUR}`);
    const map = page.getByRole("application", { name: /^Service map/ });
    await page.getByRole("region", { name: "Map" }).getByText(/explains \d+ %/).first().waitFor();
    await map.focus();
    for (const key of ["ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    await page.waitForFunction(() => location.search.includes("selected="));
    await settled(page);
    const { selected } = params(page);
    await page.getByRole("heading", { name: `Calls from and to ${selected}` }).waitFor();
    await page.getByRole("table", { name: "Latencies by replica" }).getByRole("row", { name: /node010/ }).waitFor();
    const rows = await page.getByRole("table", { name: "Calls between services" }).getByRole("row").allInnerTexts();
    assert.ok(rows.slice(1).every((row) => row.includes(selected)), rows.join("\n"));
  });

  test("a part of the map of latencies is compared with the rest", async () => {
    await visit(page, `/latency?${HOUR}`);
    const map = page.getByRole("application", { name: /^Requests by start/ });
    await drag(page, await map.boundingBox(), [0.6, 0.02], [0.7, 0.3]);
    await page.getByRole("table", { name: /own time in a request/ }).getByRole("row").nth(1).waitFor();
    await settled(page);
    const sent = stub.requests.findLast(({ path }) => path === "/api/v1/latency-map/compare").query;
    const minute = (name) => (Number(sent.get(name)) / 1e9 - Date.UTC(2026, 0, 12, 9) / 1000) / 60;
    assert.ok(Math.abs(minute("selected_since") - 36) < 1 && Math.abs(minute("selected_until") - 42) < 1, `${minute("selected_since")}`);
    assert.ok(Number(sent.get("min_ns")) > 1e8, sent.get("min_ns"));
    await page.getByRole("link", { name: "List the selected requests" }).click();
    await settled(page);
    assert.equal(await page.locator("main h1").first().textContent(), "Search requests");
    assert.ok(Number(params(page).min_ms) > 100);
    await page.goBack();
    await settled(page);
    await map.focus();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.search.includes("selected_since"));
    for (const key of ["ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("heading", { name: "The selected requests against the others" }).waitFor();
  });

  test("attributes of a search are suggested", async () => {
    await visit(page, `/search?${HOUR}`);
    const field = page.getByLabel("Attributes");
    const suggested = () => page.locator("#attribute-values option").evaluateAll((options) => options.map((option) => option.value));
    assert.ok((await suggested()).includes("service.version=1.4.3"));
    await field.fill("service.version=1.4.3 ten");
    assert.deepEqual(await suggested(), ["service.version=1.4.3 tenant=acme", 'service.version=1.4.3 tenant="globex inc"']);
    await field.press("Enter");
    await settled(page);
    assert.equal(params(page).attributes, "service.version=1.4.3 ten");
  });
});
