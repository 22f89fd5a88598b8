// Alerts and incidents: lists, links, the navigation, and the page of a server without evaluations.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { IN_ORDER, open, PAGES, settled, visit } from "./browser.mjs";
import { HOUR } from "./views.mjs";

export default () => describe("alerts", IN_ORDER, () => {
  const stubs = new Map();
  const pages = [];
  before(async () => {
    for (const scenario of ["none", "one", "thousand", "empty", "insufficient"]) stubs.set(scenario, await startStub({ scenario, pages: PAGES }));
  });
  after(async () => {
    for (const page of pages) {
      assert.deepEqual(page.wrong, []);
      await page.done();
    }
    for (const stub of stubs.values()) stub.close();
  });

  async function alerts(scenario) {
    const page = await open(stubs.get(scenario).url);
    pages.push(page);
    await visit(page, `/alerts?${HOUR}`);
    return page;
  }
  const heading = (page) => page.locator("main h1").first().textContent();
  const entry = (page) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Incidents/ });

  test("a firing alert links to its verdict", async () => {
    const page = await alerts("one");
    assert.equal(await heading(page), "1 alert firing, 0 pending, 0 resolved");
    assert.match(await entry(page).innerText(), /1\s+open/);
    assert.match(await page.locator("main").innerText(), /7\.3 times as long as on the other replicas/);
    await page.getByRole("link", { name: "Verdict", exact: true }).last().click();
    await settled(page);
    const params = new URL(page.url()).searchParams;
    assert.equal(new URL(page.url()).pathname, "/verdict");
    assert.deepEqual([params.get("since"), params.get("until")], ["2026-01-12T09:45:00Z", "2026-01-12T10:00:00Z"]);
    assert.deepEqual([params.get("baseline-since"), params.get("baseline-until")], ["2026-01-12T07:45:00Z", "2026-01-12T09:45:00Z"]);
    await page.getByRole("heading", { name: "Suspects", exact: true }).waitFor();
    const [submitted] = stubs.get("one").submitted.filter(({ question }) => question === "diagnose");
    assert.match(submitted.parts[0].text, /"baseline-since":"2026-01-12T07:45:00Z"/);
  });

  test("an empty list states that there are no alerts and when the last evaluation was", async () => {
    const page = await alerts("none");
    assert.equal(await heading(page), "No alerts in this window");
    assert.doesNotMatch(await entry(page).innerText(), /open/);
    assert.match(await page.locator("main").innerText(), /nothing is slower than before\.\s*No receivers are configured\./);
  });

  test("an incident shows its verdict clause by clause", async () => {
    const page = await open(stubs.get("one").url);
    pages.push(page);
    await visit(page, `/incidents?${HOUR}`);
    assert.equal(await heading(page), "1 open incident, 0 closed");
    await page.getByRole("table", { name: "Incidents" }).getByRole("link").first().click();
    await settled(page);
    assert.match(new URL(page.url()).pathname, /^\/incidents\/incident-0$/);
    const text = await page.locator("main").innerText();
    for (const wanted of [/7\.3 times as long as on the other replicas/, /Likely other processes/, /each Monday at about 09:36/, /team-storage/]) assert.match(text, wanted);
    await page.getByRole("link", { name: "evidence" }).first().click();
    await settled(page);
    assert.equal(new URL(page.url()).pathname, "/verdict");
    await page.goBack();
    await settled(page);
    await page.locator('main a[href^="/traces/"]').first().click();
    await settled(page);
    assert.match(new URL(page.url()).pathname, /^\/traces\/[0-9a-f]{32}$/);
    await page.getByRole("complementary", { name: /^Suspect: / }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("usual_until"), "2026-01-12T09:45:00Z");
  });

  test("deployments are listed and link to the hour after them", async () => {
    const page = await open(stubs.get("one").url);
    pages.push(page);
    await visit(page, `/deployments?${HOUR}`);
    assert.equal(await heading(page), "2 deployments and other changes");
    await page.getByRole("link", { name: "The hour after it" }).first().click();
    await settled(page);
    assert.equal(new URL(page.url()).searchParams.get("since"), "2026-01-12T09:35:00Z");
    assert.equal(new URL(page.url()).searchParams.get("baseline-since"), "2026-01-12T08:35:00Z");
  });

  test("a thousand alerts can be counted, filtered and sorted", async () => {
    const page = await alerts("thousand");
    assert.equal(await heading(page), "250 alerts firing, 250 pending, 500 resolved");
    const table = page.getByRole("table", { name: "Alerts" });
    assert.ok((await table.getByRole("row").count()) <= 52, "not all at once");
    await page.getByRole("searchbox").or(page.getByLabel(/Filter/)).first().fill("Operation999");
    await table.getByText("Operation999").first().waitFor();
    assert.equal(await table.getByRole("row").count(), 2);
  });

  test("failed evaluations and disabled alerts are reported", async () => {
    const notice = (page) => page.locator("main .notice").first().innerText();
    assert.match(await notice(await alerts("empty")), /3 complete requests/);
    assert.match(await notice(await alerts("insufficient")), /alerts\.enabled/);
  });
});
