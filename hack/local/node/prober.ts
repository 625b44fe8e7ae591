// Repeats the probes of one run of a container and tells when their verdict changes.
import { isAborted } from '../../../src/base/abort.ts';
import { type Clock, sleep } from '../../../src/base/clock.ts';
import type { Container, Probe } from './pod.ts';
import { type ProbeOutcome, type ProbeTarget, runHandler } from './probe.ts';

/** Successes or failures one after the other. */
interface Row {
  readonly good: number;
  readonly bad: number;
}

interface ProbeContext {
  readonly target: ProbeTarget;
  readonly clock: Clock;
  readonly events: ProberEvents;
}

export type ProbeName = 'Startup' | 'Liveness' | 'Readiness';

export interface ProberEvents {
  /** The startup probe has succeeded, or there is none. */
  started(): void;
  ready(ready: boolean): void;
  /** Startup or liveness has failed as often as it may. */
  unhealthy(probe: 'Startup' | 'Liveness'): void;
  /** One failure, whether it counts or not. */
  failed(probe: ProbeName, what: string): void;
}

const usual = { periodSeconds: 10, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 };

/** Runs until aborted, which has to happen when the container's process ends. */
export async function runProbes(container: Container, context: ProbeContext, signal: AbortSignal): Promise<void> {
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const { events } = context;
  if (startupProbe !== undefined) {
    const healthy = await repeat('Startup', startupProbe, context, signal);
    if (!healthy || signal.aborted) return;
  }
  events.started();
  if (readinessProbe === undefined) events.ready(true);
  await Promise.all([
    readinessProbe && repeat('Readiness', readinessProbe, context, signal),
    livenessProbe && repeat('Liveness', livenessProbe, context, signal),
  ]);
}

/** True once a startup probe succeeds; false once a startup or liveness probe has failed for good. */
async function repeat(
  name: ProbeName,
  probe: Probe,
  { target, clock, events }: ProbeContext,
  signal: AbortSignal,
): Promise<boolean> {
  const settings = { ...usual, ...probe };
  let row: Row = { good: 0, bad: 0 };
  let waitMs = (probe.initialDelaySeconds ?? 0) * 1000;
  for (;;) {
    await sleep(clock, waitMs, signal);
    waitMs = settings.periodSeconds * 1000;
    const problem = isAborted(signal) ? undefined : await runHandler(probe, target, settings.timeoutSeconds * 1000);
    // An answer about a process that has ended meanwhile does not count.
    if (isAborted(signal)) return true;
    if (problem !== undefined) events.failed(name, problem);
    row = next(row, problem);
    const passed = row.good >= settings.successThreshold;
    const failed = row.bad >= settings.failureThreshold;
    if (name === 'Readiness') {
      if (passed || failed) events.ready(passed);
    } else if (failed) {
      events.unhealthy(name);
      return false;
    } else if (passed && name === 'Startup') return true;
  }
}

function next({ good, bad }: Row, problem: ProbeOutcome): Row {
  return problem === undefined ? { good: good + 1, bad: 0 } : { good: 0, bad: bad + 1 };
}
