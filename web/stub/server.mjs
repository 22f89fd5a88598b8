// A server that answers like `laggard serve`, without one: for tests of the pages and for working on them.
//
//     node stub/server.mjs [--scenario one] [--port 4316] [--pages DIR] [--step-ms 100]

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { parseArgs } from "node:util";
import { ANSWERS } from "./answers.mjs";
import { documentOf, Jobs, QUESTIONS } from "./questions.mjs";

/** As the real server sends them. */
export const SECURITY_HEADERS = {
  "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json", ".woff2": "font/woff2" };

function send(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function problem(response, status, title, detail) {
  const body = { type: "about:blank", title, status, detail };
  send(response, status, body, { "Content-Type": "application/problem+json" });
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The fields and files of a body of parts; settings alone when it is JSON. */
export function partsOf(body, type) {
  const boundary = /boundary=([^;]+)/.exec(type ?? "")?.[1];
  if (!boundary) return [{ name: "settings", file: null, text: body.toString() || "{}" }];
  const parts = body.toString("latin1").split(`--${boundary}`).slice(1, -1);
  return parts.map((part) => {
    const end = part.indexOf("\r\n\r\n");
    const head = part.slice(0, end);
    const name = /name="([^"]*)"/.exec(head)?.[1];
    const file = /filename="([^"]*)"/.exec(head)?.[1] ?? null;
    return { name, file, text: part.slice(end + 4, -2) };
  });
}

/** The answer of a path and the value of its `:id`. */
function answerOf(path) {
  for (const [pattern, answer] of Object.entries(ANSWERS)) {
    const found = new RegExp(`^${pattern.replace(":id", "([^/]+)")}$`).exec(path);
    if (found) return { answer, id: found[1] && decodeURIComponent(found[1]) };
  }
  return null;
}

async function submit(stub, request, response, url) {
  const question = url.pathname.slice("/api/v1/".length);
  const parts = partsOf(await bodyOf(request), request.headers["content-type"]);
  stub.submitted.push({ question, parts });
  let settings;
  try {
    settings = JSON.parse(parts.find((part) => part.name === "settings")?.text ?? "{}");
  } catch {
    return problem(response, 400, "Settings are not JSON", "The part `settings` must be a JSON object.");
  }
  if (settings.service === "nobody") {
    return problem(response, 422, "No requests", "No request enters at service `nobody` between 09:00 and 10:00; the services are listed at /api/v1/services.");
  }
  if (question === "kernel/diagnose" && !parts.some((part) => part.name === "normal")) {
    return problem(response, 422, "No normal executions", "Upload the trace of normal executions as the part `normal`.");
  }
  const result = settings.service === "breaks" ? { problem: { title: "Out of memory", status: 500, detail: "The window has more spans than fit in 4 GiB; ask for a shorter one." } } : { document: documentOf(question, stub.scenario) };
  const job = stub.jobs.start(question, result);
  const href = `/api/v1/jobs/${job.id}`;
  return send(response, 202, { job: job.id, href }, { Location: href });
}

function jobs(stub, request, response, url) {
  const [, id, what] = /^\/api\/v1\/jobs(?:\/([^/]+))?(?:\/(.+))?$/.exec(url.pathname) ?? [];
  if (!id) return send(response, 200, stub.jobs.list());
  const entry = stub.jobs.get(id);
  if (!entry) return problem(response, 404, "No such job", `There is no job \`${id}\`; finished ones are kept for an hour.`);
  if (request.method === "DELETE") return send(response, 200, stub.jobs.cancel(id));
  if (what === "events") return stub.jobs.listen(id, response);
  if (what !== "result") return send(response, 200, entry.job);
  if (entry.job.state === "failed") return problem(response, 500, entry.result.problem.title, entry.result.problem.detail);
  if (entry.job.state !== "done") return problem(response, 409, "Not done", `The job is ${entry.job.state}.`);
  const { document } = entry.result;
  const output = url.searchParams.get("output") ?? "json";
  if (output === "document") return send(response, 200, document);
  const headline = document.headline.map((span) => span.text).join("");
  if (output === "json") return send(response, 200, { headline });
  response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
  return response.end(headline);
}

