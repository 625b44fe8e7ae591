// The admission record: what admission has to know of resources that are gone, which is the version that the database of
// an Ingester was migrated to and what a CRD was while there were objects; and where the image of the lifecycle controller
// is from. It is one ConfigMap, an entry for each fact. The lifecycle controller and the reconciler write it, the webhook
// reads it (docs/adr/0004-webhook.md).
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';

export const ADMISSION_RECORD_CONFIG_MAP = 'ingester-admission-record';

/** `nothing`: it was never recorded. `unknown`: it cannot be read. */
export type Recorded<T> =
  | { readonly state: 'known'; readonly value: T }
  | { readonly state: 'nothing' }
  | { readonly state: 'unknown' };

export interface IngesterName {
  readonly namespace: string;
  readonly name: string;
}

export interface RecordedCrd {
  readonly spec: JsonObject;
  /** Whether MySQL has rows of the kind that are not deleted. */
  readonly rows: 'some' | 'none' | 'unknown';
}

export type RecordData = Readonly<Record<string, string>>;

/** Where the image of the lifecycle controller is from. */
const REPOSITORY = 'repository';
const migratedKey = ({ namespace, name }: IngesterName): string => `migrated.${namespace}.${name}`;
const crdKey = (plural: string): string => `crd.${plural}`;
const rowsKey = (plural: string): string => `rows.${plural}`;

export function migratedEntry(name: IngesterName, version: string): RecordData {
  return { [migratedKey(name)]: version };
}

export function repositoryEntry(repository: string): RecordData {
  return { [REPOSITORY]: repository };
}

/** Undefined where the lifecycle controller has not written it down. */
export function recordedRepository(data: Readonly<Record<string, unknown>> = {}): string | undefined {
  const repository = data[REPOSITORY];
  return typeof repository === 'string' && repository !== '' ? repository : undefined;
}

export function crdEntry(plural: string, spec: JsonObject): RecordData {
  return { [crdKey(plural)]: JSON.stringify(withoutDescriptions(spec)) };
}

export function rowsEntry(plural: string, rows: 'some' | 'none'): RecordData {
  return { [rowsKey(plural)]: rows };
}

export function recordedVersion(data: RecordData, name: IngesterName): Recorded<string> {
  const value = data[migratedKey(name)];
  return value === undefined || value === '' ? { state: 'nothing' } : { state: 'known', value };
}

export function recordedCrd(data: RecordData, plural: string): Recorded<RecordedCrd> {
  const text = data[crdKey(plural)];
  if (text === undefined) return { state: 'nothing' };
  const spec = parsed(text);
  if (spec === undefined) return { state: 'unknown' };
  const rows = data[rowsKey(plural)];
  return { state: 'known', value: { spec, rows: rows === 'some' || rows === 'none' ? rows : 'unknown' } };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const spec: unknown = JSON.parse(text);
    return isJsonObject(spec) ? spec : undefined;
  } catch {
    // It was edited by hand.
    return undefined;
  }
}

/** Most of a schema is prose, which no comparison looks at. A property may be called description: its value is no text. */
function withoutDescriptions(value: JsonObject): JsonObject {
  const kept = Object.entries(value).filter(([key, nested]) => key !== 'description' || typeof nested !== 'string');
  return Object.fromEntries(kept.map(([key, nested]) => [key, nested === undefined ? nested : stripped(nested)]));
}

function stripped(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(stripped);
  return isJsonObject(value) ? withoutDescriptions(value) : value;
}
