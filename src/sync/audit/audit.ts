// Compares one kind in MySQL with the API server, without trusting anything this process remembers.
//
//   missing     the object has no row
//   stale       the row is older than the object, and stays so
//   ahead       the row is newer than the object, or ended while the object lives: etcd was restored from a backup
//   extra       the row lives, the object does not
//   unguarded   the object has no finalizer, without the opt-out annotation
//   unreadable  the row's json or protobuf cannot be read, or is not what was written
//
// The first look only gives suspects, because both sides move. A suspect is looked at again after a while, the row first
// and then the object, and counts only if what was seen at first cannot be explained by an object on its way.
import type { KindDefinition } from '../../api/kind.ts';
import { isMarkedDeleting, type KubernetesObject, needsFinalizer } from '../../api/object.ts';
import { isAborted } from '../../base/abort.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { contentHash } from '../../base/hash.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { getSame } from '../../kube/found.ts';
import { pagesOf } from '../../kube/pages.ts';
import { decodeObject } from '../../proto/decode.ts';
import type { MetadataStorage, StoredIdentity, StoredObject } from '../../storage/metadata-storage.ts';
import { inParallel } from '../in-parallel.ts';
import { rowsInCluster } from '../startup/difference.ts';
import { definitionOf } from '../startup/mark-missed-deletes.ts';

export const findingNames = ['missing', 'stale', 'ahead', 'extra', 'unguarded', 'unreadable'] as const;
export type FindingName = (typeof findingNames)[number];

export interface Finding {
  readonly finding: FindingName;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** For the operator. */
  readonly detail: string;
  /** The row that was looked at, where there is one. */
  readonly row: StoredIdentity | undefined;
}

export interface KindAudit {
  readonly kind: KindDefinition;
  /** Why nothing could be compared; undefined where it could. */
  readonly skipped: 'missing' | 'terminating' | undefined;
  /** Objects in the API server, and rows that should be there. */
  readonly objects: number;
  readonly rows: number;
  readonly findings: readonly Finding[];
}

export interface AuditContext {
  readonly kind: KindDefinition;
  readonly resource: Resource;
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly clock: Clock;
  /** Wait before suspects are looked at again. */
  readonly settleMs: number;
  /** Wait after each page, for an audit beside other work. */
  readonly pageWaitMs: number;
  readonly signal: AbortSignal;
}

interface Identity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

interface Suspect extends Identity {
  /** As first seen; undefined for a row without an object. */
  readonly resourceVersion: string | undefined;
  readonly unguarded: boolean;
  readonly differs: boolean;
  /** Version of an adopted row without an object. */
  readonly adoptedAt?: string | undefined;
}

const ROWS_PAGE = 500;
const CONTENT_PAGE = 100;
/** Of the json; a row has its protobuf beside it, and is parsed. */
const CONTENT_BYTES = 4 * 1024 * 1024;
/** Whole objects and rows looked at at once: of the largest, each takes ten megabytes. */
const AT_ONCE = 4;

export async function auditKind(context: AuditContext): Promise<KindAudit> {
  const { kind, client, clock, settleMs, signal } = context;
  const { state } = await definitionOf(client, kind);
  if (state !== 'present') return { kind, skipped: state, objects: 0, rows: 0, findings: [] };
  const { suspects, objects, rows } = await lookFirst(context);
  if (suspects.length > 0) await sleep(clock, settleMs, signal);
  const findings = (await inParallel(suspects, (suspect) => lookAgain(context, suspect), AT_ONCE)).flat();
  findings.push(...(await readEverything(context)));
  return { kind, skipped: undefined, objects, rows, findings };
}

interface FirstLook {
  readonly suspects: readonly Suspect[];
  readonly objects: number;
  readonly rows: number;
}

async function lookFirst(context: AuditContext): Promise<FirstLook> {
  // Of all rows at once only this, which is half of what a reconciler keeps of their objects.
  const versions = new Map<string, string>();
  for await (const page of rowsInCluster(context.storage, context.kind)) {
    for (const { uid, resourceVersion } of page) versions.set(uid, resourceVersion);
  }
  const rows = versions.size;
  const suspects: Suspect[] = [];
  let objects = 0;
  for await (const object of objectsOf(context)) {
    objects += 1;
    const { uid, namespace, name, resourceVersion } = object.metadata;
    const differs = versions.get(uid) !== resourceVersion;
    versions.delete(uid);
    const unguarded = needsFinalizer(object);
    if (differs || unguarded) suspects.push({ uid, namespace, name, resourceVersion, unguarded, differs });
  }
  for await (const { uid, namespace, name, adopted, resourceVersion } of rowsOf(context, [...versions.keys()])) {
    const adoptedAt = adopted === true ? resourceVersion : undefined;
    suspects.push({ uid, namespace, name, resourceVersion: undefined, unguarded: false, differs: true, adoptedAt });
  }
  return { suspects, objects, rows };
}

/** Those of the rows that should be in the API server still. */
async function* rowsOf({ storage, kind }: AuditContext, uids: readonly string[]): AsyncGenerator<StoredIdentity> {
  for (let from = 0; from < uids.length; from += ROWS_PAGE) {
    const page = uids.slice(from, from + ROWS_PAGE);
    yield* await storage.identities(kind, { states: ['live', 'evicting'], uids: page, limit: page.length });
  }
}

/** Read past every cache of the API server. */
async function* objectsOf(context: AuditContext): AsyncGenerator<KubernetesObject> {
  const { client, resource, signal, clock, pageWaitMs } = context;
  for await (const page of pagesOf(client, resource, { metadataOnly: true, consistency: 'each-page' }, signal)) {
    for (const item of page.items) yield item.parse();
    if (isAborted(signal)) return;
    if (page.continueToken !== undefined && pageWaitMs > 0) await sleep(clock, pageWaitMs, signal);
  }
}

