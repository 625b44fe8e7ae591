// A search: the body of a POST, which says what parameters of a list say, and what they cannot: the original's
// ListOptionsExt with its tree of criteria. Keys may be written as in JSON (`orderBy`) or as in protobuf (`order_by`).
import type { KindDefinition } from '../api/kind.ts';
import type { FieldError } from '../base/errors.ts';
import { formatFieldErrors } from '../base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { isFieldValue, type Order } from '../storage/list-query.ts';
import { splitOwners } from '../storage/owners.ts';
import { parseAnnotationSelector, parseFieldSelector, parseLabelSelector } from '../storage/selectors.ts';
import { fieldNameOf, readOperation } from './criteria.ts';
import { QueryError } from './errors.ts';
import { type ListRequest, named, rangeNames, sources, type TemplateCall, timeRanges } from './list-request.ts';
import { whereConditions } from './where.ts';

const known = [
  'apiVersion',
  'kind',
  'labelSelector',
  'fieldSelector',
  'annotationSelector',
  'source',
  'namePrefix',
  'where',
  'owner',
  ...rangeNames,
  'uid',
  'orderBy',
  'operation',
  'pagination',
  'returnedFieldSkipList',
  'continue',
  'count',
  'template',
  'parameters',
  'minResourceVersion',
];

/** More than this is read by `continue`, which costs the same however deep it leads. */
export const MOST_OFFSET = 10_000;

/** Of what is wrong: an answer is not to be a hundred times as long as its question. */
const MOST_TOLD = 20;

/** Throws BadRequest with everything that is wrong. */
export function parseSearch(body: unknown, kind: KindDefinition): ListRequest {
  if (!isJsonObject(body)) throw new QueryError('BadRequest', 'the body of a search is a JSON object');
  const reader = new BodyReader(body);
  const { labels, where } = reader.operation(kind);
  const pagination = reader.pagination();
  const { owners, fields } = splitOwners(parseFieldSelector(reader.text('fieldSelector') ?? ''));
  const request: ListRequest = {
    ...pagination,
    continue: reader.text('continue'),
    labels: [...parseLabelSelector(reader.text('labelSelector') ?? ''), ...owners, ...labels],
    annotations: parseAnnotationSelector(reader.text('annotationSelector') ?? ''),
    where: [
      ...fields,
      ...timeRanges((name) => reader.text(name)),
      ...named(reader.text('namePrefix')),
      ...whereConditions(reader.text('where')),
      ...where,
    ],
    source: reader.source(),
    order: reader.order(kind),
    owner: reader.text('owner'),
    count: reader.flag('count'),
    skip: reader.texts('returnedFieldSkipList'),
    template: reader.template(),
    since: undefined,
    uid: reader.text('uid'),
    minResourceVersion: reader.version('minResourceVersion'),
    includeObject: 'Metadata',
  };
  reader.finish();
  return request;
}

const camelCased = (key: string): string =>
  key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());

class BodyReader {
  readonly #body: JsonObject;
  readonly #errors: FieldError[] = [];

  constructor(body: JsonObject) {
    this.#body = this.#camelCased(body, '', known);
  }

