import type { JsonObject } from '../base/json.ts';
import { ProtoDecodingError } from './errors.ts';

/** Where a value is in its object: a list back to the root, so that the path is only built for an error. */
export interface Position {
  readonly parent: Position | undefined;
  readonly key: string | number;
  /** Steps from the root. */
  readonly depth: number;
}

export const ROOT: Position = { parent: undefined, key: '', depth: 0 };

/** Deeper values are refused in both directions, so that neither can exhaust the stack. */
export const MAX_DEPTH = 100;

/** Keys are written by users: neither a huge key nor a deep object may fill a log line. */
const MAX_KEY_LENGTH = 64;
const MAX_PATH_LENGTH = 300;

export function child(parent: Position, key: string | number): Position {
  return { parent, key, depth: parent.depth + 1 };
}

/** The path in its usual notation: `spec.qualityScores[0].metadata["a key"]`; `object` for the root. */
export function pathOf(position: Position): string {
  const steps: string[] = [];
  for (let at = position; at.parent !== undefined; at = at.parent) steps.push(step(at.key));
  const path = steps.reverse().join('').replace(/^\./, '');
  if (path.length > MAX_PATH_LENGTH) return `${path.slice(0, MAX_PATH_LENGTH)}…`;
  return path === '' ? 'object' : path;
}

function step(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`;
  if (/^[A-Za-z_@][\w-]{0,63}$/.test(key)) return `.${key}`;
  return `[${JSON.stringify(key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key)}]`;
}

export function undecodable(at: Position, reason: string): never {
  throw new ProtoDecodingError(pathOf(at), reason);
}

export function limitDecodingDepth(at: Position): void {
  if (at.depth > MAX_DEPTH) undecodable(at, `more than ${MAX_DEPTH} nested levels`);
}

/** An own member that is there: null means absent, as in all JSON of Kubernetes. */
export function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

/** Keys in one order, so that equal maps give equal bytes. */
export function sortedKeys(object: JsonObject): readonly string[] {
  const keys = Object.keys(object);
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] ?? '') > (keys[index] ?? '')) return keys.sort();
  }
  return keys;
}
