// What a search for attributes can be completed with.

import type { AttributeList } from "../api/generated.ts";
import { counted } from "../format/numbers.ts";

/** Suggestions at most. */
const MOST = 100;

/** A text that the search can have, and what it is. */
export interface Suggestion {
  text: string;
  remark: string;
}

/** A value as the search reads it; one with a quotation mark cannot be searched for. */
const quoted = (value: string): string => (/\s/.test(value) || value === "" ? `"${value}"` : value);

/** The text that was typed, with its last condition completed by each attribute and value that has its letters. */
export function suggestions(list: AttributeList | undefined, typed: string): Suggestion[] {
  // Blanks within quotation marks do not end a condition.
  const [before = "", last = ""] = /^((?:[^\s"]*(?:"[^"]*")?\s+)*)(.*)$/.exec(typed)?.slice(1) ?? [];
  const letters = last.toLowerCase();
  const all = (list?.attributes ?? []).flatMap(({ name, values }) =>
    values.filter(({ value }) => !value.includes('"')).map(({ value, requests }) => ({ condition: `${name}=${quoted(value)}`, requests })),
  );
  const found = all.filter(({ condition }) => condition.toLowerCase().includes(letters) && condition !== last);
  return found.slice(0, MOST).map(({ condition, requests }) => ({ text: before + condition, remark: counted(requests, "request") }));
}
