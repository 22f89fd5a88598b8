// Moments as people read them: in UTC or by the clock of this device, with the date only where it is not the window's.

/** Whose clock moments are shown by. */
export type Zone = "utc" | "local";

let zone: () => Zone = () => "utc";

/** Where the selected zone is read from. */
export function showTimesBy(read: () => Zone): void {
  zone = read;
}

/** How far the clock that is shown is ahead of UTC at a moment, in minutes. */
const aheadMin = (ms: number): number => (zone() === "utc" ? 0 : -new Date(ms).getTimezoneOffset());

/** What follows a moment: `UTC`, or how far it is ahead, such as `UTC+05:30`. */
export function zoneName(ms: number): string {
  if (zone() === "utc") return "UTC";
  const ahead = aheadMin(ms) || 0;
  const two = (part: number) => String(part).padStart(2, "0");
  return `UTC${ahead < 0 ? "−" : "+"}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
}

/** Milliseconds of nanoseconds since the Unix epoch. */
export const msOf = (ns: number): number => ns / 1e6;

/** Nanoseconds since the Unix epoch as the API accepts them, exactly, although doubles cannot hold them. */
export function nsText(ms: number): string {
  return `${BigInt(Math.round(ms)) * 1_000_000n}`;
}

/** `2022-08-22`; a dash for what is no moment. */
export function date(ms: number): string {
  return shown(ms)?.slice(0, 10) ?? "–";
}

/** `04:27`, `04:27:19` or `04:27:19.250`: no more digits than are not zero. */
export function clock(ms: number): string {
  const text = shown(ms);
  if (text === null) return "–";
  const rounded = Math.round(ms);
  if (rounded % 60_000 === 0) return text.slice(11, 16);
  return rounded % 1000 === 0 ? text.slice(11, 19) : text.slice(11, 23);
}

/** `04:27:19` */
export function seconds(ms: number): string {
  return shown(ms)?.slice(11, 19) ?? "–";
}

/** `2022-08-22 04:27:19`: seconds always, nothing finer. */
export function moment(ms: number): string {
  return `${date(ms)} ${seconds(ms)}`;
}

/** The same in UTC, whatever is selected. */
export function utcMoment(ms: number): string {
  return (iso(ms) ?? "–").slice(0, 19).replace("T", " ");
}

/** RFC 3339 in UTC, without milliseconds that are zero. */
export function rfc3339(ms: number): string {
  return (iso(ms) ?? "").replace(".000Z", "Z");
}

/** `2022-08-22, 04:27 to 05:27 UTC`: one date where it is one day. */
export function range(sinceMs: number, untilMs: number): string {
  const [first, last] = [date(sinceMs), date(untilMs)];
  if (first === last) return `${first}, ${clock(sinceMs)} to ${clock(untilMs)} ${zoneName(untilMs)}`;
  return `${first} ${clock(sinceMs)} to ${last} ${clock(untilMs)} ${zoneName(untilMs)}`;
}

/** How long ago: `now`, `40 s ago`, `5 min ago`, `3 h ago`, `12 d ago`. */
export function ago(ms: number, nowMs: number): string {
  const passed = nowMs - ms;
  return passed < 1000 ? "now" : `${lengthText(passed)} ago`;
}

/** A length in one unit: `40 s`, `5 min`, `3 h`, `12 d`. */
export function lengthText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${trim(ms / 3_600_000)} h`;
  return `${trim(ms / 86_400_000)} d`;
}

const trim = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0));

/** By the clock that is selected, in the form of RFC 3339. */
const shown = (ms: number): string | null => iso(ms + (aheadMin(ms) || 0) * 60_000);

/** `null` for what the calendar of JavaScript does not reach. */
function iso(ms: number): string | null {
  const moment = new Date(Math.round(ms));
  return Number.isNaN(moment.getTime()) || moment.getUTCFullYear() > 9999 ? null : moment.toISOString();
}
