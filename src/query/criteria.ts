// The tree of criteria of the original's ListOptionsExt, as conditions of the storage.
//
//   {criterion: [{fieldName, operator, matchValue}], logicalOperator, subOperations: [{criterion, …}]}
//
// A field is named as everywhere in this API, or as the original's clients do: `metadata.creation_timestamp`,
// `model.algorithm`. `metadata.labels.<key>` asks for a label, where all criteria must hold.
import type { KindDefinition } from '../api/kind.ts';
import type { FieldError } from '../base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../base/json.ts';
import type { Condition, FieldCondition, FieldValue, LabelRequirement } from '../storage/list-query.ts';
import { ownerRequirement } from '../storage/owners.ts';

/** In the order of the numbers of the enum, from 1 on. */
const operators = [
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_THAN',
  'GREATER_THAN_OR_EQUAL_TO',
  'LESS_THAN',
  'LESS_THAN_OR_EQUAL_TO',
  'IN',
  'NOT_IN',
  'LIKE',
  'IS_NULL',
  'IS_NOT_NULL',
] as const;
type Operator = (typeof operators)[number];
const PREFIX = 'CRITERION_OPERATOR_';

const MOST_DEPTH = 8;
const MOST_CRITERIA = 64;

const comparisons = {
  EQUAL: '=',
  NOT_EQUAL: '!=',
  GREATER_THAN: '>',
  GREATER_THAN_OR_EQUAL_TO: '>=',
  LESS_THAN: '<',
  LESS_THAN_OR_EQUAL_TO: '<=',
  LIKE: 'like',
} as const;

interface Criterion {
  readonly field: string;
  readonly operator: Operator;
  readonly values: readonly FieldValue[];
}

export interface ReadOperation {
  readonly labels: readonly LabelRequirement[];
  readonly where: readonly Condition[];
  readonly errors: readonly FieldError[];
}

export function readOperation(kind: KindDefinition, operation: JsonValue): ReadOperation {
  const reader = new OperationReader(kind);
  const condition = reader.read(operation, 'operation', { depth: 1, all: true });
  const { labels, errors } = reader;
  return { labels, errors, where: condition === undefined ? [] : [condition] };
}

/** The name of a field as this API has it. */
export function fieldNameOf(kind: KindDefinition, name: string): string {
  const own = name.startsWith(`${kind.kind.toLowerCase()}.`) || name.startsWith(`${kind.plural}.`);
  const rest = own ? name.slice(name.indexOf('.') + 1) : name;
  return ownValue(originalNames, rest) ?? rest;
}

const originalNames: Readonly<Record<string, string>> = {
  'metadata.creation_timestamp': 'metadata.creationTimestamp',
  'metadata.update_timestamp': 'metadata.updateTimestamp',
};

function labelKeyOf(field: string): string | undefined {
  return /^(?:metadata\.labels|label)\.(.+)$/s.exec(field)?.[1];
}

interface Place {
  readonly depth: number;
  /** Whether everything around it must hold. */
  readonly all: boolean;
}

class OperationReader {
  readonly labels: LabelRequirement[] = [];
  readonly errors: FieldError[] = [];
  readonly #kind: KindDefinition;
  #criteria = 0;

  constructor(kind: KindDefinition) {
    this.#kind = kind;
  }

