// The Ingester resource never asks for less than what the database was migrated to: migrations only go forward, and an
// older program does not know the tables. The version that counts is the one last migrated, not the one last asked for:
// a migration that failed half-way may already have changed tables, one that never started has not.
//
//   nothing migrated yet      allowed
//   equal or higher           allowed
//   lower, or taken away      refused, unless the annotation names the way, from:to
//   not comparable            as a downgrade, because two such steps are one; by setting allowed with a warning
//   spec.version not changed  allowed: what stands there already was decided before
//
// A resource that is created is compared with what was migrated for the one that had its name before. Where that cannot
// be read, it is refused unless the annotation names the way from "unknown".
import {
  downgradeWay,
  INGESTER_GROUP,
  INGESTER_KIND,
  MIGRATED_VERSION_PATH,
  VERSION_PATH,
} from '../../src/api/ingester/spec.ts';
import { type JsonObject, valueAt } from '../../src/base/json.ts';
import type { PolicyContext, ValidatingPolicy, Verdict } from '../policy.ts';
import type { AdmissionRecord } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';
import { NO_TARGET, permitHint, permitsDowngrade } from './override.ts';
import { type Movement, movementBetween } from './version-field.ts';

const field = { path: VERSION_PATH, order: 'semver' } as const;

const UNKNOWN = 'unknown';

export function ingesterDowngrade(incomparable: 'deny' | 'warn', record: AdmissionRecord): ValidatingPolicy {
  return {
    name: 'ingester-downgrade',
    appliesTo: ({ group, kind, operation, subresource }) =>
      group === INGESTER_GROUP && kind.kind === INGESTER_KIND && operation !== 'DELETE' && subresource === '',
    review: (request, context) =>
      request.operation === 'CREATE'
        ? reviewCreate(request, context, { incomparable, record })
        : reviewUpdate(request, incomparable),
  };
}

interface Parts {
  readonly incomparable: 'deny' | 'warn';
  readonly record: AdmissionRecord;
}

async function reviewCreate(
  { namespace, name, object }: AdmissionRequest,
  { signal, audience }: PolicyContext,
  { incomparable, record }: Parts,
): Promise<Verdict> {
  const asked = valueAt(object, VERSION_PATH);
  const migrated = await record.migratedVersion({ namespace, name }, signal);
  switch (migrated.state) {
    case 'nothing':
      return { allowed: true };
    case 'known':
      return compare(object, movementBetween(field, migrated.value, asked), {
        incomparable,
        shown: audience === 'any-client' ? ONE_BEFORE : undefined,
      });
    case 'unknown': {
      const message = `what was migrated for an Ingester ${quoted(name)} before is unknown`;
      const way = downgradeWay(UNKNOWN, typeof asked === 'string' ? asked : NO_TARGET);
      if (permitsDowngrade(object, way)) return { allowed: true, warnings: [message] };
      return { allowed: false, message: `${message}; ${permitHint(way)}` };
    }
  }
}

function reviewUpdate({ object, oldObject }: AdmissionRequest, incomparable: 'deny' | 'warn'): Verdict {
  const asked = valueAt(object, VERSION_PATH);
  if (asked === valueAt(oldObject, VERSION_PATH)) return { allowed: true };
  return compare(object, movementBetween(field, valueAt(oldObject, MIGRATED_VERSION_PATH), asked), { incomparable });
}

/** Stands for a version that the request does not hold; the admission record has it. */
const ONE_BEFORE = 'version';

interface Comparing {
  readonly incomparable: 'deny' | 'warn';
  /** What is shown instead of the version that was migrated to. */
  readonly shown?: string | undefined;
}

function compare(object: JsonObject | undefined, movement: Movement, { incomparable, shown }: Comparing): Verdict {
  if (movement.kind === 'forward') return { allowed: true };
  const { from, to } = movement;
  const way = downgradeWay(from, to);
  const hint = permitHint(downgradeWay(shown ?? from, to));
  if (movement.kind === 'backward') {
    const message = `spec.version ${quoted(to)} is older than the migrated ${quoted(shown ?? from)}; ${hint}`;
    return permitsDowngrade(object, way) ? { allowed: true, warnings: [message] } : { allowed: false, message };
  }
  const message = `spec.version ${quoted(to)} cannot be compared with the migrated ${quoted(shown ?? from)}`;
  if (incomparable === 'warn' || permitsDowngrade(object, way)) return { allowed: true, warnings: [message] };
  return { allowed: false, message: `${message}; ${hint}` };
}
