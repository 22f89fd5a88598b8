// Something asked from the server that is asked again when what it depends on changes.

import { untrack } from "svelte";
import { ApiError, told } from "./client.ts";

/** An answer on its way, there, or failed. While a new one is on its way the old one stays. */
export interface Resource<T> {
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** Asks again. */
  again(): void;
}

/**
 * Asks whenever something that `ask` reads before its first `await` changes; an answer that was overtaken is dropped.
 * `ask` may return `null`: then there is nothing to ask. To be called while a component is set up.
 */
export function resource<T>(ask: (signal: AbortSignal) => Promise<T> | null): Resource<T> {
  let value = $state.raw<T>();
  let error = $state.raw<ApiError>();
  let loading = $state(false);
  let asked = $state(0);

  $effect(() => {
    void asked;
    const stop = new AbortController();
    const answer = ask(stop.signal);
    untrack(() => {
      loading = answer !== null;
      if (answer === null) [value, error] = [undefined, undefined];
    });
    answer?.then(
      (given) => {
        if (!stop.signal.aborted) [value, error, loading] = [given, undefined, false];
      },
      (problem: unknown) => {
        if (!stop.signal.aborted) [error, loading] = [told(problem), false];
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
    again() {
      asked += 1;
    },
  };
}
