// What every command that looks for objects of a kind can be told to look for.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDurationMs } from '../../base/duration.ts';
import { momentOf } from '../../base/timestamp.ts';
import { findKindName, type KindName } from '../../kinds/kind-names.ts';
import type { Session } from './session.ts';

export interface SelectionFlags {
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly namePrefix?: string;
  readonly where?: string;
  readonly owner?: string;
  readonly ownedBy?: string;
  readonly annotationSelector?: string;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly updatedAfter?: string;
  readonly updatedBefore?: string;
}

export interface FilterFlags extends SelectionFlags {
  readonly allNamespaces: boolean;
  readonly source: string;
}

const times = [
  ['--created-after <time>', 'a time such as 2026-01-31T12:00:00Z, a day, or how long ago: 90m, 36h, 7d, 2w'],
  ['--created-before <time>', 'the end of the range'],
  ['--updated-after <time>', 'the same of the time at which MySQL took the last state'],
  ['--updated-before <time>', 'the end of the range'],
] as const;

export function addFilterOptions(command: Command): Command {
  command
    .option('-A, --all-namespaces', 'in every namespace that you may list', false)
    .addOption(
      new Option('--source <source>', 'present is what is live or evicted')
        .choices(['present', 'live', 'evicted', 'deleted', 'all'])
        .default('present'),
    );
  return addSelectionOptions(command);
}

/** Those that say what an object is like, but not where it is. */
export function addSelectionOptions(command: Command): Command {
  command
    .option('-l, --selector <selector>', "labels, as with kubectl get: 'team in (a,b),!old'")
    .option('--field-selector <selector>', 'indexed fields: spec.algorithm=xgboost')
    .option('--name-prefix <text>', 'names that begin so')
    .option('--where <expression>', 'CEL over indexed fields: \'spec.algorithm == "xgboost" || has(spec.owner.name)\'')
    .option('--owner <name>', 'who owns a model, a pipeline or a revision, who started a run')
    .option('--owned-by <owner>', 'objects that name this owner in metadata: pipeline/train, or its uid', ownerOf)
    .option('--annotation-selector <selector>', 'annotations, written as labels are: \'note="a text"\'');
  for (const [flags, description] of times) command.option(flags, description, timeOf);
  return command;
}

/** The field selector that asks for what an owner has. What no owner can be would find nothing, and is refused. */
function ownerOf(text: string): string {
  const [word = '', ...rest] = text.split('/');
  const name = rest.join('/');
  if (rest.length === 0) {
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) throw new InvalidArgumentError(OWNER_FORMS);
    return `metadata.ownerReferences.uid=${text}`;
  }
  // An owner need not be of a kind that is stored.
  const kind = findKindName(word)?.kind ?? word;
  if (name === '' || !/^[A-Z][A-Za-z0-9]*$/.test(kind)) throw new InvalidArgumentError(OWNER_FORMS);
  return `metadata.ownerReferences=${kind}/${name.replaceAll(/[\\,=]/g, String.raw`\$&`)}`;
}

const OWNER_FORMS =
  'It is <kind>/<name>, such as pipeline/train, or a uid; a kind that is not stored is written as it is called, such as Workflow/train.';

/** What is printed where a list is empty. */
export function nothingFound(
  { namespace }: Pick<Session, 'namespace'>,
  { allNamespaces, ownedBy }: Pick<FilterFlags, 'allNamespaces' | 'ownedBy'>,
): string {
  const where = allNamespaces ? 'any namespace that you may list' : `namespace ${namespace}`;
  const more = allNamespaces ? '' : ' -A looks in all namespaces, -n in another one.';
  const named =
    ownedBy === undefined
      ? ''
      : ' --owned-by looks at the owners in metadata; what names an object in its spec, "kubectl ingester tree" shows.';
  return `No such objects are stored in ${where}.${more}${named}\n`;
}

function timeOf(text: string): string {
  const time = timeBefore(text, new Date());
  if (time === undefined) {
    throw new InvalidArgumentError('expected 2026-01-31T12:00:00Z, 2026-01-31, or how long ago: 90m, 36h, 7d, 2w');
  }
  return time;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** RFC 3339 in UTC of a time, of the beginning of a day, or of so long before now; undefined for anything else. */
export function timeBefore(text: string, now: Date): string | undefined {
  const given = momentOf(text);
  if (given !== undefined) return given;
  const time = now.getTime() - (spanMs(text) ?? Number.NaN);
  // Nothing was stored before 1970.
  return time >= 0 ? new Date(time).toISOString() : undefined;
}

/** A duration with weeks and days before its hours: `2w`, `1d12h`. */
function spanMs(text: string): number | undefined {
  const [, weeks = '0', days = '0', rest = ''] = /^(?:(\d+)w)?(?:(\d+)d)?(.*)$/.exec(text) ?? [];
  const restMs = rest === '' && text !== '' ? 0 : parseDurationMs(rest);
  return restMs === undefined ? undefined : (Number(weeks) * 7 + Number(days)) * DAY_MS + restMs;
}

/** The parameters of the query API that say the same. */
export function filterQuery(flags: SelectionFlags & Pick<FilterFlags, 'source'>): Readonly<Record<string, string>> {
  const {
    source,
    namePrefix,
    where,
    owner,
    ownedBy,
    annotationSelector,
    createdAfter,
    createdBefore,
    updatedAfter,
    updatedBefore,
    selector,
    fieldSelector: fields,
  } = flags;
  const fieldSelector = ownedBy === undefined ? fields : [fields, ownedBy].filter(Boolean).join(',');
  const times = { createdAfter, createdBefore, updatedAfter, updatedBefore };
  return definedOf({
    source,
    namePrefix,
    where,
    owner,
    ...times,
    labelSelector: selector,
    annotationSelector,
    fieldSelector,
  });
}

export function definedOf(parts: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(parts).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

export function listPath(
  { namespace }: Pick<Session, 'namespace'>,
  { plural }: KindName,
  { allNamespaces }: Pick<FilterFlags, 'allNamespaces'>,
): string {
  return allNamespaces ? `/${plural}` : `/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

/** For options that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1 on.');
  return Number(text);
}
