// The form of a query template that a user wrote. The types follow from it, and what is wrong is said with its path.
import * as z from 'zod';
import type { FieldError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { MAX_LIMIT } from './list-query.ts';

const MOST_PARTS = 32;
const MOST_VALUES = 64;

interface Wrong {
  readonly error: (issue: { readonly input: unknown }) => string;
}

function expected(what: string): Wrong {
  return { error: ({ input }) => (input === undefined ? 'is missing' : `expected ${what}`) };
}

function matching(what: string, pattern: RegExp): z.ZodString {
  return z.string(expected(what)).regex(pattern, expected(what));
}

function oneOf<const Word extends string>(...words: readonly Word[]): z.ZodType<Word> {
  return z.enum(words, expected(words.join(' or ')));
}

function listOf<Item extends z.ZodType>(item: Item, most: number): z.ZodArray<Item> {
  const wrong = expected(`a list of 1 to ${most}`);
  return z.array(item, wrong).min(1, wrong).max(most, wrong);
}

function map<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, expected('a map'));
}

const text = matching('a text of at most 1024 characters', /^.{0,1024}$/s);
/** A place that a parameter fills. */
const hole = map({ parameter: text });
const value = z.union([text, z.number(), z.boolean(), hole], expected('a text, a number, a boolean or a parameter'));
/** A list of values, or one parameter that is a list. */
const values = z.union([listOf(value, MOST_VALUES), hole], expected(`a list of 1 to ${MOST_VALUES}, or a parameter`));

const fieldCondition = z.discriminatedUnion(
  'operator',
  [
    map({ field: text, operator: z.enum(['isNull', 'isNotNull']) }),
    map({ field: text, operator: z.enum(['in', 'notIn']), values }),
    map({ field: text, operator: z.enum(['=', '!=', '>', '>=', '<', '<=', 'like']), value }),
  ],
  expected('= or != or > or >= or < or <= or like or in or notIn or isNull or isNotNull'),
);

const label = z.discriminatedUnion(
  'operator',
  [
    map({ key: text, operator: z.enum(['exists', 'notExists']) }),
    map({ key: text, operator: z.enum(['in', 'notIn']), values }),
  ],
  expected('in or notIn or exists or notExists'),
);

export type Hole = z.output<typeof hole>;
export type TemplateFieldCondition = z.output<typeof fieldCondition>;
export type TemplateLabel = z.output<typeof label>;
export type TemplateCondition =
  | TemplateFieldCondition
  | { readonly all: readonly TemplateCondition[] }
  | { readonly any: readonly TemplateCondition[] };

/** Checked as what its key says that it is, so that what is wrong is said of that alone. */
const condition: z.ZodType<TemplateCondition> = z.custom<TemplateCondition>().superRefine((given, context) => {
  const form = isJsonObject(given)
    ? 'all' in given
      ? allOf
      : 'any' in given
        ? anyOf
        : fieldCondition
    : fieldCondition;
  for (const issue of form.safeParse(given).error?.issues ?? []) context.addIssue({ ...issue });
});
const allOf = map({ all: listOf(condition, MOST_PARTS) });
const anyOf = map({ any: listOf(condition, MOST_PARTS) });

const parameter = map({
  type: oneOf('string', 'int', 'bool', 'time'),
  /** `yes`: the value is a list, for `in` and `notIn`. */
  list: oneOf('yes', 'no').optional(),
  /** `yes`: where it is not given, the conditions that use it are left out. */
  optional: oneOf('yes', 'no').optional(),
});
export type TemplateParameter = z.output<typeof parameter>;

const LIMIT = expected(`a whole number from 1 to ${MAX_LIMIT}`);

const queryTemplate = map({
  /** Unique for the kind. */
  id: matching('lower-case words joined by hyphens', /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/),
  kind: text,
  description: matching('a text of 1 to 500 characters', /^.{1,500}$/s),
  parameters: z
    .record(matching('a name in camel case', /^[a-z][A-Za-z0-9]{0,62}$/), parameter, expected('a map'))
    .optional(),
  labels: listOf(label, MOST_PARTS).optional(),
  where: condition.optional(),
  /** The newest first where it is missing. */
  order: listOf(map({ field: text, direction: oneOf('ascending', 'descending') }), 4).optional(),
  /** Where the caller does not say. */
  limit: z.int(LIMIT).min(1, LIMIT).max(MAX_LIMIT, LIMIT).optional(),
});
export type QueryTemplate = z.output<typeof queryTemplate>;

export type ReadTemplate =
  | { readonly template: QueryTemplate; readonly errors?: never }
  | { readonly template?: never; readonly errors: readonly FieldError[] };

/** The template, or everything that is wrong with its form. */
export function readTemplate(definition: unknown, path: string): ReadTemplate {
  const { data, error } = queryTemplate.safeParse(definition);
  if (error === undefined) return { template: data };
  return { errors: error.issues.flatMap((issue) => fieldErrors(issue, path)) };
}

function fieldErrors(issue: z.core.$ZodIssue, root: string): readonly FieldError[] {
  const steps = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, 100)}`));
  const path = `${root}${steps.join('')}`;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path, message: `"${key.slice(0, 100)}" is no key here` }));
  }
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }));
  return [{ path, message: issue.message }];
}
