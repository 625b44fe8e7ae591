// Objects out of the bytes of an answer, without `metadata.managedFields`: a quarter of a typical object, changed by
// every write, and of no use here. Only the object's own are dropped; a pod template inside its spec keeps everything.
import { type Identity, type KubernetesObject, type Marks, objectKey, withoutManagedFields } from '../../api/object.ts';
import { isJsonObject } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import { asWatched, nextArrival, type WatchedObject } from '../watched-object.ts';
import {
  afterValue,
  bytesWithout,
  findMember,
  isName,
  type Member,
  plainString,
  STOP,
  textWithout,
  visitMembers,
} from './json-scan.ts';

const BACKSLASH = 0x5c;
const METADATA = 'metadata';
const METADATA_KEY = Buffer.from(`${METADATA}"`);

/** Reads the identity only, and keeps the bytes. Throws where they are no object, now or when it is parsed. */
export function readReceived(bytes: Buffer): WatchedObject {
  return findIdentity(bytes) ?? asWatched(readWhole(bytes));
}

export function readWhole(bytes: Buffer): KubernetesObject {
  const metadata = findMember(bytes, 0, METADATA);
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
  const metadata = withoutManagedFields(object.metadata);
  return metadata === object.metadata ? object : { ...object, metadata };
}

/** An object that was received, and what a scan has found in it. */
class Received implements WatchedObject {
  readonly identity: Identity;
  readonly key: string;
  readonly arrival = nextArrival();
  #bytes: Buffer;
  /** Of the value of the metadata. */
  readonly #start: number;
  /** Undefined where none, or not surely one, is there. */
  #managedFields: Member | undefined;

  constructor(identity: Identity, bytes: Buffer, metadataStart: number, fields?: Member) {
    this.identity = identity;
    this.key = objectKey({ metadata: identity });
    this.#bytes = bytes;
    this.#start = metadataStart;
    this.#managedFields = fields;
  }

  get watched(): this {
    return this;
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  marks(): Marks {
    return findMarks(this.#bytes, this.#start);
  }

  parse(): KubernetesObject {
    return parseWithout(this.#bytes, this.#managedFields);
  }

  compact(): void {
    const bytes = this.#bytes;
    const fields = this.#managedFields;
    this.#bytes = fields === undefined ? copyOf(bytes) : bytesWithout(bytes, fields);
    this.#managedFields = undefined;
  }
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** Undefined where only a parser can tell. */
function findIdentity(bytes: Buffer): Received | undefined {
  const found: { object?: Received; isLast: boolean } = { isLast: false };
  const end = visitMembers(bytes, 0, (keyStart, keyEnd, valueStart) => {
    if (!isName(bytes, keyStart, keyEnd, METADATA)) return afterValue(bytes, valueStart);
    scan.start(bytes);
    const valueEnd = visitMembers(bytes, valueStart, scan.visit);
    const { identity, managedFields } = scan;
    if (valueEnd === undefined || identity === undefined) return STOP;
    found.object = new Received(identity, bytes, valueStart, managedFields);
    // Of two the last counts, as for a parser.
    found.isLast = isLastMetadata(bytes, valueEnd);
    return found.isLast ? STOP : valueEnd;
  });
  return end !== undefined || found.isLast ? found.object : undefined;
}

/** Whether no key after this position can be `metadata`, neither as it is written nor with escapes. */
function isLastMetadata(bytes: Buffer, from: number): boolean {
  return bytes.indexOf(BACKSLASH, from) === -1 && bytes.indexOf(METADATA_KEY, from) === -1;
}

const markNames = ['annotations', 'finalizers', 'deletionTimestamp'] as const satisfies readonly (keyof Marks)[];

/** Of the metadata that start there, which were scanned to their end before. Of two the last counts, as for a parser. */
function findMarks(bytes: Buffer, metadataStart: number): Marks {
  const marks: Record<string, unknown> = {};
  visitMembers(bytes, metadataStart, (keyStart, keyEnd, valueStart) => {
    const valueEnd = afterValue(bytes, valueStart);
    const name = markNames.find((mark) => isName(bytes, keyStart, keyEnd, mark));
    if (name !== undefined) marks[name] = parseLossless(bytes.toString('utf8', valueStart, valueEnd));
    return valueEnd;
  });
  return marks;
}

/** What a scan looks for. No two are of one length, which tells them apart. */
const fieldNames = ['name', 'namespace', 'uid', 'resourceVersion', 'managedFields'] as const;
const [NAME, NAMESPACE, UID, RESOURCE_VERSION, MANAGED_FIELDS] = [0, 1, 2, 3, 4] as const;
const fieldByLength: readonly (number | undefined)[] = Array.from({ length: 16 }, (_, length) => {
  const field = fieldNames.findIndex((name) => name.length === length);
  return field === -1 ? undefined : field;
});
const NO_BYTES = Buffer.alloc(0);

/** Of two members with one name the last counts, as for a parser; of two managedFields none, so that both are parsed. */
class MetadataScan {
  #bytes: Buffer = NO_BYTES;
  /** Where the values start and end; 0 where there is none. */
  readonly #starts = new Uint32Array(fieldNames.length);
  readonly #ends = new Uint32Array(fieldNames.length);
  #managedFieldsKey = 0;
  #managedFieldsSeen = 0;

  start(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#starts.fill(0);
    this.#managedFieldsSeen = 0;
  }

  /** Undefined while a part is missing, only the namespace may, and where one is more than plain text. */
  get identity(): Identity | undefined {
    const name = this.#text(NAME);
    const namespace = this.#text(NAMESPACE);
    const uid = this.#text(UID);
    const resourceVersion = this.#text(RESOURCE_VERSION);
    if (name === undefined || uid === undefined || resourceVersion === undefined) return undefined;
    if (namespace === undefined && this.#starts[NAMESPACE] !== 0) return undefined;
    return { name, namespace, uid, resourceVersion };
  }

  get managedFields(): Member | undefined {
    if (this.#managedFieldsSeen !== 1) return undefined;
    const valueStart = this.#starts[MANAGED_FIELDS] ?? 0;
    return { start: this.#managedFieldsKey, valueStart, end: this.#ends[MANAGED_FIELDS] ?? 0 };
  }

  readonly visit = (keyStart: number, keyEnd: number, valueStart: number): number => {
    const valueEnd = afterValue(this.#bytes, valueStart);
    const field = fieldByLength[keyEnd - keyStart];
    if (field === undefined || !isName(this.#bytes, keyStart, keyEnd, fieldNames[field] ?? '')) return valueEnd;
    this.#starts[field] = valueStart;
    this.#ends[field] = valueEnd;
    if (field === MANAGED_FIELDS) {
      this.#managedFieldsKey = keyStart - 1;
      this.#managedFieldsSeen += 1;
    }
    return valueEnd;
  };

  #text(field: number): string | undefined {
    const start = this.#starts[field] ?? 0;
    return start === 0 ? undefined : plainString(this.#bytes, start, this.#ends[field] ?? 0);
  }
}

/** One for all objects: one of its own would cost an object more than the scan. */
const scan = new MetadataScan();
