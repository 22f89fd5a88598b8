// Windows: by dragging, by keyboard, by typing, by link.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { IN_ORDER, open, PAGES, settled, visit } from "./browser.mjs";
import { CATEGORY, HOUR, PLACES } from "./views.mjs";

const params = (page) => Object.fromEntries(new URL(page.url()).searchParams);
const length = ({ since, until }) => Date.parse(until) - Date.parse(since);

export default () => describe("windows", IN_ORDER, () => {
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

  test("a drag over a chart selects the interval", async () => {
    await visit(page, `/?${HOUR}`);
    const chart = page.getByRole("application").first();
    const over = await chart.locator(".u-over").boundingBox();
    await page.mouse.move(over.x + over.width / 4, over.y + over.height / 2);
    await page.mouse.down();
    await page.mouse.move(over.x + over.width / 3, over.y + over.height / 2, { steps: 4 });
    await page.mouse.move(over.x + over.width / 2, over.y + over.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => !location.search.includes("since=2026-01-12T09:00:00Z"));
    await settled(page);
    const chosen = params(page);
    assert.ok(Math.abs(Date.parse(chosen.since) - Date.UTC(2026, 0, 12, 9, 15)) < 90_000, chosen.since);
    assert.ok(Math.abs(Date.parse(chosen.until) - Date.UTC(2026, 0, 12, 9, 30)) < 90_000, chosen.until);
    await page.goBack();
    await settled(page);
    assert.equal(params(page).since, "2026-01-12T09:00:00Z");
  });

  test("arrow keys select an interval", async () => {
    await visit(page, `/?${HOUR}`);
    await page.getByRole("application").first().focus();
    for (let step = 0; step < 5; step += 1) await page.keyboard.press("ArrowLeft");
    for (let step = 0; step < 8; step += 1) await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => !location.search.includes("since=2026-01-12T09:00:00Z"));
    await settled(page);
    const minutes = length(params(page)) / 60_000;
    assert.ok(minutes > 2 && minutes < 20, `${minutes} minutes`);
  });

  test("buttons and keys move and zoom", async () => {
    await visit(page, `/?${HOUR}`);
    await page.getByRole("button", { name: "One length earlier" }).click();
    await settled(page);
    assert.deepEqual([params(page).since, params(page).until], ["2026-01-12T08:00:00Z", "2026-01-12T09:00:00Z"]);
    await page.keyboard.press("]");
    await settled(page);
    assert.equal(params(page).since, "2026-01-12T09:00:00Z");
    await page.keyboard.press("+");
    await settled(page);
    assert.equal(length(params(page)), 1_800_000);
  });

  test("ends can be typed, and invalid times are rejected", async () => {
    await visit(page, `/?${HOUR}`);
    await page.keyboard.press("w");
    const from = page.getByLabel("From", { exact: true });
    await from.fill("yesterday-ish");
    assert.equal(await from.getAttribute("aria-invalid"), "true");
    await from.fill("-30m");
    await page.getByLabel("To", { exact: true }).fill("now");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(params(page).since, "-30m");
  });

  test("times are shown by the clock of the device, if that is selected", async () => {
    const local = await open(stub.url, { zone: "Asia/Kolkata" });
    await visit(local, `/?${HOUR}`);
    const window = local.locator("header");
    assert.match(await window.innerText(), /2026-01-12, 09:00 to 10:00 UTC/);
    await local.getByLabel("Times").selectOption("local");
    await window.getByText("2026-01-12, 14:30 to 15:30 UTC+05:30").waitFor();
    await local.keyboard.press("w");
    await local.getByLabel("From", { exact: true }).fill("2026-01-12 14:45");
    await local.getByLabel("To", { exact: true }).fill("now");
    await local.keyboard.press("Enter");
    await settled(local);
    assert.equal(params(local).since, "2026-01-12T09:15:00Z", "addresses have UTC");
    await local.reload();
    await settled(local);
    assert.match(await window.innerText(), /14:45 to/);
    assert.deepEqual(local.wrong, []);
    await local.done();
  });

  test("a relative window uses the server's clock", async () => {
    stub.requests.length = 0;
    await visit(page, "/?since=-1h");
    const request = stub.requests.find(({ path }) => path === "/api/v1/overview")?.query;
    const since = Number(request.get("since")) / 1e6 || Date.parse(request.get("since"));
    const until = Number(request.get("until")) / 1e6 || Date.parse(request.get("until"));
    assert.equal(Math.round((until - since) / 1000), 3600);
  });

  test("a reloaded page shows the same window", async () => {
    for (const { name, path } of PLACES.filter((place) => !["jobs", "status"].includes(place.name))) {
      await visit(page, path);
      const first = await page.locator("main").innerText();
      await page.reload();
      await settled(page);
      assert.equal(await page.locator("main").innerText(), first, name);
    }
  });

  test("links of a page keep the window", async () => {
    await visit(page, `/categories?${HOUR}`);
    await page.locator(`main a[href*="${CATEGORY}"]`).first().click();
    await settled(page);
    assert.equal(params(page).since, "2026-01-12T09:00:00Z");
    assert.match(page.url(), new RegExp(`/categories/${CATEGORY}`));
  });
});
