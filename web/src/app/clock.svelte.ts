// The time that "now" means. It moves only on a refresh, so that all requests of a page agree.

/** How far this device's clock is behind the server's, in milliseconds. */
let behindMs = 0;

/** Differences below this are the network's. */
const DRIFT_MS = 2000;

/** Whole seconds read better; rounded up, so that nothing of the present is left out. */
const whole = (ms: number): number => Math.ceil(ms / 1000) * 1000;

let now = $state(whole(Date.now()));
let ticks = $state(0);

export const clock = {
  /** Milliseconds since the Unix epoch at the last tick. */
  get now(): number {
    return now;
  },
  /** Number of ticks: pages depend on it to refresh. */
  get ticks(): number {
    return ticks;
  },
  /** The time this very moment, by the server's clock. */
  read(): number {
    return Date.now() + behindMs;
  },
  /** Sets "now" to the present. */
  tick(): void {
    now = whole(this.read());
    ticks += 1;
  },
  /** Learns the server's time from an answer. The first one sets the clock. */
  agree(serverMs: number): void {
    const difference = serverMs - Date.now();
    if (Math.abs(difference - behindMs) < DRIFT_MS) return;
    behindMs = difference;
    if (ticks === 0) now = whole(this.read());
  },
};
