// Moments as people read them: UTC, with the date only where it is not the window's.

/** Milliseconds of nanoseconds since the Unix epoch. */
export const msOf = (ns: number): number => ns / 1e6;

/** Nanoseconds since the Unix epoch as the API accepts them, exactly, although doubles cannot hold them. */
export function nsText(ms: number): string {
  return `${BigInt(Math.round(ms)) * 1_000_000n}`;
}

/** `2022-08-22`; a dash for what is no moment. */
export function date(ms: number): string {
  return iso(ms)?.slice(0, 10) ?? "–";
}

/** `04:27`, `04:27:19` or `04:27:19.250`: no more digits than are not zero. */
export function clock(ms: number): string {
  const text = iso(ms);
  if (text === null) return "–";
  const rounded = Math.round(ms);
  if (rounded % 60_000 === 0) return text.slice(11, 16);
  return rounded % 1000 === 0 ? text.slice(11, 19) : text.slice(11, 23);
}

/** `04:27:19` */
export function seconds(ms: number): string {
  return iso(ms)?.slice(11, 19) ?? "–";
}

/** `2022-08-22 04:27:19`: seconds always, nothing finer. */
export function moment(ms: number): string {
  return `${date(ms)} ${seconds(ms)}`;
}

/** RFC 3339 in UTC, without milliseconds that are zero. */
export function rfc3339(ms: number): string {
  return (iso(ms) ?? "").replace(".000Z", "Z");
}

/** `2022-08-22, 04:27 to 05:27 UTC`: one date where it is one day. */
export function range(sinceMs: number, untilMs: number): string {
  const [first, last] = [date(sinceMs), date(untilMs)];
  if (first === last) return `${first}, ${clock(sinceMs)} to ${clock(untilMs)} UTC`;
  return `${first} ${clock(sinceMs)} to ${last} ${clock(untilMs)} UTC`;
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

/** `null` for what the calendar of JavaScript does not reach. */
function iso(ms: number): string | null {
  const moment = new Date(Math.round(ms));
  return Number.isNaN(moment.getTime()) || moment.getUTCFullYear() > 9999 ? null : moment.toISOString();
}
