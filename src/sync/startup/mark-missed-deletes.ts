// Rows whose objects are not in the API server. Marking them deleted is right for an object that left unguarded, and a
// disaster where the program looks at the wrong cluster, so it takes three things: an answer of the API server for each
// object by name, a CRD that is there, and a number that is small for the table.
//
// What the original archived is in its database only, so that it is missing says nothing about the cluster, and that it is
// the right one has to be shown by other rows.
import type { KindDefinition } from '../../api/kind.ts';
import type { Clock } from '../../base/clock.ts';
import { crdName } from '../../kinds/kind-names.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { getSame } from '../../kube/found.ts';
import { definitions } from '../../kube/resources.ts';
import type { MetadataStorage, StoredIdentity } from '../../storage/metadata-storage.ts';
import { inParallel } from '../in-parallel.ts';

export interface MissedDeletesLimits {
  /** Most rows of a table, in percent, that may be marked deleted at once. */
  readonly maxPercent: number;
  /** How many replicas judge, each a share of the table; one unless given. */
  readonly replicas?: (() => number) | undefined;
}

/** More at once looks like the wrong cluster; `ingester audit --max-percent` says that it is not. */
export const usualLimits: MissedDeletesLimits = { maxPercent: 10 };

/** So few may always be marked, by all replicas together, unless they are all there is. */
const ALWAYS_ALLOWED = 10;

export type Verdict = 'mark' | 'too-many' | 'nothing-in-common';

/** Pure: whether so many missing objects are to be believed. `rows` counts the rows that should be in the cluster. */
export function judgeMissedDeletes(
  counts: { readonly rows: number; readonly missed: number },
  limits: MissedDeletesLimits,
): Verdict {
  const { rows, missed } = counts;
  if (missed > 1 && missed === rows) return 'nothing-in-common';
  if (missed <= Math.ceil(ALWAYS_ALLOWED / (limits.replicas?.() ?? 1))) return 'mark';
  return missed * 100 > rows * limits.maxPercent ? 'too-many' : 'mark';
}

export interface KindInCluster {
  readonly kind: KindDefinition;
  readonly resource: Resource;
}

export interface MissedDeletesContext extends KindInCluster {
  /** All kinds that are ingested. */
  readonly kinds: readonly KindInCluster[];
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly clock: Clock;
}

/** What tells a missed delete from a lost eviction where rows are compared with objects. */
export interface Comparison extends MissedDeletesContext {
  /** When MySQL was last found to have lost what it confirmed; undefined where it has not. */
  readonly storageWentBackAt: () => Promise<Date | undefined>;
}

export interface Missing {
  /** All rows of the table that are live or evicting. */
  readonly rows: number;
  readonly missing: readonly StoredIdentity[];
}

/** How far the missing rows are believed to be of objects that are gone. */
export interface Belief {
  readonly expected: Verdict;
  readonly adopted: 'mark' | 'unproven';
}

export async function judgeMissing(
  context: Pick<MissedDeletesContext, 'client' | 'storage' | 'kinds'>,
  { rows, missing }: Missing,
  limits: MissedDeletesLimits,
): Promise<Belief> {
  const adopted = missing.filter(isAdopted).length;
  const expected = judgeMissedDeletes({ rows: rows - adopted, missed: missing.length - adopted }, limits);
  const proven = adopted > 0 && expected === 'mark' && (await isTheirCluster(context, limits));
  return { expected, adopted: proven ? 'mark' : 'unproven' };
}

export function isAdopted({ adopted }: Pick<StoredIdentity, 'adopted'>): boolean {
  return adopted === true;
}

/** Rows of each kind that are asked for. They come in the order of their uids, which are random. */
const SAMPLE = 20;

/** Nearly all that should be in this cluster is in it, of whatever kind. Who allows 100 % has looked. */
async function isTheirCluster(
  { client, storage, kinds }: Pick<MissedDeletesContext, 'client' | 'storage' | 'kinds'>,
  { maxPercent }: MissedDeletesLimits,
): Promise<boolean> {
  if (maxPercent === 100) return true;
  const counts = { rows: 0, missed: 0 };
  for (const { kind, resource } of kinds) {
    const sample = await storage.identities(kind, { states: ['live'], limit: SAMPLE });
    counts.rows += sample.length;
    counts.missed += (await confirmMissedDeletes({ client, resource }, sample)).length;
  }
  return counts.missed < counts.rows && counts.missed * 100 <= counts.rows * maxPercent;
}

/** Those whose uid the API server really does not have, asked one by one. Any failure to get an answer is an error. */
export async function confirmMissedDeletes<T extends Pick<StoredIdentity, 'uid' | 'namespace' | 'name'>>(
  { client, resource }: Pick<MissedDeletesContext, 'client' | 'resource'>,
  candidates: readonly T[],
): Promise<readonly T[]> {
  const missing = await inParallel(candidates, async (each) => (await getSame(client, resource, each)) === undefined);
  return candidates.filter((_, index) => missing[index]);
}

/**
 * Marks the rows deleted, each at the version that was read, so that a state which arrives meanwhile wins. Evicted
 * where that was intended; where the object went with an earlier definition, as no user deleted it; and where it is older
 * than `wentBackAt`, as MySQL may have lost its eviction. Returns how many were marked; none where the CRD is missing or
 * being deleted.
 */
export async function markMissedDeletes(
  { kind, client, storage, clock }: MissedDeletesContext,
  rows: readonly Pick<StoredIdentity, 'uid' | 'resourceVersion'>[],
  reason: string,
  wentBackAt?: Date,
): Promise<number> {
  if (rows.length === 0) return 0;
  const definition = await definitionOf(client, kind);
  if (definition.state !== 'present') return 0;
  const keptBefore = latest(definition.since, wentBackAt);
  const because = wentBackAt === undefined ? reason : `${reason}, after MySQL had lost transactions`;
  const outcomes = await inParallel(rows, ({ uid, resourceVersion }) => {
    const missed = { uid, resourceVersion, ...(keptBefore === undefined ? {} : { keptBefore }) };
    return storage.markMissedDelete(kind, missed, clock.now(), because);
  });
  return outcomes.filter((outcome) => outcome === 'updated').length;
}

function latest(...dates: readonly (Date | undefined)[]): Date | undefined {
  const known = dates.filter((date) => date !== undefined);
  return known.length === 0 ? undefined : new Date(Math.max(...known.map((date) => date.getTime())));
}

/** The CRD of the kind. Where it is not present, missing objects do not mean that a user deleted them. */
type Definition =
  | { readonly state: 'terminating' | 'missing' }
  | {
      readonly state: 'present';
      /** Objects that are older went with the definition before it. Undefined where the API server does not say. */
      readonly since: Date | undefined;
    };

export async function definitionOf(client: Pick<KubeClient, 'list'>, kind: KindDefinition): Promise<Definition> {
  const fieldSelector = `metadata.name=${crdName(kind)}`;
  const page = await client.list(definitions, { fieldSelector, limit: 1, metadataOnly: true }, never);
  const [crd] = page.items;
  if (crd === undefined) return { state: 'missing' };
  const { creationTimestamp, deletionTimestamp } = crd.parse().metadata;
  if (deletionTimestamp !== undefined) return { state: 'terminating' };
  return { state: 'present', since: creationTimestamp === undefined ? undefined : new Date(creationTimestamp) };
}

const never = new AbortController().signal;
