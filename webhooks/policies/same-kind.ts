// What the object says it is must be what the request is about: everything else trusts it.
//
//   object.kind or object.apiVersion differs from request.kind   denied
//   one of our plurals with another kind than the catalogue's    denied: the webhook registration is wrong
//   no object (DELETE)                                           the old object is compared
import { INGESTER_GROUP, INGESTER_KIND, INGESTER_PLURAL } from '../../src/api/ingester/spec.ts';
import { GROUP } from '../../src/api/names.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { ValidatingPolicy, Verdict } from '../policy.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';

const kindOfPlural = new Map([
  ...allKinds.map(({ plural, kind }) => [plural, kind] as const),
  [INGESTER_PLURAL, INGESTER_KIND] as const,
]);

export const sameKind: ValidatingPolicy = {
  name: 'same-kind',
  appliesTo: ({ group }) => group === GROUP || group === INGESTER_GROUP,
  review: compareKinds,
};

function compareKinds(request: AdmissionRequest): Verdict {
  const { kind, plural, object, oldObject } = request;
  const expected = kindOfPlural.get(plural) ?? kind.kind;
  if (kind.kind !== expected) return refusal(plural, expected, kind.kind);
  const apiVersion = `${kind.group}/${kind.version}`;
  const subject = object ?? oldObject ?? {};
  const found = { kind: subject['kind'] ?? expected, apiVersion: subject['apiVersion'] ?? apiVersion };
  if (found.kind !== expected) return refusal(plural, expected, found.kind);
  if (found.apiVersion !== apiVersion) return refusal(plural, apiVersion, found.apiVersion);
  return { allowed: true };
}

function refusal(plural: string, expected: string, found: unknown): Verdict {
  return {
    allowed: false,
    message: `${quoted(plural)} hold ${quoted(expected)}, not ${quoted(found)}; correct kind and apiVersion of the object`,
  };
}
