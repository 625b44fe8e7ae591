// An Ingester asks only for what an administrator permits. The lifecycle controller acts on nothing else in any case; here
// its author is told at once, with all that is wrong. What stood there before stays editable around: it was judged then,
// and the controller still does.
//
//   the specification is as it was                allowed
//   asks for something that it did not before,
//     and that is not permitted                   refused
//   what is permitted cannot be read in time      allowed with a warning: the controller judges
//   another namespace than that of the bundle     allowed: no controller looks there
import {
  type Claim,
  claimsOf,
  initiallyPermitted,
  isPermitted,
  PERMITTED_CONFIG_MAP,
} from '../../src/api/ingester/permitted.ts';
import { INGESTER_GROUP, INGESTER_KIND } from '../../src/api/ingester/spec.ts';
import { type JsonObject, sameJson, valueAt } from '../../src/base/json.ts';
import type { PolicyContext, ValidatingPolicy, Verdict } from '../policy.ts';
import type { IngesterBounds } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';

/** Longest value and list that are shown; and so many problems, of which there can be hundreds. */
const MAX_VALUE = 60;
const MAX_PROBLEMS = 10;

export function ingesterPermitted(bounds: IngesterBounds): ValidatingPolicy {
  return {
    name: 'ingester-permitted',
    appliesTo: ({ group, kind, operation, subresource }) =>
      group === INGESTER_GROUP && kind.kind === INGESTER_KIND && operation !== 'DELETE' && subresource === '',
    review: async ({ namespace, object, oldObject }: AdmissionRequest, context): Promise<Verdict> => {
      const asked = newClaims(object, oldObject);
      if (asked.length === 0) return { allowed: true };
      const permitted = await bounds.permitted(namespace, context.signal);
      if (permitted === 'anything') return { allowed: true };
      if (permitted === 'unknown') {
        const warning = `ConfigMap ${PERMITTED_CONFIG_MAP} cannot be read now; the lifecycle controller judges what is asked for`;
        return { allowed: true, warnings: [warning] };
      }
      const forbidden = asked.filter((claim) => !isPermitted(claim, permitted));
      if (forbidden.length === 0) return { allowed: true };
      const problems = forbidden.slice(0, MAX_PROBLEMS).map((claim) => problem(claim, permitted[claim.what], context));
      const more = forbidden.length > MAX_PROBLEMS ? [`and ${forbidden.length - MAX_PROBLEMS} more`] : [];
      return { allowed: false, message: [...problems, ...more].join('; ') };
    },
  };
}

/** In a list a claim may move, so its place there says nothing. */
function newClaims(object: JsonObject | undefined, oldObject: JsonObject | undefined): readonly Claim[] {
  const [spec, before] = [valueAt(object, ['spec']), valueAt(oldObject, ['spec'])];
  if (sameJson(spec, before)) return [];
  const keyOf = ({ what, path, value }: Claim): string => JSON.stringify([what, path.replace(/\[\d+\]/g, ''), value]);
  const known = new Set(oldObject === undefined ? [] : claimsOf(before).map(keyOf));
  return claimsOf(spec).filter((claim) => !known.has(keyOf(claim)));
}

/** To a client that is not known to be the API server the answer says no more than the documentation does. */
function problem({ what, path, value }: Claim, patterns: readonly string[], { audience }: PolicyContext): string {
  const isKnown = audience === 'api-server' || sameJson(patterns, [...initiallyPermitted[what]]);
  const list = patterns.length === 0 ? 'nothing' : quoted(patterns.join(' '), MAX_VALUE);
  const permits = isKnown ? `permits ${list}` : 'says what is';
  return `${path}: ${quoted(value, MAX_VALUE)} is not permitted; key ${what} of ConfigMap ${PERMITTED_CONFIG_MAP} ${permits}`;
}
