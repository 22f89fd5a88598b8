// One Chromium for all tests, and pages that record their errors.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { chromium } from "playwright-core";
import { UNTIL_NS } from "../stub/system.mjs";

/** Where screenshots go. */
const SHOTS = process.env.LAGGARD_SHOTS ?? new URL("../../target/web-shots", import.meta.url).pathname;

/** The folder with the built pages. */
export const PAGES = process.env.LAGGARD_BUILT_PAGES ?? new URL("../dist", import.meta.url).pathname;

const FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check"];

/** Path of Chromium: `CHROMIUM`, or where distributions install it. */
export function executable() {
  const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const found = places.find((place) => place && existsSync(place));
  if (!found) throw new Error("there is no Chromium; install it or set CHROMIUM to its path");
  return found;
}

/** Options of a group of tests that share a page: without them, two would run at a time, as groups do. */
export const IN_ORDER = { concurrency: 1 };

let running = null;

/** The browser, started once. */
export function browser() {
  running ??= chromium.launch({ executablePath: executable(), chromiumSandbox: false, args: FLAGS });
  return running;
}

/** Stops it; to be called after the last test. */
export async function stop() {
  await (await running)?.close();
}

export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 390, height: 800 };
export const WIDEST = { width: 2560, height: 1300 };

/** How long to wait for a response or an element; for no test does it matter how soon it comes. */
const PATIENCE_MS = 30_000;

/**
 * A page of a server, in a separate profile. `page.wrong` collects console errors, exceptions, requests that leave
 * the server, and violations of its content security policy; `page.pending` has the requests without a complete
 * response. The clock stands at the end of the stub's hour.
 */
export async function open(url, { size = WIDE, theme = "light", touch = false, clock = UNTIL_NS / 1e6, zone = "UTC" } = {}) {
  const context = await (await browser()).newContext({ baseURL: url, viewport: size, colorScheme: theme, hasTouch: touch, reducedMotion: "reduce", timezoneId: zone, locale: "en-GB" });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  if (clock !== null) await page.clock.setSystemTime(clock);
  page.wrong = [];
  page.on("console", (message) => {
    // The page shows failed requests itself, which the tests of errors check.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.wrong.push(`exception: ${error.message}`));
  page.pending = new Set();
  for (const ended of ["requestfinished", "requestfailed"]) page.on(ended, (request) => page.pending.delete(request));
  page.on("request", (request) => {
    // A new document drops the requests of the old one.
    if (request.isNavigationRequest()) page.pending.clear();
    page.pending.add(request);
    if (!request.url().startsWith(url) && !/^(data|blob|about):/.test(request.url())) page.wrong.push(`loads from elsewhere: ${request.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  page.done = () => context.close();
  return page;
}

/** Opens a path and waits until its responses are shown. */
export async function visit(page, path) {
  await page.goto(path);
  await settled(page).catch((error) => {
    throw new Error(`${path}: ${[error.message, ...page.wrong].join("\n")}`);
  });
}

/** Waits until the heading exists, no request is pending, and responses and canvases are drawn. */
export async function settled(page) {
  await page.waitForLoadState();
  await page.locator("main h1").first().waitFor();
  const until = performance.now() + 2 * PATIENCE_MS;
  do {
    if (performance.now() > until) throw new Error("the page changes all the time");
    await page.waitForFunction(() => !document.querySelector("main [aria-busy=true], main[aria-busy=true]"));
    await answered(page);
    // A response that is not drawn yet changes the document in one of the next frames, or causes another request.
  } while (!(await page.evaluate(unchanged)) || page.pending.size > 0);
}

/** Waits until no request is pending. */
async function answered(page) {
  for (let waited_ms = 0; page.pending.size > 0; waited_ms += 10) {
    if (waited_ms > PATIENCE_MS) throw new Error(`no response: ${[...page.pending].map((request) => request.url()).join(", ")}`);
    await passed(10);
  }
}

/** In the page: whether the document stays as it is for three frames. */
async function unchanged() {
  let changes = 0;
  const observer = new MutationObserver((records) => (changes += records.length));
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  for (let frame = 0; frame < 3; frame += 1) await new Promise((painted) => requestAnimationFrame(painted));
  observer.disconnect();
  return changes === 0;
}

/** Shows a page in another size or theme and waits until it is drawn. */
export async function turn(page, size, theme = "light") {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: theme });
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
}

/**
 * Checks what a page shows, and saves a screenshot if that fails, or always with `LAGGARD_SHOOT=all`: nothing compares
 * screenshots, and those of all pages take a fifth of the time of the tests.
 */
export async function inspect(page, name, check) {
  const failure = await check().then(() => null, (error) => error);
  if (failure || process.env.LAGGARD_SHOOT === "all") {
    await shoot(page, name).catch((error) => {
      throw failure ?? error;
    });
  }
  if (failure) throw failure;
}

/**
 * Saves a screenshot of the whole page, cropped at 4,000 pixels. On a busy machine, Chromium now and then does not
 * finish one; it is tried again, since no test depends on how long it takes.
 */
async function shoot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const { width } = page.viewportSize();
  const options = { path: join(SHOTS, `${name}.png`), fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(height, 4000) } };
  for (let missed = 0; ; missed += 1) {
    try {
      await page.screenshot(options);
      return;
    } catch (error) {
      if (error.name !== "TimeoutError" || missed === 3) throw error;
    }
  }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Serious and critical findings of axe, each with the first elements concerned. */
export async function findings(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await window.axe.run(document, { runOnly: tags, resultTypes: ["violations"] });
    return violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160)), count: nodes.length }));
  });
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes, count }) => `${id} (${count}): ${help}: ${nodes.join(" | ")}`);
}

/** Horizontal overflow of the page in pixels. */
export async function overhang(page) {
  return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth));
}
