// A downgrade on purpose: the annotation names its exact target, so it permits that one and no other.
import { ALLOW_DOWNGRADE_ANNOTATION } from '../../src/api/names.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';
import { quoted } from './message.ts';

/** Longest target that is shown. */
const MAX_TARGET = 30;

/** The target of a downgrade that takes a value away. */
export const NO_TARGET = 'none';

/** Whether the object that is written permits a downgrade to this target. */
export function permitsDowngrade(object: JsonObject | undefined, target: string): boolean {
  const value = valueAt(object, ['metadata', 'annotations', ALLOW_DOWNGRADE_ANNOTATION]);
  return typeof value === 'string' && value.split(',').some((each) => each.trim() === target);
}

/** What to do, with the target to copy; a target that cannot be shown whole is described instead. */
export function permitHint(target: string): string {
  const shown = quoted(target, MAX_TARGET);
  const name = `to permit it set annotation ${ALLOW_DOWNGRADE_ANNOTATION}`;
  return shown === target ? `${name}=${target}` : `${name} to the new value`;
}
