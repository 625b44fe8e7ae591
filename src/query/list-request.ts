// The query parameters of a read, as Kubernetes spells them, and the few that Kubernetes lacks. A parameter that is not
// known, or means nothing where it is given, is refused: ignoring it would answer another question than was asked.
import { MOMENT_FORMS, momentOf } from '../base/timestamp.ts';
import type { Condition, FieldValue, LabelRequirement, Order } from '../storage/list-query.ts';
import { escapedPattern } from '../storage/list-query.ts';
import { splitOwners } from '../storage/owners.ts';
import { parseAnnotationSelector, parseFieldSelector, parseLabelSelector } from '../storage/selectors.ts';
import { QueryError } from './errors.ts';
import type { IncludeObject } from './table.ts';
import { whereConditions } from './where.ts';

export const sources = ['live', 'evicted', 'deleted', 'all', 'present'] as const;
/** `present`, the default, is live and evicted. */
export type Source = (typeof sources)[number];

/** A query with a name, and what fills its holes. */
export interface TemplateCall {
  readonly id: string;
  readonly values: Readonly<Record<string, FieldValue | readonly FieldValue[]>>;
}

/** What a list is asked for, whether by parameters or by the body of a search. */
export interface ListRequest {
  /** Undefined: everything. */
  readonly limit: number | undefined;
  /** Objects to pass over first. */
  readonly offset: number;
  readonly continue: string | undefined;
  /** Of labels and of owners. */
  readonly labels: readonly LabelRequirement[];
  readonly annotations: readonly LabelRequirement[];
  /** All of them hold. */
  readonly where: readonly Condition[];
  readonly source: Source;
  /** Empty: the newest first. */
  readonly order: readonly Order[];
  readonly owner: string | undefined;
  readonly count: boolean;
  /** Dotted paths that are left out of the objects. */
  readonly skip: readonly string[];
  readonly template: TemplateCall | undefined;
  /** Cursor of the change feed. */
  readonly since: string | undefined;
  readonly uid: string | undefined;
  /** The answer must be at least this new. */
  readonly minResourceVersion: string | undefined;
  readonly includeObject: IncludeObject;
}

/** What is asked for; each takes parameters of its own. */
export type Asked =
  | 'list'
  | 'watch'
  | 'aggregate'
  | 'changes'
  | 'deletion'
  | 'object'
  | 'incarnations'
  | 'queries'
  | 'summary';

/** What clients send that changes nothing here. */
const accepted = new Set([
  'pretty',
  'timeout',
  'timeoutSeconds',
  'allowWatchBookmarks',
  'fieldManager',
  'fieldValidation',
]);

const everywhere: readonly Asked[] = ['list', 'aggregate', 'changes', 'object', 'incarnations'];
const many: readonly Asked[] = ['list', 'changes'];
const selecting: readonly Asked[] = [...many, 'aggregate', 'deletion'];
const watched: readonly Asked[] = ['watch'];

const known: Readonly<Record<string, readonly Asked[]>> = {
  limit: selecting,
  continue: ['list'],
  labelSelector: [...selecting, ...watched],
  fieldSelector: [...selecting, ...watched],
  annotationSelector: ['list', 'aggregate'],
  source: ['list', 'aggregate', ...watched],
  orderBy: ['list'],
  namePrefix: [...many, 'aggregate'],
  where: [...many, 'aggregate'],
  owner: selecting,
  createdAfter: selecting,
  createdBefore: selecting,
  updatedAfter: selecting,
  updatedBefore: selecting,
  skip: many,
  count: ['list'],
  template: ['list'],
  uid: ['list', 'changes', 'object'],
  resourceVersion: [...everywhere, ...watched],
  resourceVersionMatch: [...everywhere, ...watched],
  minResourceVersion: everywhere,
  includeObject: [...everywhere, ...watched],
  since: ['changes'],
  groupBy: ['aggregate'],
  min: ['aggregate'],
  max: ['aggregate'],
  p50: ['aggregate'],
  approximate: ['aggregate'],
  watch: [...everywhere, ...watched],
  sendInitialEvents: watched,
  dryRun: ['deletion'],
  propagationPolicy: ['deletion'],
  gracePeriodSeconds: ['deletion'],
};

