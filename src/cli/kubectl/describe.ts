import type { Command } from 'commander';
import { stringify } from 'yaml';
import { IMMUTABLE_ANNOTATION } from '../../api/names.ts';
import { messageOf } from '../../base/errors.ts';
import { age } from '../../base/human-duration.ts';
import { isJsonObject, type JsonObject, ownValue, valueAt } from '../../base/json.ts';
import { terminalLine } from '../../base/terminal-text.ts';
import { printColoured, printRaw, printText } from '../print.ts';
import { NothingStoredUnderNameError } from './errors.ts';
import {
  cellText,
  chosenText,
  type Format,
  formatOption,
  isDocumentFormat,
  itemsOf,
  printDocument,
  showsColours,
  textTable,
} from './output.ts';
import { objectPath, oneObject, withSession } from './session.ts';

const PREFIX = 'stored.michelangelo.api/';
const places: Readonly<Record<string, string>> = {
  live: 'etcd and MySQL',
  evicted: 'MySQL only',
  deleted: 'deleted, kept for the record',
};

export function addDescribeCommand(program: Command): void {
  program
    .command('describe <kind> [name]')
    .description('say everything about one object: where it is, its content and its history')
    .option('--uid <uid>', 'this incarnation; else the live one, else the newest')
    .action(async (kind: string, name: string | undefined, { uid }: { readonly uid?: string }) => {
      const target = oneObject(kind, name);
      await withSession(program, async ({ objects, namespace }) => {
        const path = objectPath(target.kind, namespace, target.name);
        const object = await objects.call({ path, query: uid === undefined ? {} : { uid } });
        const history = await objects.call({ path: `${path}/incarnations` });
        const coloured = showsColours(process.stdout, process.env) ? 'coloured' : 'plain';
        printText(`${describeText(object)}\nHistory:\n`);
        printColoured(historyText(itemsOf(history), coloured));
        const shown = cellText(valueAt(object, ['metadata', 'uid']));
        printText(`\n${await eventsText(objects.call({ path: `${path}/events`, query: { uid: shown } }))}`);
      });
    });
}

/** What is known of an object is shown to a user who may not list events, and while the API server gives none. */
export async function eventsText(asked: Promise<JsonObject>): Promise<string> {
  let answer: JsonObject;
  try {
    answer = await asked;
  } catch (error) {
    return `Events: unknown, ${terminalLine(messageOf(error))}\n`;
  }
  const now = new Date();
  const rows = itemsOf(answer).map(({ type, reason, count, lastTime, reporter, message }) => {
    const times = typeof count === 'number' && count > 1 ? ` (x${count})` : '';
    const last = typeof lastTime === 'string' ? `${age(lastTime, now)}${times}` : times;
    return [type, reason, last, reporter, message].map((cell) => cellText(cell) || '-');
  });
  if (rows.length === 0) return 'Events: <none>\n';
  const more = answer['truncated'] === true ? 'There are more; these are the newest.\n' : '';
  return `Events:\n${textTable([['TYPE', 'REASON', 'AGE', 'FROM', 'MESSAGE'], ...rows], 'plain')}${more}`;
}

export function describeText(object: JsonObject): string {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const annotations = isJsonObject(metadata['annotations']) ? metadata['annotations'] : {};
  const marks = (name: string): unknown => annotations[`${PREFIX}${name}`];
  const facts: readonly (readonly [string, unknown])[] = [
    ['Name', metadata['name']],
    ['Namespace', metadata['namespace']],
    ['Kind', object['kind']],
    ['Where', ownValue(places, cellText(marks('state')))],
    ['UID', metadata['uid']],
    ['Resource version', metadata['resourceVersion']],
    ['Created', metadata['creationTimestamp']],
    ['Stored', marks('update-time')],
    ['Evicted', marks('evict-time')],
    ['Because', marks('state') === 'evicted' ? whyEvicted(annotations) : undefined],
    ['Deleted', marks('delete-time')],
  ];
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  const lines = facts
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${`${name}:`.padEnd(width)}${terminalLine(cellText(value))}\n`);
  const own = Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(PREFIX)));
  const sections = { Labels: metadata['labels'], Annotations: own, Spec: object['spec'], Status: object['status'] };
  return (
    lines.join('') +
    Object.entries(sections)
      .map(([name, value]) => section(name, value))
      .join('')
  );
}

/** As far as the object says it; MySQL holds the time and not the reason. */
function whyEvicted(annotations: JsonObject): string {
  if (annotations[IMMUTABLE_ANNOTATION] === 'true') return `a client marked it, ${IMMUTABLE_ANNOTATION}=true`;
  return (
    'it has no mark: a rule or an immutable kind, or its owners or its definition were deleted; ' +
    "the reconciler's log says which, at the time above"
  );
}

function section(name: string, value: unknown): string {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return `${name}: <none>\n`;
  const text = stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0 });
  return `${name}:\n${text.replaceAll(/^(?=.)/gm, '  ')}`;
}

/** The newest incarnation first. */
export function historyText(
  items: readonly JsonObject[],
  coloured: 'coloured' | 'plain',
  times: 'relative' | 'absolute' = 'relative',
): string {
  const now = new Date();
  const shown = (time: string): string => (times === 'absolute' ? time : `${age(time, now)} ago`);
  const rows = items.map((item) => {
    const mark = (name: string): string =>
      cellText(valueAt(item, ['metadata', 'annotations', `${PREFIX}${name}`]) ?? '');
    const state = mark('state');
    const left = mark('delete-time') || mark('evict-time');
    return [
      cellText(valueAt(item, ['metadata', 'uid'])),
      state === 'live' ? 'etcd and MySQL' : state === 'evicted' ? 'MySQL' : 'deleted',
      shown(cellText(valueAt(item, ['metadata', 'creationTimestamp']))),
      left === '' ? '-' : shown(left),
      cellText(valueAt(item, ['metadata', 'resourceVersion'])),
    ];
  });
  return textTable([['UID', 'WHERE', 'CREATED', 'LEFT ETCD', 'RESOURCE VERSION'], ...rows], coloured);
}

export function addIncarnationsCommand(program: Command): void {
  program
    .command('incarnations <kind> [name]')
    .alias('history')
    .description('every object that ever had the name, the newest first')
    .addOption(formatOption())
    .action(async (kind: string, name: string | undefined, { output }: { readonly output: Format }) => {
      const target = oneObject(kind, name);
      await withSession(program, async ({ objects, namespace }) => {
        const list = await objects.call({ path: `${objectPath(target.kind, namespace, target.name)}/incarnations` });
        const items = itemsOf(list);
        if (items.length === 0)
          throw new NothingStoredUnderNameError(`${target.kind.kind} ${namespace}/${target.name}`);
        const coloured = showsColours(process.stdout, process.env) ? 'coloured' : 'plain';
        if (output === 'table') printColoured(historyText(items, coloured));
        else if (output === 'wide') printColoured(historyText(items, coloured, 'absolute'));
        else if (isDocumentFormat(output)) printRaw(printDocument(list, output));
        else printColoured(chosenText(items, output));
      });
    });
}
