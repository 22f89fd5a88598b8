// A response of the server that is requested again when what it depends on changes.

import { untrack } from "svelte";
import { ApiError, toApiError } from "./client.ts";

/** A response: pending, received, or failed. The old one stays until a new one arrives. */
export interface Resource<T> {
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** Requests it again. */
  retry(): void;
}

/**
 * Requests whenever something that `request` reads before its first `await` changes; an outdated response is dropped.
 * `request` may return `null` to request nothing. To be called while a component is set up.
 */
export function resource<T>(request: (signal: AbortSignal) => Promise<T> | null): Resource<T> {
  let value = $state.raw<T>();
  let error = $state.raw<ApiError>();
  let loading = $state(false);
  let tries = $state(0);

  $effect(() => {
    void tries;
    const stop = new AbortController();
    const pending = request(stop.signal);
    untrack(() => {
      loading = pending !== null;
      if (pending === null) [value, error] = [undefined, undefined];
    });
    pending?.then(
      (response) => {
        if (!stop.signal.aborted) [value, error, loading] = [response, undefined, false];
      },
      (failure: unknown) => {
        if (!stop.signal.aborted) [error, loading] = [toApiError(failure), false];
      },
    );
    return () => stop.abort();
  });

  return {
    get value() {
      return value;
    },
    get error() {
      return error;
    },
    get loading() {
      return loading;
    },
    retry() {
      tries += 1;
    },
  };
}
