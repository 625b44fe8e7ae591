import type { Command } from 'commander';
import type { FullStatus, PartsStatus } from '../app/commands/control.ts';
import type { PartState } from '../app/commands/parts.ts';
import { CodedError } from '../base/errors.ts';
import { OLD_MS } from '../sync/status/status.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { printResult } from './print.ts';

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('say which parts work, and which objects cannot be stored; the exit code says where a part fails')
    .addOption(outputOption())
    .action((options: { readonly output: string }) => runStatusCommand(program, options.output));
}

async function runStatusCommand(program: Command, output: string): Promise<void> {
  const { configuration } = prepareCommand(program, 'status');
  const { readStatus } = await import('../app/commands/control.ts');
  const status = await readStatus(configuration);
  printResult(output, status, 'at' in status ? statusText(status) : partsText(status));
  const failing = status.parts.filter(({ state }) => state === 'fails');
  if (failing.length > 0) throw new PartFailsError(failing, configuration.kubernetes.namespace);
}

/** A part of the installation does not do its work; the report that was printed says why. */
export class PartFailsError extends CodedError {
  constructor(parts: readonly PartState[], namespace: string) {
    const each = parts.map(({ part, reason }) => `${part}: ${reason} (${whereToLook[part](namespace)})`).join('; ');
    super('PART_FAILS', `A part does not work. ${each}. The runbooks are in docs/runbooks.md of the bundle.`);
  }
}

/** For a machine that has no more than kubectl; the labels are those of every installation. */
const whereToLook: Readonly<Record<PartState['part'], (namespace: string) => string>> = {
  reconciler: (namespace) => `look: kubectl get pods -n ${namespace}; runbook IngesterNoLeader`,
  MySQL: (namespace) =>
    `look: kubectl logs -n ${namespace} -l app.kubernetes.io/name=michelangelo-ingester --prefix --since=5m; ` +
    'runbook IngesterStorageDown',
  admission: (namespace) => `look: kubectl get pods,endpointslices -n ${namespace}; runbook IngesterWebhookDown`,
  'query API': () => 'look: kubectl describe apiservice v2.stored.michelangelo.api; runbook IngesterQueryDown',
};

const states = { works: 'works', fails: 'FAILS', unknown: 'unknown', absent: 'absent' } as const;

export function statusText(status: FullStatus): string {
  const { parts, kinds, failingObjects, breakers } = status;
  const age = Math.round(status.ageMs / 1000);
  const notes = [
    ...stuckPodsText(status),
    ...storageWentBack(status),
    ...notDurable(status),
    ...breakers.map(({ kind, because, since }) => `Deletions of ${kind} are held since ${since}: ${because}`),
    ...unowned(status),
    ...interruptions(status),
    ...restores(status),
    ...(status.evictionPaused ? ['Evictions are paused.'] : []),
    ...(status.spooled > 0 ? [`${status.spooled} final states are on disk until MySQL is back.`] : []),
    ...asideText(status),
  ];
  const lines = [
    `As of ${status.at} (${age} s ago), by ${status.instance}.`,
    ...decidedBy(status),
    '',
    ...partsTable(parts),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    '',
    ...table([
      ['KIND', 'OBJECTS', 'FAILING'],
      ...kinds.map((each) => [each.kind, `${each.objects}`, `${each.failing}`]),
    ]),
    '',
    stored(status),
    ...failingObjects.listed.map(
      ({ kind, namespace, name, since, code, message }) =>
        `  ${kind} ${namespace}/${name} since ${since}: ${code}: ${message}`,
    ),
    ...incompleteText(status),
  ];
  return `${lines.join('\n')}\n`;
}

/** Where no reconciler has told anything. */
export function partsText(status: PartsStatus): string {
  const notes = stuckPodsText(status);
  return `${[...partsTable(status.parts), ...(notes.length === 0 ? [] : ['', ...notes])].join('\n')}\n`;
}

function stuckPodsText({ stuckPods }: PartsStatus): readonly string[] {
  if (stuckPods === undefined) return ['Whether pods start is not known: they could not be listed.'];
  return stuckPods.map((problem) => `A pod does not start: ${problem}`);
}

