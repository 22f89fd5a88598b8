// A question that stands on a page: asked when its settings are known, again when they change, called off when the
// page is left.

import { ask, askWithFiles, follow, type QuestionJob, type Settings } from "./question.svelte.ts";

/** The question on its way or answered, if there is one. */
export interface LiveQuestion<R> {
  readonly asked: QuestionJob<R> | undefined;
  /** Asks the same once more, for instance after a failure. */
  again(): void;
  /** Asks about files; this holds until the settings change. */
  upload(form: FormData): QuestionJob<R>;
}

/**
 * Asks whenever something that `settings` reads changes; `null` asks nothing. With a `job`, the answer of that job is
 * shown instead, whoever started it. To be called while a component is set up.
 */
export function liveQuestion<R>(question: () => string, settings: () => Settings | null, job: () => string = () => ""): LiveQuestion<R> {
  let asked = $state.raw<QuestionJob<R>>();
  let tries = $state(0);
  let uploaded: QuestionJob<R> | undefined;

  $effect(() => {
    void tries;
    const given = settings();
    const known = job();
    if (known && uploaded?.job === known) return;
    if (known) asked = follow<R>(known);
    else asked = given === null ? undefined : ask<R>(question(), given);
  });
  $effect(() => asked?.watch());

  return {
    get asked() {
      return asked;
    },
    again() {
      tries += 1;
    },
    upload(form) {
      uploaded = askWithFiles<R>(question(), form);
      asked = uploaded;
      return uploaded;
    },
  };
}

/** The form of an upload: the part `settings`, then the files under the names of their parts. */
export function uploadForm(settings: Settings, files: { part: string; file: File }[]): FormData {
  const given = Object.entries(settings).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const form = new FormData();
  form.append("settings", JSON.stringify(Object.fromEntries(given)));
  for (const { part, file } of files) form.append(part, file, file.name);
  return form;
}
