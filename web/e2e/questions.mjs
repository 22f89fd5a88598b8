// Questions: submitted, followed, canceled, saved; about stored data and about files.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { findings, IN_ORDER, inspect, NARROW, open, overhang, PAGES, settled, turn, visit, WIDE } from "./browser.mjs";
import { HOUR } from "./views.mjs";

const file = (name, text) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });
const settingsOf = (submitted) => JSON.parse(submitted.parts.find((part) => part.name === "settings").text);

export default () => describe("questions", IN_ORDER, () => {
  let stub;
  let page;
  before(async () => {
    stub = await startStub({ pages: PAGES });
    page = await open(stub.url);
  });
  beforeEach(() => {
    stub.submitted.length = 0;
    stub.jobs.pace(20);
  });
  after(async () => {
    assert.deepEqual(page.wrong, []);
    await page.done();
    stub.close();
  });

  test("two windows are compared with settings named like the flags", async () => {
    await visit(page, `/compare?${HOUR}`);
    assert.equal(stub.submitted.length, 0, "nothing is submitted yet");
    await page.getByRole("button", { name: "A day earlier" }).click();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    const settings = settingsOf(stub.submitted[0]);
    assert.equal(Date.parse(settings["before-since"]), Date.UTC(2026, 0, 11, 9));
    assert.deepEqual(Object.keys(settings).sort(), ["before-since", "before-until", "since", "until"]);
    await page.getByRole("treegrid", { name: "Call paths" }).waitFor();
  });

  test("capacity requires a target and accepts several what-ifs", async () => {
    await visit(page, `/capacity?${HOUR}`);
    await page.getByRole("button", { name: "Compute the capacity" }).click();
    assert.equal(stub.submitted.length, 0);
    await page.getByLabel("Latency target").fill("500ms");
    await page.getByText("More settings").click();
    await page.getByLabel("What if").fill("front.servers=5, cart.demand=-30%");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Answer" }).waitFor();
    const settings = settingsOf(stub.submitted[0]);
    assert.deepEqual([settings["latency-max"], settings["what-if"]], ["500ms", ["front.servers=5", "cart.demand=-30%"]]);
  });

  test("the result of a question about a file of samples has an address", async () => {
    await visit(page, `/changes?${HOUR}`);
    await page.getByLabel("Complete files").check();
    await page.getByLabel("Samples, traces or access logs").setInputFiles([file("samples.csv", "time,server\n"), file("more.csv", "time\n")]);
    await page.getByRole("button", { name: "Find changes" }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    const [submitted] = stub.submitted;
    assert.deepEqual(submitted.parts.map((part) => [part.name, part.file]), [["settings", null], ["file", "samples.csv"], ["file", "more.csv"]]);
    assert.equal(submitted.parts[1].text, "time,server\n");
    assert.match(page.url(), /job=job-\d+/);
    const words = await page.getByRole("region", { name: "Answer" }).innerText();
    await page.reload();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    assert.equal(await page.getByRole("region", { name: "Answer" }).innerText(), words);
    assert.equal(stub.submitted.length, 1, "a reload does not submit again");
  });

  for (const [question, button, report] of [["stats", "Show contents", "Executions by delimiter"], ["path", "Find the critical paths", "Where the time went"]]) {
    test(`kernel traces: ${question}`, async () => {
      await visit(page, `/kernel?question=${question}`);
      assert.equal(await page.getByRole("button", { name: button }).isDisabled(), true);
      await page.getByLabel("Kernel trace").setInputFiles(file("trace.dat", "\u0017\u0008Dtracing"));
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("heading", { name: report }).waitFor();
      await settled(page);
      await seen(page, `kernel-${question}`);
    });
  }

  test("kernel traces: the question about slow executions requires both sets", async () => {
    await visit(page, "/kernel");
    await page.getByRole("button", { name: "Why are some executions slow?" }).click();
    await page.getByLabel("Trace of the executions in question").setInputFiles(file("bad.dat", "x"));
    assert.equal(await page.getByRole("button", { name: "Diagnose" }).isDisabled(), true);
    await page.getByLabel("Trace of normal executions").setInputFiles(file("good.dat", "x"));
    await page.getByRole("button", { name: "Diagnose" }).click();
    await page.getByRole("heading", { name: "At which step" }).waitFor();
    assert.deepEqual(stub.submitted[0].parts.map((part) => part.name), ["settings", "normal", "sample"]);
    await settled(page);
    await seen(page, "kernel-diagnose");
  });

  test("progress is shown, and a job can be canceled", async () => {
    stub.jobs.pace(1000);
    await visit(page, "/kernel");
    await page.getByLabel("Kernel trace").setInputFiles(file("trace.dat", "x"));
    await page.getByRole("button", { name: "Show contents" }).click();
    const bar = page.getByRole("progressbar");
    await bar.waitFor();
    await page.waitForFunction(() => Number(document.querySelector("progress")?.value) >= 10);
    await inspect(page, "progress-one-wide-light", async () => assert.deepEqual(await findings(page), []));
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Canceled").first().waitFor();
    const { jobs } = stub.jobs.list();
    assert.equal(jobs[0].state, "cancelled");
  });

  test("leaving a page cancels its job", async () => {
    stub.jobs.pace(1500);
    await page.goto(`/signature?${HOUR}&run=1`);
    await page.getByRole("progressbar").waitFor();
    await page.waitForFunction(() => document.querySelector("progress") !== null);
    const id = stub.jobs.list().jobs[0].id;
    await page.getByRole("navigation").getByRole("link", { name: "Import" }).click();
    await page.getByRole("heading", { name: "Import files" }).waitFor();
    for (let tries = 0; tries < 60 && stub.jobs.get(id).job.state === "running"; tries += 1) await new Promise((later) => setTimeout(later, 100));
    assert.equal(stub.jobs.get(id).job.state, "cancelled");
  });

  test("an answer is saved as a file", async () => {
    await visit(page, `/signature?${HOUR}&run=1`);
    await page.getByRole("region", { name: "Answer" }).waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "JSON" }).click()]);
    assert.match(download.suggestedFilename(), /\.json$/);
  });

  test("files are imported one by one, and an unrecognized one does not stop the others", async () => {
    await visit(page, "/import");
    await page.getByLabel("Files").setInputFiles([file("good.json", "{}"), file("bad.txt", "not a trace"), file("more.json", "{}")]);
    await page.getByRole("button", { name: "Import 3 files" }).click();
    await page.locator("main bdi", { hasText: "more.json" }).waitFor();
    await page.locator("main section h2 .chip", { hasText: "imported" }).nth(1).waitFor();
    const states = await page.locator("main section h2 .chip").allInnerTexts();
    assert.deepEqual(states, ["imported", "failed", "imported"]);
    await page.getByText("No format of Laggard's recognizes this file").waitFor();
    await inspect(page, "import-done-wide-light", async () => assert.deepEqual(await findings(page), []));
    await page.getByRole("button", { name: "Complete open traces" }).click();
    await page.getByText("Open traces were completed.").waitFor();
  });
});

/** A page reachable only by a click, at both widths and in both themes. */
async function seen(page, name) {
  for (const [look, size, theme] of [["wide-light", WIDE, "light"], ["narrow-dark", NARROW, "dark"]]) {
    await turn(page, size, theme);
    await inspect(page, `${name}-${look}`, async () => {
      assert.equal(await overhang(page), 0, `${name}, ${look}`);
      assert.deepEqual(await findings(page), [], `${name}, ${look}`);
    });
  }
  await turn(page, WIDE, "light");
}
