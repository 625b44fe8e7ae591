// What the reconciler cannot deal with, and why, as far as the user may list it.
import { type Command, Option } from 'commander';
import { age } from '../../base/human-duration.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { REPORT_OLD_SECONDS } from '../../query/report-port.ts';
import { note, printResult } from '../print.ts';
import { ReportOldError } from './errors.ts';
import { cellText, itemsOf, textTable, withHeads } from './output.ts';
import { type GlobalFlags, withSession } from './session.ts';

interface StuckFlags {
  readonly headers: boolean;
  readonly output: string;
}

export function addStuckCommand(program: Command): void {
  program
    .command('stuck')
    .description('which objects wait and why, of all that you may list, or of the namespace that -n names')
    .option('--no-headers', 'the table without its head')
    .addOption(new Option('-o, --output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .action(async ({ headers, output }: StuckFlags) => {
      const { namespace } = program.opts<GlobalFlags>();
      await withSession(program, async ({ objects }) => {
        const stuck = inNamespace(await objects.call({ path: '/stuck' }), namespace);
        printResult(output, stuck, stuckText(stuck, headers ? 'heads' : 'no-heads', new Date()));
        if (output === 'table') for (const line of stuckNotes(stuck)) note(`${line}\n`);
        refuseOld(stuck);
      });
    });
}

/** A report that is old says neither that something is stuck now nor that nothing is. */
export function refuseOld({ at, ageSeconds }: JsonObject): void {
  if (isOld(ageSeconds)) throw new ReportOldError(cellText(at), Math.round(ageSeconds));
}

function isOld(ageSeconds: unknown): ageSeconds is number {
  return typeof ageSeconds === 'number' && ageSeconds > REPORT_OLD_SECONDS;
}

/** Undefined: all of it. Deletions that are held in every namespace are held in this one. */
export function inNamespace(stuck: JsonObject, namespace: string | undefined): JsonObject {
  if (namespace === undefined) return stuck;
  const items = itemsOf(stuck).filter((item) => item['namespace'] === namespace);
  const heldDeletions = holdsIn(stuck).filter((hold) => (hold['namespace'] ?? namespace) === namespace);
  return { ...stuck, count: items.length, items: [...items], heldDeletions: [...heldDeletions] };
}

function holdsIn({ heldDeletions }: JsonObject): readonly JsonObject[] {
  return Array.isArray(heldDeletions) ? heldDeletions.filter(isJsonObject) : [];
}

/** Missing from a query API that does not know them. */
function unwatchedIn({ unwatchedKinds }: JsonObject): readonly JsonObject[] {
  return Array.isArray(unwatchedKinds) ? unwatchedKinds.filter(isJsonObject) : [];
}

/** Empty where nothing is stuck. */
export function stuckText(stuck: JsonObject, heads: 'heads' | 'no-heads', now: Date): string {
  const rows = itemsOf(stuck).map(({ namespace, plural, name, since, attempts, message }) => [
    cellText(namespace),
    `${cellText(plural)}/${cellText(name)}`,
    age(cellText(since), now),
    cellText(attempts),
    cellText(message),
  ]);
  if (rows.length === 0) return '';
  return withHeads(textTable([['NAMESPACE', 'NAME', 'FOR', 'ATTEMPTS', 'WHY'], ...rows], 'plain'), heads);
}

/** What there is to say beside the table. */
export function stuckNotes(stuck: JsonObject): readonly string[] {
  const { count, ageSeconds, truncated } = stuck;
  const shown = itemsOf(stuck).length;
  const holds = holdsIn(stuck);
  const unwatched = unwatchedIn(stuck);
  const isNothing = shown + holds.length + unwatched.length === 0 && !isOld(ageSeconds);
  return [
    ...unwatched.map(
      ({ kind, since, message }) => `${cellText(kind)} is late since ${cellText(since)}: ${cellText(message)}`,
    ),
    ...holds.map(({ kind, namespace, since, message }) => {
      const where = namespace === undefined ? '' : ` in ${cellText(namespace)}`;
      return `Deletions of ${cellText(kind)}${where} are held since ${cellText(since)}: ${cellText(message)}`;
    }),
    ...(isNothing ? ['Nothing of what you may list is stuck.'] : []),
    ...(typeof count === 'number' && count > shown ? [`These are the oldest of ${count}.`] : []),
    ...(truncated === true ? ['The reconciler lists the oldest only; there may be more.'] : []),
  ];
}
