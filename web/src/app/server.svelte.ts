// The server's state, asked for every few seconds while the page is looked at.

import { ApiError, get, told } from "../api/client.ts";
import type { Status } from "../api/types.ts";
import { clock } from "./clock.svelte.ts";

const EVERY_MS = 15_000;

let status = $state.raw<Status>();
let error = $state.raw<ApiError>();

async function look(): Promise<void> {
  try {
    const told = await get<Status>("/status");
    clock.agree(told.now_ns / 1e6);
    [status, error] = [told, undefined];
  } catch (problem) {
    error = told(problem);
  }
}

function lookIfSeen(): void {
  if (document.visibilityState === "visible") void look();
}

void look();
setInterval(lookIfSeen, EVERY_MS);
document.addEventListener("visibilitychange", lookIfSeen);

export const server = {
  get status(): Status | undefined {
    return status;
  },
  get error(): ApiError | undefined {
    return error;
  },
  /** Whether it was asked at all: pages wait for that, since the server's clock says what "now" is. */
  get asked(): boolean {
    return status !== undefined || error !== undefined;
  },
  /** The state in a word or two. */
  get words(): string {
    if (error) return error.status === 401 ? "Not signed in" : "Not reached";
    if (!status) return "Asking";
    if (!status.ready) return "Not ready";
    return status.problems.length > 0 ? "Ready, with problems" : "Ready";
  },
  get tone(): "good" | "unsure" | "bad" | "unknown" {
    if (error) return "bad";
    if (!status) return "unknown";
    if (!status.ready) return "bad";
    return status.problems.length > 0 ? "unsure" : "good";
  },
  look,
};
