import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { ClusterMemory } from '../../../src/app/cluster-memory.ts';
import type { ObjectRef } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SINCE = '2026-05-06T07:08:09.000001Z';
const kubeSystem = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: 'this-cluster' } };

/** Two objects of an API server: the namespace, and the ConfigMap where it is there. */
function memoryOver(control: { data?: Record<string, string> } | 'NotFound' | 'Forbidden') {
  const clock = new FakeClock();
  let away = false;
  let reads = 0;
  const objectOf = ({ name }: ObjectRef): KubernetesObject => {
    reads += 1;
    if (away) throw new KubeError('Unavailable', 'no answer');
    if (name === 'kube-system') return kubeSystem as unknown as KubernetesObject;
    if (typeof control === 'string') throw new KubeError(control, 'refused');
    return { ...control, metadata: { name, resourceVersion: '7' } } as unknown as KubernetesObject;
  };
  const patches: unknown[] = [];
  const client = {
    get: (ref: ObjectRef) => Promise.resolve().then(() => objectOf(ref)),
    mergePatch: (ref: ObjectRef, patch: object) => {
      patches.push(patch);
      return Promise.resolve(objectOf(ref));
    },
  };
  const memory = new ClusterMemory({ client, clock, configuration: { kubernetes: { namespace: 'here' } } as never });
  return { memory, clock, patches, reads: () => reads, setAway: (value: boolean) => (away = value) };
}

describe('the memory of a cluster', () => {
  it('has the uid of kube-system and the database that the control ConfigMap names, asked once in five seconds', async () => {
    const control = { data: { database: SINCE } as Record<string, string> };
    const { memory, clock, reads } = memoryOver(control);
    const answers = await Promise.all([memory.identity(), memory.identity(), memory.identity()]);
    for (const each of answers) assert.deepEqual(each, { uid: 'this-cluster', database: SINCE });
    assert.equal(reads(), 2);
    control.data = {};
    assert.equal((await memory.identity()).database, SINCE);
    await clock.advance(5000);
    assert.equal((await memory.identity()).database, undefined);
    assert.equal(reads(), 3, 'the uid is known');
  });

  for (const reason of ['NotFound', 'Forbidden'] as const)
    it(`names no database where reading the ConfigMap answers ${reason}`, async () => {
      assert.deepEqual(await memoryOver(reason).memory.identity(), { uid: 'this-cluster', database: undefined });
    });

  it('is an error as long as the API server was never heard of, and later goes on with what was known', async () => {
    const { memory, clock, setAway } = memoryOver({ data: { database: SINCE } });
    setAway(true);
    await assert.rejects(memory.identity(), { code: 'STORAGE_CLUSTER_UNKNOWN' });
    setAway(false);
    const known = await memory.identity();
    setAway(true);
    await clock.advance(60_000);
    assert.deepEqual(await memory.identity(), known);
  });

  it('notes a database only where none is known, at the version that was read, and knows it at once', async () => {
    const { memory, patches } = memoryOver({});
    assert.equal((await memory.identity()).database, undefined);
    await memory.note(SINCE);
    assert.deepEqual(patches, [{ metadata: { resourceVersion: '7' }, data: { database: SINCE } }]);
    assert.equal((await memory.identity()).database, SINCE);
    const other = memoryOver({ data: { database: '2020-01-01T00:00:00.000000Z' } });
    await other.memory.note(SINCE);
    assert.deepEqual(other.patches, []);
  });
});
