import { cpSync, mkdtempSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError } from '../../src/base/errors.ts';
import { logTail } from './log-tail.ts';
import type { ServerDeath, ServerProcess } from './server-process.ts';

/** What a dead server breaks may be noticed before its death is. */
const NOTICED_MS = 500;

/** Waits for the work, and fails with `ServerDied` where one of the servers dies meanwhile. */
export async function whileAllRun<T>(servers: readonly ServerProcess[], work: Promise<T>): Promise<T> {
  const death = Promise.race(servers.map(({ died }) => died));
  const failed = async (error: unknown): Promise<ServerDeath> => {
    const found = await Promise.race([death, delay(NOTICED_MS)]);
    if (found === undefined) throw error;
    return found;
  };
  const first = await Promise.race([death, work.then((value) => ({ value }), failed)]);
  if ('value' in first) return first.value;
  throw new ServerDied(first);
}

/** Names the server, its exit code and a copy of its log: the folder of a server goes when the others are ended. */
export class ServerDied extends CodedError {
  constructor(death: ServerDeath) {
    const { name, logFile } = death.server;
    const log = join(mkdtempSync(join(tmpdir(), 'ingester-died-')), `${name}.log`);
    cpSync(logFile, log);
    const message = `${name} died with exit code ${exitCode(death)}. Its log is ${log}, which ends:\n${logTail(log)}`;
    super('LOCAL_SERVER_DIED', message);
  }
}

/** As a shell counts: 128 and the number of the signal that ended it. */
function exitCode({ code, signal }: ServerDeath): string {
  return signal === null ? String(code) : `${128 + constants.signals[signal]} (${signal})`;
}