async function take(stub, request, response, url) {
  const text = (await bodyOf(request)).toString("latin1");
  stub.submitted.push({ question: "import", parts: [{ name: "file", file: url.searchParams.get("name"), text }] });
  if (text.includes("not a trace")) {
    return problem(response, 415, "Unknown format", "No format of Laggard's recognizes this file; `laggard formats` lists them.");
  }
  const losses = { orphan_span: { count: 2, example: "trace 2f1c4e3ab0d55e7a9c1b6d7e8f901234" } };
  return send(response, 200, { spans: 1842, calls: 0, samples: 0, events: 12, losses });
}

async function page(stub, response, path) {
  if (!stub.pages) return problem(response, 404, "No pages", "The stub was started without --pages.");
  const name = normalize(path).replace(/^(\.\.[/\\])+/, "");
  const isFile = extname(name) !== "" && name !== "/";
  try {
    const body = await readFile(join(stub.pages, isFile ? name : "index.html"));
    response.writeHead(200, { "Content-Type": TYPES[isFile ? extname(name) : ".html"] ?? "application/octet-stream", ...SECURITY_HEADERS });
    return response.end(body);
  } catch {
    return problem(response, 404, "No such page", path);
  }
}

async function serve(stub, request, response) {
  const url = new URL(request.url, "http://stub");
  stub.requests.push({ method: request.method, path: url.pathname, query: url.searchParams });
  const failing = stub.failing.find((each) => url.pathname.startsWith(each.path));
  if (failing) return problem(response, failing.status, failing.title, failing.detail);
  await stub.held.find((each) => url.pathname.startsWith(each.path))?.until;
  const sampled = stub.sampled.find((each) => url.pathname.startsWith(each.path));
  if (sampled) response.setHeader("Laggard-Sampled-One-In", sampled.one_in);
  const { pathname } = url;
  if (pathname.startsWith("/api/v1/jobs")) return jobs(stub, request, response, url);
  if (request.method === "POST") {
    if (pathname === "/api/v1/import") return take(stub, request, response, url);
    if (pathname === "/api/v1/flush") return send(response, 200, {});
    if (QUESTIONS.includes(pathname.slice("/api/v1/".length))) return submit(stub, request, response, url);
  }
  const found = answerOf(pathname);
  if (found) {
    const body = found.answer({ scenario: stub.scenario, query: url.searchParams, id: found.id });
    return body ? send(response, 200, body) : problem(response, 404, "Not found", `Nothing is kept under \`${found.id}\`.`);
  }
  if (pathname === "/api/v1/session") return send(response, 200, { required: false, logged_in: false, name: null, read: true, write: true, tenant_header: null, tenant: null });
  if (pathname === "/version") return send(response, 200, { version: "0.1.0" });
  if (pathname.startsWith("/api/")) return problem(response, 404, "Not found", `There is no ${pathname}.`);
  return page(stub, response, pathname);
}

/**
 * Starts a stub on a port of the system's choice (or `port`). Tests read `submitted` and `requests`, and fill `failing`
 * (`{path, status, title, detail}`), `held` (`{path, until}`, a promise), and `sampled` (`{path, one_in}`). The process
 * may end while it listens, so that a test that fails before it closes the stub ends, too.
 */
export async function startStub({ scenario = "one", pages = null, port = 0, step_ms = 20 } = {}) {
  const stub = { scenario, pages, jobs: new Jobs(step_ms), submitted: [], requests: [], failing: [], held: [], sampled: [] };
  const server = createServer((request, response) => {
    serve(stub, request, response).catch((error) => problem(response, 500, "Stub failed", String(error)));
  });
  await new Promise((listening) => server.listen(port, "127.0.0.1", listening));
  server.unref();
  stub.server = server;
  stub.url = `http://127.0.0.1:${server.address().port}`;
  stub.close = () => {
    stub.jobs.stop();
    server.closeAllConnections();
    server.close();
  };
  return stub;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { values } = parseArgs({ options: { scenario: { type: "string" }, port: { type: "string" }, pages: { type: "string" }, "step-ms": { type: "string" } } });
  const stub = await startStub({ scenario: values.scenario, port: Number(values.port ?? 4316), pages: values.pages, step_ms: Number(values["step-ms"] ?? 100) });
  stub.server.ref();
  console.log(`${stub.scenario ?? "one"} at ${stub.url}`);
}
