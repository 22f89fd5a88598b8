// Names come from traces and may hold anything. Markup is escaped by Svelte; what is left are control characters and
// marks that turn the direction of writing, which could make a name look like another.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

const spelled = (text: string): string => text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** The name with hidden characters spelled out, `(blank)` for one of blanks only, and no longer than `limit` characters: the middle goes. */
export function label(name: string, limit = 64): string {
  const visible = spelled(name);
  if (visible !== "" && visible.trim() === "") return "(blank)";
  const characters = Array.from(visible);
  if (characters.length <= limit) return visible;
  const tail = Math.floor((limit - 1) / 2);
  return `${characters.slice(0, limit - 1 - tail).join("")}…${characters.slice(-tail).join("")}`;
}

/** A text of several lines with other hidden characters spelled out. */
export const lines = (text: string): string =>
  text.replaceAll("\r\n", "\n").split("\n").map((line) => line.split("\t").map((part) => spelled(part)).join("\t")).join("\n");

/** A part of a sentence: plain, or a name that stood in backticks. */
export interface Part {
  text: string;
  code: boolean;
}

/** Splits a sentence of a report at its backticks. */
export function sentence(text: string): Part[] {
  const parts = text.split("`").map((part, at) => ({ text: label(part, 400), code: at % 2 === 1 }));
  return parts.filter((part) => part.text !== "");
}

/** A sentence of a report as plain text, no longer than `limit` characters. */
export const plain = (text: string, limit: number): string => label(text.replaceAll("`", ""), limit);
