// A process is its number together with the time at which it started: numbers are used again.
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since the machine started. */
  readonly startTime: string;
}

/** From a file with "pid starttime"; undefined where there is none. */
export function readIdentity(file: string): ProcessIdentity | undefined {
  const [pid, startTime] = textOf(file)?.trim().split(' ') ?? [];
  return pid === undefined || startTime === undefined ? undefined : { pid: Number(pid), startTime };
}

/** Whether it still runs; a zombie, which ended and was not reaped yet, does not. */
export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  // The name in brackets may itself have blanks and brackets.
  const fields = textOf(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ');
  return fields !== undefined && fields[0] !== 'Z' && fields[0] !== 'X' && fields[19] === startTime;
}

/** Signals the process, or its whole group. False where it is not there any more. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals, whom: 'one' | 'group'): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(whom === 'group' ? -identity.pid : identity.pid, signal);
    return true;
  } catch {
    // It ended meanwhile.
    return false;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
