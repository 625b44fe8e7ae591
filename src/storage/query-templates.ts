// The templates of one program: found by kind and id, and filled with values.

import type { KindDefinition } from '../api/kind.ts';
import type { FieldError } from '../base/errors.ts';
import { ownValue } from '../base/json.ts';
import { MOMENT_FORMS, momentOf } from '../base/timestamp.ts';
import { QueryParametersInvalidError, QueryTemplateUnknownError } from './errors.ts';
import type { Condition, FieldCondition, FieldValue, LabelRequirement, ListQuery } from './list-query.ts';
import { holesOf, isHole, parseQueryTemplates } from './query-template.ts';
import type {
  QueryTemplate,
  TemplateCondition,
  TemplateFieldCondition,
  TemplateLabel,
  TemplateParameter,
} from './query-template-shape.ts';
import { shippedQueryTemplates } from './shipped-query-templates.ts';

export type ParameterValues = Readonly<Record<string, FieldValue | readonly FieldValue[]>>;

/** What the caller of a template may say besides its parameters. */
export type TemplatePage = Pick<ListQuery, 'namespace' | 'limit' | 'continue' | 'count' | 'deleted'>;

export class QueryTemplates {
  readonly #templates: readonly QueryTemplate[];

  /** Those that are shipped, and those of the user; one error says everything that is wrong with them. */
  constructor(kinds: readonly KindDefinition[], definitions: readonly unknown[] = []) {
    const shipped = shippedQueryTemplates.filter(({ kind }) => kinds.some((one) => one.kind === kind));
    this.#templates = [...shipped, ...parseQueryTemplates(definitions, kinds, shipped)];
  }

  forKind({ kind }: KindDefinition): readonly QueryTemplate[] {
    return this.#templates.filter((template) => template.kind === kind);
  }

  /** The list query that the template means with these values. */
  bind(kind: KindDefinition, templateId: string, values: ParameterValues, page: TemplatePage): ListQuery {
    const known = this.forKind(kind);
    const template = known.find(({ id }) => id === templateId);
    if (template === undefined) {
      throw new QueryTemplateUnknownError(
        templateId,
        known.map(({ id }) => id),
      );
    }
    const errors = valueErrors(template, values);
    if (errors.length > 0) throw new QueryParametersInvalidError(templateId, errors);
    const given = (template.labels ?? []).filter((label) => isGiven(label, values));
    const where = template.where === undefined ? undefined : boundCondition(template.where, values);
    return {
      ...(template.limit === undefined ? {} : { limit: template.limit }),
      ...page,
      ...(template.order === undefined ? {} : { order: template.order }),
      labels: given.map((label) => boundLabel(label, values)),
      ...(where === undefined ? {} : { where }),
    };
  }
}

const isType: Readonly<Record<TemplateParameter['type'], (value: FieldValue) => boolean>> = {
  string: (value) => typeof value === 'string' && value.length <= 1024,
  int: (value) => /^-?\d{1,10}$/.test(String(value)),
  bool: (value) => /^(?:true|false)$/.test(String(value)),
  time: (value) => momentOf(String(value)) !== undefined,
};
const typeNames = { string: 'string', int: 'int', bool: 'bool', time: `time: expected ${MOMENT_FORMS}` } as const;
const MOST_VALUES = 256;

function valueErrors({ parameters = {} }: QueryTemplate, values: ParameterValues): readonly FieldError[] {
  const unknown = Object.keys(values).filter((name) => !Object.hasOwn(parameters, name));
  return [
    ...unknown.map((name) => ({ path: name.slice(0, 100), message: 'is no parameter of this template' })),
    ...Object.entries(parameters).flatMap(([name, parameter]) => {
      const value = valueOf(values, name);
      if (value === undefined) return parameter.optional === 'yes' ? [] : [{ path: name, message: 'is missing' }];
      const message = valueError(parameter, value);
      return message === undefined ? [] : [{ path: name, message }];
    }),
  ];
}

function valueError(
  { type, list = 'no' }: TemplateParameter,
  value: FieldValue | readonly FieldValue[],
): string | undefined {
  if (typeof value === 'object') {
    if (list === 'no') return `expected one ${type}, not a list`;
    if (value.length > MOST_VALUES) return `more than ${MOST_VALUES} values`;
    return value.every(isType[type]) ? undefined : `not every value is a ${typeNames[type]}`;
  }
  if (list === 'yes') return `expected a list of ${type}`;
  return isType[type](value) ? undefined : `is no ${typeNames[type]}`;
}

function valueOf(values: ParameterValues, name: string): FieldValue | readonly FieldValue[] | undefined {
  return ownValue(values, name);
}

function isGiven(part: TemplateFieldCondition | TemplateLabel, values: ParameterValues): boolean {
  return holesOf(part).every(({ name }) => valueOf(values, name) !== undefined);
}

/** Undefined where the condition is left out. */
function boundCondition(condition: TemplateCondition, values: ParameterValues): Condition | undefined {
  if ('all' in condition) return boundParts('all', condition.all, values);
  if ('any' in condition) return boundParts('any', condition.any, values);
  if (!isGiven(condition, values)) return undefined;
  if ('values' in condition) return { ...condition, values: boundValues(condition.values, values) };
  if ('value' in condition)
    return { ...condition, value: boundValue(condition.value, values) } satisfies FieldCondition;
  return condition;
}

function boundParts(
  join: 'all' | 'any',
  parts: readonly TemplateCondition[],
  values: ParameterValues,
): Condition | undefined {
  const bound = parts.map((part) => boundCondition(part, values)).filter((part) => part !== undefined);
  if (bound.length === 0) return undefined;
  return join === 'all' ? { all: bound } : { any: bound };
}

function boundLabel(label: TemplateLabel, values: ParameterValues): LabelRequirement {
  return 'values' in label ? { ...label, values: boundValues(label.values, values).map(String) } : label;
}

type Values = Extract<TemplateFieldCondition, { values: unknown }>['values'];
type Value = Extract<TemplateFieldCondition, { value: unknown }>['value'];

function boundValues(given: Values, values: ParameterValues): readonly FieldValue[] {
  if (!isHole(given)) return given.map((value) => boundValue(value, values));
  const list = valueOf(values, given.parameter) ?? [];
  return typeof list === 'object' ? list : [list];
}

function boundValue(given: Value, values: ParameterValues): FieldValue {
  const value = isHole(given) ? valueOf(values, given.parameter) : given;
  return typeof value === 'object' || value === undefined ? '' : value;
}
