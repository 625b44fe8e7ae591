// How one version field of an object moved. Pure; what to do about it is the rules' business.
import type { VersionField } from '../../src/api/kind.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';
import { compareDecimals, compareVersions } from '../../src/base/semver.ts';
import { NO_TARGET } from './override.ts';

export type Movement =
  | { readonly kind: 'forward' }
  /** `to` is what an override has to name. */
  | { readonly kind: 'backward'; readonly from: string; readonly to: string }
  /**
   * What was there has an order, what comes has none: the next step could lead anywhere. `to` is what an override has to
   * name.
   */
  | { readonly kind: 'leaving'; readonly from: string; readonly to: string }
  /** Neither has an order with the other, and nothing comparable is lost. */
  | { readonly kind: 'unordered'; readonly from: string; readonly to: string };

const FORWARD: Movement = { kind: 'forward' };
/** Longer digits are hashes that happen to have no letter. */
const COUNTED = /^-?\d{1,18}$/;
const NUMBERED_NAME = /^(.*?)(\d{1,18})$/;

export function movementOf(field: VersionField, before: JsonObject, after: JsonObject): Movement {
  const was = valueAt(before, field.path);
  // Of an object that is there, a missing number is 0: otherwise 0, missing and -1 were no way back.
  return movementBetween(field, field.order === 'integer' && isEmpty(was) ? 0 : was, valueAt(after, field.path));
}

export function movementBetween(field: VersionField, before: unknown, after: unknown): Movement {
  if (isEmpty(before) || before === after) return FORWARD;
  if (field.order === 'flag') return before === true && after !== true ? backward('true', 'false') : FORWARD;
  const from = textOf(before);
  if (field.order === 'integer') return compareCounts(from, isEmpty(after) ? '0' : textOf(after));
  if (isEmpty(after)) return backward(from, NO_TARGET);
  return compareTexts(field, from, textOf(after));
}

function compareTexts(field: VersionField, from: string, to: string): Movement {
  switch (field.order) {
    case 'terminal':
      return field.terminal?.includes(from) === true && from !== to ? backward(from, to) : FORWARD;
    case 'semver':
      return compareSemver(from, to);
    case 'semver-or-name':
      return withoutDoubt(compareSemver(from, to));
    case 'integer-or-name':
      return withoutDoubt(compareCounts(from, to));
    case 'numbered-name':
      return compareNames(from, to);
    case 'integer':
    case 'flag':
      return FORWARD;
  }
}

function compareSemver(from: string, to: string): Movement {
  const order = compareVersions(from, to);
  if (order !== undefined) return order === 'older' ? backward(from, to) : FORWARD;
  return { kind: compareVersions(from, from) === undefined ? 'unordered' : 'leaving', from, to };
}

/** All whole numbers have one order, those below zero too. */
function compareCounts(from: string, to: string): Movement {
  if (!COUNTED.test(from)) return { kind: 'unordered', from, to };
  if (!COUNTED.test(to)) return { kind: 'leaving', from, to };
  return BigInt(to) < BigInt(from) ? backward(from, to) : FORWARD;
}

function compareNames(from: string, to: string): Movement {
  const [left, right] = [NUMBERED_NAME.exec(from), NUMBERED_NAME.exec(to)];
  if (left === null || right === null || left[1] !== right[1]) return FORWARD;
  return compareDecimals(right[2] ?? '', left[2] ?? '') < 0 ? backward(from, to) : FORWARD;
}

/** Texts that were never meant to be compared are no reason for a warning. */
function withoutDoubt(movement: Movement): Movement {
  return movement.kind === 'unordered' ? FORWARD : movement;
}

function backward(from: string, to: string): Movement {
  return { kind: 'backward', from, to };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
