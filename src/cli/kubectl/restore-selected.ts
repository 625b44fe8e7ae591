// Putting back what a selector finds: first shown, then confirmed, then restored one after another, each with the rights that
// the user has on it. One that is refused keeps none of the others back; a store that does not answer ends it.
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import { sleep, systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type JsonObject, valueAt } from '../../base/json.ts';
import type { KindName } from '../../kinds/kind-names.ts';
import { isKubeError, KubeError } from '../../kube/errors.ts';
import { confirm } from '../confirm.ts';
import { ArgumentError } from '../errors.ts';
import { note, printResult } from '../print.ts';
import { NotAllRestoredError } from './errors.ts';
import { cellText, itemsOf } from './output.ts';
import { startProgress } from './progress.ts';
import { objectPath } from './session.ts';

export interface RestoreSelection {
  readonly kind: KindName;
  readonly namespace: string;
  /** Parameters of a list, with the source. */
  readonly query: Readonly<Record<string, string>>;
}

export interface RestoreSelectedFlags {
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly output: 'text' | 'json';
}

interface Candidate {
  readonly name: string;
  readonly uid: string;
}

interface Outcome extends Candidate {
  readonly outcome: string;
  /** Why it was not restored. */
  readonly problem?: string;
}

/** Of one run. */
const MOST = 1000;
const PIECE = 500;
const MOST_SHOWN = 20;
/** Of a user who asks more often than the query API lets one user. */
const MOST_WAITS = 20;
const WAIT_MS = 1000;

export async function restoreSelected(
  objects: Pick<StoredObjects, 'call'>,
  selection: RestoreSelection,
  flags: RestoreSelectedFlags,
): Promise<void> {
  const found = await candidates(objects, selection);
  const { kind, namespace } = selection;
  const what = `${found.length} ${kind.plural} in ${namespace}`;
  if (found.length > 0 && !flags.dryRun && !flags.yes) await ask(what, found);
  const outcomes = await restoreEach(objects, selection, { found, dryRun: flags.dryRun });
  printResult(flags.output, { dryRun: flags.dryRun, items: outcomes }, outcomesText(what, outcomes));
  const refused = outcomes.filter(({ problem }) => problem !== undefined).length;
  if (refused > 0) throw new NotAllRestoredError(refused, outcomes.length);
}

/** Of several incarnations of one name the newest, as where one object is restored by its name. */
async function candidates(
  objects: Pick<StoredObjects, 'call'>,
  { kind, namespace, query }: RestoreSelection,
): Promise<readonly Candidate[]> {
  const path = `/namespaces/${encodeURIComponent(namespace)}/${kind.plural}`;
  const byName = new Map<string, Candidate>();
  let position = '';
  do {
    const page = { limit: String(PIECE), skip: 'spec,status', ...(position === '' ? {} : { continue: position }) };
    const list = await objects.call({ path, query: { ...query, ...page } });
    for (const item of itemsOf(list)) {
      const [name, uid] = ['name', 'uid'].map((key) => cellText(valueAt(item, ['metadata', key]))) as [string, string];
      if (!byName.has(name)) byName.set(name, { name, uid });
    }
    if (byName.size > MOST) throw new ArgumentError(TOO_MANY);
    position = cellText(valueAt(list, ['metadata', 'continue']));
  } while (position !== '');
  return [...byName.values()];
}

const TOO_MANY = `More than ${MOST} objects match, and one run restores no more: select fewer, such as with --created-before`;

interface Work {
  readonly found: readonly Candidate[];
  readonly dryRun: boolean;
}

async function restoreEach(
  objects: Pick<StoredObjects, 'call'>,
  { kind, namespace }: RestoreSelection,
  { found, dryRun }: Work,
): Promise<readonly Outcome[]> {
  const progress = startProgress(process.stderr, 'objects');
  const outcomes: Outcome[] = [];
  try {
    for (const candidate of found) {
      const { name, uid } = candidate;
      const path = `${objectPath(kind, namespace, name)}/restore`;
      const ask = (): Promise<JsonObject> => objects.call({ method: 'POST', path, body: { dryRun, uid } });
      outcomes.push({ ...candidate, ...(await outcomeOf(ask)) });
      progress.add(1);
    }
  } catch (error) {
    progress.end();
    const done = outcomes.filter(({ outcome }) => outcome === 'restored').length;
    note(`${done} were restored before this; run it again for the others:\n`);
    throw error;
  }
  progress.end();
  return outcomes;
}

/** What is wrong with one object, such as a name that is in use, is not wrong with the next one. */
const ofOneObject = ['NotFound', 'Forbidden', 'Conflict', 'Invalid', 'Refused'] as const;

async function outcomeOf(ask: () => Promise<JsonObject>): Promise<Omit<Outcome, keyof Candidate>> {
  for (let waits = 0; ; waits += 1) {
    try {
      const { outcome } = await ask();
      return { outcome: cellText(outcome) };
    } catch (error) {
      if (ofOneObject.some((reason) => isKubeError(error, reason)))
        return { outcome: 'not restored', problem: messageOf(error) };
      const isTooOften = error instanceof KubeError && error.reason === 'TooManyRequests';
      if (!isTooOften || waits === MOST_WAITS) throw error;
      await sleep(systemClock, error.retryAfterMs ?? WAIT_MS, new AbortController().signal);
    }
  }
}

function outcomesText(what: string, outcomes: readonly Outcome[]): string {
  const counts = Object.entries(Object.groupBy(outcomes, ({ outcome }) => outcome));
  const told = counts.map(([outcome, some = []]) => `${some.length} ${outcome}`).join(', ');
  const lines = outcomes.map(({ name, outcome, problem }) =>
    problem === undefined ? `  ${name}: ${outcome}` : `  ${name}: ${outcome}: ${problem}`,
  );
  return `${[`${what}${told === '' ? '' : `: ${told}`}`, ...lines].join('\n')}\n`;
}

async function ask(what: string, found: readonly Candidate[]): Promise<void> {
  const shown = found.slice(0, MOST_SHOWN).map(({ name }) => `  ${name}`);
  const rest = found.length > MOST_SHOWN ? ['  …'] : [];
  await confirm({
    preview: `${[`${what} would be restored:`, ...shown, ...rest].join('\n')}\n`,
    question: 'Restore them? Type yes: ',
    withoutTerminal: 'Without a terminal, restoring by a selector takes --yes; --dry-run asks whether it would work',
    declined: 'Nothing was restored',
  });
}
