// Questions that the server works on for a while: submitted, followed, canceled, and cached for as long as the tab lives.

import { untrack } from "svelte";
import { type ApiError, apiPath, get, post, send, toApiError } from "./client.ts";
import { events } from "./events.ts";
import type { Document, JobCreated, JobDocument, JobState } from "./generated.ts";

/** Settings are named like the long flags of the command, without dashes in front. */
export type Settings = Record<string, string | number | boolean | string[] | Record<string, string> | null | undefined>;

/** Jobs cached at most. */
const CACHED = 24;

/** How long a job nobody watches goes on. */
const PATIENCE_MS = 3000;

/** Between two requests for a job when its events cannot be followed. */
const POLL_MS = 1000;

const hasEnded = (state: JobState) => state === "done" || state === "failed" || state === "cancelled";

/** A job with its progress and its result. */
export class QuestionJob {
  state = $state<JobState>("waiting");
  stage = $state("");
  done = $state(0);
  total = $state(0);
  document = $state.raw<Document>();
  error = $state.raw<ApiError>();
  /** Once the server has created it. */
  id = $state<string>();
  #stop = new AbortController();
  #watchers = 0;

  constructor(start: (signal: AbortSignal) => Promise<string>) {
    void this.#run(start);
  }

  get ended(): boolean {
    return hasEnded(this.state);
  }

  cancel(): void {
    if (this.ended) return;
    this.state = "cancelled";
    this.#stop.abort();
    if (this.id) void send(apiPath(`/jobs/${encodeURIComponent(this.id)}`), { method: "DELETE" }).catch(() => {});
  }

  /** Registers a watcher and returns what unregisters it. A job without watchers is canceled. */
  watch(): () => void {
    this.#watchers += 1;
    return () => {
      this.#watchers -= 1;
      setTimeout(() => {
        if (this.#watchers === 0) this.cancel();
      }, PATIENCE_MS);
    };
  }

  async #run(start: (signal: AbortSignal) => Promise<string>): Promise<void> {
    try {
      this.id = await start(this.#stop.signal);
      await this.#follow(`/jobs/${encodeURIComponent(this.id)}`, this.#stop.signal);
    } catch (error) {
      if (this.state === "cancelled") return;
      this.error = toApiError(error);
      this.state = "failed";
    }
  }

  async #follow(path: string, signal: AbortSignal): Promise<void> {
    let state: JobState = "waiting";
    const update = (job: JobDocument) => {
      [state, this.stage, this.done, this.total] = [job.state, job.stage, job.done, job.total];
      if (state === "running") this.state = "running";
    };
    try {
      for await (const job of events<JobDocument>(await send(apiPath(`${path}/events`), { signal }))) update(job);
    } catch (error) {
      if (signal.aborted) throw error;
    }
    // Without events, or when their connection broke: poll.
    while (!hasEnded(state)) {
      update(await get<JobDocument>(path, {}, signal));
      if (!hasEnded(state)) await new Promise((later) => setTimeout(later, POLL_MS));
    }
    // The result of a failed job is its error.
    if (state !== "cancelled") this.document = await get<Document>(`${path}/result`, { output: "document" }, signal);
    this.state = state;
  }
}

const cached = new Map<string, QuestionJob>();

/** The cached job of a key, unless it ended without a result; else a new one. Who reads this does not depend on the job's state: a failure would otherwise retry by itself, forever. */
function cachedOr(key: string, create: () => QuestionJob): QuestionJob {
  const known = cached.get(key);
  if (known && untrack(() => known.state !== "failed" && known.state !== "cancelled")) return known;
  const job = create();
  cached.delete(key);
  cached.set(key, job);
  const [oldest] = cached.keys();
  if (cached.size > CACHED && oldest !== undefined) cached.delete(oldest);
  return job;
}

/** Settings without those that have no value. */
export function withValues(settings: Settings): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null && value !== undefined && value !== ""));
}

/** Submits a question, unless a job with the same settings is cached. */
export function submit(question: string, settings: Settings): QuestionJob {
  const values = withValues(settings);
  return cachedOr(`${question} ${JSON.stringify(values)}`, () => submitBody(question, values));
}

/** Submits a JSON body, or a form with files. Not cached. */
export function submitBody(question: string, body: unknown): QuestionJob {
  return new QuestionJob(async (signal) => ((await (await post(`/${question}`, body, {}, signal)).json()) as JobCreated).job);
}

/** Follows a job that was submitted elsewhere; it is never canceled for lack of watchers here. */
export function follow(id: string): QuestionJob {
  return cachedOr(`job ${id}`, () => {
    const job = new QuestionJob(() => Promise.resolve(id));
    job.watch();
    return job;
  });
}
