// Deployments and other changes, as marks on axes of time.

import type { Span } from "../app/window.ts";
import type { Mark } from "../charts/time_chart.ts";
import { plain } from "../format/names.ts";
import { get } from "./client.ts";
import type { EventList } from "./generated.ts";
import { resource } from "./resource.svelte.ts";
import { ends } from "./window_query.ts";

/** A change at a time; its service is empty where it concerns them all. */
export interface EventMark extends Mark {
  service: string;
}

/**
 * The changes within a window, of one service where it is given; none until they have arrived. To be called while a component is
 * set up.
 */
export function eventMarks(window: () => Span | null | undefined, service?: () => string | null | undefined): { readonly marks: EventMark[] } {
  const events = resource((signal) => {
    const span = window();
    const name = service?.();
    return span ? get<EventList>("/events", { ...ends(span), ...(name ? { service: name } : {}) }, signal) : null;
  });
  const marks = $derived(
    (events.value?.events ?? []).map((event) => ({ atMs: event.time_ns / 1e6, text: plain(event.summary, 80), service: event.service })),
  );
  return {
    get marks() {
      return marks;
    },
  };
}
