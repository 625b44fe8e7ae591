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
