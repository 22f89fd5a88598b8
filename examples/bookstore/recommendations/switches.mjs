// What is broken here: the same file, conditions, and actions as in shop/switches.py, those that Node needs.
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 250;
const folder = process.env.BOOKSTORE_DATA;
const own = {
  service: process.env.OTEL_SERVICE_NAME,
  instance: process.env.BOOKSTORE_INSTANCE,
  version: process.env.BOOKSTORE_VERSION,
};
const CONDITIONS = ['service', 'instance', 'version', 'operation', 'tenant'];

let effects = [];
let changed = -1;
const logged = new Set();

function read() {
  try {
    const path = join(folder, 'switches.json');
    const { mtimeMs } = statSync(path);
    if (mtimeMs === changed) return;
    effects = Object.values(JSON.parse(readFileSync(path, 'utf8')).effects).flat();
    changed = mtimeMs;
    logged.clear();
  } catch (error) {
    // It is being written, or there is none: nothing changes.
    if (error.code !== 'ENOENT' && !(error instanceof SyntaxError)) throw error;
  }
}

read();
setInterval(read, POLL_MS).unref();

function matching(call) {
  const known = { ...own, ...call };
  return effects.filter((effect) => CONDITIONS.every((name) => !(name in effect) || effect[name] === known[name]));
}

function log(effect) {
  const text = JSON.stringify(effect);
  if (logged.has(text)) return;
  logged.add(text);
  const line = { time_unix_ns: Date.now() * 1e6, instance: own.instance, effect };
  appendFileSync(join(folder, 'faults.log'), `${JSON.stringify(line)}\n`);
}

/** Does what the effects say to one call of an operation. */
export async function apply(operation) {
  for (const effect of matching({ operation })) {
    if (Math.random() >= (effect.share ?? 1)) continue;
    log(effect);
    if (effect.sleep_ms) await sleep(effect.sleep_ms);
    if (effect.spin_ms) {
      const end = performance.now() + effect.spin_ms;
      while (performance.now() < end);
    }
    if (effect.error) throw new Error(effect.error);
  }
}

/** A setting, as an effect says or as it should be. */
export function value(name, otherwise) {
  const effect = matching({}).find((one) => one.set && name in one.set);
  if (!effect) return otherwise;
  log(effect);
  return effect.set[name];
}
