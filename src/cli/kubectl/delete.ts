import { type Command, Option } from 'commander';
import type { StoredObjects } from '../../app/stored-objects.ts';
import { sleep, systemClock } from '../../base/clock.ts';
import { parseDurationMs } from '../../base/duration.ts';
import { valueAt } from '../../base/json.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ArgumentError } from '../errors.ts';
import { printResult } from '../print.ts';
import { StillThereError } from './errors.ts';
import { cellText } from './output.ts';
import { startProgress } from './progress.ts';
import { objectPath, oneObject, withSession } from './session.ts';

interface Flags {
  readonly uid?: string;
  readonly dryRun: boolean;
  readonly wait: boolean;
  readonly timeout: string;
  readonly propagationPolicy?: string;
  readonly output: 'text' | 'json';
}

const POLL_MS = 500;

export function addDeleteCommand(program: Command): void {
  program
    .command('delete <kind> [name]')
    .description('mark an object for deletion, and do not wait: it goes once MySQL has its final state')
    .option('--uid <uid>', 'only this incarnation')
    .addOption(
      new Option('--propagation-policy <policy>', 'what becomes of dependants').choices([
        ...['Orphan', 'Background', 'Foreground'],
      ]),
    )
    .option('--dry-run', 'ask whether it would work, and mark nothing', false)
    .option('--wait', 'until it is gone', false)
    .option('--timeout <duration>', 'longest wait', '2m')
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (kind: string, name: string | undefined, flags: Flags) => {
      const target = oneObject(kind, name);
      await withSession(program, async ({ objects, namespace }) => {
        const path = objectPath(target.kind, namespace, target.name);
        const what = `${target.kind.kind} ${namespace}/${target.name}`;
        const result = await objects.call({ method: 'DELETE', path, body: orderOf(flags) });
        const uid = cellText(valueAt(result, ['details', 'uid']));
        if (flags.wait && !flags.dryRun) await waitUntilGone(objects, { path, uid, what, flags });
        const done = flags.dryRun ? ' (dry run)' : flags.wait ? '; it is gone' : '';
        const text = `${what} uid ${uid}: ${cellText(result['message'])}${done}\n`;
        printResult(flags.output, result, text);
      });
    });
}

function orderOf({ uid, dryRun, propagationPolicy }: Flags): object {
  return {
    ...(uid === undefined ? {} : { preconditions: { uid } }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  };
}

function durationOf(text: string): number {
  const milliseconds = parseDurationMs(text);
  if (milliseconds === undefined) throw new ArgumentError(`--timeout ${text.slice(0, 50)} is no duration, such as 90s`);
  return milliseconds;
}

interface Waiting {
  readonly path: string;
  readonly uid: string;
  readonly what: string;
  readonly flags: Flags;
}

async function waitUntilGone(objects: StoredObjects, { path, uid, what, flags }: Waiting): Promise<void> {
  const limitMs = durationOf(flags.timeout);
  const progress = startProgress(process.stderr, 'looks');
  const started = systemClock.monotonicMs();
  try {
    while (!(await isGone(objects, path, uid))) {
      if (systemClock.monotonicMs() - started > limitMs) throw new StillThereError(what, Math.round(limitMs / 1000));
      progress.add(1);
      await sleep(systemClock, POLL_MS, new AbortController().signal);
    }
  } finally {
    progress.end();
  }
}

async function isGone(objects: StoredObjects, path: string, uid: string): Promise<boolean> {
  try {
    const object = await objects.call({ path, query: { uid } });
    return valueAt(object, ['metadata', 'annotations', 'stored.michelangelo.api/state']) === 'deleted';
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return true;
    throw error;
  }
}
