// Objects out of the bytes of an answer, without `metadata.managedFields`: a quarter of a typical object, changed by
// every write, and of no use here. Only the object's own are dropped; a pod template inside its spec keeps everything.
import type { Identity, KubernetesObject, ObjectMeta } from '../../api/object.ts';
import { isJsonObject } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import { lazyObject } from '../lazy-object.ts';
import {
  afterValue,
  findMember,
  isName,
  type Member,
  plainString,
  STOP,
  textWithout,
  visitMembers,
} from './json-scan.ts';

const BACKSLASH = 0x5c;
const METADATA_KEY = Buffer.from('metadata"');

/**
 * The object, of which only the identity is read now; the rest is parsed when it is asked for. Keeps the bytes until then.
 * Throws where they are no JSON: now, or when asked.
 */
export function readLazily(bytes: Buffer): KubernetesObject {
  const found = findIdentity(bytes);
  if (found === undefined) return readWhole(bytes);
  const { identity, start, end, managedFields } = found;
  return lazyObject(identity, {
    bytes: bytes.length,
    metadata: () => readMetadata(bytes.subarray(start, end), shifted(managedFields, -start)),
    whole: () => parseWithout(bytes, managedFields),
  });
}

export function readWhole(bytes: Buffer): KubernetesObject {
  const metadata = findMember(bytes, 0, 'metadata');
  return parseWithout(
    bytes,
    metadata === undefined ? undefined : findMember(bytes, metadata.valueStart, 'managedFields'),
  );
}

/** Without the member, which is the managedFields; undefined where a scanner did not find them: as a rule there are none. */
function parseWithout(bytes: Buffer, fields: Member | undefined): KubernetesObject {
  if (fields !== undefined) return parseLossless(textWithout(bytes, fields)) as KubernetesObject;
  const object = parseLossless(bytes.toString('utf8')) as KubernetesObject;
  if (!isJsonObject(object) || !isJsonObject(object.metadata)) return object;
  return { ...object, metadata: withoutManagedFields(object.metadata) };
}

function readMetadata(bytes: Buffer, fields: Member | undefined): ObjectMeta {
  if (fields !== undefined) return parseLossless(textWithout(bytes, fields)) as ObjectMeta;
  return withoutManagedFields(parseLossless(bytes.toString('utf8')) as ObjectMeta);
}

function shifted(member: Member | undefined, by: number): Member | undefined {
  if (member === undefined) return undefined;
  return { start: member.start + by, valueStart: member.valueStart + by, end: member.end + by };
}

function withoutManagedFields(metadata: ObjectMeta): ObjectMeta {
  if (!Object.hasOwn(metadata, 'managedFields')) return metadata;
  const { managedFields: _, ...rest } = metadata;
  return rest;
}

interface FoundIdentity {
  readonly identity: Identity;
  /** Of the value of the metadata. */
  readonly start: number;
  readonly end: number;
  /** Undefined where none, or not surely one, is there. */
  readonly managedFields: Member | undefined;
}

/** Undefined where only a parser can tell. */
function findIdentity(bytes: Buffer): FoundIdentity | undefined {
  const found: (FoundIdentity & { readonly isLast: boolean })[] = [];
  const end = visitMembers(bytes, 0, (keyStart, keyEnd, valueStart) => {
    if (!isName(bytes, [keyStart, keyEnd], 'metadata')) return afterValue(bytes, valueStart);
    const fields = new IdentityFields(bytes);
    const valueEnd = visitMembers(bytes, valueStart, fields.visit);
    const { identity, managedFields } = fields;
    if (valueEnd === undefined || identity === undefined) return STOP;
    // Of two the last counts, as for a parser.
    const isLast = isLastMetadata(bytes, valueEnd);
    found[0] = { identity, start: valueStart, end: valueEnd, managedFields, isLast };
    return isLast ? STOP : valueEnd;
  });
  return end !== undefined || found[0]?.isLast === true ? found[0] : undefined;
}

/** Whether no key after this position can be `metadata`, neither as it is written nor with escapes. */
function isLastMetadata(bytes: Buffer, from: number): boolean {
  return bytes.indexOf(BACKSLASH, from) === -1 && bytes.indexOf(METADATA_KEY, from) === -1;
}

type IdentityField = keyof Identity;

/** By their length, which tells them apart. */
const fieldNames: ReadonlyMap<number, IdentityField | 'managedFields'> = new Map(
  (['name', 'namespace', 'uid', 'resourceVersion', 'managedFields'] as const).map((name) => [name.length, name]),
);

/** Of two members with one name the last counts, as for a parser; of two managedFields none, so that both are parsed. */
class IdentityFields {
  readonly #bytes: Buffer;
  readonly #fields: Partial<Record<IdentityField, string | undefined>> = {
    name: undefined,
    namespace: undefined,
    uid: undefined,
    resourceVersion: undefined,
  };
  readonly #managedFields: Member[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Undefined while a part is missing; only the namespace may. */
  get identity(): Identity | undefined {
    const { name, namespace, uid, resourceVersion } = this.#fields;
    if (name === undefined || uid === undefined || resourceVersion === undefined) return undefined;
    return { name, namespace, uid, resourceVersion };
  }

  get managedFields(): Member | undefined {
    return this.#managedFields.length === 1 ? this.#managedFields[0] : undefined;
  }

  readonly visit = (keyStart: number, keyEnd: number, valueStart: number): number => {
    const bytes = this.#bytes;
    const valueEnd = afterValue(bytes, valueStart);
    const field = fieldNames.get(keyEnd - keyStart);
    if (field === undefined || !isName(bytes, [keyStart, keyEnd], field)) return valueEnd;
    if (field === 'managedFields') {
      this.#managedFields.push({ start: keyStart - 1, valueStart, end: valueEnd });
      return valueEnd;
    }
    const value = plainString(bytes, valueStart, valueEnd);
    this.#fields[field] = value;
    return value === undefined ? STOP : valueEnd;
  };
}