function partsTable(parts: readonly PartState[]): readonly string[] {
  return table([['PART', 'STATE', 'REASON'], ...parts.map(({ part, state, reason }) => [part, states[state], reason])]);
}

function incompleteText({ incompleteProtos }: FullStatus): readonly string[] {
  if (incompleteProtos === undefined || incompleteProtos.count === 0) return [];
  return [
    `${incompleteProtos.count} objects written since the reconciler started are complete in the column json, and lack fields in the column proto:`,
    ...incompleteProtos.listed.map(
      ({ kind, namespace, name, lacks }) => `  ${kind} ${namespace}/${name}: ${lacks.join('; ')}`,
    ),
  ];
}

/** What a reconciler told before it fell silent says nothing of now. */
function stored({ at, ageMs, kinds, unownedBuckets, failingObjects: { count } }: FullStatus): string {
  if (ageMs > OLD_MS) {
    const before = count === 0 ? '' : ` Then ${count} objects could not be dealt with:`;
    return `Which objects are stored is not known: the reconciler has told nothing since ${at}.${before}`;
  }
  if (count > 0) return `${count} objects cannot be dealt with:`;
  const seesAll = unownedBuckets === undefined && kinds.every(({ interrupted }) => interrupted === undefined);
  return seesAll ? 'Every object is stored.' : 'Every object that was seen is stored.';
}

function unowned({ unownedBuckets }: FullStatus): readonly string[] {
  if (unownedBuckets === undefined) return [];
  const { count, since } = unownedBuckets;
  return [
    `No replica has owned ${count} of the 32 buckets since ${since}: changes of their objects wait, and deleted ones stay ` +
      'Terminating. See docs/runbooks.md#ingesterbucketsunowned.',
  ];
}

function interruptions({ kinds }: FullStatus): readonly string[] {
  return kinds.flatMap(({ kind, interrupted }) =>
    interrupted === undefined
      ? []
      : [
          `Changes of ${kind} are not seen, or late, since ${interrupted.since}: ${interrupted.reason}. ` +
            'See docs/runbooks.md#ingesterworkstalled.',
        ],
  );
}

function restores({ kinds }: FullStatus): readonly string[] {
  const gone = kinds.flatMap(({ kind, wentBack }) => (wentBack === undefined ? [] : [{ kind, ...wentBack }]));
  const [first] = gone;
  if (first === undefined) return [];
  const each = gone.map(({ kind, from, to }) => `${kind} from ${from} to ${to}`).join(', ');
  return [
    `The API server went back to an earlier version at ${first.at} (${each}): etcd was restored. ` +
      '"ingester audit" shows what differs, "ingester audit --repair-restored" sets MySQL back to the cluster.',
  ];
}

function storageWentBack({ storageHistory }: FullStatus): readonly string[] {
  if (storageHistory?.wentBack === undefined) return [];
  const { at, from, to, missing } = storageHistory.wentBack;
  return [
    `MySQL went back at ${at}: ${to} does not know transactions that ${from} had confirmed (${missing}). ` +
      'Keep the server that was before; "ingester audit --repair" stores again what is in the cluster.',
  ];
}

function notDurable({ storageHistory }: FullStatus): readonly string[] {
  const { weak = [] } = storageHistory ?? {};
  if (weak.length === 0) return [];
  return [
    `MySQL can lose final states that it confirmed, with ${weak.join(' and ')}: in a crash of its machine, or in a ` +
      'failover. What to set: docs/storage.md#failover.',
  ];
}

function asideText({ spoolAside = 0, instance }: FullStatus): readonly string[] {
  if (spoolAside === 0) return [];
  return [`${spoolAside} final states on the disk of ${instance} cannot be written to MySQL; its log names them.`];
}

function decidedBy({ resources }: FullStatus): readonly string[] {
  if (resources === undefined)
    return ['Which Ingester resources decide is not shown: that needs the right to list them.'];
  if (resources.length === 0) return ['The configuration file decides: there is no Ingester resource.'];
  return resources.map(
    ({ name, phase, version }) =>
      `The Ingester resource ${name} decides on kinds, components and lifecycle (${phase}, version ${version}); ` +
      'the configuration file on how to reach the API server.',
  );
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 2))
      .join('')
      .trimEnd(),
  );
}
