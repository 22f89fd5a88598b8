// The question of a page: submitted when its settings are known, again when they change, canceled when the page is left.

import { follow, type QuestionJob, type Settings, submit, submitBody, withValues } from "./question_job.svelte.ts";

export interface LiveQuestion {
  readonly job: QuestionJob | undefined;
  /** Submits the same once more, for instance after a failure. */
  retry(): void;
  /** Submits files; their job is shown until the settings change. */
  upload(form: FormData): QuestionJob;
}

/**
 * Submits whenever something that `settings` reads changes; `null` submits nothing. With an `id`, that job is shown
 * instead, whoever submitted it. To be called while a component is set up.
 */
export function liveQuestion(question: () => string, settings: () => Settings | null, id: () => string = () => ""): LiveQuestion {
  let job = $state.raw<QuestionJob>();
  let tries = $state(0);
  let uploaded: QuestionJob | undefined;

  $effect(() => {
    void tries;
    const values = settings();
    const known = id();
    if (known && uploaded?.id === known) return;
    if (known) job = follow(known);
    else job = values === null ? undefined : submit(question(), values);
  });
  $effect(() => job?.watch());

  return {
    get job() {
      return job;
    },
    retry() {
      tries += 1;
    },
    upload(form) {
      uploaded = submitBody(question(), form);
      job = uploaded;
      return uploaded;
    },
  };
}

/** The form of an upload: the part `settings`, then the files under the names of their parts. */
export function uploadForm(settings: Settings, files: { part: string; file: File }[]): FormData {
  const form = new FormData();
  form.append("settings", JSON.stringify(withValues(settings)));
  for (const { part, file } of files) form.append(part, file, file.name);
  return form;
}
