import { type Command, Option } from 'commander';
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import { sleep, systemClock } from '../../base/clock.ts';
import { valueAt } from '../../base/json.ts';
import { ifFound } from '../../kube/found.ts';
import { ArgumentError } from '../errors.ts';
import { durationOption, printResult } from '../print.ts';
import { deleteSelected } from './delete-collection.ts';
import { StillThereError } from './errors.ts';
import { cellText } from './output.ts';
import { startProgress } from './progress.ts';
import { kindAndName, objectPath, oneObject, withSession } from './session.ts';

interface Flags {
  readonly uid?: string;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly yes: boolean;
  readonly dryRun: boolean;
  readonly wait: boolean;
  readonly timeout: number;
  readonly propagationPolicy?: string;
  readonly output: 'text' | 'json';
}

const help = `
A selector deletes evicted objects only. "kubectl delete <kind>.stored.michelangelo.api -l" is another thing: kubectl lists what the
selector finds, living objects too, and deletes each; add --field-selector source=evicted there.

Examples:
  kubectl ingester delete model m1 -n ml --dry-run
  kubectl ingester delete models -n ml -l team=a --dry-run
`;

const POLL_MS = 500;
/** With one of these, flags for one object mean nothing. */
const selectors = ['selector', 'fieldSelector'];

export function addDeleteCommand(program: Command): void {
  program
    .command('delete <kind> [name]')
    .description(
      'mark an object for deletion, and do not wait: it goes once MySQL has its final state; ' +
        'with a selector: delete evicted objects, and no living one',
    )
    .option('-l, --selector <selector>', 'labels of evicted objects')
    .option('--field-selector <selector>', 'indexed fields of evicted objects')
    .option('--yes', 'do not ask', false)
    .addOption(new Option('--uid <uid>', 'only this incarnation').conflicts(selectors))
    .addOption(
      new Option('--propagation-policy <policy>', 'what becomes of dependants')
        .choices(['Orphan', 'Background', 'Foreground'])
        .conflicts(selectors),
    )
    .option('--dry-run', 'ask whether it would work, and mark nothing', false)
    .addOption(new Option('--wait', 'until it is gone').default(false).conflicts(selectors))
    .addOption(durationOption('--timeout <duration>', 'longest wait', '2m').conflicts(selectors))
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .addHelpText('after', help)
    .action(async (kind: string, name: string | undefined, flags: Flags) => {
      const { selector, fieldSelector } = flags;
      if (selector !== undefined || fieldSelector !== undefined) {
        await deleteMany(program, { kind, name, flags });
        return;
      }
      if (flags.yes) throw new ArgumentError('--yes belongs to a selector');
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

async function deleteMany(
  program: Command,
  {
    kind: first,
    name: second,
    flags,
  }: { readonly kind: string; readonly name: string | undefined; readonly flags: Flags },
): Promise<void> {
  const { kind, name } = kindAndName(first, second);
  if (name !== undefined) throw new ArgumentError('Give a name or a selector, not both');
  const { selector, fieldSelector } = flags;
  const by = {
    ...(selector === undefined ? {} : { selector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  await withSession(program, ({ objects, namespace }) => deleteSelected(objects, { kind, namespace, ...by }, flags));
}

function orderOf({ uid, dryRun, propagationPolicy }: Flags): object {
  return {
    ...(uid === undefined ? {} : { preconditions: { uid } }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  };
}

interface Waiting {
  readonly path: string;
  readonly uid: string;
  readonly what: string;
  readonly flags: Flags;
}

async function waitUntilGone(objects: StoredObjects, { path, uid, what, flags }: Waiting): Promise<void> {
  const limitMs = flags.timeout;
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
  const object = await ifFound(objects.call({ path, query: { uid } }));
  return (
    object === undefined || valueAt(object, ['metadata', 'annotations', 'stored.michelangelo.api/state']) === 'deleted'
  );
}