  /** Undefined where nothing is asked. */
  read(value: JsonValue, path: string, { depth, all }: Place): Condition | undefined {
    if (depth > MOST_DEPTH) {
      this.#wrong(path, `operations are nested at most ${MOST_DEPTH} deep`);
      return;
    }
    const operation = this.#keys(value, path, ['criterion', 'logicalOperator', 'subOperations']);
    if (operation === undefined) return undefined;
    const join = this.#join(operation['logicalOperator'], path);
    const place = { depth: depth + 1, all: all && join === 'all' };
    const parts = [
      ...this.#list(operation['criterion'], `${path}.criterion`).map((one, index) =>
        this.#criterion(one, `${path}.criterion[${index}]`, place),
      ),
      ...this.#list(operation['subOperations'], `${path}.subOperations`).map((one, index) =>
        this.read(one, `${path}.subOperations[${index}]`, place),
      ),
    ].filter((part) => part !== undefined);
    if (parts.length === 0) return undefined;
    return join === 'all' ? { all: parts } : { any: parts };
  }

  #wrong(path: string, message: string): undefined {
    this.errors.push({ path, message });
    return undefined;
  }

  #keys(value: JsonValue, path: string, names: readonly string[]): JsonObject | undefined {
    if (!isJsonObject(value)) {
      this.#wrong(path, 'expected an object');
      return;
    }
    const entries = Object.entries(value).map(
      ([key, one]) => [key.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()), one] as const,
    );
    for (const [key] of entries) {
      if (!names.includes(key)) {
        this.#wrong(path, `"${key.slice(0, 100)}" is not known; known are ${names.join(', ')}`);
      }
    }
    return Object.fromEntries(entries);
  }

  #list(value: JsonValue | undefined, path: string): readonly JsonValue[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.#wrong(path, 'expected a list');
    return [];
  }

  #join(value: JsonValue | undefined, path: string): 'all' | 'any' {
    const given = value ?? 0;
    if (given === 0 || given === 'AND' || given === 'LOGICAL_OPERATOR_AND') return 'all';
    if (given !== 1 && given !== 'OR' && given !== 'LOGICAL_OPERATOR_OR') {
      this.#wrong(`${path}.logicalOperator`, 'expected LOGICAL_OPERATOR_AND or LOGICAL_OPERATOR_OR');
    }
    return 'any';
  }

  #criterion(value: JsonValue, path: string, { all }: Place): Condition | undefined {
    this.#criteria += 1;
    if (this.#criteria === MOST_CRITERIA + 1) this.#wrong(path, `there are more than ${MOST_CRITERIA} criteria`);
    if (this.#criteria > MOST_CRITERIA) return;
    const criterion = this.#read(value, path);
    if (criterion === undefined) return undefined;
    const label = labelKeyOf(criterion.field);
    const requirement =
      label === undefined ? ownerRequirement(conditionOf(criterion)) : requirementOf(label, criterion);
    if (label === undefined && requirement === undefined) return conditionOf(criterion);
    if (!all) {
      this.#wrong(path, 'a label or an owner can be asked for only where all criteria must hold');
      return;
    }
    if (requirement === undefined) {
      this.#wrong(path, 'a label is EQUAL, NOT_EQUAL, IN, NOT_IN, IS_NULL or IS_NOT_NULL');
      return;
    }
    this.labels.push(requirement);
    return undefined;
  }

  #read(value: JsonValue, path: string): Criterion | undefined {
    const given = this.#keys(value, path, ['fieldName', 'operator', 'matchValue']);
    if (given === undefined) return undefined;
    const { fieldName } = given;
    const operator = operatorOf(given['operator']);
    if (typeof fieldName !== 'string' || fieldName === '') {
      this.#wrong(`${path}.fieldName`, 'expected a text');
      return;
    }
    if (operator === undefined) {
      this.#wrong(`${path}.operator`, `expected one of ${operators.map((name) => PREFIX + name).join(', ')}`);
      return;
    }
    const values = valuesOf(given['matchValue']);
    const expected = expectedValues(operator);
    if (values === undefined || !expected.holds(values, given['matchValue'])) {
      this.#wrong(`${path}.matchValue`, `expected ${expected.what}`);
      return;
    }
    return { field: fieldNameOf(this.#kind, fieldName), operator, values };
  }
}

function operatorOf(value: JsonValue | undefined): Operator | undefined {
  if (typeof value === 'number') return operators[value - 1];
  return operators.find((name) => name === value || PREFIX + name === value);
}

/** A plain value or a list of them, or one in an Any, as protobuf's JSON form writes it. */
function valuesOf(value: JsonValue | undefined): readonly FieldValue[] | undefined {
  if (value === undefined || value === null) return [];
  const plain = isJsonObject(value) && typeof value['@type'] === 'string' ? value['value'] : value;
  const all: readonly unknown[] = Array.isArray(plain) ? plain : [plain];
  return all.every((one) => typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean')
    ? all
    : undefined;
}

interface Expected {
  readonly what: string;
  readonly holds: (values: readonly FieldValue[], given: JsonValue | undefined) => boolean;
}

function expectedValues(operator: Operator): Expected {
  switch (operator) {
    case 'IS_NULL':
    case 'IS_NOT_NULL':
      return { what: 'no value', holds: (values) => values.length === 0 };
    case 'IN':
    case 'NOT_IN':
      return { what: 'a list of values', holds: (_values, given) => isList(given) };
    default:
      return { what: 'one value', holds: (values, given) => values.length === 1 && !isList(given) };
  }
}

function isList(given: JsonValue | undefined): boolean {
  return Array.isArray(isJsonObject(given) ? given['value'] : given);
}

function conditionOf({ field, operator, values }: Criterion): FieldCondition {
  switch (operator) {
    case 'IS_NULL':
      return { field, operator: 'isNull' };
    case 'IS_NOT_NULL':
      return { field, operator: 'isNotNull' };
    case 'IN':
      return { field, operator: 'in', values };
    case 'NOT_IN':
      return { field, operator: 'notIn', values };
    default:
      return { field, operator: comparisons[operator], value: values[0] ?? '' };
  }
}

function requirementOf(key: string, { operator, values }: Criterion): LabelRequirement | undefined {
  switch (operator) {
    case 'EQUAL':
    case 'IN':
      return { key, operator: 'in', values: values.map(String) };
    case 'NOT_EQUAL':
    case 'NOT_IN':
      return { key, operator: 'notIn', values: values.map(String) };
    case 'IS_NULL':
      return { key, operator: 'notExists' };
    case 'IS_NOT_NULL':
      return { key, operator: 'exists' };
    default:
      return undefined;
  }
}
