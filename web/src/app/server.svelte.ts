// The server's status, requested every few seconds while the page is visible.

import { ApiError, get, toApiError } from "../api/client.ts";
import type { Status } from "../api/generated.ts";
import { clock } from "./clock.svelte.ts";

const EVERY_MS = 15_000;

let status = $state.raw<Status>();
let error = $state.raw<ApiError>();

async function refresh(): Promise<void> {
  try {
    const current = await get<Status>("/status");
    clock.agree(current.now_ns / 1e6);
    [status, error] = [current, undefined];
  } catch (failure) {
    error = toApiError(failure);
  }
}

function refreshIfVisible(): void {
  if (document.visibilityState === "visible") void refresh();
}

void refresh();
setInterval(refreshIfVisible, EVERY_MS);
document.addEventListener("visibilitychange", refreshIfVisible);

export const server = {
  get status(): Status | undefined {
    return status;
  },
  get error(): ApiError | undefined {
    return error;
  },
  /** Whether there was a response: pages wait for it, since "now" is that of the server's clock. */
  get known(): boolean {
    return status !== undefined || error !== undefined;
  },
  /** The state in a word or two. */
  get words(): string {
    if (error) return error.status === 401 ? "Not signed in" : "Not reached";
    if (!status) return "Connecting";
    if (!status.ready) return "Not ready";
    return status.problems.length > 0 ? "Ready, with problems" : "Ready";
  },
  get tone(): "good" | "unsure" | "bad" | "unknown" {
    if (error) return "bad";
    if (!status) return "unknown";
    if (!status.ready) return "bad";
    return status.problems.length > 0 ? "unsure" : "good";
  },
  refresh,
};