/** Before the name of a template's parameter. */
const PARAMETER = 'param.';

export function parseListRequest(query: URLSearchParams, asked: Asked): ListRequest {
  if (asked !== 'watch') refuseWatch(query);
  const reader = new ParameterReader(query, asked);
  const { source, fields, owners } = selected(query, reader, asked);
  const request: ListRequest = {
    limit: reader.number('limit'),
    offset: 0,
    continue: reader.text('continue'),
    labels: [...parseLabelSelector(query.get('labelSelector') ?? ''), ...owners],
    annotations: parseAnnotationSelector(query.get('annotationSelector') ?? ''),
    where: [
      ...fields,
      ...timeRanges((name) => reader.text(name)),
      ...named(reader.text('namePrefix')),
      ...whereConditions(reader.text('where')),
    ],
    source,
    order: parseOrder(reader.text('orderBy') ?? ''),
    owner: reader.text('owner'),
    count: reader.oneOf('count', ['true', 'false'], 'false') === 'true',
    skip: words(reader.text('skip')),
    template: reader.template(),
    since: reader.text('since'),
    uid: reader.text('uid'),
    minResourceVersion: reader.version('minResourceVersion') ?? reader.version('resourceVersion'),
    includeObject: reader.oneOf('includeObject', ['None', 'Metadata', 'Object'], 'Metadata'),
  };
  reader.oneOf('resourceVersionMatch', ['', 'NotOlderThan'], '');
  reader.oneOf('approximate', ['true', 'false'], 'false');
  reader.finish();
  return request;
}

interface Selected extends ReturnType<typeof splitOwners> {
  readonly source: Source;
}

/** `source` may be a field too, because clients such as kubectl send no parameters of their own. */
function selected(query: URLSearchParams, reader: ParameterReader, asked: Asked): Selected {
  // Which cluster was meant is known by now.
  const given = parseFieldSelector(query.get('fieldSelector') ?? '').filter(({ field }) => field !== 'cluster');
  // A watch refuses what it does not look at.
  const { owners, fields } = asked === 'watch' ? { owners: [], fields: given } : splitOwners(given);
  const [chosen, ...more] =
    known['source']?.includes(asked) === true ? fields.filter(({ field }) => field === 'source') : [];
  const parameter = reader.oneOf('source', sources, 'present');
  if (chosen === undefined) return { source: parameter, fields, owners };
  const value = 'value' in chosen && chosen.operator === '=' ? chosen.value : undefined;
  const source = sources.find((each) => each === value);
  if (source === undefined) reader.problem(`the field source is one of ${sources.join(', ')}, with =`);
  if (more.length > 0 || reader.text('source') !== undefined) reader.problem('source is given more than once');
  return { source: source ?? parameter, fields: fields.filter(({ field }) => field !== 'source'), owners };
}

/** For the paths that take no parameters but those that every client sends. */
export function refuseParameters(query: URLSearchParams, allowed: readonly string[] = []): void {
  const strange = [...new Set(query.keys())].filter((name) => !accepted.has(name) && !allowed.includes(name));
  if (strange.length === 0) return;
  const list = allowed.length === 0 ? 'none' : allowed.join(', ');
  throw new QueryError('BadRequest', `parameter "${strange[0]?.slice(0, 100)}" is not known here; known are ${list}`);
}

export function isWatch(query: URLSearchParams): boolean {
  return ['1', 'true'].includes(query.get('watch') ?? '');
}

function refuseWatch(query: URLSearchParams): void {
  if (!isWatch(query)) return;
  throw new QueryError(
    'MethodNotAllowed',
    'this cannot be watched: watch the list of the kind, with fieldSelector=metadata.name=... for one object',
  );
}

