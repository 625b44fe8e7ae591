// The Ingester resource never asks for less than what the database was migrated to: migrations only go forward, and an
// older program does not know the tables. The version that counts is the one last migrated, not the one last asked for:
// a migration that failed half-way may already have changed tables, one that never started has not.
//
//   nothing migrated yet      allowed
//   equal or higher           allowed
//   lower, or taken away      refused, unless the annotation names the way, from:to
//   not comparable            allowed with a warning, or refused by setting
//   spec.version not changed  allowed: what stands there already was decided before
import { downgradeWay } from '../../src/api/ingester/downgrade.ts';
import { INGESTER_KIND, MIGRATED_VERSION_PATH, VERSION_PATH } from '../../src/api/ingester.ts';
import { GROUP } from '../../src/api/names.ts';
import { valueAt } from '../../src/base/json.ts';
import type { ValidatingPolicy, Verdict } from '../policy.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';
import { permitHint, permitsDowngrade } from './override.ts';
import { movementBetween } from './version-field.ts';

const field = { path: VERSION_PATH, order: 'semver' } as const;

export function ingesterDowngrade(incomparable: 'deny' | 'warn'): ValidatingPolicy {
  return {
    name: 'ingester-downgrade',
    appliesTo: ({ group, kind, operation, subresource }) =>
      group === GROUP && kind.kind === INGESTER_KIND && operation === 'UPDATE' && subresource === '',
    review: (request) => compareWithMigrated(request, incomparable),
  };
}

function compareWithMigrated({ object, oldObject }: AdmissionRequest, incomparable: 'deny' | 'warn'): Verdict {
  const asked = valueAt(object, VERSION_PATH);
  if (asked === valueAt(oldObject, VERSION_PATH)) return { allowed: true };
  const movement = movementBetween(field, valueAt(oldObject, MIGRATED_VERSION_PATH), asked);
  if (movement.kind === 'forward') return { allowed: true };
  const { from, to } = movement;
  const way = downgradeWay(from, to);
  if (movement.kind === 'backward') {
    const message = `spec.version ${quoted(to)} is older than the migrated ${quoted(from)}; ${permitHint(way)}`;
    return permitsDowngrade(object, way) ? { allowed: true, warnings: [message] } : { allowed: false, message };
  }
  const message = `spec.version ${quoted(to)} cannot be compared with the migrated ${quoted(from)}`;
  if (incomparable === 'warn' || permitsDowngrade(object, way)) return { allowed: true, warnings: [message] };
  return { allowed: false, message: `${message}; ${permitHint(way)}` };
}
