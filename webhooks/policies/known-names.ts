// Annotations and labels of our prefix ask for something. One that is written a little differently asks for nothing, and
// the client takes it for done: michelangelo/deleting deletes no object.
//
//   CREATE, and UPDATE that brings a name nothing reads   a warning for each, with the nearest known name; never a refusal
//
// The word of one annotation's name is one that clients take for a reason to create the object anew, so it is described.
import { GROUP, IMMUTABLE_ANNOTATION, knownAnnotations, knownLabels, SYSTEM_PREFIX } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import { edits, nearest } from '../../src/base/nearest.ts';
import type { ValidatingPolicy } from '../policy.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';

/** More would be cut by the API server. */
const MAX_WARNINGS = 5;
/** A name that needs more edits is another word, not a slip. */
const SLIP = 3;
const MAX_NAME = 60;

const maps = [
  { map: 'annotations', what: 'annotation', known: knownAnnotations },
  { map: 'labels', what: 'label', known: knownLabels },
] as const;
type NameMap = (typeof maps)[number];

export const knownNames: ValidatingPolicy = {
  name: 'known-names',
  appliesTo: ({ group, operation, subresource }) =>
    group === GROUP && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  review: (request) => {
    const warnings = maps.flatMap((each) => strangeNames(request, each).map((name) => warningOf(name, each)));
    return warnings.length === 0 ? { allowed: true } : { allowed: true, warnings: warnings.slice(0, MAX_WARNINGS) };
  },
};

function strangeNames({ object, oldObject }: AdmissionRequest, { map, known }: NameMap): readonly string[] {
  const before = namesIn(oldObject, map);
  return namesIn(object, map).filter(
    (name) => name.startsWith(SYSTEM_PREFIX) && !known.includes(name) && !before.includes(name),
  );
}

function namesIn(object: JsonObject | undefined, map: string): readonly string[] {
  const names = valueAt(object, ['metadata', map]);
  return isJsonObject(names) ? Object.keys(names) : [];
}

function warningOf(name: string, { what, known }: NameMap): string {
  const near = nearest(
    name.toLowerCase(),
    known.map((each) => each.toLowerCase()),
  );
  const meant = known.find((each) => each.toLowerCase() === near);
  const isSlip = meant !== undefined && edits(name.toLowerCase(), near) <= SLIP;
  const hint = isSlip ? `; is ${meant === IMMUTABLE_ANNOTATION ? 'the eviction annotation' : meant} meant?` : '';
  return `the ${what} ${quoted(name, MAX_NAME)} has no effect: nothing reads it${hint}`;
}
