// A query with a name and parameters: a list query with holes. No SQL in it, so a template can ask what a list can ask and
// nothing else, and a value can only ever be a parameter of a statement.

import type { KindDefinition } from '../api/kind.ts';
import { type FieldError, messageOf } from '../base/errors.ts';
import { ownValue } from '../base/json.ts';
import { QueryTemplateInvalidError } from './errors.ts';
import { fieldValue, queryField } from './fields.ts';
import type { FieldValue } from './list-query.ts';
import {
  type Hole,
  type QueryTemplate,
  readTemplate,
  type TemplateCondition,
  type TemplateFieldCondition,
  type TemplateLabel,
  type TemplateParameter,
} from './query-template-shape.ts';
import { isLabelKey } from './selectors.ts';

/** The templates, or one error with everything that is wrong in any of them; `taken` are there already. */
export function parseQueryTemplates(
  definitions: readonly unknown[],
  kinds: readonly KindDefinition[],
  taken: readonly QueryTemplate[] = [],
): readonly QueryTemplate[] {
  const errors: FieldError[] = [];
  const seen = new Set(taken.map(nameOf));
  const templates = definitions.flatMap((definition, index) => {
    const path = `[${index}]`;
    const { template, errors: wrong = [] } = readTemplate(definition, path);
    errors.push(...wrong);
    if (template === undefined) return [];
    const name = nameOf(template);
    if (seen.has(name)) errors.push({ path: `${path}.id`, message: `"${template.id}" is there twice for this kind` });
    seen.add(name);
    errors.push(...semanticErrors(template, kinds).map((error) => ({ ...error, path: `${path}.${error.path}` })));
    return [template];
  });
  if (errors.length > 0) throw new QueryTemplateInvalidError(errors);
  return templates;
}

function nameOf({ kind, id }: QueryTemplate): string {
  return `${kind}/${id}`;
}

function semanticErrors(checked: QueryTemplate, kinds: readonly KindDefinition[]): readonly FieldError[] {
  const kind = kinds.find((one) => one.kind === checked.kind);
  if (kind === undefined) return [{ path: 'kind', message: `"${checked.kind}" is no kind that is ingested` }];
  const conditions = checked.where === undefined ? [] : leaves(checked.where, 'where');
  const { parameters = {}, labels = [], order = [] } = checked;
  const used = new Set([
    ...conditions.flatMap(({ leaf }) => holesOf(leaf).map((one) => one.name)),
    ...labels.flatMap((one) => holesOf(one).map(({ name }) => name)),
  ]);
  return [
    ...conditions.flatMap(({ leaf, path }) =>
      conditionErrors(kind, checked, leaf).map((message) => ({ path, message })),
    ),
    ...labels.flatMap((one, index) =>
      labelErrors(checked, one).map((message) => ({ path: `labels[${index}]`, message })),
    ),
    ...order.flatMap(({ field }, index) =>
      problem(() => queryField(kind, field)).map((message) => ({ path: `order[${index}]`, message })),
    ),
    ...Object.keys(parameters)
      .filter((name) => !used.has(name))
      .map((name) => ({ path: `parameters.${name}`, message: 'is used nowhere' })),
  ];
}

interface Leaf {
  readonly leaf: TemplateFieldCondition;
  readonly path: string;
}

function leaves(tree: TemplateCondition, path: string): readonly Leaf[] {
  if ('all' in tree) return tree.all.flatMap((part, index) => leaves(part, `${path}.all[${index}]`));
  if ('any' in tree) return tree.any.flatMap((part, index) => leaves(part, `${path}.any[${index}]`));
  return [{ leaf: tree, path }];
}

interface UsedParameter {
  readonly name: string;
  /** Whether the whole list is the parameter, or one value. */
  readonly list: 'yes' | 'no';
}

export function holesOf(part: TemplateFieldCondition | TemplateLabel): readonly UsedParameter[] {
  if ('value' in part) return isHole(part.value) ? [{ name: part.value.parameter, list: 'no' }] : [];
  if (!('values' in part)) return [];
  if (isHole(part.values)) return [{ name: part.values.parameter, list: 'yes' }];
  return part.values.filter(isHole).map(({ parameter: name }) => ({ name, list: 'no' }));
}

export function isHole(value: unknown): value is Hole {
  return typeof value === 'object' && value !== null && 'parameter' in value;
}

const typesOfColumn = { string: 'string', enum: 'string', int: 'int', bool: 'bool', time: 'time' } as const;

function conditionErrors(
  kind: KindDefinition,
  checked: QueryTemplate,
  leaf: TemplateFieldCondition,
): readonly string[] {
  const unknown = problem(() => queryField(kind, leaf.field));
  if (unknown.length > 0) return unknown;
  const field = queryField(kind, leaf.field);
  const wrong = constantsOf(leaf).flatMap((constant) => problem(() => fieldValue(field, constant)));
  return [...wrong, ...holeErrors(checked, holesOf(leaf), typesOfColumn[field.type])];
}

function constantsOf(leaf: TemplateFieldCondition): readonly FieldValue[] {
  const given = 'value' in leaf ? [leaf.value] : 'values' in leaf && !isHole(leaf.values) ? leaf.values : [];
  return given.filter((one): one is FieldValue => !isHole(one));
}

function labelErrors(checked: QueryTemplate, requirement: TemplateLabel): readonly string[] {
  const key = isLabelKey(requirement.key) ? [] : [`"${requirement.key.slice(0, 100)}" cannot be the key of a label`];
  return [...key, ...holeErrors(checked, holesOf(requirement), 'string')];
}

function holeErrors(
  { parameters = {} }: QueryTemplate,
  holes: readonly UsedParameter[],
  type: TemplateParameter['type'],
): readonly string[] {
  return holes.flatMap(({ name, list }) => {
    const declared = ownValue(parameters, name);
    if (declared === undefined) return [`parameter "${name}" is not declared`];
    if ((declared.list ?? 'no') !== list)
      return [`parameter "${name}" must ${list === 'yes' ? '' : 'not '}be a list here`];
    return declared.type === type ? [] : [`parameter "${name}" is ${declared.type}, but ${type} is compared here`];
  });
}

/** The message of what the check throws, if it does. */
function problem(check: () => unknown): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
}
