// Labels and annotations of objects that are in MySQL only, in the words of kubectl's own commands for living objects.
import { type Command, Option } from 'commander';
import { isJsonObject, type JsonObject, ownValue, valueAt } from '../../base/json.ts';
import { ArgumentError } from '../errors.ts';
import { printResult } from '../print.ts';
import { cellText } from './output.ts';
import { objectPath, oneObject, withSession } from './session.ts';

interface Flags {
  readonly overwrite: boolean;
  readonly resourceVersion?: string;
  readonly dryRun: boolean;
  readonly output: 'text' | 'json';
}

/** null removes the key. */
type Changes = Readonly<Record<string, string | null>>;

const commands = [
  ['label', 'labels'],
  ['annotate', 'annotations'],
] as const;

export function addMetadataCommands(program: Command): void {
  for (const [name, map] of commands) {
    program
      .command(`${name} <kind> [words...]`)
      .description(`change ${map} of an evicted object: key=value sets, key- removes`)
      .option('--overwrite', 'change keys that have another value', false)
      .option('--resource-version <version>', 'only if the object still has it')
      .option('--dry-run', 'ask whether it would work, and change nothing', false)
      .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
      .action(async (kind: string, words: readonly string[], flags: Flags) => {
        const [first, ...others] = words;
        const target = kind.includes('/') ? oneObject(kind, undefined) : oneObject(kind, first);
        const changes = parseChanges(kind.includes('/') ? words : others);
        await withSession(program, async ({ objects, namespace }) => {
          const path = objectPath(target.kind, namespace, target.name);
          const read = flags.overwrite ? undefined : await objects.call({ path });
          if (read !== undefined) refuseOverwriting(changes, valueAt(read, ['metadata', map]));
          // What was looked at is what is changed.
          const expected = flags.resourceVersion ?? valueAt(read, ['metadata', 'resourceVersion']);
          const metadata = { [map]: changes, ...(expected === undefined ? {} : { resourceVersion: expected }) };
          const query: Record<string, string> = flags.dryRun ? { dryRun: 'All' } : {};
          const result = await objects.call({ method: 'PATCH', path, query, body: { metadata } });
          printResult(flags.output, result, resultText(result, map, flags));
        });
      });
  }
}

/** `key=value` and `key-`; each key once. */
export function parseChanges(words: readonly string[]): Changes {
  if (words.length === 0) throw new ArgumentError('Say what to change: key=value sets, key- removes');
  const changes = words.map((word): readonly [string, string | null] => {
    const at = word.indexOf('=');
    if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
    if (at === -1 && /^.+-$/.test(word)) return [word.slice(0, -1), null];
    throw new ArgumentError(`"${word.slice(0, 100)}" is neither key=value nor key-`);
  });
  const keys = changes.map(([key]) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new ArgumentError(`"${twice.slice(0, 100)}" is given more than once`);
  return Object.fromEntries(changes);
}

function refuseOverwriting(changes: Changes, stored: unknown): void {
  const before: JsonObject = isJsonObject(stored) ? stored : {};
  for (const [key, value] of Object.entries(changes)) {
    const old = ownValue(before, key);
    if (value === null || old === undefined || old === value) continue;
    throw new ArgumentError(`"${key}" already has the value "${cellText(old)}"; --overwrite changes it`);
  }
}

function resultText({ kind, metadata }: JsonObject, map: string, { dryRun }: Flags): string {
  const { namespace, name, resourceVersion } = isJsonObject(metadata) ? metadata : {};
  const what = `${cellText(kind)} ${cellText(namespace)}/${cellText(name)}`;
  return `${what}: ${map} changed, resourceVersion ${cellText(resourceVersion)}${dryRun ? ' (dry run)' : ''}\n`;
}
