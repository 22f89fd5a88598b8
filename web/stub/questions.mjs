// The documents and jobs of questions.

import { diagnosisDocument } from "./answers.mjs";
import { recorded } from "./system.mjs";

/** The document of a question in a scenario. */
export function documentOf(question, scenario) {
  const quiet = scenario === "none";
  switch (question) {
    case "diagnose":
      return diagnosisDocument(scenario);
    case "compare":
      return recorded(quiet ? "compare-unchanged" : "compare");
    case "changes":
      return recorded({ none: "changes-steady", several: "changes-anomaly" }[scenario] ?? "changes");
    case "signature":
      return recorded(scenario === "several" ? "signature-diff" : "signature");
    case "capacity":
      return recorded(scenario === "several" ? "capacity-what-if" : "capacity");
    default:
      return recorded(question.replace("/", "-"));
  }
}

/** Questions by the end of their path. */
export const QUESTIONS = ["diagnose", "compare", "changes", "signature", "capacity", "kernel/path", "kernel/diagnose", "kernel/stats"];

const STAGES = ["reading", "assembling", "localizing"];

/** All jobs of a server; a tenth of a job takes `step_ms`. */
export class Jobs {
  #jobs = new Map();
  #step_ms;

  constructor(step_ms) {
    this.#step_ms = step_ms;
  }

  /** How long a tenth of a job takes from now on. */
  pace(step_ms) {
    this.#step_ms = step_ms;
  }

  start(question, result) {
    const id = `job-${this.#jobs.size + 1}`;
    const created_ns = Date.now() * 1e6;
    const job = { job: { id, question, state: "running", created_ns, stage: STAGES[0], done: 0, total: 10 }, result, listeners: new Set() };
    this.#jobs.set(id, job);
    job.timer = setInterval(() => this.#advance(job), this.#step_ms);
    return job.job;
  }

  #advance(entry) {
    const { job } = entry;
    job.done += 1;
    job.stage = STAGES[Math.min(Math.floor(job.done / 4), 2)];
    if (job.done >= job.total) this.#end(entry, entry.result.problem ? "failed" : "done");
    else this.#notify(entry);
  }

  #end(entry, state) {
    clearInterval(entry.timer);
    entry.job.state = state;
    if (state === "failed") entry.job.problem = entry.result.problem.detail;
    this.#notify(entry);
    for (const response of entry.listeners) response.end();
    entry.listeners.clear();
  }

  #notify({ job, listeners }) {
    for (const response of listeners) response.write(`data: ${JSON.stringify(job)}\n\n`);
  }

  get(id) {
    return this.#jobs.get(id);
  }

  list() {
    return { jobs: [...this.#jobs.values()].map((entry) => entry.job).reverse() };
  }

  cancel(id) {
    const entry = this.#jobs.get(id);
    if (entry?.job.state === "running") this.#end(entry, "cancelled");
    return entry?.job;
  }

  listen(id, response) {
    const entry = this.#jobs.get(id);
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write(`data: ${JSON.stringify(entry.job)}\n\n`);
    if (entry.job.state !== "running") return response.end();
    entry.listeners.add(response);
    response.on("close", () => entry.listeners.delete(response));
    return undefined;
  }

  stop() {
    for (const entry of this.#jobs.values()) clearInterval(entry.timer);
  }
}
