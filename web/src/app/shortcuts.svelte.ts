// Keys. A page adds its own with `$effect(() => shortcut(...))`; `?` lists whatever is there.

/** A key, or two in a row (`g o`), and what it does. */
export interface Shortcut {
  keys: string;
  does: string;
  run: () => void;
}

let known = $state.raw<Shortcut[]>([]);
let first = "";
let firstAt = 0;

/** Longest time between two keys. */
const TOGETHER_MS = 1500;

export const shortcuts = {
  get all(): Shortcut[] {
    return known;
  },
};

/** Adds a shortcut and returns what removes it. */
export function shortcut(one: Shortcut): () => void {
  known = [...known, one];
  return () => {
    known = known.filter((each) => each !== one);
  };
}

/** Runs the shortcut of a key press, if it is one. */
export function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || types(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const pair = event.timeStamp - firstAt < TOGETHER_MS ? `${first} ${event.key}` : "";
  const found = known.find((one) => one.keys === pair) ?? known.find((one) => one.keys === event.key);
  first = event.key;
  firstAt = event.timeStamp;
  if (!found) return;
  event.preventDefault();
  first = "";
  found.run();
}

/** Whether the target accepts letters. */
function types(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "submit"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
