// What becomes of the values that the catalogue marks sensitive: no row holds them in the clear.
import type { KindDefinition } from '../api/kind.ts';
import { isJsonObject, type JsonObject, type JsonValue, valueAt } from '../base/json.ts';

/** Where a value stands. A sealed value can be opened in this place only. */
export interface SealedPlace {
  readonly kind: string;
  readonly uid: string;
  /** Dotted, e.g. `spec.driver.pod.hdfsDelegationToken`. */
  readonly path: string;
}

export interface SensitiveValues {
  /** The text that stands in the row instead of the value. */
  seal(value: JsonValue, place: SealedPlace): string;
  /** The value of a text that `seal` gave. Any other text is what it is: masked, or from before sealing. */
  open(text: string, place: SealedPlace): JsonValue;
  /** Whether a text in a row is to be replaced: it was sealed with another key, or stands in the clear. */
  outdated(text: JsonValue): boolean;
}

export const REDACTED = '[redacted]';

/** Without a key: the values are gone for good. */
export const maskedValues: SensitiveValues = {
  seal: () => REDACTED,
  open: (text) => text,
  outdated: (text) => text !== REDACTED,
};

/** A copy with sensitive values sealed; the object itself where there is nothing to hide. */
export function sealObject(kind: KindDefinition, object: JsonObject, sensitive: SensitiveValues): JsonObject {
  return replaceValues(kind, object, (value, place) => sensitive.seal(value, place));
}

/** The object as it was before it was stored, for restoring it. Throws where a key is missing. */
export function openObject(kind: KindDefinition, object: JsonObject, sensitive: SensitiveValues): JsonObject {
  return replaceValues(kind, object, (value, place) =>
    typeof value === 'string' ? sensitive.open(value, place) : value,
  );
}

/** The stored object with every sensitive value sealed as it would be now; itself where nothing is outdated. */
export function resealObject(kind: KindDefinition, object: JsonObject, sensitive: SensitiveValues): JsonObject {
  return replaceValues(kind, object, (value, place) => {
    if (!sensitive.outdated(value)) return value;
    return sensitive.seal(typeof value === 'string' ? sensitive.open(value, place) : value, place);
  });
}

function replaceValues(
  kind: KindDefinition,
  object: JsonObject,
  replace: (value: JsonValue, place: SealedPlace) => JsonValue,
): JsonObject {
  const found = valueAt(object, ['metadata', 'uid']);
  const uid = typeof found === 'string' ? found : '';
  return kind.sensitive.reduce((current, path) => {
    const value = valueAt(current, path) as JsonValue | undefined;
    if (value === undefined || value === '') return current;
    const replaced = replace(value, { kind: kind.kind, uid, path: path.join('.') });
    return replaced === value ? current : withValue(current, path, replaced);
  }, object);
}

function withValue(object: JsonObject, [step = '', ...rest]: readonly string[], value: JsonValue): JsonObject {
  const child = object[step];
  return { ...object, [step]: isJsonObject(child) && rest.length > 0 ? withValue(child, rest, value) : value };
}