/** Reads values one by one and reports all errors at once. */
class ParameterReader {
  readonly #query: URLSearchParams;
  readonly #problems: string[] = [];

  constructor(query: URLSearchParams, asked: Asked) {
    this.#query = query;
    const here = Object.keys(known).filter((name) => known[name]?.includes(asked));
    for (const name of new Set(query.keys())) {
      const value = name.startsWith(PARAMETER) && asked === 'list';
      if (value || accepted.has(name)) continue;
      if (!here.includes(name)) {
        const which = Object.hasOwn(known, name) ? 'means nothing here' : 'is not known';
        this.#problems.push(`parameter "${name.slice(0, 100)}" ${which}; known here are ${here.join(', ')}`);
      } else if (query.getAll(name).length > 1) this.#problems.push(`parameter "${name}" is given more than once`);
    }
  }

  problem(what: string): void {
    this.#problems.push(what);
  }

  /** Clients send parameters without a value where they mean none. */
  text(name: string): string | undefined {
    const value = this.#query.get(name);
    return value === null || value === '' ? undefined : value;
  }

  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
    const value = this.text(name) ?? fallback;
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) this.#problems.push(`${name} is one of ${values.join(', ')}`);
    return found ?? fallback;
  }

  version(name: string): string | undefined {
    const value = this.text(name) ?? '0';
    if (/^0+$/.test(value)) return undefined;
    if (!/^\d{1,20}$/.test(value)) this.#problems.push(`${name} is a number`);
    return value;
  }

  number(name: string): number | undefined {
    const value = this.version(name);
    return value === undefined ? undefined : Number(value);
  }

  template(): TemplateCall | undefined {
    const names = [...new Set(this.#query.keys())].filter((name) => name.startsWith(PARAMETER));
    const id = this.text('template');
    if (id === undefined) {
      if (names.length > 0) this.#problems.push(`${names[0]?.slice(0, 100)} means nothing without template`);
      return undefined;
    }
    const values = names.map((name) => {
      const all = this.#query.getAll(name);
      return [name.slice(PARAMETER.length), all.length === 1 ? (all[0] ?? '') : all] as const;
    });
    return { id, values: Object.fromEntries(values) };
  }

  finish(): void {
    if (this.#problems.length > 0) throw new QueryError('BadRequest', this.#problems.join('; '));
  }
}

const ranges = [
  { name: 'createdAfter', field: 'metadata.creationTimestamp', operator: '>=' },
  { name: 'createdBefore', field: 'metadata.creationTimestamp', operator: '<' },
  { name: 'updatedAfter', field: 'metadata.updateTimestamp', operator: '>=' },
  { name: 'updatedBefore', field: 'metadata.updateTimestamp', operator: '<' },
] as const;

export const rangeNames: readonly string[] = ranges.map(({ name }) => name);

/** Ranges of time, each from its beginning up to, but not including, its end. */
export function timeRanges(valueOf: (name: string) => string | undefined): readonly Condition[] {
  return ranges.flatMap(({ name, field, operator }) => {
    const given = valueOf(name);
    if (given === undefined) return [];
    const value = momentOf(given);
    if (value === undefined) throw new QueryError('BadRequest', `${name} is ${MOMENT_FORMS}`);
    return [{ field, operator, value }];
  });
}

/** Names that begin with the text, whatever is in it. */
export function named(prefix: string | undefined): readonly Condition[] {
  if (prefix === undefined) return [];
  return [{ field: 'metadata.name', operator: 'like', value: `${escapedPattern(prefix)}%` }];
}

/** `metadata.name`, or `-metadata.creationTimestamp` for the newest first; several are joined by commas. */
function parseOrder(text: string): readonly Order[] {
  return words(text).map((word) =>
    word.startsWith('-') ? { field: word.slice(1), direction: 'descending' } : { field: word, direction: 'ascending' },
  );
}

export function words(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : text.split(',').map((word) => word.trim());
}
