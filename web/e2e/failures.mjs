// Errors of the server, a slow server, no server, and invalid addresses.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { findings, IN_ORDER, inspect, open, PAGES, settled, visit } from "./browser.mjs";
import { HOUR, PLACES } from "./views.mjs";

export default () => describe("failures", IN_ORDER, () => {
  let stub;
  let page;
  before(async () => {
    stub = await startStub({ pages: PAGES });
    page = await open(stub.url);
  });
  beforeEach(() => {
    stub.failing.length = 0;
    stub.held.length = 0;
    stub.sampled.length = 0;
  });
  after(async () => {
    assert.deepEqual(page.wrong, []);
    await page.done();
    stub.close();
  });

  test("every page shows the server's error message", async () => {
    const problem = { status: 503, title: "Not ready", detail: "The log is being replayed; try again in a minute." };
    stub.failing.push({ path: "/api/v1/", ...problem });
    for (const { name, path } of PLACES.filter((place) => !["kernel", "import"].includes(place.name))) {
      await page.goto(path);
      await page.getByRole("alert").first().waitFor();
      assert.match(await page.getByRole("alert").first().innerText(), /Not ready[\s\S]*being replayed/, name);
      if (name === "search") await inspect(page, "trouble-wide-light", async () => assert.deepEqual(await findings(page), []));
    }
  });

  test("a failed request can be retried", async () => {
    stub.failing.push({ path: "/api/v1/search", status: 500, title: "Broken", detail: "" });
    await page.goto(`/search?${HOUR}`);
    await page.getByRole("alert").first().waitFor();
    stub.failing.length = 0;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("table", { name: "Requests found" }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });

  test("a rejected question shows the reason", async () => {
    for (const path of ["/compare", "/verdict"]) {
      await page.goto(`${path}?${HOUR}&service=nobody&before-since=2026-01-12T08:00:00Z&before-until=2026-01-12T09:00:00Z&run=1`);
      await page.getByRole("alert").first().waitFor();
      assert.match(await page.getByRole("alert").first().innerText(), /No request enters at service/, path);
    }
  });

  test("a failed job shows the reason", async () => {
    await page.goto(`/verdict?${HOUR}&service=breaks`);
    await page.getByRole("alert").first().waitFor();
    assert.match(await page.getByRole("alert").first().innerText(), /more spans than fit/);
  });

  test("a slow response is shown as pending", async () => {
    let respond;
    stub.held.push({ path: "/api/v1/search", until: new Promise((resolve) => (respond = resolve)) });
    await page.goto(`/search?${HOUR}`);
    await page.locator("main [aria-busy=true]").first().waitFor();
    assert.equal(await page.getByRole("table", { name: "Requests found" }).count(), 0);
    respond();
    await page.getByRole("table", { name: "Requests found" }).waitFor();
  });

  test("a page about a sample says so until a window is read entirely", async () => {
    stub.sampled.push({ path: "/api/v1/overview", one_in: 2 }, { path: "/api/v1/services", one_in: 4 });
    await visit(page, `/?${HOUR}`);
    const note = page.getByText("one in 4 requests of this window was read");
    await note.waitFor();
    assert.deepEqual(await findings(page), []);
    stub.sampled.length = 0;
    await visit(page, `/search?${HOUR}`);
    assert.equal(await note.count(), 0);
  });

  test("a lost connection is shown", async () => {
    const gone = await startStub({ pages: PAGES });
    const other = await open(gone.url);
    await visit(other, `/search?${HOUR}`);
    gone.close();
    await other.getByRole("button", { name: "Search", exact: true }).click();
    await other.getByRole("alert").first().waitFor();
    assert.match(await other.getByRole("alert").first().innerText(), /cannot be reached/);
    await other.done();
  });

  test("unknown pages are not found", async () => {
    for (const path of ["/nonsense", "/traces/", "/categories/%E0%A4%A", "/traces/a/b/c"]) {
      await page.goto(path);
      await page.locator("main h1").first().waitFor();
      assert.match(await page.locator("main").innerText(), /No such page|Nothing|not found/i, path);
    }
    for (const path of [`/traces/${"0".repeat(32)}`, "/categories/ffffffffffff", "/verdict?job=job-999"]) {
      await page.goto(path);
      await page.getByRole("alert").first().waitFor();
    }
  });

  test("invalid addresses cause no errors", async () => {
    const wrong = ["since=banana", "since=-999999999d", "since=2026-13-45T99:00:00Z", `service=${encodeURIComponent("x".repeat(3000))}`, "since=%00&until=%22%3E%3Cscript%3E", "limit=-5&min_ms=NaN", "span=zzz&zoom=zzz&view=zzz"];
    for (const query of wrong) {
      for (const path of ["/", "/search", "/compare", "/capacity", "/traces/5b8efff798038103d269b633813fc60c"]) {
        await page.goto(`${path}?${query}`);
        await page.locator("main h1").first().waitFor();
      }
    }
    await settled(page);
  });

  test("the content security policy blocks inline scripts", async () => {
    const policy = (await page.goto("/")).headers()["content-security-policy"];
    assert.match(policy, /default-src 'self'/);
    assert.doesNotMatch(policy, /unsafe/);
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      return "ran" in window;
    });
    assert.equal(ran, false);
    page.wrong = page.wrong.filter((line) => !/policy: script-src|Content Security Policy/.test(line));
  });
});