/** The row is read before the object: a row newer than an object that was read later is newer than the cluster. */
async function lookAgain(context: AuditContext, suspect: Suspect): Promise<Finding[]> {
  const { kind, storage, client, resource } = context;
  const row = await storage.getById(kind, suspect.uid);
  const object = await getSame(client, resource, suspect);
  const found: Finding[] = [];
  const add = (finding: FindingName, detail: string): void => {
    const { uid, namespace, name, adoptedAt } = suspect;
    const identity = row === undefined ? undefined : identityOf(row);
    const adopted = identity !== undefined && identity.resourceVersion === adoptedAt;
    found.push({ finding, namespace, name, uid, detail, row: adopted ? { ...identity, adopted } : identity });
  };
  const judged = suspect.differs ? judge(object, row, suspect.resourceVersion) : undefined;
  if (judged !== undefined) add(judged.finding, judged.detail);
  if (suspect.unguarded && object !== undefined && needsFinalizer(object)) add('unguarded', 'no finalizer');
  return found;
}

/** Findings are kept until the end, and a whole row has megabytes. */
function identityOf({ uid, namespace, name, resourceVersion, state }: StoredIdentity): StoredIdentity {
  return { uid, namespace, name, resourceVersion, state };
}

interface Judgement {
  readonly finding: FindingName;
  readonly detail: string;
}

/** Pure. `firstSeen` is the version that the object had a while ago. */
export function judge(
  object: KubernetesObject | undefined,
  row: Pick<StoredObject, 'state' | 'resourceVersion'> | undefined,
  firstSeen: string | undefined,
): Judgement | undefined {
  const inCluster = row?.state === 'live' || row?.state === 'evicting';
  if (object === undefined) {
    return inCluster ? { finding: 'extra', detail: `the row is ${row.state}, the object is gone` } : undefined;
  }
  if (row === undefined) {
    return firstSeen === undefined ? undefined : { finding: 'missing', detail: 'the object has no row' };
  }
  return judgeBoth(object, row, firstSeen ?? object.metadata.resourceVersion);
}

function judgeBoth(
  object: KubernetesObject,
  row: Pick<StoredObject, 'state' | 'resourceVersion'>,
  firstSeen: string,
): Judgement | undefined {
  const { resourceVersion } = object.metadata;
  const versions = `row at ${row.resourceVersion}, object at ${resourceVersion}`;
  if (compareVersions(row.resourceVersion, resourceVersion) > 0) {
    return { finding: 'ahead', detail: `the row is newer than the object: ${versions}` };
  }
  const ended = row.state === 'deleted' || row.state === 'evicted';
  const leaving = object.metadata.deletionTimestamp !== undefined || isMarkedDeleting(object);
  if (ended && !leaving) return { finding: 'ahead', detail: `the row is ${row.state}, the object lives` };
  const behind = compareVersions(row.resourceVersion, firstSeen) < 0;
  return behind ? { finding: 'stale', detail: `the row is older than the object: ${versions}` } : undefined;
}

/** Every row that is not deleted: of an evicted object it is the only copy. */
async function readEverything(context: AuditContext): Promise<readonly Finding[]> {
  const { kind, storage, clock, pageWaitMs, signal } = context;
  const found: Finding[] = [];
  let next: string | undefined;
  do {
    const more = next === undefined ? {} : { continue: next };
    const page = await storage.list(kind, { limit: CONTENT_PAGE, bytes: CONTENT_BYTES, ...more });
    for (const stored of page.items) {
      const detail = unreadable(kind, stored);
      if (detail === undefined) continue;
      const { uid, namespace, name } = stored;
      found.push({ finding: 'unreadable', namespace, name, uid, detail, row: identityOf(stored) });
    }
    next = page.continue;
    if (next !== undefined && pageWaitMs > 0) await sleep(clock, pageWaitMs, signal);
  } while (next !== undefined && !isAborted(signal));
  return found;
}

/** Orders resourceVersions: whole numbers as decimal text of any length, as the API server documents since 1.35. */
export function compareVersions(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** What is wrong with what a row holds; undefined where it can be read and is what was written. */
export function unreadable(kind: KindDefinition, stored: StoredObject): string | undefined {
  return jsonProblem(stored) ?? protoProblem(kind, stored);
}

function jsonProblem(stored: StoredObject): string | undefined {
  let object: unknown;
  try {
    object = parseLossless(stored.json);
  } catch (error) {
    return `json: ${messageOf(error)}`;
  }
  if (!isJsonObject(object)) return 'json: not an object';
  const wrong = identityProblem(object, stored);
  if (wrong !== undefined) return `json: ${wrong}`;
  return contentHash(object) === stored.contentHash ? undefined : 'json: not the content that was written';
}

/** An object that does not fit the definitions is stored without its protobuf form. */
function protoProblem(kind: KindDefinition, stored: StoredObject): string | undefined {
  if (stored.proto.length === 0) return undefined;
  try {
    const wrong = identityProblem(decodeObject(kind.kind, stored.proto), stored);
    return wrong === undefined ? undefined : `proto: ${wrong}`;
  } catch (error) {
    return `proto: ${messageOf(error)}`;
  }
}

function identityProblem(object: unknown, stored: StoredObject): string | undefined {
  for (const field of ['uid', 'namespace', 'name'] as const) {
    if (valueAt(object, ['metadata', field]) !== stored[field]) return `the ${field} is that of another object`;
  }
  return undefined;
}
