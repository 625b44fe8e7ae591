// Loaded before the program (`node --import`): its time of day is off by what a file says. Timers and the monotonic clock
// go on as they were, as when the clock of a machine is set.
import { readFileSync } from 'node:fs';

const LOOK_MS = 50;
const machine = Date;
const file = process.env['SOAK_CLOCK_FILE'] ?? '';
let shiftMs = 0;
let lookedAtMs = Number.NEGATIVE_INFINITY;

function now(): number {
  const sinceStart = performance.now();
  if (sinceStart - lookedAtMs >= LOOK_MS) {
    lookedAtMs = sinceStart;
    shiftMs = Number(readFileSync(file, 'utf8'));
  }
  return machine.now() + shiftMs;
}

const shifted = new Proxy(machine, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
  apply: () => new machine(now()).toString(),
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
});
machine.prototype.constructor = shifted;
globalThis.Date = shifted;
