// A CRD of ours keeps what objects and archived rows may hold.
//
//   nothing taken away                                allowed
//   taken away, no object and no archived row         allowed with a warning
//   taken away, the annotation names this very spec   allowed with a warning
//   taken away, and there is something, or it cannot be found out: refused; losing data is worse than an upgrade
//   that has to be permitted

import { sha256Hex } from '../../src/base/hash.ts';
import { canonicalJson, valueAt } from '../../src/base/json.ts';
import type { PolicyContext, ValidatingPolicy, Verdict } from '../policy.ts';
import type { ObjectCensus } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { compareCrds, servedVersionOf } from './crd-compare.ts';
import { isOurCrd } from './crd-names.ts';
import type { Finding } from './crd-schema.ts';
import { quoted } from './message.ts';
import { permitHint, permitsDowngrade } from './override.ts';

const DIGEST_LENGTH = 12;

export function crdDowngrade(census: ObjectCensus): ValidatingPolicy {
  return {
    name: 'crd-downgrade',
    appliesTo: (request) => request.operation === 'UPDATE' && isOurCrd(request),
    review: (request, context) => reviewUpdate(request, census, context),
  };
}

async function reviewUpdate(
  { object = {}, oldObject = {} }: AdmissionRequest,
  census: ObjectCensus,
  { signal }: PolicyContext,
): Promise<Verdict> {
  const findings = compareCrds(oldObject, object);
  if (findings.length === 0) return { allowed: true };
  const target = targetOf(object['spec']);
  if (permitsDowngrade(object, target)) return { allowed: true, warnings: findings.slice(0, MAX_WARNINGS).map(say) };
  const version = servedVersionOf(oldObject);
  const plural = pluralOf(oldObject);
  const objects = version === undefined ? 'unknown' : await census.hasObjects({ plural, version }, signal);
  if (objects === 'none') return { allowed: true, warnings: [`${summary(findings)}; it has no objects`] };
  const why = objects === 'some' ? 'it has objects' : 'it may have objects';
  return { allowed: false, message: `${summary(findings)}; ${why}; ${permitHint(target)}` };
}

/** Names one spec and no other, whoever applies it and however often. */
function targetOf(spec: unknown): string {
  return sha256Hex(canonicalJson(spec ?? null)).slice(0, DIGEST_LENGTH);
}

function pluralOf(crd: object): string {
  const plural = valueAt(crd, ['spec', 'names', 'plural']);
  return typeof plural === 'string' ? plural : '';
}

const MAX_WARNINGS = 20;
const MAX_PATH = 36;

function summary(findings: readonly Finding[]): string {
  const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : '';
  return `${findings.slice(0, 1).map(say).join('')}${more}`;
}

/** The end of a path says more than its beginning. */
function say({ path, what }: Finding): string {
  const shown = path.length <= MAX_PATH ? path : `...${path.slice(3 - MAX_PATH)}`;
  return `${quoted(shown, MAX_PATH)}: ${quoted(what, 45)}`;
}
