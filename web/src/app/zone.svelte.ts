// Whose clock moments are shown by: UTC, or that of this device. Addresses and reports have UTC.

import { showTimesBy, type Zone } from "../format/times.ts";

const KEY = "laggard.times";

function stored(): Zone {
  try {
    return localStorage.getItem(KEY) === "local" ? "local" : "utc";
  } catch {
    return "utc";
  }
}

let selected = $state<Zone>(stored());
showTimesBy(() => selected);

export const zone = {
  /** Charts drawn on canvas read it to draw again. */
  get selected(): Zone {
    return selected;
  },
  select(next: Zone): void {
    selected = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Storage may be forbidden; the choice then lasts as long as the page.
    }
  },
};
