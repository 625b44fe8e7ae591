// The Common Expression Language, as in Kubernetes' own validation rules. The one place that knows the library.
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { CodedError, messageOf } from './errors.ts';

/** A condition on one object; throws CelError where it cannot be decided, such as for a key that is missing. */
export type CelCondition = (object: object, now: Date) => boolean;

/** The expression is wrong, or cannot be decided for this object. */
export class CelError extends CodedError {
  constructor(what: string) {
    super('CEL_INVALID', `The CEL expression ${what}.`);
  }
}

/** Expressions come from configuration and from clients, and must not exhaust the program. */
const environment = new Environment({ limits: { maxAstNodes: 1000, maxDepth: 50 } })
  .registerVariable('object', 'dyn')
  .registerVariable('now', 'google.protobuf.Timestamp');

/** Parses and checks an expression over `object` and `now`; throws CelError where it is wrong. */
export function parseCel(expression: string): CelCondition {
  const evaluate = parsed(expression);
  const { valid, type, error } = evaluate.check();
  if (!valid) throw new CelError(`is wrong: ${firstLine(error)}`);
  if (type !== 'bool' && type !== 'dyn') throw new CelError(`gives ${type ?? 'nothing'}, not true or false`);
  return (object, now) => {
    let result: unknown;
    try {
      result = evaluate({ object, now });
    } catch (failed) {
      throw new CelError(`cannot be decided: ${firstLine(failed)}`);
    }
    if (typeof result !== 'boolean') throw new CelError('does not give true or false');
    return result;
  };
}

/** A node of a parsed expression, as the library has it: `op`, `args`, and where it starts. */
export type CelNode = ASTNode;

/** Parses an expression that is translated instead of evaluated; throws CelError where it is wrong. */
export function parseCelTree(expression: string): CelNode {
  return parsed(expression).ast;
}

function parsed(expression: string): ReturnType<typeof environment.parse> {
  try {
    return environment.parse(expression);
  } catch (failed) {
    throw new CelError(`is wrong: ${firstLine(failed)}`);
  }
}

function firstLine(error: unknown): string {
  return messageOf(error).split('\n')[0] ?? '';
}
