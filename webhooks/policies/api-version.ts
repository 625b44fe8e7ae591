// An object is not written through an API version older than the one it was written through before: the older schema
// does not know what the newer one added, so it would be dropped without a word. What the object was written through
// stands in its managedFields; writes of status do not count, they say nothing of the rest.
//
//   older than the least version of the configuration   refused, also for a create
//   older than recorded, and the object changes         refused, unless the annotation names the version
//   not comparable, or nothing recorded                 allowed
import { compareApiVersions } from '../../src/api/api-version.ts';
import { GROUP } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject, sameJson, valueAt } from '../../src/base/json.ts';
import type { ValidatingPolicy, Verdict } from '../policy.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';
import { permitHint, permitsDowngrade } from './override.ts';

/** `minimum` is empty where none is set. */
export function apiVersionDowngrade(minimum: string): ValidatingPolicy {
  return {
    name: 'api-version-downgrade',
    appliesTo: ({ group, operation, subresource }) =>
      group === GROUP && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
    review: (request) => compareApiVersion(request, minimum),
  };
}

function compareApiVersion(request: AdmissionRequest, minimum: string): Verdict {
  const { requestKind, object, oldObject } = request;
  const recorded = oldObject === undefined || sameContent(oldObject, object) ? [] : recordedVersions(oldObject);
  const newest = [minimum, ...recorded].find((version) => compareApiVersions(version, requestKind.version) === 'older');
  if (newest === undefined || permitsDowngrade(object, requestKind.version)) return { allowed: true };
  const [written, needed] = [quoted(requestKind.version, 20), quoted(newest, 20)];
  return {
    allowed: false,
    message: `a write through ${written} would drop what ${needed} added; write ${needed}, or ${permitHint(requestKind.version)}`,
  };
}

/** Labels and annotations are the same in every version. */
function sameContent(before: JsonObject, after: JsonObject | undefined): boolean {
  return sameJson(content(before), content(after ?? {}));
}

function content({ metadata: _metadata, status: _status, apiVersion: _apiVersion, ...rest }: JsonObject): JsonObject {
  return rest;
}

function recordedVersions(object: JsonObject): readonly string[] {
  const entries = valueAt(object, ['metadata', 'managedFields']);
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown) => {
    if (!isJsonObject(entry) || entry['subresource'] === 'status') return [];
    const { apiVersion } = entry;
    if (typeof apiVersion !== 'string' || !apiVersion.startsWith(`${GROUP}/`)) return [];
    return [apiVersion.slice(GROUP.length + 1)];
  });
}
