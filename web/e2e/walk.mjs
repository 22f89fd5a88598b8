// Without a mouse: tab order, links, keys, menus, trees.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { IN_ORDER, NARROW, open, PAGES, settled, visit } from "./browser.mjs";
import { HOUR, PLACES } from "./views.mjs";

/** Role or tag and text of the focused element. */
const focused = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    return { tag: at?.tagName.toLowerCase() ?? "", text: (at?.textContent ?? "").trim().slice(0, 60), id: at?.id ?? "", main: at?.closest("main") !== null };
  });

export default () => describe("without a mouse", IN_ORDER, () => {
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

  test("the first tab stop skips to the content, and the navigation follows", async () => {
    await visit(page, `/?${HOUR}`);
    await page.keyboard.press("Tab");
    assert.equal((await focused(page)).text, "Skip to the page");
    await page.keyboard.press("Enter");
    assert.equal((await focused(page)).id, "main");
    await page.keyboard.press("Shift+Tab");
    assert.equal((await focused(page)).main, false, "before the page come navigation and window");
  });

  test("navigation links move the focus to the new page", async () => {
    await visit(page, `/?${HOUR}`);
    await page.getByRole("navigation").getByRole("link", { name: "Search" }).focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(await page.locator("main h1").first().textContent(), "Search requests");
    assert.equal((await focused(page)).id, "main");
    assert.match(page.url(), /since=2026-01-12T09:00:00Z/, "the window goes along");
    assert.equal(await page.title(), "Search · Laggard");
  });

  test("every focus is visible, and tabbing through a page ends", async () => {
    for (const { name, path } of PLACES) {
      await visit(page, path);
      const stops = await tabThrough(page, 400);
      assert.ok(stops.length < 400, `${name}: ${stops.length} stops`);
      const hidden = stops.filter((stop) => !stop.seen);
      assert.deepEqual(hidden, [], `${name}: focus that cannot be seen`);
    }
  });

  test("two-key shortcuts open pages, and a question mark lists them", async () => {
    await visit(page, "/status");
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await settled(page);
    assert.match(page.url(), /\/compare/);
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    assert.match(await dialog.textContent(), /Go to Compare/);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
  });

  test("a tree is navigated, folded and unfolded by arrow keys", async () => {
    await visit(page, "/traces/5b8efff798038103d269b633813fc60c");
    const tree = page.getByRole("treegrid", { name: "Spans" });
    const rows = async () => Number(await tree.getAttribute("aria-rowcount"));
    const all = await rows();
    await tree.getByRole("row").nth(1).focus();
    await page.keyboard.press("ArrowLeft");
    assert.equal(await rows(), 2, "only the root and the head are left");
    await page.keyboard.press("ArrowRight");
    assert.equal(await rows(), all);
    await page.keyboard.press("End");
    await page.waitForFunction((last) => document.activeElement?.getAttribute("aria-rowindex") === `${last}`, all);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Span" }).waitFor();
    const chosen = new URL(page.url()).searchParams.get("span");
    assert.match(chosen, /^[0-9a-f]{16}$/);
    await page.reload();
    await settled(page);
    await page.getByRole("region", { name: "Span" }).getByText(chosen).waitFor();
  });

  test("a form can be filled and submitted by keyboard", async () => {
    await visit(page, `/search?${HOUR}`);
    assert.equal(await page.getByRole("table", { name: "Requests found" }).getByRole("row").count(), 101, "a head, and all requests up to the limit");
    await page.getByLabel("From, ms").focus();
    await page.keyboard.type("100");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(page.url(), /min_ms=100/);
    const shown = await page.getByRole("table", { name: "Requests found" }).getByRole("row").count();
    assert.ok(shown > 1 && shown < 51, `${shown} rows`);
    await page.getByRole("table", { name: "Requests found" }).getByRole("link").first().focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(page.url(), /\/traces\/[0-9a-f]{32}/);
    await page.goBack();
    await settled(page);
    assert.equal(await page.getByLabel("From, ms").inputValue(), "100");
  });

  test("a table is sorted by keyboard and announces the order", async () => {
    await visit(page, `/search?${HOUR}`);
    const head = page.getByRole("columnheader", { name: "Latency" });
    await head.getByRole("button").focus();
    await page.keyboard.press("Enter");
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    await page.keyboard.press("Enter");
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
  });

  test("on a phone the navigation is a menu", async () => {
    const phone = await open(stub.url, { size: NARROW, touch: true });
    await visit(phone, `/?${HOUR}`);
    const link = phone.getByRole("navigation").getByRole("link", { name: "Capacity" });
    assert.equal(await link.isVisible(), false);
    await phone.getByRole("button", { name: "Menu" }).focus();
    await phone.keyboard.press("Enter");
    await link.focus();
    await phone.keyboard.press("Enter");
    await settled(phone);
    assert.equal(await phone.locator("main h1").first().textContent(), "Capacity");
    assert.equal(await link.isVisible(), false, "the menu closes");
    assert.deepEqual(phone.wrong, []);
    await phone.done();
  });
});

/** Presses Tab until the focus leaves the page; returns whether each stop has a size and an outline. */
async function tabThrough(page, most) {
  await page.evaluate(() => document.querySelector("#main").focus());
  const stops = [];
  for (let step = 0; step < most; step += 1) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const at = document.activeElement;
      if (!at || at === document.body || !at.closest("main")) return null;
      const box = at.getBoundingClientRect();
      const { outlineStyle } = getComputedStyle(at);
      return { text: (at.textContent ?? "").trim().slice(0, 30) || at.tagName, seen: box.width > 0 && box.height > 0 && outlineStyle !== "none" };
    });
    if (!stop) break;
    stops.push(stop);
  }
  return stops;
}
