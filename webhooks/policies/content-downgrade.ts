// Fields that say which version an object is only move forward. Which fields, and in which order, is in the catalogue
// of kinds; what happens is a setting per kind.
//
//   equal, higher, or set for the first time   allowed
//   lower, taken away, or true turned to false refused, unless the annotation names the value that is written
//   from a value with an order to one without  refused likewise: otherwise a downgrade is two steps
//   from a value without an order              allowed with a warning: there is nothing to go back from
//   created again, lower than the object that had    as above, where tombstones are kept: deleting it first is no way
//   the name before                                  around the rule
//   a finished run that is turned back         refused; in a write of status a warning, because a controller would
//                                              repeat a refused one for ever
import type { DowngradeMode, KindDefinition } from '../../src/api/kind.ts';
import { GROUP } from '../../src/api/names.ts';
import { valueAt } from '../../src/base/json.ts';
import { comparedFields } from '../../src/gitops/tombstone-index.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { ValidatingPolicy, Verdict } from '../policy.ts';
import type { TombstoneIndex } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';
import { permitHint, permitsDowngrade } from './override.ts';
import { type Movement, movementBetween, movementOf } from './version-field.ts';

/** By kind; kinds that are missing have the mode of the catalogue. */
export type DowngradeModes = Readonly<Record<string, DowngradeMode>>;

const ofPlural = new Map(allKinds.map((kind) => [kind.plural, kind]));

export function contentDowngrade(modes: DowngradeModes, tombstones: TombstoneIndex): ValidatingPolicy {
  const modeOf = (kind: KindDefinition): DowngradeMode => modes[kind.kind] ?? kind.downgrades;
  return {
    name: 'content-downgrade',
    appliesTo: ({ group, plural, operation, subresource }) => {
      const kind = ofPlural.get(plural);
      if (group !== GROUP || kind === undefined || kind.versionFields.length === 0) return false;
      if (modeOf(kind) === 'off') return false;
      if (operation === 'CREATE') return subresource === '';
      return operation === 'UPDATE' && (subresource === '' || subresource === 'status');
    },
    review: (request, { audience }) => {
      const kind = ofPlural.get(request.plural);
      if (kind === undefined) return { allowed: true };
      const movements =
        request.operation === 'CREATE' ? sincePredecessor(request, kind, tombstones) : sinceUpdate(request, kind);
      const said = (path: string, movement: Movement): string | undefined => {
        // What the object before it was, a create does not hold.
        const hides = request.operation === 'CREATE' && audience === 'any-client' && movement.kind !== 'forward';
        return sayMovement(path, hides ? { ...movement, from: '(hidden)' } : movement);
      };
      return judge(request, movements, { mode: modeOf(kind), said });
    },
  };
}

interface FieldMovement {
  readonly path: string;
  readonly movement: Movement;
}

function sinceUpdate(
  { object = {}, oldObject = {} }: AdmissionRequest,
  kind: KindDefinition,
): readonly FieldMovement[] {
  return kind.versionFields.map((field) => {
    return { path: field.path.join('.'), movement: movementOf(field, oldObject, object) };
  });
}

/** Compared with the object that had the name before. */
function sincePredecessor(
  { namespace, name, object = {} }: AdmissionRequest,
  kind: KindDefinition,
  tombstones: TombstoneIndex,
): readonly FieldMovement[] {
  const { versions = [] } = tombstones.find({ kind: kind.kind, namespace, name }) ?? {};
  return comparedFields(kind).map((field, index) => {
    return {
      path: field.path.join('.'),
      movement: movementBetween(field, versions[index], valueAt(object, field.path)),
    };
  });
}

interface Judging {
  readonly mode: DowngradeMode;
  readonly said: (path: string, movement: Movement) => string | undefined;
}

function judge(
  { object = {}, subresource }: AdmissionRequest,
  movements: readonly FieldMovement[],
  { mode, said }: Judging,
): Verdict {
  const warnings: string[] = [];
  for (const { path, movement } of movements) {
    const message = said(path, movement);
    if (movement.kind === 'forward' || message === undefined) continue;
    if (movement.kind !== 'unordered' && !permitsDowngrade(object, movement.to)) {
      if (mode === 'deny' && subresource === '') return { allowed: false, message };
    }
    warnings.push(message);
  }
  return { allowed: true, warnings };
}

/** Undefined where there is nothing to say. */
function sayMovement(path: string, movement: Movement): string | undefined {
  if (movement.kind === 'forward') return undefined;
  const move = `${path} ${quoted(movement.from)} -> ${quoted(movement.to)}`;
  if (movement.kind === 'unordered') return `${move}: no order is known between these versions`;
  const what = movement.kind === 'leaving' ? 'cannot be compared' : 'is a downgrade';
  return `${move} ${what}; ${permitHint(movement.to)}`;
}
