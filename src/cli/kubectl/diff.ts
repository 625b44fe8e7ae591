// What differs between two objects of a kind, wherever they are: two runs, a model and what it was restored from.
import { type Command, Option } from 'commander';
import { isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import { terminalLine } from '../../base/terminal-text.ts';
import { REDACTED } from '../../storage/sensitive.ts';
import { ArgumentError } from '../errors.ts';
import { kindOf } from '../kind.ts';
import { note, printColoured, printRaw } from '../print.ts';
import { cellText, textTable } from './output.ts';
import { objectPath, withSession } from './session.ts';

/** A value that only one of the two has is missing on the other side. */
export interface Difference {
  readonly path: string;
  readonly left?: unknown;
  readonly right?: unknown;
}

interface DiffFlags {
  readonly status: boolean;
  readonly output: string;
}

const help = `
An object is named as everywhere: the live one, else the evicted one, else the one deleted last. <name>@<uid> is one incarnation;
"kubectl ingester history" has the uids.

Examples:
  kubectl ingester diff pipelinerun run-1 run-2 -n ml
  kubectl ingester diff model m1@5f0c7f9e-6a0f-4c1b-9d3e-2f6f5a1f0a11 m1 -n ml --status
`;

export function addDiffCommand(program: Command): void {
  program
    .command('diff <kind> <one> <other>')
    .description('what differs between two objects, live, evicted or deleted: spec, labels and annotations')
    .option('--status', 'and what their status says', false)
    .addOption(new Option('-o, --output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .addHelpText('after', help)
    .action(async (word: string, one: string, other: string, { status, output }: DiffFlags) => {
      const kind = kindOf(word);
      const sides = [named(one), named(other)] as const;
      await withSession(program, async ({ objects, namespace }) => {
        const read = ({ name, query }: Named): Promise<JsonObject> =>
          objects.call({ path: objectPath(kind, namespace, name), query });
        const found = await Promise.all([read(sides[0]), read(sides[1])]);
        const [left, right] = [comparable(found[0], status), comparable(found[1], status)];
        const differences = differencesOf(left, right);
        if (output === 'json') printRaw(`${JSON.stringify({ differences })}\n`);
        else if (differences.length > 0) printColoured(differencesText(differences, headsOf(one, other)));
        else note(`Nothing differs in ${status ? 'spec, status' : 'spec'}, labels and annotations.\n`);
        const masked = maskedIn(left).filter((path) => maskedIn(right).includes(path));
        if (masked.length > 0) note(`Masked in both, so not compared: ${masked.join(', ')}\n`);
      });
    });
}

interface Named {
  readonly name: string;
  readonly query: Readonly<Record<string, string>>;
}

function named(text: string): Named {
  const [name = '', uid, ...rest] = text.split('@');
  if (name === '' || name.includes('/') || uid === '' || rest.length > 0) {
    throw new ArgumentError(
      `"${text.slice(0, 100)}" is neither <name> nor <name>@<uid>; the kind comes once, before both`,
    );
  }
  return { name, query: uid === undefined ? {} : { uid } };
}

/** Two incarnations of one name are told apart by all that was typed. */
function headsOf(one: string, other: string): readonly [string, string] {
  return one === other ? ['ONE', 'OTHER'] : [one, other];
}

/** What a user wrote; who restored or deleted an object, and where it is, is no difference between two runs. */
function comparable(object: JsonObject, status: boolean): Readonly<Record<string, unknown>> {
  const annotations = valueAt(object, ['metadata', 'annotations']);
  const own = Object.entries(isJsonObject(annotations) ? annotations : {}).filter(([key]) => !isOurs(key));
  return {
    spec: object['spec'] ?? {},
    ...(status ? { status: object['status'] ?? {} } : {}),
    labels: valueAt(object, ['metadata', 'labels']) ?? {},
    annotations: Object.fromEntries(own),
  };
}

const isOurs = (key: string): boolean => key.startsWith('stored.michelangelo.api/') || key.startsWith('michelangelo/');

/** In the order of their paths. Lists are compared item by item. */
export function differencesOf(left: unknown, right: unknown, path = ''): readonly Difference[] {
  const [ours, theirs] = [childrenOf(left), childrenOf(right)];
  const isList = Array.isArray(left) === Array.isArray(right);
  if (ours === undefined || theirs === undefined || !isList) {
    const [one, other] = [left, right].map((value) => JSON.stringify(value));
    if (one === other) return [];
    return [{ path, ...(left === undefined ? {} : { left }), ...(right === undefined ? {} : { right }) }];
  }
  const all = [...new Set([...ours.keys(), ...theirs.keys()])];
  const keys = Array.isArray(left) ? all : all.sort();
  return keys.flatMap((key) => differencesOf(ours.get(key), theirs.get(key), stepTo(path, key)));
}

/** Undefined for what is neither a list nor an object. */
function childrenOf(value: unknown): ReadonlyMap<string | number, unknown> | undefined {
  if (Array.isArray(value)) return new Map(value.map((item: unknown, index) => [index, item]));
  if (!isJsonObject(value)) return undefined;
  return new Map(
    Object.keys(value)
      .sort()
      .map((key) => [key, value[key]]),
  );
}

function stepTo(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Wider values would make a table of lines that no terminal shows as such. */
const WIDEST = 60;

export function differencesText(differences: readonly Difference[], [one, other]: readonly [string, string]): string {
  const cells = differences.map(({ path, left, right }) => [path, ...[left, right].map(valueText)] as const);
  const isNarrow = ([, ...values]: readonly string[]): boolean => values.every((value) => value.length <= WIDEST);
  const narrow = cells.filter(isNarrow);
  const table = narrow.length === 0 ? '' : textTable([['FIELD', one, other], ...narrow], 'plain');
  const wide = cells.filter((row) => !isNarrow(row)).map((row) => row.map(terminalLine));
  const blocks = wide.map(([path, left, right]) => `${path}\n- ${left}\n+ ${right}\n`);
  return [...(table === '' ? [] : [table]), ...blocks].join('\n');
}

function valueText(value: unknown): string {
  return value === undefined ? '-' : cellText(value) || '""';
}

function maskedIn(value: unknown, path = ''): readonly string[] {
  if (value === REDACTED) return [path];
  return [...(childrenOf(value) ?? [])].flatMap(([key, child]) => maskedIn(child, stepTo(path, key)));
}
