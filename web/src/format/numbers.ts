// Numbers as people read them; the same rules as the reports of the command line.

/** What stands for a number that is not one. */
export const NOT_A_NUMBER = "–";

type Maybe = number | null | undefined;

const known = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);

/** `1,234,567` */
export function count(value: Maybe): string {
  if (!known(value)) return NOT_A_NUMBER;
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 file`, `1,234 files`; `plural` where an `s` does not do. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

/** A length of time in nanoseconds with three digits: `870 ns`, `12.4 µs`, `3.05 ms`, `1.20 s`. */
export function time(ns: Maybe): string {
  if (!known(ns) || ns < 0) return NOT_A_NUMBER;
  const whole = Math.round(ns);
  if (whole < 1e3) return `${whole} ns`;
  if (whole < 1e6) return `${digits(ns / 1e3)} µs`;
  if (whole < 1e9) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

function digits(value: number): string {
  if (value < 9.995) return value.toFixed(2);
  return value.toFixed(value < 99.95 ? 1 : 0);
}

/** A tick of an axis of times: as few digits as possible. */
export function timeTick(ns: number): string {
  return ns === 0 ? "0" : time(ns).replace(/\.0+ /, " ").replace(/(\.\d*?)0+ /, "$1 ");
}

/** An excess: `+48.2 ms`, `−3.00 ms`. */
export function signedTime(ns: Maybe): string {
  if (!known(ns)) return NOT_A_NUMBER;
  return ns < 0 ? `−${time(-ns)}` : `+${time(ns)}`;
}

/** A factor: `1.34×`, `16×`, `1,200×`. */
export function factor(value: Maybe): string {
  if (!known(value) || value < 0) return NOT_A_NUMBER;
  if (value < 9.995) return `${value.toFixed(2)}×`;
  return value < 1e6 ? `${count(value)}×` : ">1,000,000×";
}

/** A share of 0..1 as percent; what is neither nothing nor everything never reads as if it were. */
export function share(value: Maybe): string {
  if (!known(value) || value < 0) return NOT_A_NUMBER;
  const percent = value * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.1) return "<0.1 %";
  if (percent < 0.95) return `${percent.toFixed(1)} %`;
  if (percent < 99.5 || percent >= 100) return percent < 1000 ? `${percent.toFixed(0)} %` : ">999 %";
  return ">99 %";
}

/** A share near 1, with so many digits that the rest of it has two: `99.95 %`, `99.9832 %`. */
export function fineShare(value: Maybe): string {
  if (!known(value) || value < 0) return NOT_A_NUMBER;
  const rest = 100 * (1 - value);
  if (rest <= 0) return "100 %";
  const digits = Math.min(Math.max(Math.ceil(-Math.log10(rest)) + 1, 0), 9);
  const text = (value * 100).toFixed(digits);
  return `${text.includes(".") ? text.replace(/\.?0+$/, "") : text} %`;
}

/** What is left of a budget: `40 %`; of one that was exceeded `−900 %`. */
export function budgetLeft(value: Maybe): string {
  return known(value) && value < 0 ? `−${share(-value)}` : share(value);
}

/** A p-value: three decimals, or a power of ten when smaller. */
export function pValue(value: Maybe): string {
  if (!known(value) || value < 0) return NOT_A_NUMBER;
  if (value >= 0.001) return value.toFixed(3);
  return value < 1e-300 ? "<1e-300" : value.toExponential(0);
}

/** A plain ratio such as a coefficient of variation: two decimals. */
export function ratio(value: Maybe): string {
  if (!known(value)) return NOT_A_NUMBER;
  return Math.abs(value) < 1e4 ? value.toFixed(2) : value.toExponential(1);
}

/** A size in bytes, decimal units: `12.4 MB`. */
export function bytes(value: Maybe): string {
  if (!known(value)) return NOT_A_NUMBER;
  const units: [number, string][] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
  const unit = units.find(([size]) => value >= size);
  return unit ? `${(value / unit[0]).toFixed(1)} ${unit[1]}` : `${value} B`;
}

/** A large count in few characters: `1,234`, `12.4 k`, `3.10 M`. */
export function brief(value: Maybe): string {
  if (!known(value)) return NOT_A_NUMBER;
  if (value < 1e4) return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : count(value);
  if (value < 1e6) return `${digits(value / 1e3)} k`;
  return value < 1e9 ? `${digits(value / 1e6)} M` : `${digits(value / 1e9)} G`;
}
