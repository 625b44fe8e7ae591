// etcd was restored from a backup: the object has another version than a process knows, and its row is ahead of both, by a
// state of a time that is no more. After some attempts an operator does what docs/audit.md says.
import assert from 'node:assert/strict';
import { hasFinalizer, type KubernetesObject } from '../../../src/api/object.ts';
import { isKubeError } from '../../../src/kube/errors.ts';
import { getSame } from '../../../src/kube/found.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import type { ObjectRow } from '../../../src/storage/row.ts';
import { judge } from '../../../src/sync/audit/audit.ts';
import { repairKind } from '../../../src/sync/audit/audit-repair.ts';
import { toRow } from '../../../src/sync/row.ts';
import { eventually } from '../eventually.ts';
import { clockOf } from './processes.ts';
import type { Disturbance, Stage } from './run.ts';

/** How many versions the time had that is no more. */
const AHEAD = 1_000_000n;

type Store = (stage: Stage, row: ObjectRow) => Promise<unknown>;

/** The row stays in the state that it has. */
const asItIs: Store = async ({ kind, storage }, row) => {
  const state = (await storage.getById(kind, row.uid))?.state ?? 'live';
  if (state === 'live') return storage.upsert(row);
  return state === 'evicting' ? storage.requestEviction(row, new Date()) : storage.finish(row, new Date());
};
/** The object had left etcd. */
const ended: Store = async ({ kind, storage }, row) => {
  if ((await storage.getById(kind, row.uid)) !== undefined) await storage.finish(row, new Date());
};

function wentBack(name: string, store: Store): Disturbance {
  return {
    name,
    interferes: false,
    at: async ({ stage }) => {
      await eventually(() => goBack(stage, store));
      return undefined;
    },
    remedy: (stage) => eventually(() => repairRestored(stage)),
  };
}

export const restores: readonly Disturbance[] = [
  wentBack('version went back', asItIs),
  wentBack('version went back, row ended', ended),
];

async function goBack(stage: Stage, store: Store): Promise<void> {
  const annotations = { 'example.com/restored': 'true' };
  try {
    const object = await stage.client.mergePatch(stage.ref, { metadata: { annotations } });
    // The garbage collector lets it go at any moment, before the operator may have come: nothing can be promised.
    if (object.metadata.deletionTimestamp !== undefined && !hasFinalizer(object)) return;
    await store(stage, toRow(stage.kind, ofTheLostTime(object), encodeObject));
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error;
  }
}

function ofTheLostTime(object: KubernetesObject): KubernetesObject {
  const resourceVersion = `${BigInt(object.metadata.resourceVersion) + AHEAD}`;
  const { deletionTimestamp: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, resourceVersion }, spec: { entrypoint: 'lost' } };
}

/** `ingester audit --repair-restored`, as far as it concerns one name. */
async function repairRestored(stage: Stage): Promise<void> {
  const { kind, ref, client, storage } = stage;
  const { resource, namespace, name } = ref;
  const { clock } = clockOf(stage);
  const context = { kind, resource, client, storage, clock, settleMs: 0, pageWaitMs: 0, signal: neverAborted };
  const options = {
    ...context,
    kinds: [{ kind, resource }],
    encode: encodeObject,
    limits: { maxPercent: 100 },
    storageWentBackAt: () => Promise.resolve(undefined),
    mayAddFinalizer: true,
  };
  for (const row of await storage.incarnations(kind, namespace, name, 10)) {
    const object = await getSame(context.client, context.resource, row);
    const judged = judge(object, row, object?.metadata.resourceVersion);
    if (judged === undefined) continue;
    const { uid } = row;
    const findings = [{ ...judged, namespace, name, uid, row }];
    // The table has more rows than this one, as tables do: of all rows none is ended.
    const audit = { kind, skipped: undefined, objects: 100, rows: 100, findings };
    const [repaired] = await repairKind(audit, { ...options, restored: 'set-back' });
    assert.ok(repaired?.outcome === 'repaired' || repaired?.outcome === 'passing', repaired?.outcome);
  }
}

const neverAborted = new AbortController().signal;
