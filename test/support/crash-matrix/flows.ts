// The flows of the matrix, each with the world it starts from.
import { DELETING_ANNOTATION, IMMUTABLE_ANNOTATION } from '../../../src/api/names.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { EvictionPace } from '../../../src/sync/flows/eviction-pace.ts';
import { eventually } from '../eventually.ts';
import {
  type Birth,
  createMarker,
  createObject,
  reconcilerProcess,
  restoringProcess,
  spoolingProcess,
  sweep,
  sweepingProcess,
  uninstallingProcess,
} from './processes.ts';
import type { FlowUnderTest, Read, Stage } from './run.ts';

/** Created, and stored by an undisturbed reconciler. */
async function createAndSync(stage: Stage, birth: Birth = {}): Promise<void> {
  const created = await createObject(stage, birth);
  await reconciled(stage, () => Promise.resolve(created));
}

/** As often as it takes: connections may fall silent for reasons that are another cell's. */
async function reconciled(stage: Stage, read: Read): Promise<void> {
  const process = reconcilerProcess(stage, stage, read);
  await eventually(() => process.work());
}

const deleteObject = (stage: Stage): Promise<void> => stage.client.delete(stage.ref, {});
const annotateObject = (stage: Stage, name: string): Promise<unknown> =>
  stage.client.mergePatch(stage.ref, { metadata: { annotations: { [name]: 'true' } } });

const listed: readonly Omit<FlowUnderTest, 'sweep'>[] = [
  {
    name: 'sync',
    about: 'A new object is copied.',
    expected: 'in etcd, row live',
    prepare: (stage) => createObject(stage),
    process: reconcilerProcess,
  },
  {
    name: 'delete',
    about: 'An object that MySQL knows is deleted with `kubectl delete`.',
    expected: 'row deleted',
    prepare: async (stage) => {
      await createAndSync(stage);
      await deleteObject(stage);
    },
    process: reconcilerProcess,
  },
  {
    name: 'delete, never stored',
    about: 'An object is deleted before MySQL has ever heard of it.',
    expected: 'row deleted',
    prepare: async (stage) => {
      await createObject(stage);
      await deleteObject(stage);
    },
    process: reconcilerProcess,
  },
  {
    name: 'delete by annotation',
    about: '`michelangelo/Deleting: "true"` asks for a deletion that the caller does not wait for.',
    expected: 'row deleted',
    prepare: async (stage) => {
      await createAndSync(stage);
      await annotateObject(stage, DELETING_ANNOTATION);
    },
    process: reconcilerProcess,
  },
  {
    name: 'evict',
    about: '`michelangelo/Immutable: "true"` takes the object out of etcd; MySQL keeps it.',
    expected: 'row evicted',
    prepare: async (stage) => {
      await createAndSync(stage);
      await annotateObject(stage, IMMUTABLE_ANNOTATION);
    },
    process: reconcilerProcess,
  },
  {
    name: 'evict, unguarded',
    about: 'The object slipped past admission, so it gets the finalizer first.',
    expected: 'row evicted',
    prepare: (stage) => createObject(stage, { finalizers: [], annotations: { [IMMUTABLE_ANNOTATION]: 'true' } }),
    process: reconcilerProcess,
  },
  {
    name: 'evict, rule withdrawn',
    about:
      'A rule asked for the eviction and is withdrawn before its turn: a new state of the object makes the row live.',
    expected: 'in etcd, row live',
    prepare: async (stage) => {
      const created = await createObject(stage);
      const pace = new EvictionPace({ perSecond: 0.001, paused: () => false, clock: systemClock });
      pace.waitMs('the first turn');
      const rule = { chosenBy: () => 'a rule', pace };
      const process = reconcilerProcess(stage, stage, () => Promise.resolve(created), rule);
      await eventually(() => process.work());
    },
    process: (stage, ports, read) => reconcilerProcess(stage, ports, read, { isWithdrawn: () => true }),
  },
  {
    name: 'archive and prune',
    about: 'An archived object that Helm owns stays in etcd until it is pruned, and is evicted then, not deleted.',
    expected: 'row evicted',
    prepare: async (stage) => {
      await createAndSync(stage, { annotations: { 'meta.helm.sh/release-name': 'a-release' } });
      await annotateObject(stage, IMMUTABLE_ANNOTATION);
    },
    process: (stage, ports, read) => {
      const reconciler = reconcilerProcess(stage, ports, read);
      return {
        work: async () => {
          const result = await reconciler.work();
          const object = await read();
          if (object !== undefined && object.metadata.deletionTimestamp === undefined) await deleteObject(stage);
          return result;
        },
      };
    },
  },
  {
    name: 'delete, definition removed',
    about: 'The CustomResourceDefinition is being removed: the object goes, and its row ends as evicted.',
    expected: 'row evicted',
    prepare: async (stage) => {
      await createAndSync(stage);
      await deleteObject(stage);
    },
    process: (stage, ports, read) => {
      const definitions = {
        isBeingRemoved: () => ports.other('API server: LIST definitions', () => Promise.resolve(true)),
      };
      return reconcilerProcess(stage, ports, read, { definitions });
    },
  },
  {
    name: 'finalizer sweep',
    about: 'The object slipped past admission; the sweep gives it the finalizer, and it is copied.',
    expected: 'in etcd, row live',
    prepare: (stage) => createObject(stage, { finalizers: [] }),
    process: sweepingProcess,
  },
  {
    name: 'uninstall',
    about: 'The bundle is being removed: every object is let go, and its row stays as it is.',
    expected: 'in etcd, row live',
    removal: 'uninstalled',
    prepare: async (stage) => {
      await createMarker(stage);
      await createAndSync(stage);
    },
    process: uninstallingProcess,
  },
  {
    name: 'final state to disk',
    about:
      'MySQL is away for too long and the policy is to remove the finalizer: the final state is on disk until it is back.',
    expected: 'row deleted',
    removal: 'unsaved',
    prepare: async (stage) => {
      await createAndSync(stage);
      await deleteObject(stage);
    },
    process: spoolingProcess,
  },
  {
    name: 'restore',
    about: 'A deleted object is put back with `ingester restore`, run again until it succeeds, and synced.',
    expected: 'row deleted',
    prepare: async (stage) => {
      await createAndSync(stage);
      await stage.client.mergePatch(
        stage.ref,
        { status: { state: 'RAY_JOB_STATE_SUCCEEDED' } },
        { subresource: 'status' },
      );
      await deleteObject(stage);
      await reconciled(stage, () => stage.client.get(stage.ref));
      await stage.rest();
    },
    process: restoringProcess,
  },
];

export const flows: readonly FlowUnderTest[] = listed.map((flow) => ({ ...flow, sweep }));
