// The shape of a query template that a user wrote: everything that is wrong with it, each with its path.
import type { FieldError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { MAX_LIMIT } from './list-query.ts';

type Check = (value: unknown, path: string) => readonly FieldError[];

const MOST_PARTS = 32;
const MOST_VALUES = 64;

function expected(message: string, holds: (value: unknown) => boolean): Check {
  return (value, path) => (holds(value) ? [] : [{ path, message: `expected ${message}` }]);
}

function text(what: string, pattern: RegExp): Check {
  return expected(what, (value) => typeof value === 'string' && pattern.test(value));
}

function oneOf(...words: readonly string[]): Check {
  return expected(words.join(' or '), (value) => words.some((word) => word === value));
}

function list(item: Check, most: number): Check {
  const size = expected(`a list of 1 to ${most}`, (all) => Array.isArray(all) && all.length > 0 && all.length <= most);
  return (value, path) => {
    const wrong = size(value, path);
    if (wrong.length > 0 || !Array.isArray(value)) return wrong;
    return value.flatMap((one, index) => item(one, `${path}[${index}]`));
  };
}

function map(required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check {
  const known: Readonly<Record<string, Check>> = { ...required, ...optional };
  return (value, path) => {
    if (!isJsonObject(value)) return [{ path, message: 'expected a map' }];
    const strange = Object.keys(value).filter((key) => !Object.hasOwn(known, key));
    const missing = Object.keys(required).filter((key) => value[key] === undefined);
    return [
      ...strange.map((key) => ({ path, message: `"${key.slice(0, 100)}" is no key here` })),
      ...missing.map((key) => ({ path: `${path}.${key}`, message: 'is missing' })),
      ...Object.entries(known)
        .filter(([key]) => value[key] !== undefined)
        .flatMap(([key, check]) => check(value[key], `${path}.${key}`)),
    ];
  };
}

const anyText = text('a text of at most 1024 characters', /^.{0,1024}$/s);
const hole = map({ parameter: anyText });
const scalar = expected('a text, a number or a boolean', (value) =>
  typeof value === 'string' ? value.length <= 1024 : typeof value === 'number' || typeof value === 'boolean',
);
const value: Check = (given, path) => (isJsonObject(given) ? hole : scalar)(given, path);
const values: Check = (given, path) => (isJsonObject(given) ? hole : list(value, MOST_VALUES))(given, path);

const comparisons = ['=', '!=', '>', '>=', '<', '<=', 'like', 'in', 'notIn', 'isNull', 'isNotNull'] as const;

function withOperator(name: 'field' | 'key', operators: readonly string[]): Check {
  const operator = oneOf(...operators);
  return (given, path) => {
    const used = isJsonObject(given) ? given['operator'] : undefined;
    const without = { [name]: anyText, operator };
    if (used === 'in' || used === 'notIn') return map({ ...without, values })(given, path);
    const valueless = typeof used !== 'string' || /^(?:isNull|isNotNull|exists|notExists)$/.test(used);
    return map(valueless ? without : { ...without, value })(given, path);
  };
}

const condition: Check = (given, path) => {
  if (!isJsonObject(given)) return [{ path, message: 'expected a map' }];
  if ('all' in given) return map({ all: list(condition, MOST_PARTS) })(given, path);
  if ('any' in given) return map({ any: list(condition, MOST_PARTS) })(given, path);
  return withOperator('field', comparisons)(given, path);
};

const parameter = map(
  { type: oneOf('string', 'int', 'bool', 'time') },
  { list: oneOf('yes', 'no'), optional: oneOf('yes', 'no') },
);

const parameters: Check = (given, path) => {
  if (!isJsonObject(given)) return [{ path, message: 'expected a map' }];
  return Object.entries(given).flatMap(([name, one]) => [
    ...text('a name in camel case', /^[a-z][A-Za-z0-9]{0,62}$/)(name, `${path}.${name.slice(0, 100)}`),
    ...parameter(one, `${path}.${name.slice(0, 100)}`),
  ]);
};

/** What is wrong with the shape of a template, nothing where it is a `QueryTemplate`. */
export const templateShapeErrors: Check = map(
  {
    id: text('lower-case words joined by hyphens', /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/),
    kind: anyText,
    description: text('a text of 1 to 500 characters', /^.{1,500}$/s),
  },
  {
    parameters,
    labels: list(withOperator('key', ['in', 'notIn', 'exists', 'notExists']), MOST_PARTS),
    where: condition,
    order: list(map({ field: anyText, direction: oneOf('ascending', 'descending') }), 4),
    limit: expected(`a whole number from 1 to ${MAX_LIMIT}`, (limit) => {
      return Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= MAX_LIMIT;
    }),
  },
);
