// One Chromium for all tests, and pages that record their errors.

import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { UNTIL_NS } from "../stub/system.mjs";

/** Where screenshots go. */
export const SHOTS = process.env.LAGGARD_SHOTS ?? new URL("../../target/web-shots", import.meta.url).pathname;

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

/**
 * A page of a server, in a separate profile. `page.wrong` collects console errors, exceptions, requests that leave
 * the server, and violations of its content security policy. The clock stands at the end of the stub's hour.
 */
export async function open(url, { size = WIDE, theme = "light", touch = false, clock = UNTIL_NS / 1e6, zone = "UTC" } = {}) {
  const context = await (await browser()).newContext({ baseURL: url, viewport: size, colorScheme: theme, hasTouch: touch, reducedMotion: "reduce", timezoneId: zone, locale: "en-GB" });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  if (clock !== null) await page.clock.setSystemTime(clock);
  page.wrong = [];
  page.on("console", (message) => {
    // The page shows failed requests itself, which the tests of errors check.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.wrong.push(`exception: ${error.message}`));
  page.on("request", (request) => {
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

/** Waits until the heading exists, no request is pending, and the canvases are drawn. */
export async function settled(page) {
  await page.locator("main h1").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("main [aria-busy=true], main[aria-busy=true]"));
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
}

/**
 * Saves a screenshot of the whole page, cropped at 4,000 pixels. On a busy machine, Chromium now and then does not
 * finish one; it is tried again, since no test depends on how long it takes.
 */
export async function shoot(page, name) {
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