  /** The object under the JSON names of its keys; what is not known is an error. */
  #camelCased(object: JsonObject, path: string, names: readonly string[]): JsonObject {
    for (const key of Object.keys(object)) {
      if (names.includes(camelCased(key))) continue;
      this.#wrong(path, `"${key.slice(0, 100)}" is not known; known are ${names.join(', ')}`);
    }
    return Object.fromEntries(Object.entries(object).map(([key, value]) => [camelCased(key), value]));
  }

  #wrong(path: string, message: string): void {
    this.#errors.push({ path, message });
  }

  text(key: string): string | undefined {
    const value = this.#body[key] ?? '';
    if (typeof value !== 'string') this.#wrong(key, 'expected a text');
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  texts(key: string): readonly string[] {
    const value = this.#body[key] ?? [];
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
    this.#wrong(key, 'expected a list of texts');
    return [];
  }

  flag(key: string): boolean {
    const value = this.#body[key] ?? false;
    if (typeof value !== 'boolean') this.#wrong(key, 'expected true or false');
    return value === true;
  }

  version(key: string): string | undefined {
    const value = this.text(key);
    if (value !== undefined && !/^\d{1,20}$/.test(value)) this.#wrong(key, 'expected a number in quotes');
    return value;
  }

  source(): ListRequest['source'] {
    const value = this.text('source') ?? 'present';
    const found = sources.find((source) => source === value);
    if (found === undefined) this.#wrong('source', `expected one of ${sources.join(', ')}`);
    return found ?? 'present';
  }

  order(kind: KindDefinition): readonly Order[] {
    const value = this.#body['orderBy'] ?? [];
    if (!Array.isArray(value)) {
      this.#wrong('orderBy', 'expected a list');
      return [];
    }
    return value.flatMap((one, index) => this.#oneOrder(kind, one, `orderBy[${index}]`));
  }

  #oneOrder(kind: KindDefinition, value: JsonValue, path: string): readonly Order[] {
    const given = isJsonObject(value) ? this.#camelCased(value, path, ['field', 'dir']) : {};
    const { field, dir = 'SORT_ORDER_ASC' } = given;
    const direction = directions.get(dir);
    if (typeof field !== 'string') this.#wrong(path, 'expected an object with field and dir');
    else if (direction === undefined) this.#wrong(`${path}.dir`, 'expected SORT_ORDER_ASC or SORT_ORDER_DESC');
    else return [{ field: fieldNameOf(kind, field), direction }];
    return [];
  }

  pagination(): { readonly offset: number; readonly limit: number | undefined } {
    const value = this.#body['pagination'] ?? {};
    if (!isJsonObject(value)) {
      this.#wrong('pagination', 'expected an object');
      return { offset: 0, limit: undefined };
    }
    const { offset, limit } = this.#camelCased(value, 'pagination', ['offset', 'limit']);
    const start = this.#whole(offset, 'pagination.offset', MOST_OFFSET);
    if (start > 0 && this.#body['continue'] !== undefined) {
      this.#wrong('pagination.offset', 'is not given together with continue');
    }
    return { offset: start, limit: this.#whole(limit, 'pagination.limit', Number.MAX_SAFE_INTEGER) || undefined };
  }

  #whole(value: JsonValue | undefined, path: string, most: number): number {
    const number = value ?? 0;
    if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= most) return number;
    this.#wrong(path, `expected a whole number from 0 to ${most}`);
    return 0;
  }

  operation(kind: KindDefinition): Pick<ListRequest, 'labels' | 'where'> {
    const value = this.#body['operation'];
    if (value === undefined || value === null) return { labels: [], where: [] };
    const { errors, ...found } = readOperation(kind, value);
    this.#errors.push(...errors);
    return found;
  }

  template(): TemplateCall | undefined {
    const id = this.text('template');
    const given = this.#body['parameters'] ?? {};
    if (!isJsonObject(given)) this.#wrong('parameters', 'expected an object');
    const entries = Object.entries(isJsonObject(given) ? given : {});
    if (id === undefined && entries.length > 0) this.#wrong('parameters', 'means nothing without template');
    for (const [name, value] of entries) {
      const all = Array.isArray(value) ? value : [value];
      if (all.every(isFieldValue)) continue;
      this.#wrong(`parameters.${name.slice(0, 100)}`, 'expected a text, a number or a boolean, or a list of them');
    }
    return id === undefined ? undefined : { id, values: Object.fromEntries(entries) as TemplateCall['values'] };
  }

  finish(): void {
    if (this.#errors.length === 0) return;
    const more = this.#errors.length - MOST_TOLD;
    const told = formatFieldErrors(this.#errors.slice(0, MOST_TOLD));
    throw new QueryError('BadRequest', more > 0 ? `${told}\nand ${more} more` : told);
  }
}

const directions: ReadonlyMap<unknown, Order['direction']> = new Map<unknown, Order['direction']>([
  ['SORT_ORDER_ASC', 'ascending'],
  ['SORT_ORDER_DESC', 'descending'],
  [1, 'ascending'],
  [2, 'descending'],
]);
