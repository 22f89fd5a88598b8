// Questions the server works on for a while: asked, followed, canceled, and remembered for as long as the tab lives.

import { untrack } from "svelte";
import { type ApiError, apiPath, get, post, send, told } from "./client.ts";
import { events } from "./events.ts";
import type { Job, JobState } from "./types.ts";

/** Settings are named like the long flags of the command, without dashes in front. */
export type Settings = Record<string, string | number | boolean | string[] | Record<string, string> | null | undefined>;

/** Answers remembered at most. */
const REMEMBERED = 24;

/** How long nobody may be interested before the work is called off. */
const PATIENCE_MS = 3000;

/** Between two looks at a job when its events cannot be followed. */
const POLL_MS = 1000;

/** A question that was asked, its progress and its answer. */
export class QuestionJob<R> {
  state = $state<JobState>("waiting");
  stage = $state<string | null>(null);
  done = $state(0);
  total = $state(0);
  report = $state.raw<R>();
  error = $state.raw<ApiError>();
  /** The job's id, once the server has given one. */
  job = $state<string>();
  #stop = new AbortController();
  #watchers = 0;

  constructor(start: (signal: AbortSignal) => Promise<string>) {
    void this.#run(start);
  }

  get ended(): boolean {
    return this.state === "done" || this.state === "failed" || this.state === "cancelled";
  }

  /** Calls the work off. */
  cancel(): void {
    if (this.ended) return;
    this.state = "cancelled";
    this.#stop.abort();
    if (this.job) void send(apiPath(`/jobs/${encodeURIComponent(this.job)}`), { method: "DELETE" }).catch(() => {});
  }

  /** Says that somebody waits for it; what is returned says that he left. Work nobody waits for is called off. */
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
      this.job = await start(this.#stop.signal);
      await this.#follow(this.job);
    } catch (problem) {
      if (this.state === "cancelled") return;
      this.error = told(problem);
      this.state = "failed";
    }
  }

  async #follow(job: string): Promise<void> {
    const path = `/jobs/${encodeURIComponent(job)}`;
    const signal = this.#stop.signal;
    try {
      for await (const seen of events<Job>(await send(apiPath(`${path}/events`), { signal }))) this.#see(seen);
    } catch (problem) {
      if (signal.aborted) throw problem;
    }
    // Without events, or when their connection broke: look every second.
    while (!this.#over) {
      this.#see(await get<Job>(path, {}, signal));
      if (!this.#over) await new Promise((later) => setTimeout(later, POLL_MS));
    }
    // Of work that failed, the result is the problem.
    if (this.#seen !== "cancelled") this.report = await get<R>(`${path}/result`, { output: "json" }, signal);
    this.state = this.#seen;
  }

  #seen: JobState = "waiting";

  get #over(): boolean {
    return this.#seen === "done" || this.#seen === "failed" || this.#seen === "cancelled";
  }

  #see(seen: Job): void {
    this.#seen = seen.state;
    [this.stage, this.done, this.total] = [seen.stage, seen.done, seen.total];
    if (seen.state === "running") this.state = "running";
  }
}

const remembered = new Map<string, QuestionJob<unknown>>();

/** Whether it ended without an answer. Who asks does not depend on it: else a failure would ask again by itself, for ever. */
function gaveUp(asked: QuestionJob<unknown>): boolean {
  return untrack(() => asked.state === "failed" || asked.state === "cancelled");
}

/** Asks, or gives back what was asked before with the same settings and did not fail. */
export function ask<R>(question: string, settings: Settings): QuestionJob<R> {
  const given = Object.entries(settings).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const key = `${question} ${JSON.stringify(given)}`;
  const old = remembered.get(key);
  if (old && !gaveUp(old)) return old as QuestionJob<R>;
  const asked = new QuestionJob<R>((signal) => started(question, Object.fromEntries(given), signal));
  remember(key, asked);
  return asked;
}

/** Asks with files: a form with the part `settings` and one part a file. Not remembered. */
export function askWithFiles<R>(question: string, form: FormData): QuestionJob<R> {
  return new QuestionJob<R>((signal) => started(question, form, signal));
}

/** Follows a job that was started elsewhere. */
export function follow<R>(job: string): QuestionJob<R> {
  const key = `job ${job}`;
  const old = remembered.get(key);
  if (old && !gaveUp(old)) return old as QuestionJob<R>;
  const asked = new QuestionJob<R>(() => Promise.resolve(job));
  // Somebody else's work is never called off for lack of interest here.
  asked.watch();
  remember(key, asked);
  return asked;
}

function remember(key: string, asked: QuestionJob<unknown>): void {
  remembered.delete(key);
  remembered.set(key, asked);
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
}

async function started(question: string, body: unknown, signal: AbortSignal): Promise<string> {
  const response = await post(`/${question}`, body, {}, signal);
  const { job } = (await response.json()) as { job: string };
  return job;
}
