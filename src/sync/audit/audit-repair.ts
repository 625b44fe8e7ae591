// What can be done about a finding. Everything here is checked like any other write, so a reconciler may run meanwhile.
import type { KubernetesObject } from '../../api/object.ts';
import { isMarkedDeleting, isMarkedImmutable } from '../../api/object.ts';
import { isKubeError } from '../../kube/errors.ts';
import { getSame } from '../../kube/found.ts';
import { RowRefusedError } from '../../storage/errors.ts';
import type { StoredIdentity } from '../../storage/metadata-storage.ts';
import type { SensitiveValues } from '../../storage/sensitive.ts';
import { addFinalizerTo } from '../finalizer.ts';
import { inParallel } from '../in-parallel.ts';
import { type ProtoEncoder, toRow } from '../row.ts';
import {
  type Comparison,
  isAdopted,
  judgeMissing,
  type KindInCluster,
  type MissedDeletesLimits,
  markMissedDeletes,
} from '../startup/mark-missed-deletes.ts';
import { type AuditContext, type Finding, type KindAudit } from './audit.ts';

/**
 * - `repaired`: done
 * - `passing`: nothing to do any more, or the reconciler is about to
 * - `too-many`: more rows would be marked deleted than is allowed at once
 * - `not-asked`: takes an explicit request
 * - `impossible`: there is nothing to repair it from, or the repair is refused
 */
export type RepairOutcome = 'repaired' | 'passing' | 'too-many' | 'not-asked' | 'impossible';

export interface RepairOptions extends AuditContext, Pick<Comparison, 'storageWentBackAt'> {
  readonly encode: ProtoEncoder;
  /** What becomes of sensitive values; masked where it is missing. */
  readonly sensitive?: SensitiveValues;
  readonly limits: MissedDeletesLimits;
  /** All kinds that are ingested. */
  readonly kinds: readonly KindInCluster[];
  /** Whether rows that are newer than the cluster are set back to it. */
  readonly restored: 'keep' | 'set-back';
  readonly mayAddFinalizer: boolean;
}

/** Each reads a whole object and makes its row. */
const AT_ONCE = 4;

interface Repairing extends RepairOptions {
  readonly wentBackAt: Date | undefined;
}

export interface Repaired extends Finding {
  readonly outcome: RepairOutcome;
}

export async function repairKind(audit: KindAudit, options: RepairOptions): Promise<readonly Repaired[]> {
  const { findings, rows } = audit;
  const missing = findings.flatMap(({ finding, row }) => (finding === 'extra' && row !== undefined ? [row] : []));
  const belief = await judgeMissing(options, { rows, missing }, options.limits);
  const repairing = { ...options, wentBackAt: missing.length === 0 ? undefined : await options.storageWentBackAt() };
  return inParallel(
    findings,
    async (found) => {
      options.signal.throwIfAborted();
      const verdict = found.row !== undefined && isAdopted(found.row) ? belief.adopted : belief.expected;
      const tooMany = found.finding === 'extra' && verdict !== 'mark';
      return { ...found, outcome: tooMany ? 'too-many' : await attempt(found, repairing) };
    },
    AT_ONCE,
  );
}

/**
 * Pure. What a repair that is to end with both sides equal has still to do, after a round and the one before it. Clients go on
 * creating, changing and deleting meanwhile, so a round never has to find nothing: what it found and repaired for the first time
 * is new, and what is leaving waits for the reconciler. What a repair has not changed stays open.
 */
export function openFindings(round: readonly Repaired[], before: readonly Repaired[] | undefined): readonly Repaired[] {
  if (before === undefined) return round;
  const known = new Set(before.map(stateOf));
  return round.filter(
    (found) => found.outcome !== 'passing' && (found.outcome !== 'repaired' || known.has(stateOf(found))),
  );
}

function stateOf({ finding, uid, row }: Finding): string {
  return `${finding} ${uid} ${row?.resourceVersion ?? ''}`;
}

/** One object that cannot be repaired must not keep the others from it. An outage concerns them all. */
async function attempt(found: Finding, options: Repairing): Promise<RepairOutcome> {
  try {
    return await repair(found, options);
  } catch (error) {
    if (error instanceof RowRefusedError || isKubeError(error, 'Refused')) return 'impossible';
    if (isKubeError(error, 'Conflict') || isKubeError(error, 'NotFound')) return 'passing';
    throw error;
  }
}

async function repair(found: Finding, options: Repairing): Promise<RepairOutcome> {
  const object = await getSame(options.client, options.resource, found);
  return object === undefined ? repairWithout(found, options) : repairFrom(object, found, options);
}

function repairWithout({ finding, row }: Finding, options: Repairing): Promise<RepairOutcome> | RepairOutcome {
  if (finding === 'unreadable') return 'impossible';
  return finding === 'extra' && row !== undefined ? endRow(row, options) : 'passing';
}

function repairFrom(
  object: KubernetesObject,
  { finding, row }: Finding,
  options: RepairOptions,
): Promise<RepairOutcome> | RepairOutcome {
  switch (finding) {
    case 'extra':
      return 'passing';
    case 'unguarded':
      return addFinalizer(object, options);
    case 'missing':
    case 'stale':
      return store(object, options);
    case 'ahead':
      return options.restored === 'keep' ? 'not-asked' : replace(object, row, options);
    case 'unreadable':
      return isEnding(object) ? 'passing' : replace(object, row, options);
  }
}

async function endRow(row: StoredIdentity, options: Repairing): Promise<RepairOutcome> {
  const reason = 'missing from the API server, found by an audit';
  return (await markMissedDeletes(options, [row], reason, options.wentBackAt)) > 0 ? 'repaired' : 'passing';
}

async function addFinalizer(object: KubernetesObject, options: RepairOptions): Promise<RepairOutcome> {
  if (!options.mayAddFinalizer) return 'not-asked';
  await addFinalizerTo(options, object);
  return 'repaired';
}

/** What leaves etcd is the reconciler's alone: only it knows in which order. */
function isLeaving(object: KubernetesObject): boolean {
  return isEnding(object) || isMarkedImmutable(object);
}

function isEnding(object: KubernetesObject): boolean {
  return object.metadata.deletionTimestamp !== undefined || isMarkedDeleting(object);
}

/**
 * Pure. What the row becomes again, for the reconciler to go on from: live, but of what is leaving etcd an intent to
 * evict is kept, or the end of the object would be a deletion.
 */
export function stateBefore(object: KubernetesObject, row: Pick<StoredIdentity, 'state'>): 'live' | 'evicting' {
  const intended = row.state === 'evicting' || row.state === 'evicted';
  return intended && isLeaving(object) && !isMarkedDeleting(object) ? 'evicting' : 'live';
}

async function store(
  object: KubernetesObject,
  { kind, storage, encode, sensitive }: RepairOptions,
): Promise<RepairOutcome> {
  if (isLeaving(object)) return 'passing';
  const outcome = await storage.upsert(toRow(kind, object, encode, sensitive));
  return outcome === 'inserted' || outcome === 'updated' ? 'repaired' : 'passing';
}

async function replace(
  object: KubernetesObject,
  row: StoredIdentity | undefined,
  { kind, storage, encode, sensitive, clock }: RepairOptions,
): Promise<RepairOutcome> {
  if (row === undefined) return 'passing';
  const state = stateBefore(object, row);
  const as = state === 'live' ? { state } : { state, at: clock.now() };
  const outcome = await storage.replace(toRow(kind, object, encode, sensitive), row.resourceVersion, as);
  return outcome === 'updated' ? 'repaired' : 'passing';
}
