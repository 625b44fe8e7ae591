// A CRD of ours keeps what objects and archived rows may hold.
//
//   nothing taken away                                allowed
//   the annotation names this very spec               allowed with a warning
//   parts of a schema taken away, no object in the
//   cluster has a value there                         allowed with a warning; rows keep what they have, and a restore
//                                                     refuses what the CRD would drop
//   more taken away, no object and no archived row    allowed with a warning
//   there is something, or it cannot be found out: refused; losing data is worse than an upgrade that has to be permitted
//
// A CRD that is created is compared with the last one of its name, as the reconciler has written it down: deleting it
// first is no way around the rule. Then there are no objects, but there may be archived rows. What was never recorded
// is allowed; where the admission record cannot be read, the create is refused unless the annotation names its spec.

import { sha256Hex } from '../../src/base/hash.ts';
import { canonicalJson, type JsonObject, valueAt } from '../../src/base/json.ts';
import type { PolicyContext, ValidatingPolicy, Verdict } from '../policy.ts';
import type { AdmissionRecord, ObjectCensus } from '../ports.ts';
import type { AdmissionRequest } from '../review.ts';
import { compareCrds, servedVersionOf } from './crd-compare.ts';
import { isOurCrd } from './crd-names.ts';
import type { Finding } from './crd-schema.ts';
import { quoted } from './message.ts';
import { permitHint, permitsDowngrade } from './override.ts';

const DIGEST_LENGTH = 12;

export function crdDowngrade(census: ObjectCensus, record: AdmissionRecord): ValidatingPolicy {
  return {
    name: 'crd-downgrade',
    appliesTo: (request) => request.operation !== 'DELETE' && isOurCrd(request),
    review: (request, context) =>
      request.operation === 'CREATE' ? reviewCreate(request, record, context) : reviewUpdate(request, census, context),
  };
}

async function reviewCreate(
  { object = {} }: AdmissionRequest,
  record: AdmissionRecord,
  { signal, audience }: PolicyContext,
): Promise<Verdict> {
  const before = await record.crd(pluralOf(object), signal);
  if (before.state === 'nothing') return { allowed: true };
  if (before.state === 'known') {
    const findings = compareCrds({ spec: before.value.spec }, object);
    const { rows } = before.value;
    const shown = audience === 'any-client' && findings.length > 0 ? [UNSAID] : findings;
    return decide({
      findings: shown,
      object,
      what: 'archived objects',
      lost: () => Promise.resolve(lostBy(shown, rows)),
    });
  }
  const target = targetOf(object['spec']);
  const message = 'what this CRD was before is unknown, and it may have archived objects';
  if (permitsDowngrade(object, target)) return { allowed: true, warnings: [message] };
  return { allowed: false, message: `${message}; ${permitHint(target)}` };
}

function reviewUpdate(
  { object = {}, oldObject = {} }: AdmissionRequest,
  census: ObjectCensus,
  { signal }: PolicyContext,
): Promise<Verdict> {
  const findings = compareCrds(oldObject, object);
  const version = servedVersionOf(oldObject);
  const served = { group: String(valueAt(oldObject, ['spec', 'group'])), plural: pluralOf(oldObject) };
  const places = findings.flatMap(({ place }) => (place === undefined ? [] : [place]));
  // A version, the scope, a subresource: what all objects have.
  const about = places.length < findings.length ? 'every object' : 'values';
  const lost = async (): Promise<Lost> => {
    if (version === undefined) return 'unknown';
    if (about === 'every object') return lostBy(findings, await census.hasObjects({ ...served, version }, signal));
    const held = await census.heldPlaces({ ...served, version }, places, signal);
    return held === 'unknown' ? held : findings.filter(({ place }) => place !== undefined && held.includes(place));
  };
  return decide({ findings, object, what: about === 'values' ? 'objects with a value there' : 'objects', lost });
}

/** Of a definition that the request does not hold; `kubectl get configmap ingester-admission-record` has it. */
const UNSAID: Finding = { path: 'spec', what: 'less than the last CRD of this name had' };

/** Those of the findings that something would be lost by. */
type Lost = readonly Finding[] | 'unknown';

interface Narrowing {
  readonly findings: readonly Finding[];
  readonly object: JsonObject;
  /** What would lose something. */
  readonly what: string;
  /** Asked only where it matters. */
  readonly lost: () => Promise<Lost>;
}

async function decide({ findings, object, what, lost }: Narrowing): Promise<Verdict> {
  if (findings.length === 0) return { allowed: true };
  const target = targetOf(object['spec']);
  if (permitsDowngrade(object, target)) return { allowed: true, warnings: findings.slice(0, MAX_WARNINGS).map(say) };
  const there = await lost();
  if (there.length === 0) return { allowed: true, warnings: [`${summary(findings)}; it has no ${what}`] };
  const [said, has] = there === 'unknown' ? [findings, 'it may have'] : [there, 'it has'];
  return { allowed: false, message: `${summary(said)}; ${has} ${what}; ${permitHint(target)}` };
}

function lostBy(findings: readonly Finding[], there: 'some' | 'none' | 'unknown'): Lost {
  if (there === 'unknown') return there;
  return there === 'some' ? findings : [];
}

/** Names one spec and no other, however often and by whichever client it is applied. */
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
