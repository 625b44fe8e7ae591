// The parameter `where`: a CEL expression over indexed fields, as conditions of the storage. What SQL could not answer by a
// column is refused, with its place. A field that an object does not have is null, and unequal to every other value.
import { CelError, type CelNode, parseCelTree } from '../base/cel.ts';
import { type Condition, escapedPattern, type FieldValue, isFieldValue } from '../storage/list-query.ts';
import { QueryError } from './errors.ts';

const MOST_BYTES = 4096;
const MOST_COMPARISONS = 64;

const flipped = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;
const opposite = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' } as const;

type ComparisonNode = Extract<CelNode, { readonly op: keyof typeof flipped }>;

function isComparison(node: CelNode): node is ComparisonNode {
  return Object.hasOwn(flipped, node.op);
}

const EXAMPLE = `spec.algorithm == "xgboost" && metadata.creationTimestamp > timestamp("2026-01-31T00:00:00Z")`;

/** None for an expression that is not given. Throws BadRequest with everything that is wrong. */
export function whereConditions(expression: string | undefined): readonly Condition[] {
  if (expression === undefined) return [];
  if (Buffer.byteLength(expression) > MOST_BYTES) throw wrong([`it is longer than ${MOST_BYTES} bytes`]);
  const reader = new WhereReader();
  const condition = reader.read(treeOf(expression), false);
  if (reader.problems.length > 0) throw wrong(reader.problems);
  return [condition];
}

function treeOf(expression: string): CelNode {
  try {
    return parseCelTree(expression);
  } catch (error) {
    if (error instanceof CelError) throw wrong([error.message, ...(LONE_EQUALS.test(expression) ? [EQUALS] : [])]);
    throw error;
  }
}

/** Outside of texts in quotes, as far as it is written simply. */
const LONE_EQUALS = /^(?:[^"'=!<>]|"[^"]*"|'[^']*'|[=!<>]=|[!<>](?!=))*=(?!=)/;
const EQUALS = 'write == for "is equal to"';

function wrong(problems: readonly string[]): QueryError {
  return new QueryError('BadRequest', `where: ${problems.join('; ')}. It is a CEL expression such as ${EXAMPLE}`);
}

/** Holds for every object; stands for what is wrong, too. */
const always: Condition = { all: [] };
const never: Condition = { any: [] };

class WhereReader {
  readonly problems: string[] = [];
  #comparisons = 0;

  /** Negations are passed down to the comparisons, which all have an opposite. */
  read(node: CelNode, negated: boolean): Condition {
    if (node.op === '!_') return this.read(node.args, !negated);
    if (node.op === 'value') {
      if (typeof node.args !== 'boolean') return this.#wrong(node, 'expected a comparison');
      return node.args === negated ? never : always;
    }
    if (node.op !== '&&' && node.op !== '||') return this.#counted(node, () => this.#one(node, negated));
    const parts = node.args.map((part) => this.read(part, negated));
    return (node.op === '&&') === negated ? { any: parts } : { all: parts };
  }

  #one(node: CelNode, negated: boolean): Condition {
    if (isComparison(node)) return this.#comparison(node, negated);
    if (node.op === 'in') return this.#oneOf(node.args, negated);
    return this.#test(node, negated);
  }

  #counted(node: CelNode, read: () => Condition): Condition {
    this.#comparisons += 1;
    if (this.#comparisons === MOST_COMPARISONS + 1) this.#wrong(node, `more than ${MOST_COMPARISONS} comparisons`);
    return this.#comparisons > MOST_COMPARISONS ? always : read();
  }

  #wrong(node: CelNode, message: string): Condition {
    this.problems.push(`at character ${node.start + 1}: ${message}`);
    return always;
  }

  #comparison({ op, args: [left, right] }: ComparisonNode, negated: boolean): Condition {
    const turned = fieldOf(left) === undefined && fieldOf(right) !== undefined;
    const field = this.#field(turned ? right : left);
    const value = this.#value(turned ? left : right);
    if (field === undefined || value === undefined) return always;
    const operator = turned ? flipped[op] : op;
    if (operator === '==' || operator === '!=') return equality(field, (operator === '==') !== negated, value);
    if (value === null) return this.#wrong(turned ? left : right, 'null has no order');
    // An order holds for no object without the field; its opposite, which says "not smaller", does.
    if (negated)
      return {
        any: [
          { field, operator: opposite[operator], value },
          { field, operator: 'isNull' },
        ],
      };
    return { field, operator, value };
  }

  #oneOf([named, list]: readonly [CelNode, CelNode], negated: boolean): Condition {
    const field = this.#field(named);
    if (list.op !== 'list') return this.#wrong(list, 'expected a list of values');
    const values = list.args.map((item) => this.#value(item));
    if (values.includes(null)) return this.#wrong(list, 'null is not in a list; ask with has()');
    if (field === undefined || values.includes(undefined)) return always;
    return {
      field,
      operator: negated ? 'notIn' : 'in',
      values: values.filter((value) => value !== null && value !== undefined),
    };
  }

  /** A function, or a field that is true or false by itself. */
  #test(node: CelNode, negated: boolean): Condition {
    if (node.op === 'call' && node.args[0] === 'has' && node.args[1].length === 1) {
      const field = this.#field(node.args[1][0] ?? node);
      return field === undefined ? always : { field, operator: negated ? 'isNull' : 'isNotNull' };
    }
    if (node.op === 'rcall' && node.args[0] === 'startsWith')
      return this.#prefix(node, node.args[1], node.args[2], negated);
    const field = fieldOf(node);
    if (field !== undefined) return { field, operator: negated ? '!=' : '=', value: true };
    return this.#wrong(node, 'only comparisons, in, has() and startsWith() of indexed fields are answered');
  }

  #prefix(node: CelNode, named: CelNode, args: readonly CelNode[], negated: boolean): Condition {
    const field = this.#field(named);
    const [first, ...more] = args;
    if (first?.op !== 'value' || typeof first.args !== 'string' || first.args === '' || more.length > 0) {
      return this.#wrong(node, 'startsWith() takes one text that is not empty');
    }
    if (negated) return this.#wrong(node, 'startsWith() cannot be negated');
    return field === undefined ? always : { field, operator: 'like', value: `${escapedPattern(first.args)}%` };
  }

  #field(node: CelNode): string | undefined {
    const field = fieldOf(node);
    if (field === undefined) this.#wrong(node, 'expected a field such as spec.algorithm');
    else if (field.startsWith('metadata.labels.'))
      this.#wrong(node, 'labels are asked for by labelSelector, -l of kubectl and the plugin');
    return field?.startsWith('metadata.labels.') ? undefined : field;
  }

  /** Undefined, and noted, where it is none. */
  #value(node: CelNode): FieldValue | null | undefined {
    const value = literalOf(node);
    if (value === undefined) this.#wrong(node, 'expected a text, a number, true, false, null or timestamp("…")');
    return value;
  }
}

function literalOf(node: CelNode): FieldValue | null | undefined {
  if (node.op === 'call' && node.args[0] === 'timestamp') {
    const [time, ...more] = node.args[1];
    return time === undefined || more.length > 0 ? undefined : literalOf(time);
  }
  if (node.op === '-_') {
    const value = literalOf(node.args);
    return typeof value === 'number' ? -value : undefined;
  }
  if (node.op !== 'value') return undefined;
  const value = node.args;
  if (typeof value === 'bigint') return Number(value);
  return value === null || isFieldValue(value) ? value : undefined;
}

function equality(field: string, equal: boolean, value: FieldValue | null): Condition {
  if (value === null) return { field, operator: equal ? 'isNull' : 'isNotNull' };
  return { field, operator: equal ? '=' : '!=', value };
}

/** `spec.algorithm`, also as `object.spec.algorithm` or with a key in brackets. Undefined for anything else. */
function fieldOf(node: CelNode): string | undefined {
  const path = pathOf(node);
  if (path === undefined) return undefined;
  return (path[0] === 'object' && path.length > 1 ? path.slice(1) : path).join('.');
}

function pathOf(node: CelNode): readonly string[] | undefined {
  if (node.op === 'id') return [node.args];
  if (node.op !== '.' && node.op !== '[]') return undefined;
  const [inner, key] = node.args;
  const path = pathOf(inner);
  const name =
    typeof key === 'string' ? key : key.op === 'value' && typeof key.args === 'string' ? key.args : undefined;
  return path === undefined || name === undefined ? undefined : [...path, name];
}
